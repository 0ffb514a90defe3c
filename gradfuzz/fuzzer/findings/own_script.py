"""The reproducer of a finding in the engine or in a mutant: a script that asks gradfuzz itself."""

from __future__ import annotations

from gradfuzz.oracles.base import Array, Question
from gradfuzz.oracles.emit.script import array_text, opening
from gradfuzz.oracles.emit.script_verdict import ENDING
from gradfuzz.programs.language.program import to_text

_IMPORTS = """\
import numpy as np

from gradfuzz.fuzzer import check_program
from gradfuzz.oracles.base import Point
from gradfuzz.programs import parse
"""

_TEMPLATE = '''\
program = parse("""
{program}""")
points = [{points}]


def comparison():
    """What gradfuzz says of the answer, and whether it is wrong."""
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
    lines = [
        f"{{case.oracle}}: {{case.verdict.value}}, expected {{case.expected}}, got {{case.got}}, "
        f"ratio {{case.ratio}}"
        for case in check.cases{only}
    ]
    return lines, check.wrong


'''


def own_script(question: Question, oracle_name: str, place: int = 0) -> str:
    """A runnable script that asks `oracle_name` the question and shows its answer at point number `place`."""
    dtypes = {"float": question.precision, "int": "int64", "bool": "bool"}
    own = {p.name: dtypes[p.type.dtype] for p in question.program.params}
    inputs = [{name: array_text(v, own[name]) for name, v in p.inputs.items()} for p in question.points]
    points = [f"Point({_mapping(texts)})" for texts in inputs]
    body = _TEMPLATE.format(
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
    return opening(f"{oracle_name} answers wrongly.", "gradfuzz", _IMPORTS) + body + ENDING


def _text(array: Array) -> str:
    return array_text(array, "float64")


def _mapping(entries: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in entries.items()) + "}"
