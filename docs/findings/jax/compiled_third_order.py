"""The compiled third derivative of a quotient of an array of rank 4, float32: the process ends.

f(x) = x / sum(x, axis=0) at ones of shape (2, 2, 2, 2). With s = a + b the third derivative of a / s by a is 6 b / s^4, so it is 3/8. Forward over reverse
over reverse mode, compiled, ends the process by a segmentation fault; it is right without jax.jit, and in float64. Each is computed in a process of its own.
Prints expected and got, and exits with 1 while they differ.
"""

import subprocess
import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    print(error)
    sys.exit(125)


def third(dtype, compiled):
    jax.config.update("jax_enable_x64", True)
    derivative = jax.jacfwd(jax.jacrev(jax.jacrev(lambda x: x / jnp.sum(x, axis=0))))
    x = jnp.ones((2, 2, 2, 2), dtype)
    return float((jax.jit(derivative) if compiled else derivative)(x)[(0,) * 16])


if sys.argv[1:]:
    print(third(sys.argv[1], sys.argv[2] == "compiled"))
    sys.exit(0)
wrong = False
for dtype in ("float64", "float32"):
    for how in ("plain", "compiled"):
        run = subprocess.run([sys.executable, __file__, dtype, how], capture_output=True, text=True)
        got = float(run.stdout) if run.returncode == 0 else f"the process ended with code {run.returncode}"
        print(f"jax {jax.__version__}: {dtype}, {how}: expected {3 / 8}, got {got}")
        wrong = wrong or isinstance(got, str) or abs(got - 3 / 8) > 1e-5
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
