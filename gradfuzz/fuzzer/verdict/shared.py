"""What a process makes once and then uses for every question: its oracles, and the evaluator that judges
them.
"""

from __future__ import annotations

import functools

from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve

_SLOW_STRIDE = 8
"""An oracle that a sweep asks about one program of so many, or of more, is a slow one."""


@functools.cache
def oracle(name: str) -> Oracle:
    """The oracle of this exact name, made once for each process."""
    return next(o for o in resolve(name, supervised=True) if o.name == name)


def is_slow(target: Oracle) -> bool:
    """Whether an answer takes so long that every one counts."""
    return target.traits.sampling_stride >= _SLOW_STRIDE


@functools.cache
def evaluator() -> Evaluator:
    """The process's own."""
    return Evaluator()
