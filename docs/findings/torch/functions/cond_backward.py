"""The gradient of torch.linalg.cond raises for every norm but 2, -2 and "nuc".

    For a 2x2 matrix the condition number in the norm "fro" is s / |d|, with the sum s of the squared entries
    and the determinant d, so its gradient is (2 A - s / d C) / d, with the matrix C of cofactors

Forward mode is right. Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch

a = torch.tensor([[2.0, 1.0], [0.5, 3.0]], dtype=torch.float64)
cofactors = torch.tensor([[3.0, -0.5], [-1.0, 2.0]], dtype=torch.float64)
s, d = 14.25, 5.5
expected = (2.0 * a - s / d * cofactors) / d
along = torch.ones_like(a)
(slope,) = torch.func.jvp(lambda a: torch.linalg.cond(a, "fro"), (a,), (along,))[1:]
print(f"torch {torch.__version__}: the slope along ones: expected {expected.sum():.12f}, jvp {slope:.12f}")
wrong = abs(slope - expected.sum()) > 1e-12
for p in ("fro", 1, -1, float("inf"), -float("inf")):
    leaf = a.clone().requires_grad_()
    try:
        (got,) = torch.autograd.grad(torch.linalg.cond(leaf, p), leaf)
    except RuntimeError as error:
        print(f"cond(a, {p!r}): RuntimeError:", str(error)[:90])
        wrong = True
    else:
        print(f"cond(a, {p!r}):", got.tolist())
        wrong = wrong or (p == "fro" and not torch.allclose(got, expected, rtol=1e-12))
sys.exit(int(wrong))
