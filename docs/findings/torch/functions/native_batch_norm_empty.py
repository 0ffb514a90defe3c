"""The backward pass of torch.native_batch_norm ends the process where the batch is empty.

    x of shape (0, 1), with running statistics: the value is empty, and so is the gradient

torch.nn.functional.batch_norm of the same is right. Runs each in a process of its own, prints how it ended,
and exits with 1 while a signal ends one.
"""

import subprocess
import sys

import torch

CODE = """
import torch
x = torch.zeros(0, 1, requires_grad=True)
mean, variance = torch.zeros(1), torch.ones(1)
{call}.sum().backward()
print(tuple(x.grad.shape))
"""
CALLS = (
    "torch.nn.functional.batch_norm(x, mean, variance)",
    "torch.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5)[0]",
)
killed = False
for call in CALLS:
    ran = subprocess.run([sys.executable, "-c", CODE.format(call=call)], capture_output=True, text=True)
    answer = ran.stdout.strip() or "no answer"
    print(f"torch {torch.__version__}: {call}: exit code {ran.returncode}, {answer}")
    killed |= ran.returncode < 0
print("expected exit code 0 and (0, 1)")
sys.exit(1 if killed else 0)
