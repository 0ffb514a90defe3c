"""Forward mode of mx.addmm, beta c + alpha a b, by each of its arrays.

Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

c, a, b = mx.array([[1.0]]), mx.array([[3.0]]), mx.array([[5.0]])
alpha, beta = 2.0, 7.0
expected = [beta, alpha * 5.0, alpha * 3.0]


def f(c, a, b):
    return mx.addmm(c, a, b, alpha=alpha, beta=beta)


one, zero = mx.array([[1.0]]), mx.array([[0.0]])
along = [[one if k == place else zero for k in range(3)] for place in range(3)]
forward = [mx.jvp(f, [c, a, b], tangents)[1][0].item() for tangents in along]
reverse = [g.item() for g in mx.grad(lambda *xs: f(*xs).sum(), [0, 1, 2])(c, a, b)]
print("expected", expected)
print("reverse ", reverse)
print("forward ", forward)
wrong = forward != expected or reverse != expected
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
