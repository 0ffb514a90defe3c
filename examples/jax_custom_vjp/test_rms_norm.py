import numpy as np
import pytest

from gradfuzz import check_gradient


@pytest.mark.parametrize("seed", range(20))
def test_gradient(rms_norm, seed):
    rng = np.random.default_rng(seed)
    check_gradient(rms_norm, rng.normal(size=(2, 3)), rng.normal(size=3))
