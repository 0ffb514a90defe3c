"""The gradient of torch.scatter_reduce without the entry itself is too small where that entry is equal to the
result; so is that of index_reduce.

    scatter_reduce([2, 5], 0, [0, 0], y, "amax", include_self=False) is [max(y0, y1), 5]

At y = [2, 1] its first entry is y0, and around y, too: the gradient is [1, 0]. The 2 that is replaced does
not count. It is the same of "amin" at y = [2, 3], and of index_reduce. Forward mode is right. Prints expected
and got, and exits with 1 while they differ.
"""

import sys
import warnings

import torch

warnings.simplefilter("ignore")  # index_reduce is in beta
x = torch.tensor([2.0, 5.0], dtype=torch.float64)
index = torch.tensor([0, 0])
wrong = False
print(f"torch {torch.__version__}")
for name, reduce in (("scatter_reduce", torch.scatter_reduce), ("index_reduce", torch.index_reduce)):
    for kind, other in (("amax", 1.0), ("amin", 3.0)):
        y = torch.tensor([2.0, other], dtype=torch.float64, requires_grad=True)
        result = reduce(x, 0, index, y, kind, include_self=False)
        got = torch.autograd.grad(result[0], y)[0].tolist()
        right = got == [1.0, 0.0]
        print(f"{name}, {kind}: expected [1.0, 0.0], got {got}{'' if right else '   wrong'}")
        wrong |= not right
sys.exit(int(wrong))
