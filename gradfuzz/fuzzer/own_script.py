"""The reproducer of a finding in the engine or in a mutant: a script that asks gradfuzz itself."""

from __future__ import annotations

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.script import array_text
from gradfuzz.programs.printer import to_text

__all__ = ["own_script"]

_TEMPLATE = '''"""{name} answers wrongly.

Prints expected and got, and exits with 1 while they differ. Needs gradfuzz.
"""

from __future__ import annotations

import sys

import numpy as np

from gradfuzz.fuzzer import check_program
from gradfuzz.oracles.base import Point
from gradfuzz.programs import parse

program = parse("""
{program}""")
points = [{points}]
check = check_program(
    program,
    points,
    {precision!r},
    {wrt!r},
    {modes!r},
    [{name!r}],
    weights={weights},
    directions={directions},
)
for case in check.cases{only}:
    print(f"{{case.oracle}}: {{case.verdict.value}}, expected {{case.expected}}, got {{case.got}}, ratio {{case.ratio}}")
sys.exit(1 if check.wrong else 0)
'''


def own_script(question: Question, oracle_name: str, place: int = 0) -> str:
    """A runnable script that asks `oracle_name` the question, and shows what it says at the point number `place`."""
    dtypes = {
        p.name: {"float": question.precision, "int": "int64", "bool": "bool"}[p.type.dtype] for p in question.program.params
    }
    points = [
        "Point(" + _mapping({name: array_text(v, dtypes[name]) for name, v in point.inputs.items()}) + ")"
        for point in question.points
    ]
    return _TEMPLATE.format(
        name=oracle_name,
        program=to_text(question.program).rstrip() + "\n",
        points=", ".join(points),
        only=f"[{place} : {place + 1}]" if len(points) > 1 else "",
        precision=question.precision,
        wrt=question.wrt,
        modes=question.modes,
        weights=f"[{', '.join('None' if w is None else _text(w) for w in question.weights)}]",
        directions=_mapping({name: _text(v) for name, v in question.directions.items()}),
    )


def _text(array: Array) -> str:
    return array_text(array, "float64")


def _mapping(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in entries.items()) + "}"
