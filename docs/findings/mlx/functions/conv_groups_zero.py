"""Convolutions of MLX with groups=0 end the process by a division by zero; they should raise.

The calls are made in processes of their own. Exits with 1 while one of them is ended by a signal.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("mlx") is None:
    print("this script needs mlx")
    sys.exit(125)

CALLS = (
    "mx.eval(mx.conv2d(mx.ones([1, 3, 3, 1]), mx.ones([1, 1, 1, 1]), groups=0))",
    "mx.eval(mx.conv_transpose2d(mx.ones([1, 3, 3, 1]), mx.ones([1, 1, 1, 1]), groups=0))",
    "mx.eval(mx.conv_transpose3d(mx.ones([2, 2, 2, 2]), mx.ones([2, 2, 2, 2]), groups=0))",
    "mx.eval(mx.conv3d(mx.ones([2, 2, 3]), mx.ones([3, 2, 3]), 3, groups=0))",
)
wrong = False
for call in CALLS:
    ended = subprocess.run([sys.executable, "-c", f"import mlx.core as mx; {call}"], capture_output=True)
    print(call, "-> expected exit code 1 (an exception), got", ended.returncode)
    wrong = wrong or ended.returncode < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
