"""Smaller batches: reductions of the points that are answered together with the candidate's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Specimen
from gradfuzz.oracles.base import Array

_PLAIN = (2.0, 1.5, 3.0, 0.25)
"""Entries of a companion, the plainest first. The candidate's own become 0.5 where possible."""

_COUNTS = (2, 1, 3, 0)

Inputs = Mapping[str, Array]


def fewer_points(specimen: Specimen) -> Iterator[Specimen]:
    """The candidate alone, with one companion, or without one of them."""
    others, place = specimen.others, specimen.place
    if not others:
        return
    yield specimen.alone()
    if len(others) > 1:
        for k, other in enumerate(others):
            yield replace(specimen, others=(other,), place=int(k < place))
        for k in range(len(others)):
            yield replace(specimen, others=(*others[:k], *others[k + 1 :]), place=place - (k < place))
    if place:
        yield replace(specimen, place=0)


def shared_inputs(specimen: Specimen) -> Iterator[Specimen]:
    """An input that varies, made the same at all points."""
    for name in varying_inputs(specimen):
        yield replace(
            specimen, others=tuple({**other, name: specimen.inputs[name]} for other in specimen.others)
        )


def plainer_companions(specimen: Specimen) -> Iterator[Specimen]:
    """An input of a companion filled with a plain number."""
    for k, other in enumerate(specimen.others):
        for param in specimen.program.params:
            old = other[param.name]
            options: tuple[float, ...] = (
                _PLAIN if param.type.is_float else _COUNTS if param.type.dtype == "int" else ()
            )
            for option in options:
                changed = {**other, param.name: np.full_like(old, option)}
                yield replace(specimen, others=(*specimen.others[:k], changed, *specimen.others[k + 1 :]))


def varying_inputs(specimen: Specimen) -> list[str]:
    """The names of the inputs that are not the same at all points, bit for bit."""
    return [
        name
        for name, own in specimen.inputs.items()
        if any(other[name].tobytes() != own.tobytes() for other in specimen.others)
    ]
