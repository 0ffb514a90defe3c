"""torch.func.vmap over no instances raises IndexError where a mapped scalar meets a number or a tensor that is not mapped; torch.func.jacfwd of such a function, too.

The answer has no entries: shape (0,). Two mapped scalars are answered, and so is a mapped vector.
Exits with 1 while one of them raises.
"""

import sys

import torch
from torch.func import jacfwd, vmap

one, scalars, vectors = torch.tensor(1.0), torch.zeros(0), torch.zeros(0, 3)
cases = (
    ("mapped scalar + number of Python", lambda: vmap(lambda a: a + 1.0)(scalars), (0,)),
    ("mapped scalar + mapped scalar", lambda: vmap(lambda a: a + a)(scalars), (0,)),
    ("mapped vector + tensor", lambda: vmap(lambda a: a + one)(vectors), (0, 3)),
    ("mapped scalar + tensor", lambda: vmap(lambda a: a + one)(scalars), (0,)),
    ("jacfwd of the sum of no entries + tensor", lambda: jacfwd(lambda a: a.sum() + one)(scalars), (0,)),
)
raised = False
for name, call, expected in cases:
    try:
        got = tuple(call().shape)
    except IndexError as error:
        got = f"IndexError: {error}"
    raised |= got != expected
    print(f"torch {torch.__version__}: {name}: expected the shape {expected}, got {got}")
sys.exit(1 if raised else 0)
