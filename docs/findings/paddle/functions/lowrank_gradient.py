"""The gradient of paddle.linalg.svd_lowrank and pca_lowrank ends the process.

The singular values of diag(3, 2) have the sum of its entries, so that the gradient of the sum is the identity. Each gradient is computed in a process
of its own. Prints expected and got; exits with 1 while they differ.
"""

import subprocess
import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

if sys.argv[1:]:
    x = paddle.to_tensor([[3.0, 0.0], [0.0, 2.0]], "float64", stop_gradient=False)
    how = {"center": False} if sys.argv[1] == "pca_lowrank" else {}
    singular_values = getattr(paddle.linalg, sys.argv[1])(x, q=2, **how)[1]
    print([round(g, 9) + 0.0 for g in paddle.grad([singular_values.sum()], [x])[0].numpy().ravel().tolist()])
    sys.exit(0)
wrong = False
for name in ("svd_lowrank", "pca_lowrank"):
    run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True)
    got = run.stdout.strip().splitlines()[-1] if run.returncode == 0 else f"the process ended with code {run.returncode}"
    print(f"{name}: expected [1.0, 0.0, 0.0, 1.0], got {got}")
    wrong = wrong or got != "[1.0, 0.0, 0.0, 1.0]"
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
