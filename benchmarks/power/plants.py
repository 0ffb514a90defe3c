"""The planted mistakes: each takes a right function and gives one with the same value and a wrong derivative.

A plant is a row of `PLANTS`: its kind, and what it does to a row of the table (None where it does not fit).
Whether it changes anything there is measured afterwards, by `measuring.changes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.power.planting import (
    Arrays,
    forward_only,
    planted,
    right_product,
    second_only,
    stop,
    vmap_only,
)
from benchmarks.power.rows import Library, Row

__all__ = ["PLANTS", "Asked", "Plant"]

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A function at arguments, of which the derivatives of this order in these modes are asked (None: all
    that it has).
    """

    function: Function
    arguments: tuple[Any, ...]
    order: int = 1
    modes: tuple[str, ...] | None = None
    right: Function | None = None
    """The right twin, where it is another than the row's function."""


@dataclass(frozen=True, slots=True, eq=False)
class Plant:
    kind: str
    make: Callable[[Row], Asked | None]
    at_places: bool = False
    """Whether only entries at certain places are wrong, which can be legal where these lie on kinks."""


# Wrong vector-Jacobian products -----------------------------------------------------------------------------


def _of_row(row: Row, **changes: Any) -> Asked:
    return Asked(planted(row.library, row.function, **changes), row.arguments)


def _gradient(kind: str, change: Callable[[Any, Any, Any], Any], at_places: bool = False) -> Plant:
    """`change(namespace, gradient, x)` for each argument."""

    def each(space: Any, found: Arrays, xs: Arrays) -> Arrays:
        return tuple(change(space, g, x) for g, x in zip(found, xs, strict=False)) + found[len(xs) :]

    return Plant(kind, lambda row: _of_row(row, gradient=each), at_places)


def _where(kind: str, mask: Callable[[Any, Any], Any], wrong: Callable[[Any], Any] | float = 2.0) -> Plant:
    """The gradient is wrong (twice as large) where `mask(namespace, x)` says so."""

    def change(space: Any, g: Any, x: Any) -> Any:
        if _is_complex(x):
            return g
        return space.where(mask(space, x), wrong(g) if callable(wrong) else g * wrong, g)

    return _gradient(kind, change, at_places=True)


def _factor(kind: str, factor: float) -> Plant:
    return _gradient(kind, lambda _, g, __: g * factor)


def _cotangent(kind: str, change: Callable[[Any], Any]) -> Plant:
    """`change` for each cotangent of two entries or more."""

    def each(_: Any, cotangents: Arrays, __: Arrays) -> Arrays:
        return tuple(g if g is None or _size(g) < 2 else change(g) for g in cotangents)

    return Plant(kind, lambda row: _of_row(row, cotangent=each))


def _entries(order: Callable[[int], Any]) -> Callable[[Any], Any]:
    """A permutation of an array's entries, given by their number."""
    return lambda g: g.reshape(-1)[np.asarray(order(_size(g)))].reshape(g.shape)


def _swapped(n: int) -> list[int]:
    return [1, 0, *range(2, n)]


def _turned(g: Any) -> Any:
    """The last two axes exchanged where they are equally long."""
    return g.swapaxes(-1, -2) if g.ndim >= 2 and g.shape[-1] == g.shape[-2] else g


def _rolled(g: Any) -> Any:
    return g.reshape(-1)[np.roll(np.arange(_size(g)), 1)].reshape(g.shape) if _size(g) > 1 else g


def _size(x: Any) -> int:
    return math.prod(x.shape)


def _is_complex(x: Any) -> bool:
    return "complex" in str(x.dtype)


def _one(place: int) -> Callable[[Any, Any, Any], Any]:
    """The entry at this place twice as large."""

    def change(space: Any, g: Any, _: Any) -> Any:
        n = _size(g)
        hit = space.asarray(np.arange(n) == place % max(n, 1)).reshape(g.shape)
        return space.where(hit, g * 2.0, g)

    return change


def _largest(space: Any, g: Any, x: Any) -> Any:
    return g if _size(g) == 0 else space.where(abs(g) == abs(g).max(), g * 2.0, g)


def _smallest(space: Any, g: Any, x: Any) -> Any:
    """Of those that are not 0."""
    size = abs(g)
    known = space.where(size == 0, space.full_like(size, math.inf), size)
    return g if _size(g) == 0 else space.where(known == known.min(), g * 2.0, g)


def _mean_for_sum(row: Row) -> Asked | None:
    """The gradient of an argument that is broadcast is a mean."""
    most = max(_size(x) for x in row.arguments)
    if all(_size(x) == most for x in row.arguments):
        return None

    def change(_: Any, found: Arrays, xs: Arrays) -> Arrays:
        return tuple(g * (_size(x) / most) for g, x in zip(found, xs, strict=True))

    return _of_row(row, gradient=change)


