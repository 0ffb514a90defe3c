"""The gradient of paddle.linalg.solve and triangular_solve by one of their operands, where the other one is a constant, reads memory that nobody wrote.

    x = solve(a, b) = b / a for 1 x 1 matrices, so that dx/da = -b / a^2 and dx/db = 1 / a.

Where both operands are differentiated, the gradient is right. The kernel computes b's cotangent only `if (dy)`, and a's from it in any case
(paddle/phi/kernels/impl/solve_grad_kernel_impl.h); by b alone, it copies a's to nowhere, and the process may end. Each gradient is computed
in a process of its own. Prints expected and got, and exits with 1 while they differ.
"""

import subprocess
import sys

try:
    import paddle
except ImportError:
    sys.exit(125)


def gradient(name, names):
    tensors = {"a": paddle.full([1, 1], 0.5, "float64"), "b": paddle.full([1, 1], 3.0, "float64")}
    for letter in names:
        tensors[letter].stop_gradient = False
    x = getattr(paddle.linalg, name)(tensors["a"], tensors["b"])
    return [g.item() for g in paddle.grad([x], [tensors[n] for n in names])]


if sys.argv[1:]:
    print(*gradient(*sys.argv[1:]))
    sys.exit(0)
wrong = False
for name in ("solve", "triangular_solve"):
    for names, expected in (("ab", [-12.0, 2.0]), ("a", [-12.0]), ("b", [2.0])):
        run = subprocess.run([sys.executable, __file__, name, names], capture_output=True, text=True)
        got = (
            [float(word) for word in run.stdout.split()]
            if run.returncode == 0
            else f"the process ended with code {run.returncode}"
        )
        wrong = wrong or got != expected
        print(f"paddle {paddle.__version__}: {name} by {' and '.join(names)}: expected {expected}, got {got}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
