"""The ATen ops that go over lists of tensors, as those of their members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.rules.value import apply
from gradfuzz.tracing.common.compositions import norm, power
from gradfuzz.tracing.torch.values import Handler, Out, operand


def _each(op: str) -> Handler:
    """An op of two, the second of which may be one number for all."""

    def handler(out: Out, xs: Sequence[Any], ys: Any) -> list[Any]:
        return [apply(op, operand(x), operand(y)) for x, y in _pairs(xs, ys)]

    return handler


def _pairs(xs: Any, ys: Any) -> list[tuple[Any, Any]]:
    """Of two lists, or of a list and a number."""
    count = len(xs if isinstance(xs, (list, tuple)) else ys)
    both = [x if isinstance(x, (list, tuple)) else [x] * count for x in (xs, ys)]
    return list(zip(*both, strict=True))


def _pow(out: Out, xs: Any, ys: Any) -> list[Any]:
    return [power(operand(x), operand(y)) for x, y in _pairs(xs, ys)]


def _norm(out: Out, xs: Sequence[Any], order: float = 2.0, **options: Any) -> list[Any]:
    return [norm(operand(x), float(order)) if np.ndim(operand(x)) else abs(operand(x)) for x in xs]


HANDLERS: dict[str, Handler] = {
    "_foreach_div": _each("divide"),
    "_foreach_maximum": _each("maximum"),
    "_foreach_minimum": _each("minimum"),
    "_foreach_mm": _each("matmul"),
    "_foreach_norm": _norm,
    "_foreach_pow": _pow,
}
"""By the name of an op without its overload."""
