"""Higher derivatives of torch.special.i0 and i1 at 0 and next to it, where both functions are smooth.

The series are i0(x) = 1 + x^2/4 + x^4/64 + ... and i1(x) = x/2 + x^3/16 + ..., so the fourth derivative of i0
and the third one of i1 are 3/8 at 0, and 3/8 to 16 digits at 1e-9. Prints expected and got; exits with 1
while they differ.
"""

import sys

try:
    import torch
except ImportError:
    print("this script needs torch")
    sys.exit(125)

wrong = False
for function, order in ((torch.special.i0, 4), (torch.special.i1, 3)):
    for at in (0.0, 1e-9):
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        y = function(x)
        for _ in range(order):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
        print(f"{function.__name__}, order {order}, at {at}  expected 0.375  got {y.item()}")
        wrong = wrong or abs(y.item() - 0.375) > 1e-6
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
