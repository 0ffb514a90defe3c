"""torch.embedding_bag with a matrix of indices and mode 2 (max) of float64 ends the process; it should raise, as mode 0 does.

nn.functional.embedding_bag flattens such a matrix. The call is made in a process of its own. Exits with 1 while it is ended by a signal.
"""

import subprocess
import sys

import torch

CALL = (
    "import torch; torch.embedding_bag(torch.ones(4, 2, dtype=torch.float64), torch.tensor([[0, 1, 2], [2, 3, 3]]),"
    " torch.tensor([0, 2]), False, {})"
)
wrong = False
for mode in (0, 2):
    got = subprocess.run([sys.executable, "-c", CALL.format(mode)], capture_output=True).returncode
    print(f"torch {torch.__version__}: mode {mode}: expected exit code 1 (an exception), got {got}")
    wrong = wrong or got < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
