"""Whoever walks jaxprs, as the rules of loops, branches and devices see it."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.programs.language.types import Type
from gradfuzz.tracing.jax.cell import JaxprCell

Place = dict[str, int]
"""Where a device is on each axis of its mesh."""


class Devices:
    """A mesh: the length of each axis by its name. The devices are in the order of their places."""

    def __init__(self, axes: dict[str, int]) -> None:
        self.axes = axes
        ranges = [range(n) for n in axes.values()]
        self.places: list[Place] = [
            dict(zip(axes, where, strict=True)) for where in itertools.product(*ranges)
        ]

    def groups(self, axes: Sequence[str]) -> list[list[int]]:
        """The numbers of the devices that share all axes but these."""
        found: dict[tuple[int, ...], list[int]] = {}
        for k, place in enumerate(self.places):
            found.setdefault(tuple(i for a, i in place.items() if a not in axes), []).append(k)
        return [sorted(group, key=lambda k: self.rank(self.places[k], axes)) for group in found.values()]

    def rank(self, place: Place, axes: Sequence[str]) -> int:
        """The number of a device among those of its group."""
        number = 0
        for axis in axes:
            number = number * self.axes[axis] + place[axis]
        return number

    def size(self, axes: Sequence[str]) -> int:
        return math.prod(self.axes[axis] for axis in axes)


def all_equations(jaxpr: Any) -> Iterator[Any]:
    """The equations of a jaxpr, and of those inside of it."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else [value]:
                if hasattr(getattr(inner, "jaxpr", inner), "eqns"):
                    yield from all_equations(inner)


def constants_and_carries(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a scan are constants, which come first, and how many are carries; what is read row
    by row comes last. JAX 0.12 has trees of the three in the place of two counts.
    """
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    constants, carries, _ = params["ft_in"].unpack()
    return len(list(constants.vals)), len(list(carries.vals))


class Walker(abc.ABC):
    """Walks jaxprs of one working dtype; another float dtype cannot be said beside it.

    Of a `derivative` the numbers count alone: it may stop gradients, read one triangle of a matrix, and
    convert between float dtypes, which is not rounded here. What is `rounded` may convert alone.
    """

    def __init__(self, dtype: np.dtype[Any], *, derivative: bool = False, rounded: bool = False) -> None:
        self.dtype = dtype
        self.derivative = derivative
        self.converts = derivative or rounded
        self.pair = np.dtype(f"complex{16 * dtype.itemsize}") if dtype.itemsize >= 4 else None
        self.devices: Devices | None = None
        """The mesh, in the body of a `shard_map`."""

    def run(self, closed: Any, cells: Sequence[JaxprCell], wanted: Sequence[bool] = ()) -> list[JaxprCell]:
        """The results of a closed jaxpr for arguments. Of those that are not `wanted` (none said: all are)
        nothing is worked out.
        """
        return self.run_lanes(closed, [cells], wanted)[0]

    @abc.abstractmethod
    def run_lanes(
        self, closed: Any, lanes: Sequence[Sequence[JaxprCell]], wanted: Sequence[bool] = ()
    ) -> list[list[JaxprCell]]:
        """The same for the arguments of several devices, which may tell each other what they have."""

    @abc.abstractmethod
    def type(self, aval: Any, name: str) -> Type:
        """The type of a variable of a jaxpr; `UntraceableError` where programs have none."""
