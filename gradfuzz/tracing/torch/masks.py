"""Scores that a constant mask makes minus infinite, as attention has them: what softmax makes of them is said
without an infinity.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import UntraceableError
from gradfuzz.tracing.common.compositions import as_kind, at_positions, spread
from gradfuzz.tracing.torch.values import Masked, Out, operand


def _is_minus_infinity(x: Any) -> bool:
    return isinstance(x, (float, torch.Tensor)) and torch.as_tensor(x).numel() == 1 and float(x) == -math.inf


def masked(out: Out, mask: Any, hidden: Any, x: Any) -> Any:
    """where(mask, hidden, x): a `Masked` where the mask is constant and `hidden` minus infinity, None where
    it is anything else.
    """
    constant = isinstance(mask, torch.Tensor) and mask.dtype == torch.bool
    if not (constant and _is_minus_infinity(hidden) and isinstance(x, Value)):
        return None
    return Masked(spread(as_kind(x, out.kind), out.shape), np.broadcast_to(mask.numpy(), out.shape))


def plus(out: Out, x: Any, y: Any) -> Any:
    """x + y: a `Masked` where one of them is a constant with entries of minus infinity and no other ones that
    are infinite or NaN; None otherwise.
    """
    if isinstance(x, torch.Tensor) and isinstance(y, Value):
        x, y = y, x
    if not (isinstance(x, Value) and isinstance(y, torch.Tensor) and y.is_floating_point()):
        return None
    hidden = y == -math.inf
    if not bool(hidden.any()) or not bool(torch.isfinite(y[~hidden]).all()):
        return None
    rest = operand(torch.where(hidden, torch.zeros((), dtype=y.dtype), y))
    return Masked(spread(as_kind(x, out.kind) + rest, out.shape), np.broadcast_to(hidden.numpy(), out.shape))


def softmax(x: Masked, dim: int) -> Any:
    """exp(x) divided by its sum over what is seen; 0 where it is hidden.

    The hidden entries take the value of a seen one of their row, so that nothing overflows, and the sum
    leaves them out. The scores are shifted by a whole number, which has no derivative. So in a row with one
    seen entry the derivative is 0 by the cancellation that kernels compute as well, and rounds as theirs.
    """
    seen = ~x.mask
    if not seen.any(axis=dim).all():
        raise UntraceableError("a softmax of a row that is hidden as a whole")
    places = np.arange(seen.size).reshape(seen.shape)
    first = np.take_along_axis(places, np.expand_dims(seen.argmax(axis=dim), dim), axis=dim)
    scores = at_positions(x.value, np.where(seen, places, first))
    near_largest = engine.floor(engine.amax(scores, axis=dim, keepdims=True) + _BETWEEN)
    kept = engine.where(x.mask, 0.0, engine.exp(scores - near_largest))
    return kept / engine.sum(kept, axis=dim, keepdims=True)


_BETWEEN = 0.3183
"""Scores of a few digits are no jump of the shift."""
