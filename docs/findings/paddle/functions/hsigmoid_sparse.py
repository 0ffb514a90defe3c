"""The gradient of paddle.nn.functional.hsigmoid_loss with is_sparse=True ends the process.

The loss of class 0 of 3 depends on the root of a tree alone, with the logit w x. Its gradient by the weights is returned with
is_sparse=False. The call is made in a process of its own. Exits with 1 while that is ended by a signal.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("paddle") is None:
    print("this script needs paddle")
    sys.exit(125)

CODE = """
import paddle
x, weight, bias = paddle.ones([1, 1]), paddle.ones([2, 1]), paddle.zeros([2, 1])
x.stop_gradient = weight.stop_gradient = False
loss = paddle.nn.functional.hsigmoid_loss(x, paddle.to_tensor([[0]]), 3, weight, bias, is_sparse={sparse})
print("loss", loss.numpy().tolist())
loss.sum().backward()
print("gradient", weight.grad.numpy().tolist())
"""
wrong = False
for sparse in (False, True):
    ended = subprocess.run([sys.executable, "-c", CODE.format(sparse=sparse)], capture_output=True, text=True)
    print(f"is_sparse={sparse}: expected exit code 0, got {ended.returncode}; {' '.join(ended.stdout.split())[:60]}")
    wrong = wrong or ended.returncode < 0
sys.exit(int(wrong))
