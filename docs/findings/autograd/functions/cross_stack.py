"""The gradient of autograd.numpy.cross is wrong for stacks of vectors of 2, and lacks a sum where one vector meets a stack.

The products of vectors of 2 are numbers, a0 b1 - a1 b0: the slopes by a are (b1, -b0) times the weight. For vectors of 3
they are the cross product of b and the weights. Prints expected and got, and exits with 1 while they differ.
"""

import sys

try:
    import autograd.numpy as anp
    import numpy as np
    from autograd import grad
except ImportError as error:
    print(error)
    sys.exit(125)

pairs = np.array([[1.0, 2.0], [3.0, 4.0]])
triples = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
w, v = np.array([1.0, 10.0]), np.array([[1.0, 2.0, 4.0], [0.5, 3.0, -1.0]])
turned = w[:, None] * np.stack([pairs[:, 1], -pairs[:, 0]], axis=1)
spread = np.array([np.array([b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]) for b, c in zip(triples, v)])
cases = {
    "stacks of vectors of 2": (lambda a: anp.sum(w * anp.cross(a, pairs)), [[5.0, 6.0], [7.0, 9.0]], turned),
    "a vector of 2, and a stack": (lambda a: anp.sum(w * anp.cross(a, pairs)), [5.0, 6.0], turned.sum(0)),
    "stacks of vectors of 3": (lambda a: anp.sum(v * anp.cross(a, triples)), [[5.0, 6.0, 1.0], [7.0, 9.0, 2.0]], spread),
    "a vector of 3, and a stack": (lambda a: anp.sum(v * anp.cross(a, triples)), [5.0, 6.0, 1.0], spread.sum(0)),
}

wrong = False
for name, (f, a, expected) in cases.items():
    got = grad(f)(np.array(a))
    holds = np.shape(got) == np.shape(a) and np.allclose(got, expected, rtol=1e-10)
    wrong |= not holds
    print(f"{name}: expected {np.array(expected).tolist()}, got {got.tolist()}{'' if holds else '   wrong'}")
sys.exit(1 if wrong else 0)