def _wrong_argument(row: Row) -> Asked | None:
    shapes = [tuple(x.shape) for x in row.arguments]
    pairs = [(i, j) for j in range(len(shapes)) for i in range(j) if shapes[i] == shapes[j]]
    if not pairs:
        return None
    i, j = pairs[0]

    def change(_: Any, found: Arrays, __: Arrays) -> Arrays:
        order = list(range(len(found)))
        order[i], order[j] = j, i
        return tuple(found[k] for k in order)

    return _of_row(row, gradient=change)


def _no_gradient_of_last(row: Row) -> Asked | None:
    if len(row.arguments) < 2:
        return None
    return _of_row(row, gradient=lambda _, found, __: (*found[:-1], found[-1] * 0.0))


def _ignored_output(_: Any, cotangents: Arrays, __: Arrays) -> Arrays:
    if len(cotangents) == 1 or cotangents[-1] is None:
        return cotangents
    return (*cotangents[:-1], cotangents[-1] * 0.0)


def _ignored(row: Row) -> Asked:
    return _of_row(row, cotangent=_ignored_output)


def _moved(row: Row) -> Asked:
    """The derivative is taken at other numbers than the value: a residual that is kept too late."""
    return _of_row(row, at=lambda xs: tuple(x * 1.125 for x in xs))


def _instead(kind: str) -> Plant:
    """The derivative of another function of the row."""

    def make(row: Row) -> Asked | None:
        other = row.instead.get(kind)
        return None if other is None else _of_row(row, product=right_product(row.library, other))

    return Plant(kind, make)


def _raising(kind: str, error: Exception) -> Plant:
    def change(*_: Any) -> Any:
        raise error

    return Plant(kind, lambda row: _of_row(row, gradient=change))


def _summed_axis(_: Any, g: Any, __: Any) -> Any:
    """Summed and broadcast along the first axis in the place of the last: of a matrix of means."""
    return g if g.ndim < 2 else g * 0.0 + g.mean(0, keepdims=True)


# Functions that hide a value from differentiation themselves ------------------------------------------------


def _half_detached(row: Row) -> Asked:
    def f(*xs: Any) -> Any:
        return row.function(*(0.5 * x + 0.5 * stop(row.library, x) for x in xs))

    return Asked(f, row.arguments)


def _first_detached(row: Row) -> Asked | None:
    if len(row.arguments) < 2:
        return None
    return Asked(lambda x, *rest: row.function(stop(row.library, x), *rest), row.arguments)


# At certain places ------------------------------------------------------------------------------------------


def _tied(space: Any, x: Any) -> Any:
    flat = x.reshape(-1)
    return ((flat[:, None] == flat[None, :]).sum(1) > 1).reshape(x.shape)


def _near_edge(space: Any, x: Any) -> Any:
    """Next to -1, 0 or 1, and none of them."""
    mask = x != x
    for edge in (-1.0, 0.0, 1.0):
        mask = mask | ((x != edge) & (abs(x - edge) < 1e-3))
    return mask


# In certain surroundings ------------------------------------------------------------------------------------


def _if_arguments(kind: str, holds: Callable[[Any], bool]) -> Plant:
    """Wrong (a quarter too large) where an argument is of this form: its dtype, its strides, its shape."""

    def make(row: Row) -> Asked | None:
        if not any(map(holds, row.arguments)):
            return None

        def change(_: Any, found: Arrays, xs: Arrays) -> Arrays:
            return tuple(g * 1.25 if holds(x) else g for g, x in zip(found, xs, strict=True))

        return _of_row(row, gradient=change)

    return Plant(kind, make)


def _is_strided(x: Any) -> bool:
    return hasattr(x, "is_contiguous") and not x.is_contiguous()


def _one_dtype(row: Row) -> Asked:
    def change(_: Any, found: Arrays, xs: Arrays) -> Arrays:
        same = str(xs[0].dtype).removeprefix("torch.") == row.dtype
        return tuple(g * 1.25 for g in found) if same else found

    return _of_row(row, gradient=change)


def _larger(_: Any, found: Arrays, __: Arrays) -> Arrays:
    return tuple(g * 1.25 for g in found)


def _second(row: Row) -> Asked:
    f = second_only(row.library, row.function, len(row.arguments), _larger)
    return Asked(f, row.arguments, order=2)


def _second_detached(row: Row) -> Asked:
    """The vector-Jacobian product takes the arguments for constants."""
    product = right_product(row.library, row.function)

    def still(xs: Arrays, cotangents: Arrays) -> Arrays:
        return tuple(product(tuple(stop(row.library, x) for x in xs), cotangents))

    return Asked(planted(row.library, row.function, product=still), row.arguments, order=2)


def _forward(row: Row) -> Asked | None:
    if any(map(_is_complex, row.arguments)):
        return None
    return Asked(forward_only(row.library, row.function, _larger), row.arguments, modes=("fwd", "rev"))


