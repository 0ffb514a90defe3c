"""The gradient through an expression of a local variable that does not change in a loop: it counts one trip only, silently.

Three times acc = acc + sin(v), with v = x read before the loop, has the derivative 3 cos(x); what comes back is cos(x). Written with x[None] in the loop in place of
the variable it is right, and so is the loop that qd.static unrolls.
Prints expected and got, and exits with 1 while they differ, 125 where Quadrants is missing.
"""

import math
import sys

try:
    import quadrants as qd
except ImportError:
    sys.exit(125)

qd.init(arch=qd.cpu, ad_stack_experimental_enabled=True, default_fp=qd.f64, offline_cache=False, log_level=qd.ERROR)
x = qd.field(qd.f64, shape=(), needs_grad=True)
y = qd.field(qd.f64, shape=(), needs_grad=True)


@qd.kernel
def of_the_field():
    for _p in range(1):
        acc = 0.5
        for _i in range(3):
            acc = acc + qd.sin(x[None])
        y[None] = acc


@qd.kernel
def unrolled():
    for _p in range(1):
        v = x[None]
        acc = 0.5
        for _i in qd.static(range(3)):
            acc = acc + qd.sin(v)
        y[None] = acc


@qd.kernel
def of_a_variable():
    for _p in range(1):
        v = x[None]
        acc = 0.5
        for _i in range(3):
            acc = acc + qd.sin(v)
        y[None] = acc


@qd.kernel
def power():
    for _p in range(1):
        v = x[None] * 2.0
        acc = 1.0
        for _i in range(3):
            acc = acc * v
        y[None] = acc


at = 0.4
cases = [(k, 0.5 + 3 * math.sin(at), 3 * math.cos(at)) for k in (of_the_field, unrolled, of_a_variable)]
cases.append((power, 8 * at**3, 24 * at**2))
wrong = False
for kernel, value, expected in cases:
    x[None], x.grad[None] = at, 0.0
    kernel()
    y.grad[None] = 1.0
    kernel.grad()
    got = x.grad[None]
    holds = math.isclose(y[None], value) and math.isclose(got, expected)
    wrong = wrong or not holds
    print(f"{kernel.__name__}: value {y[None]}, expected {expected}, got {got}{'' if holds else '   wrong'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
