"""Programs that fit a target: drawn from what it says it can do.

A library of nine ops refuses nine of ten programs that are drawn for everybody, so a sweep says little about
it. For a target that answers less than `WIDE` of them the cases of a family are drawn with its ops alone,
and what it still refuses (a form of loop, a mode, a precision, a stack of matrices) is drawn again.

Some refusals are known beforehand, from what the target lists; others show only when it is asked.
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


def fits(target: Oracle, family: str, precisions: tuple[Precision, ...], orders: tuple[int, ...]) -> bool:
    """Whether what is drawn for everybody fits a target; True where nothing of it does, as no draw would."""
    if not isinstance(target, ForeignOracle):
        return True
    asked = _for_everybody(family, precisions, orders)
    supported = sum(any(target.supports(question) is None for question in own) for own in asked)
    return not 0 < supported < WIDE * len(asked)


@functools.lru_cache(maxsize=8)
def _for_everybody(
    family: str, precisions: tuple[Precision, ...], orders: tuple[int, ...]
) -> list[list[Question]]:
    cases = draw_many(FAMILIES[family].cases(precisions), _MEASURED, "fitting")
    return [questions(case, 0, 0, precisions=precisions, orders=orders) for case in cases]


def is_answered(asked: Sequence[Question], targets: Sequence[Oracle]) -> bool:
    """Whether one of the targets answers something.

    Adapters are asked for the first derivative that they support, or else for the value, at one point, quick
    ones first. Of ways that are cheap only for many questions at once it is enough that they support a
    question and take its program, and of others that they support one.
    """
    able = []
    for target in targets:
        supported = [q for q in asked if q.points and target.supports(q) is None]
        if not isinstance(target, ForeignOracle):
            if supported:
                return True
        elif target.traits.at_once > 1:
            if any(map(target.takes, supported)):
                return True
        elif supported:
            able.append((target, next((q for q in supported if q.modes), supported[0])))
    able.sort(key=lambda pair: pair[0].traits.sampling_stride)
    return any(_answers(target, question) for target, question in able)


def _answers(target: Oracle, question: Question) -> bool:
    """Whether it answers at the first point. It is asked as a sweep asks: JAX keeps what it has traced."""
    ((answer,),) = target.answer_all([replace(question, points=question.points[:1])])
    return answer.status != "unsupported"


def listed(targets: Sequence[Oracle]) -> frozenset[str]:
    """The ops that the targets list."""
    return frozenset(op for target in targets if isinstance(target, ForeignOracle) for op in target.way.ops)
