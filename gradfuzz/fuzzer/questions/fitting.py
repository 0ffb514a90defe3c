"""Programs that fit a target: drawn from what it says it can do.

A library of nine ops refuses nine of ten programs that are drawn for everybody, so a sweep says little about
it. For a target that answers less than `WIDE` of them the cases of a family are drawn with its ops alone,
and what it still refuses (a form of loop, a mode, a precision, a stack of matrices) is drawn again.

Some refusals are known beforehand, from what the target lists; others show only when it is asked. A target
whose every answer counts is not asked for this.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.oracles.base import Oracle, Question
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.programs.language.precision import Precision
from gradfuzz.strategies import FAMILIES, draw_many

WIDE = 0.7
"""A target that answers something about this share of what is drawn for everybody needs no draws of its own.
"""

_MEASURED = 48
"""How many cases tell what share it supports."""

_TRIED = 16
"""About so many of these it is asked, to learn what it refuses only then."""


def fits(target: Oracle, family: str, precisions: tuple[Precision, ...], orders: tuple[int, ...]) -> bool:
    """Whether what is drawn for everybody fits a target; True where nothing of it does, as no draw would."""
    if not isinstance(target, ForeignOracle):
        return True
    asked = _for_everybody(family, precisions, orders)
    supported = [own for own in asked if is_supported(own, [target])]
    if not supported or len(supported) < WIDE * len(asked):
        return not supported
    tried = supported[:_TRIED]
    answered = sum(is_answered(own, [target]) for own in tried)
    return not 0 < answered < WIDE * len(tried)


@functools.lru_cache(maxsize=8)
def _for_everybody(
    family: str, precisions: tuple[Precision, ...], orders: tuple[int, ...]
) -> list[list[Question]]:
    cases = draw_many(FAMILIES[family].cases(precisions), _MEASURED, "fitting")
    return [questions(case, 0, 0, precisions=precisions, orders=orders) for case in cases]


def is_supported(asked: Sequence[Question], targets: Sequence[Oracle]) -> bool:
    """Whether one of the targets supports one of the questions."""
    return any(target.supports(question) is None for target in targets for question in asked)


def is_answered(asked: Sequence[Question], targets: Sequence[Oracle]) -> bool:
    """Whether one of the targets answers something.

    An adapter is asked for the first derivative that it supports, or else for the value, at one point. Of
    others, and of ways so slow that each answer counts where there are no quicker ones, it is enough that
    they support a question.
    """
    able = []
    for target in targets:
        supported = [q for q in asked if q.points and target.supports(q) is None]
        if supported and not isinstance(target, ForeignOracle):
            return True
        able += [(target, next((q for q in supported if q.modes), q)) for q in supported[:1]]
    quick = [(target, question) for target, question in able if not target.traits.slow]
    return any(_answers(target, question) for target, question in quick) if quick else bool(able)


def _answers(target: Oracle, question: Question) -> bool:
    (answer,) = target.answer(replace(question, points=question.points[:1]))
    return answer.status != "unsupported"


def listed(targets: Sequence[Oracle]) -> frozenset[str]:
    """The ops that the targets list."""
    return frozenset(op for target in targets if isinstance(target, ForeignOracle) for op in target.way.ops)
