"""torch.func.vmap of a convolution over no filters raises, and so does torch.func.jacrev of a convolution of no images.

A Jacobian of an output without entries has no rows: jacrev maps the backward pass over none of them. One call with no images is answered, and so is vmap
over one or more filters. Exits with 1 while one of them raises.
"""

import sys

import torch
from torch.func import jacfwd, jacrev, vmap


def conv(weight, images):
    return torch.nn.functional.conv1d(images, weight)


weight = torch.ones(1, 1, 2, dtype=torch.float64)
none, two = torch.zeros(0, 1, 4, dtype=torch.float64), torch.ones(2, 1, 4, dtype=torch.float64)
cases = (
    ("conv of no images", lambda: conv(weight, none), (0, 1, 3)),
    ("jacfwd, no images", lambda: jacfwd(conv)(weight, none), (0, 1, 3, 1, 1, 2)),
    ("jacrev, no images", lambda: jacrev(conv)(weight, none), (0, 1, 3, 1, 1, 2)),
    ("vmap over 3 filters, 2 images", lambda: vmap(lambda w: conv(w, two))(weight.expand(3, 1, 1, 2)), (3, 2, 1, 3)),
    ("vmap over no filters, 2 images", lambda: vmap(lambda w: conv(w, two))(weight.expand(0, 1, 1, 2)), (0, 2, 1, 3)),
)
raised = False
for name, call, expected in cases:
    try:
        got = tuple(call().shape)
    except (RuntimeError, IndexError) as error:
        got = f"{type(error).__name__}: {error}"
    raised |= got != expected
    print(f"torch {torch.__version__}: {name}: expected the shape {expected}, got {got}")
sys.exit(1 if raised else 0)
