"""Small standard programs, tried in place of a large one that shrinking cannot reduce.

Each has at most one loop. Together they use a parameter in every possible place: in the body, in the initial
value, before the loop, after it, in a temporary, in the condition.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.text.parse import parse

_SHAPES = (
    ("acc = 1.0", "acc = acc * x", "acc"),
    ("acc = x", "acc = acc * 2.0", "acc"),
    ("acc = x", "acc = acc * acc", "acc"),
    ("acc = 1.0", "acc = x", "acc * x"),
    ("acc = x", "acc = 1.0", "acc * x"),
    ("acc = 1.0", "acc = acc * 2.0", "acc * x"),
    ("acc = 1.0", "acc = acc * x", "acc * x"),
    ("acc = 1.0\n    b = x * x", "acc = acc * b", "acc + b"),
    ("acc = 1.0", "t = acc * x\n        acc = t + x", "acc"),
    ("acc = 1.0", "t = acc * x\n        acc = sin(t) * t", "acc"),
    ("acc = 1.0\n    b = x", "t = acc\n        acc = b\n        b = t * x", "acc + b"),
    ("acc = x", "if acc > 1.0:\n            acc = acc * x\n        else:\n            acc = acc + x", "acc"),
)
"""The statements before the loop, in it, and what is returned."""

_LOOPS = (
    "    for i in range(2):\n        {body}\n",
    "    i = 0\n    while i < 2:\n        {body}\n        i = i + 1\n",
    (
        "    i = 0\n    while True:\n        {body}\n        i = i + 1\n"
        "        if not i < 2:\n            break\n"
    ),
)

_POINTS = (0.5, 2.0, -0.5, 0.01)
_COMPANION = 1.5
"""The point asked in the same call, where `like` has others."""

_BY_VALUE = (
    ("acc < 3.0", "acc * x", 1.5),
    ("acc < 3.0", "acc + x", 0.25),
    ("acc > 0.3", "acc * x", 0.75),
    ("acc > 0.3", "acc - x", 0.25),
    ("acc < 3.0", "acc / x", 0.6),
)
"""The condition, the next value from 1 on, and a companion with a higher trip count.

They show what a batch does with a lane whose loop has ended.
"""


@functools.cache
def _programs() -> tuple[Program, ...]:
    return tuple(
        parse(f"def f(x):\n    {before}\n{loop.format(body=body)}    return {result}\n")
        for loop in _LOOPS
        for before, body, result in _SHAPES
    )


@functools.cache
def _by_value() -> tuple[tuple[Program, float], ...]:
    text = "def f(x):\n    acc = 1.0\n    while {}:\n        acc = {}\n    return acc\n"
    return tuple((parse(text.format(condition, value)), other) for condition, value, other in _BY_VALUE)


def standards(like: Candidate) -> Iterator[Candidate]:
    """The standard programs at a few points, in `like`'s precision and modes, and batched like it."""
    programs = [*(_by_value() if like.others else ()), *((program, _COMPANION) for program in _programs())]
    one = np.ones(())
    directions = {"x": one} if like.directions else {}
    for program, companion in programs:
        others = ({"x": np.array(companion, like.precision)},) if like.others else ()
        for x in _POINTS:
            point = {"x": np.array(x, like.precision)}
            yield Candidate(program, point, like.precision, ("x",), like.modes, (one,), directions, others)
