"""The derivatives of the gradient by the bias of torch.nn.functional.layer_norm, batch_norm and instance_norm are
0 where there is no weight; of group_norm they raise.

    layer_norm([t, 0], bias=b, eps=1/4) = [t, -t] / sqrt(t^2 + 1) + b; the gradient of the sum of its squares by
    the first entry of b, 2 t / sqrt(t^2 + 1) at b = 0, has the slope 2 / (t^2 + 1)^(3/2) by t and 2 by itself.
    The sum of squares of four entries of one channel, each with the bias b, has the second derivative 8 by b.

With a weight of ones they are right, and so are the first derivatives. Where the gradient by the input is taken
as well, the second one raises. Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.nn import functional as nn

t = torch.tensor(0.75, dtype=torch.float64)
zeros, ones = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
by_t, by_b = 2.0 / (0.75**2 + 1.0) ** 1.5, 2.0
wrong = False
print(f"torch {torch.__version__}")
for name, weight in (("a weight of ones", ones), ("no weight", None)):

    def squares(t, b, weight=weight):
        return (nn.layer_norm(torch.stack([t, 0.0 * t]), (2,), weight, b, eps=0.25) ** 2).sum()

    def slope(t, b, squares=squares):
        return torch.func.grad(squares, argnums=1)(t, b)[0]

    hessian = torch.autograd.functional.hessian(lambda b, squares=squares: squares(t, b), zeros)
    for what, expected, got in (
        ("torch.func.grad of grad, by t", by_t, torch.func.grad(slope)(t, zeros).item()),
        ("hessian by b", by_b, hessian[0, 0].item()),
    ):
        print(f"{name}, {what}: expected {expected:.12f}, got {got:.12f}")
        wrong = wrong or abs(got - expected) > 1e-9
    inputs = [x.clone().requires_grad_() for x in (t, zeros)]
    first = torch.autograd.grad(squares(*inputs), inputs, create_graph=True)
    try:
        torch.autograd.grad(first[0] + first[1].sum(), inputs)
    except RuntimeError as error:
        print(f"{name}, autograd.grad by both: expected numbers, RuntimeError: {error}")
        wrong = True
x = torch.tensor([[[1.0, 2.0]], [[3.0, 5.0]]], dtype=torch.float64)
mean, variance, bias = torch.zeros(1).double(), torch.ones(1).double(), torch.zeros(1).double()
for name, normed in (
    ("batch_norm, training", lambda w, b: nn.batch_norm(x, None, None, w, b, training=True)),
    ("batch_norm", lambda w, b: nn.batch_norm(x, mean, variance, w, b)),
    ("instance_norm", lambda w, b: nn.instance_norm(x, weight=w, bias=b)),
    ("group_norm", lambda w, b: nn.group_norm(x, 1, w, b)),
):
    for weight in (torch.ones(1).double(), None):
        what = f"{name}, {'no weight' if weight is None else 'a weight of one'}: expected 8, got"
        try:
            got = torch.autograd.functional.hessian(lambda b, w=weight, f=normed: (f(w, b) ** 2).sum(), bias).item()
        except RuntimeError as error:
            print(f"{what} RuntimeError: {error}")
            wrong = True
        else:
            print(f"{what} {got:.12f}")
            wrong = wrong or abs(got - 8.0) > 1e-9
sys.exit(int(wrong))
