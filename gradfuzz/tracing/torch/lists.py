"""The ATen ops that go over lists of tensors, as those of their members."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.rules.value import apply
from gradfuzz.tracing.common.compositions import norm, power
from gradfuzz.tracing.torch.values import Handler, Out, operand


def _each(f: Callable[..., Any]) -> Handler:
    """A function of two, one of which may be one number for all."""

    def handler(out: Out, xs: Any, ys: Any) -> list[Any]:
        count = len(xs if isinstance(xs, (list, tuple)) else ys)
        both = [x if isinstance(x, (list, tuple)) else [x] * count for x in (xs, ys)]
        return [f(operand(x), operand(y)) for x, y in zip(*both, strict=True)]

    return handler


_OPS = {"div": "divide", "maximum": "maximum", "minimum": "minimum", "mm": "matmul"}


def _norm(out: Out, xs: Sequence[Any], order: float = 2.0, **options: Any) -> list[Any]:
    return [norm(operand(x), float(order)) if np.ndim(operand(x)) else abs(operand(x)) for x in xs]


HANDLERS: dict[str, Handler] = {
    **{f"_foreach_{name}": _each(functools.partial(apply, op)) for name, op in _OPS.items()},
    "_foreach_norm": _norm,
    "_foreach_pow": _each(power),
}
"""By the name of an op without its overload."""