def _vmapped(row: Row) -> Asked:
    """Two of them by vmap: the function is right alone, and its rule for batches is not."""
    vmap = _vmap(row.library)
    f = vmap(vmap_only(row.library, row.function, _larger))
    return Asked(f, tuple(map(_two, row.arguments)), right=vmap(row.function))


def _vmap(library: Library) -> Any:
    if library == "torch":
        import torch

        return torch.func.vmap
    import jax

    return jax.vmap


def _two(x: Any) -> Any:
    """An array and seven eighths of it."""
    return (
        np.stack([x, x * np.asarray(0.875, x.dtype)])
        if isinstance(x, np.ndarray)
        else x.new_tensor([1.0, 0.875]).reshape(2, *[1] * x.ndim) * x
    )


def _compiled(row: Row) -> Asked | None:
    if row.library != "jax":
        return None
    import jax

    def change(_: Any, found: Arrays, xs: Arrays) -> Arrays:
        traced = any(isinstance(x, jax.core.Tracer) for x in xs)
        return tuple(g * 1.25 for g in found) if traced else found

    return Asked(jax.jit(planted("jax", row.function, gradient=change)), row.arguments)


def _at_masked(value: float) -> Callable[[Any, Any, Any], Any]:
    def change(space: Any, g: Any, x: Any) -> Any:
        return g if _is_complex(x) else space.where(x < -1e8, space.full_like(g, value), g)

    return change


PLANTS: tuple[Plant, ...] = (
    _factor("factor 2", 2.0),
    _factor("sign", -1.0),
    *(_factor(f"relative 1e-{k}", 1.0 + 10.0**-k) for k in range(1, 9)),
    _factor("zero", 0.0),
    _gradient("transposed", lambda _, g, __: _turned(g)),
    _cotangent("cotangents transposed", _turned),
    _cotangent("two cotangents swapped", _entries(_swapped)),
    _cotangent("cotangents reversed", _entries(lambda n: np.arange(n)[::-1].copy())),
    _cotangent("cotangents rolled", _rolled),
    Plant("an output ignored", _ignored),
    Plant("mean for sum", _mean_for_sum),
    _cotangent("mean for sum of the output", lambda g: g * (1.0 / _size(g))),
    _instead("wrong axis"),
    _gradient("averaged along the wrong axis", _summed_axis),
    _instead("missing conj"),
    _instead("stale carry"),
    Plant("residual of another point", _moved),
    _instead("off by one"),
    _gradient("shifted by one", lambda _, g, __: _rolled(g)),
    Plant("half detached in the function", _half_detached),
    Plant("an argument detached in the function", _first_detached),
    Plant("no gradient of the last argument", _no_gradient_of_last),
    Plant("gradient of another argument", _wrong_argument),
    _where("only at a tie", _tied),
    _where("only at 0", lambda _, x: x == 0.0, lambda g: g * 0.5),
    _where("only at 1", lambda _, x: x == 1.0),
    _where("only next to -1, 0 or 1", _near_edge),
    _where("only for negative numbers", lambda _, x: x < 0.0, -1.0),
    _where("only for large numbers", lambda _, x: abs(x) > 100.0, 0.5),
    _where("only for small numbers", lambda _, x: (x != 0.0) & (abs(x) < 1e-2), 0.0),
    Plant("only at the first entry", _gradient("", _one(0)).make, True),
    Plant("only at the last entry", _gradient("", _one(-1)).make, True),
    Plant("the largest entry doubled", _gradient("", _largest).make, True),
    Plant("the smallest entry doubled", _gradient("", _smallest).make, True),
    _if_arguments("only for non-contiguous inputs", _is_strided),
    _if_arguments("only for a batch of one", lambda x: len(x.shape) > 1 and x.shape[0] == 1),
    Plant("only in this dtype", _one_dtype),
    _instead("repeated indices"),
    _instead("only where it branches"),
    _instead("a factor held constant"),
    Plant("only at second order", _second),
    Plant("no second order", _second_detached),
    Plant("only in forward mode", _forward),
    Plant("only under vmap", _vmapped),
    Plant("only compiled", _compiled),
    _gradient("NaN at a masked entry", _at_masked(math.nan), True),
    _gradient("1 at a masked entry", _at_masked(1.0), True),
    _where("NaN at 0", lambda _, x: x == 0.0, lambda g: g * math.nan),
    _raising("RuntimeError", RuntimeError("the derivative is broken")),
    _raising("NotImplementedError", NotImplementedError("the derivative of this is missing")),
    _raising("TypeError", TypeError("the derivative got an unexpected type")),
    _gradient("1e-3 of the largest added", lambda _, g, __: g if _size(g) == 0 else g + 1e-3 * abs(g).max()),
)
