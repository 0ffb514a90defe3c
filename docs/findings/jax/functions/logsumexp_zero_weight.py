"""The gradient of jax.scipy.special.logsumexp by a weight that is 0 is 0.

log(sum(b exp(a))) has the slope exp(a_k) / sum(b exp(a)) by b_k, whatever b_k is. Prints expected and got, and exits with
1 while they differ.
"""

import math
import sys

try:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp
except ImportError as error:
    print(error)
    sys.exit(125)

a = [0.5, 1.0, 2.0]
wrong = False
for b in ([1.0, 0.5, 2.0], [1.0, 0.0, 2.0]):
    total = sum(w * math.exp(x) for w, x in zip(b, a))
    expected = [math.exp(x) / total for x in a]
    got = jax.grad(lambda w: logsumexp(jnp.asarray(a), b=w))(jnp.asarray(b)).tolist()
    holds = all(abs(g - e) < 1e-5 for g, e in zip(got, expected))
    wrong |= not holds
    print(f"b = {b}: expected {expected}, got {got}{'' if holds else '   wrong'}")
sys.exit(int(wrong))
