"""The gradient through a local vector that is read at an index which is not constant: only one entry has one, and that is a wrong number.

The product of the entries of (0.5, 0.25, 2), in a loop, has the derivatives (0.5, 1, 0.125), and the sum of their squares (1, 0.5, 4). The same loops unrolled by
qd.static, where every index is a constant, are right. Forward mode fails with an assertion of the compiler ("!operand->is<AllocaStmt>()").
Prints expected and got, and exits with 1 while they differ, 125 where Quadrants is missing.
"""

import math
import sys

try:
    import quadrants as qd
except ImportError:
    sys.exit(125)

qd.init(arch=qd.cpu, ad_stack_experimental_enabled=True, default_fp=qd.f64, offline_cache=False, log_level=qd.ERROR)
x = qd.field(qd.f64, shape=3, needs_grad=True)
y = qd.field(qd.f64, shape=(), needs_grad=True)


@qd.kernel
def product():
    for _p in range(1):
        v = qd.Vector([x[0], x[1], x[2]])
        acc = 1.0
        for i in range(3):
            acc = acc * v[i]
        y[None] = acc


@qd.kernel
def squares():
    for _p in range(1):
        v = qd.Vector([x[0], x[1], x[2]])
        acc = 0.0
        for i in range(3):
            acc = acc + v[i] * v[i]
        y[None] = acc


@qd.kernel
def unrolled():
    for _p in range(1):
        v = qd.Vector([x[0], x[1], x[2]])
        acc = 1.0
        for i in qd.static(range(3)):
            acc = acc * v[i]
        y[None] = acc


numbers = [0.5, 0.25, 2.0]
wrong = False
for kernel, value, expected in (
    (unrolled, 0.25, [0.5, 1.0, 0.125]),
    (product, 0.25, [0.5, 1.0, 0.125]),
    (squares, 4.3125, [1.0, 0.5, 4.0]),
):
    for k, number in enumerate(numbers):
        x[k] = number
        x.grad[k] = 0.0
    kernel()
    y.grad[None] = 1.0
    kernel.grad()
    got = [x.grad[k] for k in range(3)]
    holds = y[None] == value and all(map(math.isclose, got, expected))
    wrong = wrong or not holds
    print(f"{kernel.__name__}: value {y[None]}, expected {expected}, got {got}{'' if holds else '   wrong'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
