"""Forward mode of torch._foreach_maximum and _foreach_minimum by a number.

max(x, 3) at x = 1 is 3, whatever x does nearby: its derivative is 0. min(x, 3) at x = 5 likewise. Prints
expected and got, by forward and by reverse mode, and exits with 1 while they differ.
"""

import sys

import torch

is_right = True
for name, at in (("_foreach_maximum", 1.0), ("_foreach_minimum", 5.0)):
    function = getattr(torch, name)
    for number in (3.0, [3.0]):

        def f(x: torch.Tensor) -> torch.Tensor:
            return function([x], number)[0]

        x, one = torch.tensor(at, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)
        forward, reverse = torch.func.jvp(f, (x,), (one,))[1].item(), torch.func.grad(f)(x).item()
        print(f"{name}([{at}], {number}): forward {forward}, reverse {reverse}; expected 0")
        is_right = is_right and forward == 0.0 and reverse == 0.0
print(f"torch {torch.__version__}")
sys.exit(0 if is_right else 1)
