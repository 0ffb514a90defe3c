"""What each process makes once and uses for every question: its oracles, and the evaluator."""

from __future__ import annotations

import functools

from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve


@functools.cache
def oracle(name: str) -> Oracle:
    """The oracle of this exact name, made once per process."""
    return next(o for o in resolve(name, supervised=True) if o.name == name)


@functools.cache
def evaluator() -> Evaluator:
    """The evaluator of this process."""
    return Evaluator()
