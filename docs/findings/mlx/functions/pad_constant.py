"""Derivatives of mlx.core.pad by the constant that is filled in are those by the array; by both the process ends.

A 2 by 2 matrix with a border of the constant c has 12 entries c, so that the derivative of the sum by c is 12. The calls
are made in processes of their own. Prints expected and got, and exits with 1 while they differ.
"""

import importlib.util
import subprocess
import sys

if importlib.util.find_spec("mlx") is None:
    print("this script needs mlx")
    sys.exit(125)

START = """
import mlx.core as mx
x, c = mx.ones([2, 2]), mx.array(1.5)
f = lambda x, c: mx.pad(x, (1, 1), constant_values=c).sum()
"""
CALLS = {
    "by x": ("print(mx.grad(f)(x, c).tolist())", "[[1.0, 1.0], [1.0, 1.0]]"),
    "by c": ("print(mx.grad(f, argnums=1)(x, c).tolist())", "12.0"),
    "by c, forward": ("print(mx.jvp(lambda c: f(x, c), [c], [mx.ones_like(c)])[1][0].tolist())", "12.0"),
    "by both": ("print(mx.grad(f, argnums=(0, 1))(x, c)[1].tolist())", "12.0"),
}
wrong = False
for name, (call, expected) in CALLS.items():
    ended = subprocess.run([sys.executable, "-c", START + call], capture_output=True, text=True)
    got = ended.stdout.strip() or (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
    wrong |= got != expected
    print(f"{name}: expected {expected}, got {got}{'' if got == expected else '   wrong'}")
sys.exit(int(wrong))
