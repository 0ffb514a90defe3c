"""The second derivative of torch.linalg.det is NaN at a matrix of zeros.

The determinant of t times the identity is t^2 for 2 x 2 matrices; its second derivative is 2 everywhere. Prints expected and got, and exits with 1
while they differ.
"""

import sys

import torch

wrong = False
for dtype in (torch.float64, torch.float32):
    t = torch.zeros((), dtype=dtype, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.linalg.det(t * torch.eye(2, dtype=dtype)), t, create_graph=True)
    (second,) = torch.autograd.grad(slope, t)
    print(f"{dtype}: expected 2.0, got {second.item()}")
    wrong = wrong or second.item() != 2.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
