"""torch.lstm ends the process where the cell state has fewer layers than the hidden state.

The float32 kernel of the same call says "select(): index 1 out of range". Runs each in a process of its own,
prints how it ended, and exits with 1 while a signal ends one.
"""

import subprocess
import sys

import torch

CODE = """
import torch
dtype = torch.{dtype}
x, hidden, cell = (torch.zeros(n, 1, 1, dtype=dtype) for n in (1, 2, 1))
weights = [torch.zeros(4, 1, dtype=dtype)] * 4
try:
    torch.lstm(x, [hidden, cell], weights, False, 2, 0.0, False, False, False)
except (RuntimeError, IndexError) as error:
    print(str(error)[:60])
"""
killed = False
for dtype in ("float32", "float64"):
    ran = subprocess.run([sys.executable, "-c", CODE.format(dtype=dtype)], capture_output=True, text=True)
    answer = ran.stdout.strip() or "no answer"
    print(f"torch {torch.__version__}: {dtype}: exit code {ran.returncode}, {answer}")
    killed |= ran.returncode < 0
print("expected exit code 0 and an error")
sys.exit(1 if killed else 0)
