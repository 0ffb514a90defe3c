"""paddle.nn.functional.ctc_loss where every label of the batch is empty ends the process.

Of equal logits of three classes at two times an empty label has the loss 2 log(3): both times are blank. Beside a label that is not empty it is right.
Each call is made in a process of its own. Prints expected and got; exits with 1 while they differ.
"""

import math
import subprocess
import sys

try:
    import paddle
except ImportError as error:
    print(error)
    sys.exit(125)

if sys.argv[1:]:
    lengths = [int(word) for word in sys.argv[1:]]
    n = len(lengths)
    labels = paddle.ones([n, 1], "int32")
    times = paddle.full([n], 2, "int64")
    loss = paddle.nn.functional.ctc_loss(
        paddle.ones([2, n, 3], "float64"), labels, times, paddle.to_tensor(lengths, "int64"), reduction="none"
    )
    print(*loss.numpy().ravel().tolist())
    sys.exit(0)
wrong = False
for lengths in ((0, 1), (0,)):
    expected = [2.0 * math.log(3.0) if n == 0 else math.log(3.0) for n in lengths]
    run = subprocess.run([sys.executable, __file__, *map(str, lengths)], capture_output=True, text=True)
    got = [float(word) for word in run.stdout.split()] if run.returncode == 0 else f"the process ended with code {run.returncode}"
    print(f"lengths {lengths}: expected {expected}, got {got}")
    wrong = wrong or isinstance(got, str) or any(abs(a - b) > 1e-6 for a, b in zip(got, expected))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
