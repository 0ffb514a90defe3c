"""The gradient of torch.addcdiv by the dividend raises where the divisor is an integer.

    addcdiv(x, a, b) = x + a / b, so its derivative by a is 1 / b

The value and forward mode are right. Prints expected and got, and exits with 1 while it raises.
"""

import sys

import torch

x = torch.tensor(0.5, dtype=torch.float64)
a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
b = torch.tensor(4)
value = torch.addcdiv(x, a, b)
forward = torch.func.jvp(lambda a: torch.addcdiv(x, a, b), (a.detach(),), (torch.ones_like(a),))[1]
print(f"torch {torch.__version__}: value {value.item()}, expected 1.25; forward mode {forward.item()}")
try:
    (got,) = torch.autograd.grad(value, a)
except RuntimeError as error:
    print("expected 0.25, RuntimeError:", str(error)[:90])
    sys.exit(1)
print("expected 0.25, got", got.item())
sys.exit(int(got.item() != 0.25))
