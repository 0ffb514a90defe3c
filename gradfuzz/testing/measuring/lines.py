"""A function of many entries along a few random directions: x + t_1 v_1 + ... + t_m v_m as a function of t,
at t = 0.

The derivative by t_j is <gradient, v_j>. A gradient with a wrong entry is wrong along almost every direction,
and m slopes cost the references as much as m entries. No direction has a zero entry; the entries have the
size of the input's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.testing.measuring.subject import Input, Subject

MANY = 64
"""With more entries to differentiate by, a function is asked along directions."""

_DIRECTIONS = 3

_EIGHTHS = np.array([-16, -13, -11, -9, -6, -5, 5, 6, 9, 11, 13, 16]) / 8
"""Numbers of few bits, exact in every precision."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines(Subject):
    """`base` as a function of t. `directions` has an array per input in `base.wrt`; axis 0 counts them."""

    base: Subject | None = None
    directions: tuple[Array, ...] = ()

    def arguments(self, arrays: Sequence[Any]) -> list[Any]:
        assert self.base is not None, "made by along_lines"
        (t,) = arrays
        moved = [
            self.framework.like(i.value, t) if i.kind == "float" else self.framework.array(i.value)
            for i in self.base.inputs
        ]
        for k, directions in zip(self.base.wrt, self.directions, strict=True):
            for j, direction in enumerate(directions):
                moved[k] = moved[k] + t[j] * self.framework.like(direction, t)
        return self.base.arguments(moved)

    def slopes(self, answer: Any, scale: float, dtype: np.dtype[Any]) -> list[Any]:
        assert self.base is not None, "made by along_lines"
        gradient = self.base.slopes(answer, scale, np.dtype(np.float64))
        found = [np.tensordot(v, g, g.ndim) for v, g in zip(self.directions, gradient, strict=True)]
        return [np.asarray(sum(found[1:], found[0])).astype(dtype)]


def along_lines(base: Subject) -> Lines:
    """`base` along random directions, the same in every run."""
    rng = np.random.default_rng(0)
    directions = []
    for k in base.wrt:
        x = np.asarray(base.inputs[k].value, np.float64)
        largest = float(np.max(np.abs(x), initial=0.0))
        size = 2.0 ** math.floor(math.log2(largest)) if largest else 1.0
        drawn = _EIGHTHS[rng.integers(0, len(_EIGHTHS), (_DIRECTIONS, *x.shape))] * size
        directions.append(drawn.astype(FORMATS[base.precision].dtype))
    t = Input("direction", 0, np.zeros(_DIRECTIONS, FORMATS[base.precision].dtype), "float")
    whose = (base.f, base.label, base.framework, base.precision)
    found = Lines(*whose, (t,), (0,), base.grad, (), (), base=base, directions=tuple(directions))
    return replace(found, _evaluate=base.framework.prepared(found.call))
