"""torch.func.jvp of an operator of torch.library.custom_op is 0, though its backward is registered.

The derivative of sin at 0.5 is cos(0.5). Reverse mode is right, and a torch.autograd.Function without a jvp raises in
forward mode. Prints what forward mode says, and exits with 1 while it is a number that is wrong.
"""

import math
import sys

import torch


@torch.library.custom_op("gradfuzz_findings::sine", mutates_args=())
def sine(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x)


sine.register_autograd(
    lambda ctx, g: g * torch.cos(*ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)
x = torch.tensor(0.5, dtype=torch.float64)
leaf = x.clone().requires_grad_()
print(f"expected {math.cos(0.5)}; reverse mode {torch.autograd.grad(sine(leaf), leaf)[0].item()}")
wrong = False
ways = {
    "torch.func.jvp": lambda: torch.func.jvp(sine, (x,), (torch.ones_like(x),))[1],
    "torch.func.jacfwd": lambda: torch.func.jacfwd(sine)(x),
    "torch.func.jvp of sin(x) + sine(x)": lambda: torch.func.jvp(
        lambda x: (torch.sin(x) + sine(x)) / 2.0, (x,), (torch.ones_like(x),)
    )[1],
}
for name, ask in ways.items():
    try:
        got = ask().item()
    except (RuntimeError, NotImplementedError) as error:
        print(f"{name}: {type(error).__name__}")
        continue
    wrong |= abs(got - math.cos(0.5)) > 1e-12
    print(f"{name}: {got}")
sys.exit(int(wrong))
