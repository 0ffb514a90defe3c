"""Reverse mode of Taichi through a loop of one trip that exchanges two variables: the adjoint of a product reads what a variable holds after the
exchange.

    a, b = x, 2 x; once: a, b = b, a x; a + b = 2 x + x^2, with the derivative 2 + 2 x = 3 at x = 0.5.

Written with `t = a` in between. What comes back is 3.5: the factor of x is taken for the new a, 1, where it is the old one, 0.5.
Prints expected and got, and exits with 1 while they differ, 125 where Taichi is missing.
"""

import sys

try:
    import taichi as ti
except ImportError:
    sys.exit(125)

ti.init(arch=ti.cpu, default_fp=ti.f64, offline_cache=False, log_level=ti.ERROR)
x = ti.field(ti.f64, shape=(), needs_grad=True)
y = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.kernel
def once():
    for _p in range(1):
        a = x[None]
        b = 2.0 * x[None]
        for _i in range(1):
            t = a
            a = b
            b = t * x[None]
        y[None] = a + b


@ti.kernel
def unrolled():
    for _p in range(1):
        a = x[None]
        b = 2.0 * x[None]
        for _i in ti.static(range(1)):
            t = a
            a = b
            b = t * x[None]
        y[None] = a + b


wrong = False
for name, kernel in (("loop", once), ("unrolled", unrolled)):
    x[None], y[None], x.grad[None], y.grad[None] = 0.5, 0.0, 0.0, 1.0
    kernel()
    kernel.grad()
    print(f"{name}: value {y[None]}, expected 3.0, got {x.grad[None]}")
    wrong = wrong or abs(x.grad[None] - 3.0) > 1e-12
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
