"""An adapter for a library that the tests make: `toygrad`, whose releases differ in the sign that a product's
second slope gets.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
import toygrad
from toy_adapter import Dual, Toy


def multiply(a, b):
    return Dual(a.value * b.value, a.slope * b.value + toygrad.SIGN * a.value * b.slope)


class Way(Toy):
    name = "dual"
    ops = {**Toy.ops, "multiply": multiply}  # noqa: RUF012 - as adapters have it


if __name__ == "__main__":
    kit.serve("toygrad", toygrad.__version__, [Way()])
