"""The gradient of paddle.linalg.qr and of lu_unpack ends the process (SIGSEGV) where not all of their results are used.

    For the 1 x 1 matrix [[a]] with a > 0, the absolute value of r is a, and so is u of the factorization p l u: derivatives of size 1.

Each gradient is computed in a process of its own. Prints expected and got, and exits with 1 while they differ.
"""

import subprocess
import sys

try:
    import paddle
except ImportError:
    sys.exit(125)


def gradient(name):
    a = paddle.full([1, 1], 0.5, "float64")
    a.stop_gradient = False
    if name == "qr, both":
        q, r = paddle.linalg.qr(a)
        y = q * r
    elif name == "qr, r":
        r = paddle.linalg.qr(a)[1]
        y = paddle.abs(r)
    elif name == "lu, all":
        p, lower, upper = paddle.linalg.lu_unpack(*paddle.linalg.lu(a))
        y = lower * upper
    else:
        y = paddle.linalg.lu_unpack(*paddle.linalg.lu(a))[2]
    return paddle.grad([y], [a])[0].item()


if sys.argv[1:]:
    print(gradient(sys.argv[1]))
    sys.exit(0)
wrong = False
for name in ("qr, both", "qr, r", "lu, all", "lu, u"):
    run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True)
    got = float(run.stdout) if run.returncode == 0 else f"the process ended with code {run.returncode}"
    wrong = wrong or got != 1.0
    print(f"paddle {paddle.__version__}: {name}: expected 1.0, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
