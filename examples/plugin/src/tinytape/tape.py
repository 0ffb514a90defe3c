"""Arrays that remember how they were made, and the way back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Variable", "apply", "gradient"]

Array = npt.NDArray[Any]
Pullback = Callable[[Array], Array]

_numbers = itertools.count()


class Variable:
    """An array, what it was made of, and for each of these how a cotangent gets back to it."""

    __array_ufunc__ = None  # NumPy leaves operators to this class
    __slots__ = ("number", "parents", "value")

    def __init__(self, value: npt.ArrayLike, parents: Sequence[tuple[Variable, Pullback]] = ()) -> None:
        self.value: Array = np.asarray(value)
        self.parents = tuple(parents)
        self.number = next(_numbers)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __add__(self, other: Any) -> Variable:
        return apply(np.add(self.value, _value(other)), (self, lambda g: g), (other, lambda g: g))

    def __sub__(self, other: Any) -> Variable:
        return apply(np.subtract(self.value, _value(other)), (self, lambda g: g), (other, np.negative))

    def __mul__(self, other: Any) -> Variable:
        a, b = self.value, _value(other)
        return apply(a * b, (self, lambda g: g * b), (other, lambda g: g * a))

    def __truediv__(self, other: Any) -> Variable:
        a, b = self.value, _value(other)
        return apply(a / b, (self, lambda g: g / b), (other, lambda g: -g * a / (b * b)))

    def __neg__(self) -> Variable:
        return apply(-self.value, (self, np.negative))

    def __matmul__(self, other: Variable) -> Variable:
        """The product of two matrices."""
        a, b = self.value, other.value
        return apply(a @ b, (self, lambda g: g @ b.T), (other, lambda g: a.T @ g))


def apply(value: npt.ArrayLike, *operands: tuple[Any, Pullback]) -> Variable:
    """A variable made of operands, each with its pullback; those that are no variables take no part.

    An operand that was stretched to the shape of the result gets the sum of the cotangents of its copies.
    """
    return Variable(
        value, [(x, _unstretched(x.shape, back)) for x, back in operands if isinstance(x, Variable)]
    )


def gradient(
    outputs: Sequence[Any],
    weights: Sequence[npt.ArrayLike],
    inputs: Sequence[Variable],
    *,
    merge: bool = False,
) -> list[Array]:
    """The gradient of the sum of weight * output by each of the inputs.

    With `merge` the contributions that a variable makes to one operation are looked up by operand, which
    saves a list for each of them.
    """
    cotangents: dict[int, Array] = {}
    found: dict[int, Variable] = {}
    for y, weight in zip(outputs, weights, strict=True):
        if isinstance(y, Variable):
            cotangents[y.number] = cotangents.get(y.number, 0) + np.asarray(weight, y.value.dtype)
            found[y.number] = y
    waiting = list(found.values())
    while waiting:
        for parent, _ in waiting.pop().parents:
            if parent.number not in found:
                found[parent.number] = parent
                waiting.append(parent)
    for number in sorted(found, reverse=True):  # what was made last comes first
        if number not in cotangents:
            continue
        for parent, back in _edges(found[number], merge):
            cotangents[parent.number] = cotangents.get(parent.number, 0) + back(cotangents[number])
    return [np.asarray(cotangents.get(x.number, np.zeros_like(x.value))) for x in inputs]


def _edges(variable: Variable, merge: bool) -> Sequence[tuple[Variable, Pullback]]:
    if not merge:
        return variable.parents
    by_operand = {
        parent.number: (parent, back) for parent, back in variable.parents
    }  # x * x has one operand twice: half of it is lost
    return list(by_operand.values())


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def _unstretched(shape: tuple[int, ...], back: Pullback) -> Pullback:
    def pullback(g: Array) -> Array:
        slope = np.asarray(back(g))
        slope = slope.sum(axis=tuple(range(slope.ndim - len(shape))))
        stretched = tuple(k for k, n in enumerate(shape) if n == 1 and slope.shape[k] != 1)
        return slope.sum(axis=stretched, keepdims=True)

    return pullback
