"""The gradient of torch.linalg.det is 0 at a singular matrix of rank n - 1; at second order, reverse over forward, it is 1e16 where it should be 1.

The gradient of det [[a, b], [c, d]] is [[d, -c], [-b, a]] at any matrix, and the gradient of its trace a + d is the identity. With
create_graph=True torch takes another way, by singular values, and is right.
Prints expected and got, and exits with 1 while they differ.
"""

import sys

import torch
from torch.func import grad, jacfwd, jvp

matrix = torch.tensor([[2.0, 4.0], [4.0, 8.0]], dtype=torch.float64)
(a, b), (c, d) = matrix.tolist()
first = torch.tensor([[d, -c], [-b, a]], dtype=torch.float64)
identity = torch.eye(2, dtype=torch.float64)
x = matrix.clone().requires_grad_()
answers = [
    ("first derivative, autograd.grad", first, torch.autograd.grad(torch.linalg.det(x), x)[0]),
    ("first derivative, autograd.grad(create_graph=True)", first, torch.autograd.grad(torch.linalg.det(x), x, create_graph=True)[0].detach()),
    ("first derivative, jacfwd", first, jacfwd(torch.linalg.det)(matrix)),
    ("gradient of the jvp along the identity", identity, grad(lambda m: jvp(torch.linalg.det, (m,), (identity,))[1])(matrix)),
]
wrong = False
print(f"torch {torch.__version__}, det at {matrix.tolist()}")
for name, expected, got in answers:
    print(f"{name}: expected {expected.tolist()}, got {got.tolist()}")
    wrong |= not torch.allclose(got, expected, rtol=1e-9, atol=1e-9)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
