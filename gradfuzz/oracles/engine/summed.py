"""What a derivative of the sum over all points of a question can say at one of them.

Where the sum overflows at one point, so may its derivative by the others: 0 times infinity is NaN in forward
mode. That is no answer about them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.base import Answer


def of_a_sum(answers: Sequence[Answer]) -> list[Answer]:
    """The answers; "inconclusive" where a derivative is not finite, its value is, and something at another
    point has overflowed.
    """
    overflowed = [_overflowed(answer) for answer in answers]
    message = "another point of the call overflows, and so does the sum that is differentiated"
    return [
        Answer("inconclusive", message=message)
        if _lost(answer) and any(o for j, o in enumerate(overflowed) if j != k)
        else answer
        for k, answer in enumerate(answers)
    ]


def _overflowed(answer: Answer) -> bool:
    return not all(map(_finite, answer.values)) or any(np.any(np.isinf(g)) for g in answer.gradient.values())


def _lost(answer: Answer) -> bool:
    return all(map(_finite, answer.values)) and not all(map(_finite, answer.gradient.values()))


def _finite(array: object) -> bool:
    return bool(np.all(np.isfinite(np.asarray(array))))
