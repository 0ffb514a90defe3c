"""Second derivative of x**y by x and y at y = 0: torch returns 0.

    d/dy d/dx x**y = x**(y - 1) * (1 + y * log(x)), which is 1/x at y = 0.

torch's rule for the base puts 0 where the exponent is 0. That is the right value, but as a constant: differentiated once more by the exponent
it stays 0. So does a part of the third derivative of x**x at 1: it is 3, as x = 1 + h says in
exp((1 + h) log(1 + h)) = 1 + h + h^2 + h^3 / 2 + ... Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch

x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
y = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(x**y, x, create_graph=True)
(mixed,) = torch.autograd.grad(slope, y, allow_unused=True, materialize_grads=True)
print(f"torch {torch.__version__}: d2/dxdy x**y at x = 0.5, y = 0 is {mixed.item()}; expected 2.0")
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
derivative = x**x
for _ in range(3):
    (derivative,) = torch.autograd.grad(derivative, x, create_graph=True)
print(f"torch {torch.__version__}: third derivative of x**x at 1 is {derivative.item()}; expected 3.0")
wrong = abs(mixed.item() - 2.0) > 1e-12 or abs(derivative.item() - 3.0) > 1e-12
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
