"""How the points of a question lie along batch axes: what a vectorized call is given.

Points are instances of one function. An input that is the same at all of them, bit for bit, is shared; the
others vary along an axis. Where the points are a grid, in row-major order, of which some inputs vary along
the rows only and some along the columns only, there are two axes; everywhere else there is one. Where every
input is the same at all points, all of them vary, along one axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[Any]]

_ROWS, _COLUMNS = "a", "b"


@dataclass(frozen=True, slots=True)
class Layout:
    """Named axes with their sizes, outermost first, and the axes along which each input varies (none: it is
    shared).
    """

    sizes: dict[str, int]
    axes: Mapping[str, tuple[str, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes.values())

    def column(self, points: Sequence[Inputs], name: str) -> npt.NDArray[Any]:
        """An input at all points: its own axes in front; a shared one as it is."""
        own = self.axes[name]
        if not own:
            return np.asarray(points[0][name])
        stacked = np.stack([np.asarray(point[name]) for point in points])
        whole = stacked.reshape(*self.shape, *stacked.shape[1:])
        result: npt.NDArray[Any] = whole[tuple(slice(None) if axis in own else 0 for axis in self.sizes)]
        return result

    def instance(self, index: int) -> tuple[int, ...]:
        """The place of a point in a result that has all axes in front."""
        return tuple(int(k) for k in np.unravel_index(index, self.shape))


def layout_of(points: Sequence[Inputs]) -> Layout:
    """The layout of the inputs of one point or more."""
    kinds = {name: _kinds([point[name] for point in points]) for name in points[0]}
    for rows in range(2, len(points) // 2 + 1):
        grid = _grid(kinds, rows, len(points) // rows) if len(points) % rows == 0 else None
        if grid is not None:
            return grid
    varying = {name for name, kind in kinds.items() if kind.any()} or set(kinds)
    return Layout({_ROWS: len(points)}, {name: (_ROWS,) if name in varying else () for name in kinds})


def _kinds(values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """For each value the place of the first that is the same, bit for bit."""
    texts = [np.asarray(value).tobytes() for value in values]
    return np.array([texts.index(text) for text in texts])


def _grid(kinds: Mapping[str, npt.NDArray[np.int64]], rows: int, columns: int) -> Layout | None:
    """The layout with two axes; None where the points are no such grid."""
    axes = {}
    for name, kind in kinds.items():
        table = kind.reshape(rows, columns)
        along = ((table != table[:1]).any(), (table != table[:, :1]).any())
        axes[name] = tuple(axis for axis, varies in zip((_ROWS, _COLUMNS), along, strict=True) if varies)
    if {(_ROWS,), (_COLUMNS,)} <= set(axes.values()):
        return Layout({_ROWS: rows, _COLUMNS: columns}, axes)
    return None
