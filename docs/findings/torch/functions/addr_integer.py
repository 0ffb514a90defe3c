"""The gradients of torch.addr and torch.addcdiv raise where an operand has another dtype.

    addr(m, v, w) = m + v w', so the gradient of its sum by v is the sum of w in each entry
    addcdiv(x, a, b) = x + a / b, so its derivative by a is 1 / b

The values and forward mode promote the dtypes, and so does torch.outer in reverse mode. Prints expected and
got, and exits with 1 while one raises.
"""

import sys

import torch

m = torch.zeros(2, 2, dtype=torch.float64)
v = torch.tensor([1.0, 2.0], dtype=torch.float64)
operands = (torch.tensor([3, 4]), torch.tensor([True, True]), torch.tensor([3.0, 4.0], dtype=torch.float32))
asked = [
    (f"addr, {w.dtype}", lambda v, w=w: torch.addr(m, v, w).sum(), [float(w.sum())] * 2) for w in operands
]
asked.append(("addcdiv, torch.int64", lambda a: torch.addcdiv(v, a, torch.tensor([4, 2])).sum(), [0.25, 0.5]))
raised = False
for name, function, expected in asked:
    forward = torch.func.jacfwd(function)(v).tolist()
    try:
        got = torch.func.grad(function)(v).tolist()
    except RuntimeError as error:
        got = f"RuntimeError: {str(error)[:80]}"
    print(f"torch {torch.__version__}: {name}: expected {expected}, jacfwd {forward}, grad {got}")
    raised |= got != expected
sys.exit(1 if raised else 0)
