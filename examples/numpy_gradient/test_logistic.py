import numpy as np
import pytest

from gradfuzz import check_gradient


@pytest.mark.parametrize("seed", range(20))
def test_gradient(logistic, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(6, 3)), rng.choice([-1.0, 1.0], size=6)
    check_gradient(
        logistic.loss, rng.normal(size=3), rng.normal(), x, y, wrt=("w", "b"), grad=logistic.gradient
    )
