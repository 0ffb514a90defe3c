"""Calls of Paddle with arguments that do not fit end the process, or do not end; they should raise, as paddle.fft.fft of a number does.

Each call is made in a process of its own, with 30 seconds. Exits with 1 while one of them is ended by a signal or does not end.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("paddle") is None:
    print("this script needs paddle")
    sys.exit(125)

CALLS = (
    "paddle.fft.fftn(paddle.to_tensor(1.5))",
    "paddle.linalg.vector_norm(paddle.to_tensor(-2.5), axis=-2)",
    "paddle.slice_scatter(paddle.zeros([3]), paddle.ones([3]), [0], [0], [3], [])",
    "paddle.select_scatter(paddle.zeros([2]), paddle.to_tensor(True), -2, 0)",
    "print(paddle.nn.functional.conv2d(paddle.ones([1, 1, 2, 2]), paddle.ones([1, 1, 2, 2]), dilation=4))",
    "print(paddle.nn.functional.pixel_shuffle(paddle.ones([2, 2, 2, 2]), -1, 'NHWC'))",
    "print(paddle.nn.functional.max_pool2d(paddle.ones([2, 1, 2, 2]), -1, return_mask=True))",
    "print(paddle.nn.functional.adaptive_max_pool2d(paddle.ones([1, 1, 4, 4]), -1))",
    "print(paddle.nn.functional.adaptive_avg_pool2d(paddle.ones([1, 1, 4, 4]), -1))",
    "x = paddle.ones([2, 2]); x.stop_gradient = False; paddle.grad([paddle.as_strided(x, (2, 2, 2), ()).sum()], [x])",
)
wrong = False
for call in CALLS:
    try:
        got = subprocess.run([sys.executable, "-c", f"import paddle; {call}"], capture_output=True, timeout=30).returncode
    except subprocess.TimeoutExpired:
        got = None
    print(call, "-> expected exit code 1 (an exception), got", "no end" if got is None else got)
    wrong = wrong or got is None or got < 0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
