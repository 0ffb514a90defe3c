"""An adapter to start from: replace the toy by your library, and every line that says "yours".

The toy is forward mode on scalars by dual numbers. Try it, then check yours in the same way:

    gradfuzz targets check 'python toy_adapter.py'
    gradfuzz sweep 'cmd:python toy_adapter.py'

`kit.py` beside this file speaks the protocol, runs the programs, and turns exceptions into answers.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import kit


class Dual:
    """A number and its slope along one direction. Yours: delete it, and import your library."""

    def __init__(self, value: float, slope: float = 0.0) -> None:
        self.value = value
        self.slope = slope

    def __add__(self, other: Dual | float) -> Dual:
        other = dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Dual | float) -> Dual:
        other = dual(other)
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other: Dual | float) -> Dual:
        other = dual(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __lt__(self, other: Dual | float) -> bool:
        return self.value < dual(other).value

    def __le__(self, other: Dual | float) -> bool:
        return self.value <= dual(other).value


def dual(x: Dual | float) -> Dual:
    return x if isinstance(x, Dual) else Dual(x)


def sin(x: Dual) -> Dual:
    return Dual(math.sin(x.value), math.cos(x.value) * x.slope)


def cos(x: Dual) -> Dual:
    return Dual(math.cos(x.value), -math.sin(x.value) * x.slope)


class Toy(kit.Way):
    """One way into the library. Write a class for each way, and pass all of them to `serve`."""

    name = ""  # what follows "mylib:" in the target's name; "" for a library with one way

    # Yours: op of a program -> function(*operands, **static parameters). Other ops are unsupported. The
    # operands have the dtype that the op works in; docs/targets.md lists what each op gets.
    ops = {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
        "negative": operator.neg,
        "sin": sin,
        "cos": cos,
        "less": operator.lt,
        "less_equal": operator.le,
    }

    # Yours: what it supports. Several orders and modes mean every sequence of them, from the innermost
    # derivative to the outermost.
    dtypes = ("float64",)  # of float64, float32, bfloat16, float16
    modes = ("fwd",)  # of rev, fwd
    orders = (0, 1)  # 0 is the outputs alone
    loops = ("for", "while", "repeat")
    features = ("branches", "break", "continue", "nested", "runtime_trips")

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        """Yours: a tensor with these entries, in row-major order. It makes each float input and constant."""
        if shape:
            raise kit.Unsupported("the toy has no arrays")
        return Dual(entries[0])

    def entries(self, value: Any) -> kit.Numbers:
        """Yours: (dtype, shape, entries) of a tensor, unconverted: gradfuzz must see a wrong dtype."""
        return "float64", (), [value.value]

    def decide(self, value: Any) -> bool:
        """Yours: a bool of the library as a Python bool, where a program branches on it."""
        return bool(value)

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        """Yours: the outputs of `f(*xs)`, and a derivative of F = sum of <weight, output> for each of `xs`.

        An output with weight None is not part of F. Every mode of `modes` but the last contracts with
        `directions`, one for each of `xs`; the last one gives the gradient. Here there is at most one mode,
        and the toy runs it for each input.
        """
        outputs = f(*xs)
        gradient = []
        for k in range(len(xs) if modes else 0):
            duals = [Dual(x.value, float(j == k)) for j, x in enumerate(xs)]
            terms = [dual(y).slope * w.value for y, w in zip(f(*duals), weights) if w is not None]
            gradient.append(Dual(sum(terms)))
        return outputs, gradient


if __name__ == "__main__":
    kit.serve("toy", "1.0", [Toy()])  # yours: the library's name and its version
