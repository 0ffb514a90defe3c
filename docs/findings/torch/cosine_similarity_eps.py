"""The gradient of torch.nn.functional.cosine_similarity where a norm is less than eps.

    cosine_similarity(x, y, eps=e) is x.y / (max(|x|, e) max(|y|, e)), by its documentation

For x = 0.25, y = 0.5 and e = 1 it is x y, and its derivative by x is y. Prints expected, got and the
difference quotient of the function itself, and exits with 1 while they differ.
"""

import sys

import torch


def similarity(x: torch.Tensor) -> torch.Tensor:
    y = torch.tensor([0.5], dtype=torch.float64)
    return torch.nn.functional.cosine_similarity(x, y, dim=0, eps=1.0)


x = torch.tensor([0.25], dtype=torch.float64, requires_grad=True)
got = torch.autograd.grad(similarity(x), x)[0].item()
quotient = (similarity(x + 1e-6) - similarity(x - 1e-6)).item() / 2e-6
expected = 0.5
print(f"torch {torch.__version__}: got {got}, difference quotient {quotient:.9f}; expected {expected}")
sys.exit(0 if abs(got - expected) < 1e-9 else 1)
