"""The compiled second derivative of a batched product in `lax.scan` of one trip: numbers that are not there.

f(x) = sum(sin(x @ y)) for two matrices of 6 by 6 and two of 6 by 2, as the body of a scan of length 1. With z = x @ y the derivative of the sum of the
gradient's entries by x[b, i, l] is minus the sum over k of sin(z[b, i, k]) y[b, l, k] s[b, k], s being the sums of y over the middle axis. Forward over reverse
mode, compiled, returns other numbers in every run, up to 1e30 and NaN; it is right without jax.jit, without the scan, and with two trips.
Prints expected and got of the entry that is farthest off, and exits with 1 while they differ.
"""

import sys

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(125)

jax.config.update("jax_enable_x64", True)
wrong = False
for dtype, allowed in (("float32", 1e-4), ("float64", 1e-12)):
    x = np.sin(np.arange(72.0)).reshape(2, 6, 6).astype(dtype)
    y = np.cos(np.arange(24.0)).reshape(2, 6, 2).astype(dtype)

    def f(x):
        return jnp.sum(jax.lax.scan(lambda acc, _: (jnp.sin(x @ acc), None), jnp.asarray(y), length=1)[0])

    derivative = jax.jacfwd(lambda x: jnp.sum(jax.grad(f)(x)))
    expected = -np.einsum("bik,blk,bk->bil", np.sin(x @ y), y, y.sum(axis=1))
    for how, function in (("plain", derivative), ("compiled", jax.jit(derivative))):
        answers = [np.asarray(function(jnp.asarray(x))) for _ in range(5)]
        errors = [np.max(np.abs(got - expected)) for got in answers]
        got = answers[int(np.argmax(errors))]  # a NaN counts as the largest
        at = np.unravel_index(np.argmax(np.abs(got - expected)), got.shape)
        print(f"jax {jax.__version__}: {dtype}, {how}: expected {expected[at]:.7g}, got {got[at]:.7g}")
        wrong = wrong or not max(errors) <= allowed or bool(np.any(np.isnan(errors)))
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
