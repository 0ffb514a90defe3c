"""The gradient of mlx.core.full by the value that fills the array.

The sum of full((2,), v) is 2 v, with the slope 2 whatever v is; that of full_like is the same. broadcast_to,
which computes the same, and forward mode have it. Prints expected and got; exits with 1 while they differ.
"""

import sys

try:
    import mlx.core as mx
except ImportError:
    print("this script needs mlx")
    sys.exit(125)

like = mx.zeros((2,))
asked = {
    "broadcast_to": lambda v: mx.broadcast_to(v, (2,)).sum(),
    "full": lambda v: mx.full((2,), v).sum(),
    "full_like": lambda v: mx.full_like(like, v).sum(),
}
wrong = False
for name, f in asked.items():
    for number in (3.0, 0.0):
        v, one = mx.array(number), mx.array(1.0)
        reverse = mx.grad(f)(v).item()
        forward = mx.jvp(lambda v, f=f: f(v), [v], [one])[1][0].item()
        print(f"{name} at {number}: expected 2, reverse mode {reverse}, forward mode {forward}")
        wrong = wrong or reverse != 2.0 or forward != 2.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
