"""A target of nine ops, of which the division has a wrong sign by its second operand."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "gradfuzz" / "adapters"))

import kit
from toy_adapter import Dual, Toy, dual


def divide(a, b):
    a, b = dual(a), dual(b)
    slope = a.slope / b.value + a.value * b.slope / (b.value * b.value)  # where a minus belongs
    return Dual(a.value / b.value, slope)


class Narrow(Toy):
    ops = dict(Toy.ops, divide=divide)  # noqa: RUF012 - as an adapter has it


if __name__ == "__main__":
    kit.serve("narrow", "1", [Narrow()])
