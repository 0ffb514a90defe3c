"""Reverse mode through a symbolic dr.while_loop ends the process where a bool among the state chooses by dr.select.

    The loop multiplies by x in every second of 3 trips: x, with the derivative 1.

The LLVM code for the way back has one variable as <16 x i8> and as <16 x i1>, and LLVM's parser aborts. The evaluated loop is right, and so is the symbolic
one in forward mode. Each derivative is computed in a process of its own. Prints expected and got, and exits with 1 while they differ.
"""

import subprocess
import sys

try:
    import drjit as dr
    from drjit.llvm.ad import Bool, Float64, Int64
except ImportError:
    sys.exit(125)


def loop(x, mode):
    def body(i, acc, flag, x):
        return i + 1, dr.select(flag, acc * x, acc), ~flag, x

    state = (Int64(0), Float64(1.0), Bool(False), x)
    return dr.while_loop(state, lambda i, acc, flag, x: i < Int64(3), body, mode=mode, max_iterations=3)[1]


def derivative(mode, direction):
    x = Float64(0.5)
    dr.enable_grad(x)
    y = loop(x, mode)
    if direction == "backward":
        dr.backward_from(y)
        return dr.grad(x)[0]
    dr.forward_from(x)
    return dr.grad(y)[0]


if sys.argv[1:]:
    print(derivative(*sys.argv[1:]))
    sys.exit(0)
wrong = False
for mode in ("evaluated", "symbolic"):
    for direction in ("forward", "backward"):
        run = subprocess.run([sys.executable, __file__, mode, direction], capture_output=True, text=True)
        got = float(run.stdout) if run.returncode == 0 else f"the process ended with code {run.returncode}"
        if run.returncode:
            got += ": " + next((line for line in run.stderr.splitlines() if "error:" in line), "")
        print(f"drjit {dr.__version__}: {mode} loop, {direction}: expected 1.0, got {got}")
        wrong = wrong or got != 1.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
