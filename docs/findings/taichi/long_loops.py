"""The gradient of a loop of more than 30 trips at Taichi's default settings: a wrong number, or a process that dies.

The compiler keeps what a loop computes on a stack, of 32 entries where it does not find out how many are needed, and writes beyond its end without a word: what
comes of that differs from run to run. With ti.init(ad_stack_size=64) the gradient is right. Every gradient is asked for in a process of its own.
Prints expected and got, and exits with 1 while they differ, 125 where Taichi is missing.
"""

import math
import subprocess
import sys

from mpmath import cos, mp, mpf, sin

try:
    import taichi as ti
except ImportError:
    sys.exit(125)

mp.dps = 50


def exact(trips, x):
    """d/dx of acc = sin(acc * x), so many times, from 1."""
    acc, slope = mpf(1), mpf(0)
    for _ in range(trips):
        acc, slope = sin(acc * x), cos(acc * x) * (slope * x + acc)
    return float(slope)


def gradient(trips, size):
    ti.init(arch=ti.cpu, default_fp=ti.f64, offline_cache=False, log_level=ti.ERROR, cpu_max_num_threads=1, ad_stack_size=size)
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def program():
        for _p in range(1):
            acc = 1.0
            for _k in range(trips):
                acc = ti.sin(acc * x[None])
            y[None] = acc

    x[None] = 1.01
    program()
    y.grad[None] = 1.0
    program.grad()
    return x.grad[None]


if len(sys.argv) > 1:
    print("gradient", repr(gradient(int(sys.argv[1]), int(sys.argv[2]))))
    sys.exit(0)

wrong = False
for trips, size in ((30, 0), (40, 64), (33, 0), (40, 0), (100, 0)):
    done = subprocess.run([sys.executable, __file__, str(trips), str(size)], capture_output=True, text=True, check=False)
    expected = exact(trips, mpf(1.01))
    words = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("gradient")]
    holds = bool(words) and math.isclose(float(words[0]), expected, rel_tol=1e-9)
    wrong = wrong or not holds
    got = words[0] if words else f"the process ended with {done.returncode}"
    print(f"{trips} trips, ad_stack_size={size}: expected {expected}, got {got}{'' if holds else '   wrong'}")
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
