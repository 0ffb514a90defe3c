"""Smaller batches: reductions of the points that are answered together with the candidate's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.questions.axes import removed, spliced
from gradfuzz.fuzzer.questions.candidate import Candidate

_PLAIN = {"float": (2.0, 1.5, 3.0, 0.25), "int": (2, 1, 3, 0), "bool": ()}
"""Entries of a companion, the plainest first. The candidate's own become 0.5 where possible."""


def fewer_points(candidate: Candidate) -> Iterator[Candidate]:
    """The candidate alone, with one companion, or without one of them; without a row or column of a grid."""
    others, place = candidate.others, candidate.place
    if not others:
        return
    yield candidate.alone()
    if len(others) > 1:
        for k, other in enumerate(others):
            yield replace(candidate, others=(other,), place=int(k < place))
        for k in range(len(others)):
            yield replace(candidate, others=removed(others, k), place=place - (k < place))
        yield from _without_a_line(candidate)
    if place:
        yield replace(candidate, place=0)


def _without_a_line(candidate: Candidate) -> Iterator[Candidate]:
    """The candidate without the companions that have one value of an input: a line of a grid stays or goes
    as a whole.
    """
    for name in varying_inputs(candidate):
        values = [other[name].tobytes() for other in candidate.others]
        for value in dict.fromkeys(v for v in values if v != candidate.inputs[name].tobytes()):
            kept = [k for k, v in enumerate(values) if v != value]
            place = sum(k < candidate.place for k in kept)
            yield replace(candidate, others=tuple(candidate.others[k] for k in kept), place=place)


def shared_inputs(candidate: Candidate) -> Iterator[Candidate]:
    """An input that varies, made the same at all points."""
    for name in varying_inputs(candidate):
        own = candidate.inputs[name]
        yield replace(candidate, others=tuple({**other, name: own} for other in candidate.others))


def plainer_companions(candidate: Candidate) -> Iterator[Candidate]:
    """An input of a companion filled with a plain number."""
    for k, other in enumerate(candidate.others):
        for param in candidate.program.params:
            for option in _PLAIN[param.type.dtype]:
                changed = {**other, param.name: np.full_like(other[param.name], option)}
                yield replace(candidate, others=spliced(candidate.others, k, changed))


def varying_inputs(candidate: Candidate) -> list[str]:
    """The names of the inputs that are not the same at all points, bit for bit."""
    own, others = candidate.inputs, candidate.others
    return [name for name in own if any(o[name].tobytes() != own[name].tobytes() for o in others)]
