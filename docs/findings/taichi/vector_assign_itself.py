"""Reverse mode of Taichi ends the process where an entry of a local vector is assigned in a loop at the loop's index.

    v = (x0, x1); for i in range(n): v[i] = v[i]; the sum 2 v[0] + v[1] has the gradient (2, 1).

The value is right. The kernel is made in a process of its own. Exits with 1 while that is ended by a signal, 125 where Taichi is missing.
"""

import subprocess
import sys

try:
    import taichi as ti
except ImportError:
    sys.exit(125)


def gradient():
    ti.init(arch=ti.cpu, default_fp=ti.f64, offline_cache=False, log_level=ti.ERROR)
    x = ti.field(ti.f64, shape=2, needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def f():
        for _p in range(1):
            v = ti.Vector([x[0], x[1]])
            for i in range(n[None]):
                v[i] = v[i]
            y[None] += 2.0 * v[0] + v[1]

    n[None], x[0], x[1], y.grad[None] = 2, 0.5, 0.25, 1.0
    f()
    f.grad()
    return [x.grad[0], x.grad[1]]


if sys.argv[1:]:
    print(gradient())
    sys.exit(0)
run = subprocess.run([sys.executable, __file__, "run"], capture_output=True, text=True)
got = run.stdout.strip().splitlines()[-1] if run.returncode == 0 else f"the process ended with code {run.returncode}"
print(f"expected [2.0, 1.0], got {got}")
wrong = got != "[2.0, 1.0]"
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
