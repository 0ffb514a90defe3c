"""mx.linalg.norm of complex numbers is complex for most orders: for 1, infinity, 3, and the matrix norms 1, 2 and infinity.

A norm is a real number, and the orders 2 (vectors), "fro" and "nuc" return a real one. Prints expected and got, and exits with 1 while they differ.
"""

import math
import sys

try:
    import mlx.core as mx
except ImportError:
    sys.exit(125)
from importlib.metadata import version

mx.set_default_device(mx.cpu)

z = mx.array([[3.0 + 4.0j]])
wrong = False
for axes, orders in ((-1, (2, 1, 3, math.inf)), ([-2, -1], ("fro", "nuc", 1, 2, math.inf))):
    for order in orders:
        got = mx.linalg.norm(z, order, axes)
        kind = "vector" if axes == -1 else "matrix"
        print(f"mlx {version('mlx')}: {kind} norm {order}: expected {mx.float32}, got {got.dtype}")
        wrong = wrong or got.dtype != mx.float32
sys.exit(1 if wrong else 0)
