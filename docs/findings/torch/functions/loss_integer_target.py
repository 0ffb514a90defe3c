"""Forward mode of mse_loss, smooth_l1_loss and huber_loss raises where the target has integers or booleans,
and so does reverse mode of huber_loss.

    The sum of (x - t)^2 along v: 2 (x - t) v. Where |x - t| < 1 the other two are half of it.

The values are right. Prints expected and got, and exits with 1 while one raises.
"""

import sys

import torch
from torch.nn import functional

x = torch.tensor([0.25, 0.5], dtype=torch.float64)
along = torch.tensor([1.0, -3.0], dtype=torch.float64)
slopes = {"mse_loss": 2.0, "smooth_l1_loss": 1.0, "huber_loss": 1.0}
wrong = False
print(f"torch {torch.__version__}")
for target in (torch.tensor([1, 0]), torch.tensor([True, False])):
    for name, factor in slopes.items():
        loss = getattr(functional, name)
        expected = (factor * (x - target.double()) * along).sum()
        asked = {
            "forward": lambda f: torch.func.jvp(f, (x,), (along,))[1],
            "reverse": lambda f: (torch.func.grad(f)(x) * along).sum(),
        }
        for mode, ask in asked.items():
            try:
                got = ask(lambda x, loss=loss, target=target: loss(x, target, reduction="sum"))
            except RuntimeError as error:
                print(f"{name}, {target.dtype}, {mode}: expected {expected}, RuntimeError: {str(error)[:70]}")
                wrong = True
            else:
                print(f"{name}, {target.dtype}, {mode}: expected {expected}, got {got}")
                wrong = wrong or abs(got - expected) > 1e-12
sys.exit(int(wrong))
