"""Small standard programs: where shrinking of a large one gets stuck, they are tried in its place.

Each has at most one loop, and together they use a parameter everywhere it can stand: in the body, in the
initial value, before the loop, after it, in a temporary, in the condition.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.programs.language.syntax import Program
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
"""Before the loop, in it, returned."""

_LOOPS = (
    "    for i in range(2):\n        {body}\n",
    "    i = 0\n    while i < 2:\n        {body}\n        i = i + 1\n",
    (
        "    i = 0\n    while True:\n        {body}\n        i = i + 1\n        if not i < 2:\n           "
        " break\n"
    ),
)

_POINTS = (0.5, 2.0, -0.5, 0.01)
_COMPANION = 1.5
"""What is asked along, where `like` is asked with others."""

_BY_VALUE = (
    ("acc < 3.0", "acc * x", 1.5),
    ("acc < 3.0", "acc + x", 0.25),
    ("acc > 0.3", "acc * x", 0.75),
    ("acc > 0.3", "acc - x", 0.25),
    ("acc < 3.0", "acc / x", 0.6),
)
"""While what, the next value from 1 on, and a companion that takes more trips: what a batch does with an
instance that has ended.
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
    return tuple(
        (
            parse(
                f"def f(x):\n    acc = 1.0\n    while {condition}:\n        acc = {value}\n    return acc\n"
            ),
            companion,
        )
        for condition, value, companion in _BY_VALUE
    )


def standards(like: Candidate) -> Iterator[Candidate]:
    """The standard programs at a few points, asked as `like` is: in its precision and modes, alone or with
    another point.
    """
    programs = [*(_by_value() if like.others else ()), *((program, _COMPANION) for program in _programs())]
    for program, companion in programs:
        for x in _POINTS:
            point = {"x": np.array(x, like.precision)}
            one = np.ones(())
            directions = {"x": one} if like.directions else {}
            others = ({"x": np.array(companion, like.precision)},) if like.others else ()
            yield Candidate(program, point, like.precision, ("x",), like.modes, (one,), directions, others)
