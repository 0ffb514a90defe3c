"""What the drawn programs contained and how they were asked about: it shows what was not tested."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.fuzzer.results.trigger import FORMS
from gradfuzz.oracles.base import Array, Question
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import TripCount, arguments_of, interpret
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call

Tested = Mapping[str, Mapping[str, int]]
"""By kind of feature, how many programs had each; sizes count points."""

_NO_LOOP = "none"

_TRIPS = ((0, "0"), (1, "1"), (4, "2-4"), (16, "5-16"))
_MORE_TRIPS = ">16"

_SMALLEST, _LARGEST = -9, 9
"""Decades of sizes; what is smaller or larger is counted in one."""

_KINDS: Mapping[str, tuple[str, ...] | None] = {
    "op": None,
    "loop form": (*FORMS.values(), _NO_LOOP),
    "trips": (*(name for _, name in _TRIPS), _MORE_TRIPS),
    "dtype": None,
    "order": None,
    "size of inputs": (
        *("0", f"<1e{_SMALLEST}", *(f"1e{k}" for k in range(_SMALLEST, _LARGEST + 1))),
        *(f">=1e{_LARGEST + 1}", "not finite"),
    ),
}
"""Kinds and their features in the order of reports; None: alphabetical."""


def counted(questions: Sequence[Question]) -> Tested:
    """What one program counts: each feature once. All questions are about this program and its points.

    Iterations are counted where the program runs, in the questions' precision.
    """
    if not questions:
        return {}
    first = questions[0]
    program, inputs = first.program, [point.inputs for point in first.points]
    nodes = list(walk(program))
    forms = [FORMS[type(n)] for n in nodes if type(n) in FORMS]
    found: dict[str, Counter[str]] = {
        "op": _once(n.op for n in nodes if isinstance(n, Call)),
        "loop form": _once(forms or [_NO_LOOP]),
        "trips": _once(_bucket(n) for at in (inputs if forms else ()) for n in _trips(program, at, first)),
        "dtype": _once(q.precision for q in questions),
        "order": _once(str(q.order) for q in questions),
        "size of inputs": Counter(),
    }
    for at in inputs:
        floats = (a for a in at.values() if is_float(a.dtype))
        found["size of inputs"].update(_once(_decade(v) for a in floats for v in _flat(a)))
    return {kind: counts for kind, counts in found.items() if counts}


def added(parts: Iterable[Tested]) -> dict[str, Counter[str]]:
    """The sum of several counts."""
    result: dict[str, Counter[str]] = {}
    for part in parts:
        for kind, counts in part.items():
            result.setdefault(kind, Counter()).update(counts)
    return result


def ordered(counts: Tested) -> dict[str, dict[str, int]]:
    """The same counts in the order of reports."""
    result = {}
    for kind, known in _KINDS.items():
        of_kind = counts.get(kind, {})
        names = sorted(of_kind) if known is None else [name for name in known if name in of_kind]
        if names:
            result[kind] = {name: of_kind[name] for name in names}
    return result


def _once(names: Iterable[str]) -> Counter[str]:
    return Counter(set(names))


def _trips(program: Program, inputs: Mapping[str, Array], question: Question) -> list[int]:
    """The trip count of every run of a loop, as far as the program runs."""
    trace: list[int] = []
    with contextlib.suppress(EvaluationError):
        interpret(program, arguments_of(inputs), NumpyNamespace(question.precision), trace=trace)
    return [int(entry) for entry in trace if isinstance(entry, TripCount)]


def _bucket(trips: int) -> str:
    return next((name for most, name in _TRIPS if trips <= most), _MORE_TRIPS)


def _flat(array: Array) -> list[float]:
    return list(np.ravel(array).astype(np.float64).tolist())


def _decade(value: float) -> str:
    if not math.isfinite(value):
        return "not finite"
    if value == 0.0:
        return "0"
    # The logarithm of 0.001 may be rounded either way; the text has the exact decade.
    decade = int(f"{abs(value):e}".partition("e")[2])
    if decade < _SMALLEST:
        return f"<1e{_SMALLEST}"
    return f"1e{decade}" if decade <= _LARGEST else f">=1e{_LARGEST + 1}"
