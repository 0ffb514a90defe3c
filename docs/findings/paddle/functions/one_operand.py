"""The gradients of paddle.cross, linalg.cholesky_solve and broadcast_tensors by one of two tensors end the process.

By both tensors they are right. Each gradient is computed in a process of its own. Prints expected and got; exits with 1 while they differ.
"""

import subprocess
import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)


def tensor(values, is_free):
    return paddle.to_tensor(values, "float64", stop_gradient=not is_free)


def cross(is_free):
    a, b = tensor([1.0, 2.0, 3.0], True), tensor([1.0, 0.0, 2.0], is_free)
    return paddle.cross(a, b).sum(), [a, b][: 1 + is_free]


def cholesky_solve(is_free):
    b, factor = tensor([[1.0], [2.0]], True), tensor([[1.0, 0.0], [0.5, 1.0]], is_free)
    return paddle.linalg.cholesky_solve(b, factor).sum(), [b, factor][: 1 + is_free]


def broadcast_tensors(is_free):
    a, b = tensor([1.0], True), tensor([[1.0], [2.0]], is_free)
    return sum(y.sum() for y in paddle.broadcast_tensors([a, b])), [a, b][: 1 + is_free]


if sys.argv[1:]:
    total, inputs = globals()[sys.argv[1]](sys.argv[2] == "both")
    print(paddle.grad([total], inputs)[0].numpy().ravel().tolist())
    sys.exit(0)
wrong = False
for name, expected in (
    # the sum of a x b is a . (b x (1, 1, 1)) with b x (1, 1, 1) = (b1 - b2, b2 - b0, b0 - b1)
    ("cross", [-2.0, 1.0, 1.0]),
    # the inverse of [[1, 0.5], [0.5, 1.25]] is [[1.25, -0.5], [-0.5, 1]]: its columns' sums
    ("cholesky_solve", [0.75, 0.5]),
    ("broadcast_tensors", [2.0]),
):
    for which in ("both", "one"):
        run = subprocess.run([sys.executable, __file__, name, which], capture_output=True, text=True)
        got = run.stdout.strip().splitlines()[-1] if run.returncode == 0 else f"the process ended with code {run.returncode}"
        print(f"{name} by {which}: expected {expected}, got {got}")
        wrong = wrong or got != str(expected)
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
