"""What a derivative of the sum over all points of a question can say at one of them.

Where the sum overflows at one point, so may its derivative by the others. In forward mode a point without a
finite derivative, as a matrix with equal singular values, makes the sum of all tangents NaN, though its own
direction is 0. Neither is an answer about the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.base import Answer, Mode


def of_a_sum(modes: Sequence[Mode], answers: Sequence[Answer]) -> list[Answer]:
    """The answers; "inconclusive" where a derivative is not finite, its value is, and another point spoils
    the sum: something there has overflowed or, with a forward mode, is not finite.
    """
    spoils = [_overflowed(answer) or ("fwd" in modes and _lost(answer)) for answer in answers]
    message = "another point of the call is not finite, and so is the sum that is differentiated"
    return [
        Answer("inconclusive", message=message)
        if _lost(answer) and any(o for j, o in enumerate(spoils) if j != k)
        else answer
        for k, answer in enumerate(answers)
    ]


def _overflowed(answer: Answer) -> bool:
    return not all(map(_finite, answer.values)) or any(np.any(np.isinf(g)) for g in answer.gradient.values())


def _lost(answer: Answer) -> bool:
    return all(map(_finite, answer.values)) and not all(map(_finite, answer.gradient.values()))


def _finite(array: object) -> bool:
    return bool(np.all(np.isfinite(np.asarray(array))))
