"""The blanks of a tensor recipe, filled for a given shape: axes, indices, windows and further parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gradfuzz.strategies.drawing.dice import Dice, Odds
from gradfuzz.strategies.drawing.shape import MAX_ENTRIES, Shape
from gradfuzz.strategies.tensor.recipes import Want

Operand = Literal["same", "scalar", "fewer axes", "ones", "more axes", "constant"]
"""How the other operand of an op broadcasts with the first: the same shape, a scalar, without the leading
axes, with axes of size 1, with one more axis (then the first operand grows), or an array constant without
leading axes.
"""

_OPERANDS: Odds[Operand] = Odds(
    (20, "same"), (16, "scalar"), (20, "fewer axes"), (22, "ones"), (14, "more axes"), (8, "constant")
)
_STRIDES: Odds[int] = Odds((50, 1), (35, 2), (15, 3))
_PADDING: Odds[tuple[int, int]] = Odds((40, (0, 0)), (20, (1, 1)), (15, (1, 0)), (15, (0, 2)), (10, (2, 1)))
_MAX_GROWN = 4 * MAX_ENTRIES


@dataclass(frozen=True, slots=True)
class BlankArgument:
    """The shape of a parameter, and the upper bound of an int parameter; floats have `below` None."""

    shape: Shape
    below: int | None = None


def fits(want: Want, shape: Shape) -> bool:
    """Whether a recipe with this need can start from an array of `shape`."""
    match want:
        case "axis":
            return bool(shape)
        case "entries":
            return not shape or any(shape)
        case "rows":
            return bool(shape) and shape[0] > 0
        case "full":
            return bool(shape) and 0 not in shape
        case "image":
            return len(shape) in (3, 4) and 0 not in shape[1:]
    return True


class Blanks:
    """The blanks of one recipe. A value that is drawn once holds wherever the recipe names it again.

    `parameter` adds a parameter to the program and returns its name. `operand` says how `{other}` broadcasts
    (None: drawn).
    """

    def __init__(
        self,
        dice: Dice,
        x: str,
        shape: Shape,
        y: str,
        parameter: Callable[[BlankArgument], str],
        operand: Operand | None = None,
    ) -> None:
        self.dice = dice
        self._parameter = parameter
        self._operand = operand
        self.shape = shape
        self.x, self.y, self.z = x, y, f"{y}0"
        self.size = math.prod(shape)
        self.rows = shape[0] if shape else 0
        self.less = self.rows - 1

    def __getitem__(self, name: str) -> str:
        return str(getattr(self, name))

    def _signed(self, axis: int) -> int:
        """The axis, counted from the front or from the back."""
        return axis - len(self.shape) if self.dice.chance(35) else axis

    def _axes(self, axes: list[int], *, whole: bool) -> int | tuple[int, ...] | None:
        """Some of `axes`; all of them (None) only with `whole`."""
        kind = self.dice.weighted(Odds((45, "one"), (30, "all"), (25, "several")))
        if not axes or (kind == "all" and whole):
            return None
        if kind == "several" and len(axes) > 1:
            first = self.dice.below(len(axes) - 1)
            count = 2 + self.dice.below(len(axes) - first - 1)
            return tuple(self._signed(a) for a in axes[first : first + count])
        return self._signed(self.dice.pick(axes))

    # Axes

    @cached_property
    def axis(self) -> int:
        return self._signed(self.dice.below(len(self.shape)))

    @cached_property
    def axes(self) -> int | tuple[int, ...] | None:
        return self._axes(list(range(len(self.shape))), whole=True)

    @cached_property
    def filled(self) -> int | tuple[int, ...] | None:
        """Axes that are not empty."""
        return self._axes([a for a, n in enumerate(self.shape) if n], whole=0 not in self.shape)

    @cached_property
    def long(self) -> int:
        """The axis to gather from."""
        return self._signed(self.dice.below(len(self.shape)))

    @cached_property
    def new(self) -> int:
        return self.dice.below(len(self.shape) + 1)

    @cached_property
    def keep(self) -> bool:
        return self.dice.chance(40)

    @cached_property
    def order(self) -> Shape:
        """A permutation of the axes: a rotation, the reverse order, or one exchange."""
        order = list(range(len(self.shape)))
        if len(order) > 2 and self.dice.chance(50):
            return (*order[1:], order[0])
        if len(order) < 2 or not self.dice.chance(60):
            return tuple(reversed(order))
        k = self.dice.below(len(order) - 1)
        order[k], order[-1] = order[-1], order[k]
        return tuple(order)

    # Sizes

    @cached_property
    def trips(self) -> int:
        return self.dice.pick((2, 1, 3, 0))

    @cached_property
    def reshaped(self) -> Shape:
        """The shape of the same entries: flat, with one more axis of 1, or with two axes merged."""
        options = [(self.size,), (*self.shape, 1), (1, *self.shape)]
        if self.shape[1:]:
            options.append((self.shape[0] * self.shape[1], *self.shape[2:]))
        return self.dice.pick(options)

    @cached_property
    def grown(self) -> Shape:
        """The shape with axes of 1 grown to 2, and one more axis if the rank allows."""
        grown = tuple(2 if n == 1 else n for n in self.shape)
        return (2, *grown) if grown == self.shape or self.dice.chance(40) else grown

    # Operands

    @cached_property
    def other(self) -> str:
        """A parameter (or constant) that broadcasts with `{x}`."""
        operand = self.dice.weighted(_OPERANDS) if self._operand is None else self._operand
        shape = self.shape
        if operand == "scalar" or not shape:
            return self._parameter(BlankArgument(() if operand != "more axes" else (2,)))
        if operand == "same":
            return self.same
        if operand in ("fewer axes", "constant"):
            shape = shape[1 + self.dice.below(len(shape)) :] if len(shape) > 1 else shape
        elif operand == "ones":
            k = self.dice.below(len(shape))
            shape = tuple(1 if a == k or (a > k and self.dice.chance(20)) else n for a, n in enumerate(shape))
        elif len(shape) < 4 and 2 * self.size <= _MAX_GROWN:
            shape = (2, *(1 if self.dice.chance(30) else n for n in shape))
        if operand == "constant" and 0 not in shape:
            return _constant(self.dice, shape)
        return self._parameter(BlankArgument(shape))

    @cached_property
    def same(self) -> str:
        return self._parameter(BlankArgument(self.shape))

    @cached_property
    def beside(self) -> str:
        """The array to concatenate after `{x}` along `{axis}`."""
        axis = self.axis % len(self.shape)
        shape = tuple(1 + self.dice.below(2) if a == axis else n for a, n in enumerate(self.shape))
        return self._parameter(BlankArgument(shape))

    @cached_property
    def matrix(self) -> str:
        return self._parameter(BlankArgument((self.shape[-1], 2 - self.dice.below(2))))

    @cached_property
    def square(self) -> str:
        return self._parameter(BlankArgument((self.shape[-1], self.shape[-1])))

    @cached_property
    def captured(self) -> str:
        """A constant matrix of the program."""
        return _constant(self.dice, (self.shape[-1], 2)) if self.shape[-1] else self.matrix

    @cached_property
    def bias(self) -> str:
        return self._parameter(BlankArgument((1,)))

    @cached_property
    def letters(self) -> str:
        """Subscripts for `{x}` and a factor with the same last axis; other axes are kept, summed or moved."""
        x = "abcdefgh"[: len(self.shape)]
        result = self.dice.pick((x[:-1] + "z", "z" + x[:-1][::-1], x + "z", "z"))
        return f"{x},{x[-1]}z->{result}"

    @cached_property
    def factor(self) -> str:
        """A factor: the shape of `{x}` where that is square."""
        square = len(self.shape) == 2 and self.shape[0] == self.shape[1]
        return self._parameter(BlankArgument(self.shape if square else (self.shape[-1], 2)))

    # Places

    @cached_property
    def _gathered(self) -> tuple[Shape, int]:
        """The shape of the indices, and the length of the axis they index."""
        n = self.shape[self.long]
        return self.dice.weighted(Odds((50, (n + 1,)), (20, (2,)), (16, (2, 2)), (8, ()), (6, (0,)))), n

    @cached_property
    def places(self) -> str:
        """Indices along `{long}`, a constant or a parameter, mostly so many that some repeat."""
        shape, n = self._gathered
        return self._indices(shape, n)

    @cached_property
    def updates(self) -> str:
        """A parameter of the shape that gathering at `{places}` gives."""
        shape, _ = self._gathered
        axis = self.long % len(self.shape)
        return self._parameter(BlankArgument((*self.shape[:axis], *shape, *self.shape[axis + 1 :])))

    @cached_property
    def along(self) -> str:
        """Indices of the rank of `{x}`, of any length along `{long}`; the other axes broadcast with `{x}`."""
        axis = self.long % len(self.shape)
        others = [(2 if n == 1 else 1) if self.dice.chance(25) else n for n in self.shape]
        return self._indices((*others[:axis], 1 + self.dice.below(3), *others[axis + 1 :]), self.shape[axis])

    def _indices(self, shape: Shape, n: int) -> str:
        if self.dice.chance(30) or not shape:
            return self._parameter(BlankArgument(shape, n))
        count = math.prod(shape)
        entries = [(k + self.dice.below(n)) % n for k in range(count)]
        if not count:
            return f"array([], shape={shape}, dtype=int)"
        return f"array({_nested(entries, shape)})"

    @cached_property
    def _spot(self) -> list[str]:
        """An index or a slice for every axis."""
        return [self._one(n) for n in self.shape]

    def _one(self, n: int) -> str:
        if self.dice.chance(45):
            start = self.dice.below(n)
            return f"{start}:{n - self.dice.below(n - start)}"
        return str(self.dice.below(n))

    @cached_property
    def place(self) -> str:
        return ", ".join(self._spot)

    @cached_property
    def written(self) -> str:
        """The same as arguments of `index_update`."""
        return ", ".join(f"slice({spot.replace(':', ', ')})" if ":" in spot else spot for spot in self._spot)

    # Windows

    @cached_property
    def _slides(self) -> list[tuple[int, int, tuple[int, int]]]:
        """Window, stride and padding for each axis; at most two axes have a window above 1."""
        rows: list[tuple[int, int, tuple[int, int]]] = []
        for n in self.shape:
            padding = self.dice.weighted(_PADDING) if n > 1 else (0, 0)
            room = max(1, min(3, n + sum(padding)))
            window = 1 + (self.dice.below(room) + 1) % room if sum(w > 1 for w, _, _ in rows) < 2 else 1
            stride = self.dice.weighted(_STRIDES) if n > 1 else 1
            rows.append((window, stride, padding if window > 1 else (0, 0)))
        return rows

    @cached_property
    def window(self) -> Shape:
        return tuple(w for w, _, _ in self._slides)

    @cached_property
    def strides(self) -> Shape:
        return tuple(s for _, s, _ in self._slides)

    @cached_property
    def padding(self) -> tuple[tuple[int, int], ...]:
        return tuple(p for _, _, p in self._slides)

    @cached_property
    def kernel(self) -> str:
        """A kernel for the axes after the first two."""
        return self._parameter(BlankArgument((1 + self.dice.below(2), self.shape[1], *self.window[2:])))

    @cached_property
    def steps(self) -> Shape:
        return self.strides[2:]

    @cached_property
    def margins(self) -> tuple[tuple[int, int], ...]:
        return self.padding[2:]


def _constant(dice: Dice, shape: Shape) -> str:
    """An array constant of signed eighths."""
    entries = [(-1) ** dice.below(2) * (4 + (k + dice.below(9)) % 9) / 8 for k in range(math.prod(shape))]
    return f"array({_nested(entries, shape)})"


def _nested(entries: list[int] | list[float], shape: Shape) -> object:
    """The entries as nested lists."""
    if len(shape) <= 1:
        return entries
    step = math.prod(shape[1:])
    return [_nested(entries[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]
