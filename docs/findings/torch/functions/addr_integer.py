"""The gradient of torch.addr raises where one of the vectors has another dtype.

    addr(m, v, w) = m + v w', so the gradient of its sum by v is the sum of w in each entry

The value and forward mode promote the dtypes, and so does torch.outer in reverse mode. Prints expected and
got, and exits with 1 while one raises.
"""

import sys

import torch

m = torch.zeros(2, 2, dtype=torch.float64)
v = torch.tensor([1.0, 2.0], dtype=torch.float64)
raised = False
for w in (torch.tensor([3, 4]), torch.tensor([True, True]), torch.tensor([3.0, 4.0], dtype=torch.float32)):
    expected = [float(w.sum())] * 2
    forward = torch.func.jacfwd(lambda v, w=w: torch.addr(m, v, w).sum())(v).tolist()
    try:
        got = torch.func.grad(lambda v, w=w: torch.addr(m, v, w).sum())(v).tolist()
    except RuntimeError as error:
        got = f"RuntimeError: {str(error)[:80]}"
    print(f"torch {torch.__version__}: {w.dtype}: expected {expected}, jacfwd {forward}, grad {got}")
    raised |= got != expected
sys.exit(1 if raised else 0)
