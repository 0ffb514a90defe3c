import pytest
import torch

from gradfuzz import check_gradient


@pytest.mark.parametrize("seed", range(20))
def test_gradient(huber, seed):
    generator = torch.Generator().manual_seed(seed)
    check_gradient(huber, torch.randn(3, 4, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize("seed", range(20))
def test_second_order(huber, seed):
    generator = torch.Generator().manual_seed(seed)
    check_gradient(huber, torch.randn(3, 4, generator=generator, dtype=torch.float64), order=2, modes="rev")
