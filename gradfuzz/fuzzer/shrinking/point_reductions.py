"""Smaller batches: reductions of the points that are answered together with the candidate's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.oracles.base import Array

_PLAIN = (2.0, 1.5, 3.0, 0.25)
"""Entries of a companion, the plainest first. The candidate's own become 0.5 where possible."""

_COUNTS = (2, 1, 3, 0)

Inputs = Mapping[str, Array]


def fewer_points(candidate: Candidate) -> Iterator[Candidate]:
    """The candidate alone, with one companion, or without one of them."""
    others, place = candidate.others, candidate.place
    if not others:
        return
    yield candidate.alone()
    if len(others) > 1:
        for k, other in enumerate(others):
            yield replace(candidate, others=(other,), place=int(k < place))
        for k in range(len(others)):
            yield replace(candidate, others=(*others[:k], *others[k + 1 :]), place=place - (k < place))
    if place:
        yield replace(candidate, place=0)


def shared_inputs(candidate: Candidate) -> Iterator[Candidate]:
    """An input that varies, made the same at all points."""
    for name in varying_inputs(candidate):
        yield replace(
            candidate, others=tuple({**other, name: candidate.inputs[name]} for other in candidate.others)
        )


def plainer_companions(candidate: Candidate) -> Iterator[Candidate]:
    """An input of a companion filled with a plain number."""
    for k, other in enumerate(candidate.others):
        for param in candidate.program.params:
            old = other[param.name]
            options: tuple[float, ...] = (
                _PLAIN if param.type.is_float else _COUNTS if param.type.dtype == "int" else ()
            )
            for option in options:
                changed = {**other, param.name: np.full_like(old, option)}
                yield replace(candidate, others=(*candidate.others[:k], changed, *candidate.others[k + 1 :]))


def varying_inputs(candidate: Candidate) -> list[str]:
    """The names of the inputs that are not the same at all points, bit for bit."""
    return [
        name
        for name, own in candidate.inputs.items()
        if any(other[name].tobytes() != own.tobytes() for other in candidate.others)
    ]
