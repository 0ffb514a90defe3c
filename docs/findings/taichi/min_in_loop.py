"""The gradient of ti.min and ti.max in a loop, of an operand computed there: it goes to the wrong operand, silently.

Two times acc = min(sin(acc), 0.5) from acc = 2 x: at x = 0.5 the first trip takes 0.5, so the derivative is 0. The backward pass compares what the last trip compared:
it takes sin(acc) in both. The same by an if is right, and so is the loop that ti.static unrolls.
Prints expected and got, and exits with 1 while they differ, 125 where Taichi is missing.
"""

import math
import sys

try:
    import taichi as ti
except ImportError:
    sys.exit(125)

ti.init(arch=ti.cpu, default_fp=ti.f64, offline_cache=False, log_level=ti.ERROR)
x = ti.field(ti.f64, shape=(), needs_grad=True)
y = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.kernel
def by_if():
    for _p in range(1):
        acc = 2.0 * x[None]
        for _i in range(2):
            t = ti.sin(acc)
            acc = 0.5
            if t < 0.5:
                acc = t
        y[None] = acc


@ti.kernel
def unrolled():
    for _p in range(1):
        acc = 2.0 * x[None]
        for _i in ti.static(range(2)):
            acc = ti.min(ti.sin(acc), 0.5)
        y[None] = acc


@ti.kernel
def minimum():
    for _p in range(1):
        acc = 2.0 * x[None]
        for _i in range(2):
            acc = ti.min(ti.sin(acc), 0.5)
        y[None] = acc


@ti.kernel
def maximum():
    for _p in range(1):
        acc = 0.4 * x[None]
        for _i in range(2):
            acc = ti.max(1.5 * ti.sin(acc), 0.6)
        y[None] = acc


wrong = False
at_least = 1.5 * math.sin(0.6)
for kernel, value in ((by_if, math.sin(0.5)), (unrolled, math.sin(0.5)), (minimum, math.sin(0.5)), (maximum, at_least)):
    x[None], x.grad[None] = 0.5, 0.0
    kernel()
    y.grad[None] = 1.0
    kernel.grad()
    got = x.grad[None]
    holds = math.isclose(y[None], value) and got == 0.0
    wrong = wrong or not holds
    print(f"{kernel.__name__}: value {y[None]}, expected 0.0, got {got}{'' if holds else '   wrong'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
