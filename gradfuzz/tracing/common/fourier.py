"""Discrete Fourier transforms, as products with the matrices of their roots of unity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Operand, apply
from gradfuzz.tracing.common.compositions import recorded

Transform = Literal["forward", "back", "of reals", "to reals"]
"""exp(-i ...) or exp(i ...) of complex numbers; exp(-i ...) of real numbers, of which the first half is kept;
and the real numbers that have such a half, by exp(i ...).
"""


def transformed(x: Operand, axis: int, n: int, kind: Transform) -> Any:
    """The sums of one transform of `n` terms along `axis`, divided by nothing."""
    rank = len(np.shape(x))
    last = (*(a for a in range(rank) if a != axis % rank), axis % rank)
    plain = last == tuple(range(rank))
    found = _of_last(x if plain else engine.permute_dims(x, last), n, kind)
    return found if plain else engine.permute_dims(found, tuple(np.argsort(last).tolist()))


def of_all(x: Operand, axes: Sequence[int], sizes: Sequence[int], kind: Transform) -> Any:
    """Transforms along several axes. Those of reals begin with the last axis, those to reals end with it."""
    *others, last = zip(axes, sizes, strict=True)
    if kind == "of reals":
        x = transformed(x, *last, kind)
    for axis, n in others:
        x = transformed(x, axis, n, "forward" if kind in ("forward", "of reals") else "back")
    return x if kind == "of reals" else transformed(x, *last, kind)


def _of_last(x: Operand, n: int, kind: Transform) -> Any:
    half, back = n // 2 + 1, kind in ("back", "to reals")
    rows = half if kind == "to reals" else n
    columns = half if kind == "of reals" else n
    turns = np.outer(np.arange(rows), np.arange(columns)) % n
    angles = 8.0 * apply("atan", recorded(1.0)) * recorded(turns.astype(float)) / float(n)
    sines = engine.sin(angles)
    roots = engine.complex(engine.cos(angles), sines if back else -sines)
    if kind == "to reals":
        weights = np.array([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(half)])
        return engine.real(engine.matmul(x * recorded(weights), roots))
    return engine.matmul(engine.complex(x, 0.0) if kind == "of reals" else x, roots)
