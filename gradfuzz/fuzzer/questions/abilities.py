"""What an oracle can be asked, found from what it says it supports. Nothing is run."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Mode, Oracle, Point
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.text.loop_body import loop_program

_MODES: dict[str, tuple[Mode, ...]] = {
    "reverse": ("rev",),
    "forward": ("fwd",),
    "second order": ("rev", "fwd"),
}

_PROGRAMS: dict[str, Program] = {
    "for": loop_program("acc*x", loop="for"),
    "while": loop_program("acc*x", loop="while"),
    "repeat": loop_program("acc*x", loop="repeat"),
    "run-time trips": loop_program("acc*x", loop="for", trips="n"),
}


def abilities(oracle: Oracle) -> dict[str, Any]:
    """The name and version of `oracle`, and for each mode the kinds of loop through which it answers."""
    row: dict[str, Any] = {"name": oracle.name, "version": oracle.version}
    for mode, modes in _MODES.items():
        row[mode] = [kind for kind, program in _PROGRAMS.items() if _supports(oracle, program, modes)]
    return row


def _supports(oracle: Oracle, program: Program, modes: tuple[Mode, ...]) -> bool:
    point = Point({p.name: np.asarray(3 if p.type.dtype == "int" else 0.5) for p in program.params})
    return oracle.supports(plain_question(program, [point], "float64", ("x",), modes)) is None
