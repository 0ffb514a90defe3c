"""Cotangents and directions of single scalars, which divide out: people expect the plain derivative."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradfuzz.oracles.base import Array, Question

_UNIT = 2.0
"""The direction of a single scalar input, and its negative the cotangent of a single scalar. A power of two
divides out exactly; -2 exposes a rule that drops, squares or takes the absolute value of it.
"""


def in_units(question: Question) -> Question:
    """The question with this cotangent if its only float output is a scalar, and with this direction if its
    only differentiated input is one.
    """
    if _is_scalar(*(w for w in question.weights if w is not None)):
        question = replace(
            question, weights=tuple(None if w is None else np.asarray(-_UNIT) for w in question.weights)
        )
    if _is_scalar(*(question.directions[name] for name in question.wrt if name in question.directions)):
        question = replace(question, directions={name: np.asarray(_UNIT) for name in question.wrt})
    return question


def unit_of(question: Question) -> float:
    """The divisor of the derivative of a question `in_units`."""
    weights = [w for w in question.weights if w is not None]
    directions = [question.directions[name] for name in question.wrt if name in question.directions]
    unit = float(weights[0]) if _is_scalar(*weights) else 1.0
    return unit * float(directions[0]) ** max(question.order - 1, 0) if _is_scalar(*directions) else unit


def _is_scalar(*arrays: Array) -> bool:
    return len(arrays) == 1 and np.ndim(arrays[0]) == 0
