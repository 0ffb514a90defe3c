"""The blanks of a tensor recipe, filled for a given shape: axes, indices, windows and further parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from gradfuzz.strategies.drawing.blanks import Blanks
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
_GATHERED = ((20, (2,)), (16, (2, 2)), (8, ()), (6, (0,)))
"""Shapes of indices; more often they have one entry more than the axis."""
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


class TensorBlanks(Blanks):
    """The blanks of one recipe, whose input is x and whose result is y.

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
        super().__init__(dice, shape, x=x, y=y, z=f"{y}0")
        self._parameter = parameter
        self._operand = operand

    def of_shape(self, *shape: int) -> str:
        """A parameter of this shape."""
        return self._parameter(BlankArgument(shape))

    # Axes

    def signed(self, axis: int) -> int:
        """The axis, counted from the front or from the back."""
        return axis - len(self.shape) if self.dice.chance(35) else axis

    def any_axis(self) -> int:
        return self.signed(self.dice.below(len(self.shape)))

    def some(self, axes: list[int], *, whole: bool) -> int | tuple[int, ...] | None:
        """Some of `axes`; all of them (None) only with `whole`."""
        kind = self.dice.weighted(Odds((45, "one"), (30, "all"), (25, "several")))
        if not axes or (kind == "all" and whole):
            return None
        if kind == "several" and len(axes) > 1:
            first = self.dice.below(len(axes) - 1)
            count = 2 + self.dice.below(len(axes) - first - 1)
            return tuple(self.signed(a) for a in axes[first : first + count])
        return self.signed(self.dice.pick(axes))

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

    def reshaped(self) -> Shape:
        """The shape of the same entries: flat, with one more axis of 1, or with two axes merged."""
        options = [(self["size"],), (*self.shape, 1), (1, *self.shape)]
        if self.shape[1:]:
            options.append((self.shape[0] * self.shape[1], *self.shape[2:]))
        return self.dice.pick(options)

    def grown(self) -> Shape:
        """The shape with axes of 1 grown to 2, and one more axis if the rank allows."""
        grown = tuple(2 if n == 1 else n for n in self.shape)
        return (2, *grown) if grown == self.shape or self.dice.chance(40) else grown

    def along(self, sizes: Iterable[int], shape: Iterable[int]) -> Shape:
        """The sizes, with those of `shape` in place of the axis to gather from."""
        sizes, axis = tuple(sizes), self["long"] % len(self.shape)
        return (*sizes[:axis], *shape, *sizes[axis + 1 :])

    # Operands

    def other(self) -> str:
        """A parameter (or constant) that broadcasts with `{x}`."""
        operand = self.dice.weighted(_OPERANDS) if self._operand is None else self._operand
        shape = self.shape
        if operand == "scalar" or not shape:
            return self.of_shape(*(() if operand != "more axes" else (2,)))
        if operand == "same":
            return str(self["same"])
        if operand in ("fewer axes", "constant"):
            shape = shape[1 + self.dice.below(len(shape)) :] if len(shape) > 1 else shape
        elif operand == "ones":
            k = self.dice.below(len(shape))
            shape = tuple(1 if a == k or (a > k and self.dice.chance(20)) else n for a, n in enumerate(shape))
        elif len(shape) < 4 and 2 * self["size"] <= _MAX_GROWN:
            shape = (2, *(1 if self.dice.chance(30) else n for n in shape))
        if operand == "constant" and 0 not in shape:
            return _constant(self.dice, shape)
        return self.of_shape(*shape)

    def beside(self) -> str:
        """The array to concatenate after `{x}` along `{axis}`."""
        axis = self["axis"] % len(self.shape)
        return self.of_shape(*(1 + self.dice.below(2) if a == axis else n for a, n in enumerate(self.shape)))

    def letters(self) -> str:
        """Subscripts for `{x}` and a factor with the same last axis; other axes are kept, summed or moved."""
        x = "abcdefgh"[: len(self.shape)]
        result = self.dice.pick((x[:-1] + "z", "z" + x[:-1][::-1], x + "z", "z"))
        return f"{x},{x[-1]}z->{result}"

    def factor(self) -> str:
        """A factor: the shape of `{x}` where that is square."""
        square = len(self.shape) == 2 and self.shape[0] == self.shape[1]
        return self.of_shape(*(self.shape if square else (self.shape[-1], 2)))

    # Places

    def indices(self, shape: Shape, n: int) -> str:
        """Indices into an axis of size n, a constant or a parameter."""
        if self.dice.chance(30) or not shape:
            return self._parameter(BlankArgument(shape, n))
        count = math.prod(shape)
        entries = [(k + self.dice.below(n)) % n for k in range(count)]
        if not count:
            return f"array([], shape={shape}, dtype=int)"
        return f"array({_nested(entries, shape)})"

    def indices_along(self) -> str:
        """Indices of the rank of `{x}`, of any length along `{long}`; the other axes broadcast with `{x}`."""
        n = self.shape[self["long"]]
        others = [(2 if k == 1 else 1) if self.dice.chance(25) else k for k in self.shape]
        return self.indices(self.along(others, (1 + self.dice.below(3),)), n)

    def spot(self, n: int) -> str:
        """An index or a slice of an axis of this length."""
        if self.dice.chance(45):
            start = self.dice.below(n)
            return f"{start}:{n - self.dice.below(n - start)}"
        return str(self.dice.below(n))

    # Windows

    def slides(self) -> list[tuple[int, int, tuple[int, int]]]:
        """Window, stride and padding for each axis; at most two axes have a window above 1."""
        rows: list[tuple[int, int, tuple[int, int]]] = []
        for n in self.shape:
            padding = self.dice.weighted(_PADDING) if n > 1 else (0, 0)
            room = max(1, min(3, n + sum(padding)))
            window = 1 + (self.dice.below(room) + 1) % room if sum(w > 1 for w, _, _ in rows) < 2 else 1
            stride = self.dice.weighted(_STRIDES) if n > 1 else 1
            rows.append((window, stride, padding if window > 1 else (0, 0)))
        return rows

    rows: ClassVar[Mapping[str, Callable[..., object]]] = {
        "size": lambda b: math.prod(b.shape),
        "rows": lambda b: b.shape[0] if b.shape else 0,
        "less": lambda b: b["rows"] - 1,
        "axis": any_axis,
        "axes": lambda b: b.some(list(range(len(b.shape))), whole=True),
        "filled": lambda b: b.some([a for a, n in enumerate(b.shape) if n], whole=0 not in b.shape),
        "long": any_axis,
        "new": lambda b: b.dice.below(len(b.shape) + 1),
        "keep": lambda b: b.dice.chance(40),
        "order": order,
        "trips": lambda b: b.dice.pick((2, 1, 3, 0)),
        "reshaped": reshaped,
        "grown": grown,
        "other": other,
        "same": lambda b: b.of_shape(*b.shape),
        "beside": beside,
        "matrix": lambda b: b.of_shape(b.shape[-1], 2 - b.dice.below(2)),
        "square": lambda b: b.of_shape(b.shape[-1], b.shape[-1]),
        "captured": lambda b: _constant(b.dice, (b.shape[-1], 2)) if b.shape[-1] else b["matrix"],
        "bias": lambda b: b.of_shape(1),
        "letters": letters,
        "factor": factor,
        "gathered": lambda b: b.dice.weighted(Odds((50, (b.shape[b["long"]] + 1,)), *_GATHERED)),
        "places": lambda b: b.indices(b["gathered"], b.shape[b["long"]]),
        "updates": lambda b: b.of_shape(*b.along(b.shape, b["gathered"])),
        "along": indices_along,
        "spots": lambda b: [b.spot(n) for n in b.shape],
        "place": lambda b: ", ".join(b["spots"]),
        "written": lambda b: ", ".join(
            f"slice({s.replace(':', ', ')})" if ":" in s else s for s in b["spots"]
        ),
        "slides": slides,
        "window": lambda b: tuple(w for w, _, _ in b["slides"]),
        "strides": lambda b: tuple(s for _, s, _ in b["slides"]),
        "padding": lambda b: tuple(p for _, _, p in b["slides"]),
        "kernel": lambda b: b.of_shape(1 + b.dice.below(2), b.shape[1], *b["window"][2:]),
        "steps": lambda b: b["strides"][2:],
        "margins": lambda b: b["padding"][2:],
    }
    """`filled` are axes that are not empty, `long` is the axis to gather from, `captured` a constant matrix.
    `updates` has the shape that gathering at `places` gives. `written` are the spots of `place` as arguments
    of `index_update`. `kernel`, `steps` and `margins` are for the axes after the first two.
    """


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
