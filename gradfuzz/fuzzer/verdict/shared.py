"""What each process makes once and uses for every question: its oracles, and the evaluator."""

from __future__ import annotations

import functools

from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve

_SLOW_STRIDE = 8
"""An oracle is slow if a sweep asks it about only one program in this many, or fewer."""


@functools.cache
def oracle(name: str) -> Oracle:
    """The oracle of this exact name, made once per process."""
    return next(o for o in resolve(name, supervised=True) if o.name == name)


def is_slow(target: Oracle) -> bool:
    """Whether answers are so slow that each one counts."""
    return target.traits.sampling_stride >= _SLOW_STRIDE


@functools.cache
def evaluator() -> Evaluator:
    """The evaluator of this process."""
    return Evaluator()
