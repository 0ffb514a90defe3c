"""paddle.linalg.lu_solve of stacks that do not fit never returns; it should raise.

The call is made in a process of its own, with 30 seconds. Exits with 1 while it does not end by itself.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("paddle") is None:
    print("this script needs paddle")
    sys.exit(125)

CALL = (
    "import paddle; paddle.linalg.lu_solve(paddle.ones([2, 2, 2], 'float64'),"
    " paddle.ones([2, 2, 2, 2], 'float64'), paddle.to_tensor([[0, 0], [0, 1]], 'int32'))"
)
try:
    got = subprocess.run([sys.executable, "-c", CALL], capture_output=True, timeout=30).returncode
except subprocess.TimeoutExpired:
    got = None
print("expected exit code 1 (an exception), got", "no end" if got is None else got)
wrong = got is None or got < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
