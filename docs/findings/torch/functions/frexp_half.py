"""The tangent of torch.frexp is float32 where its argument is float16 or bfloat16.

The mantissa of 2.5 is 2.5 / 4, along 1 the tangent is 0.25. The number is right. Prints the dtypes, and exits with 1
while one differs from that of the value.
"""

import sys

import torch

wrong = False
for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
    x = torch.tensor(2.5, dtype=dtype)
    value, got = torch.func.jvp(lambda x: torch.frexp(x)[0], (x,), (torch.ones_like(x),))
    wrong |= got.dtype != value.dtype
    print(f"expected {value.dtype}, got {got.dtype} ({got.item()})")
sys.exit(int(wrong))
