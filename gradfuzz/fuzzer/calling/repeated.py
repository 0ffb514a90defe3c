"""A call that is judged, made again: by the conventions of its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.calling.invocation import called, returned, values_of
from gradfuzz.fuzzer.conventions.convention import excused
from gradfuzz.fuzzer.conventions.situation import OfCall
from gradfuzz.fuzzer.conventions.table import CONVENTIONS
from gradfuzz.fuzzer.measuring.numeric import numeric_truth
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.libraries.detect import library_named
from gradfuzz.oracles.base import Array, Question, Truth


class Repeated(OfCall):
    """The answer about a call that its library makes again."""

    def returned(self, *arrays: Array) -> Any:
        library = library_named(self.call.library)
        return returned(self.call, library, [library.constant(x) for x in arrays or values_of(self.call)])

    def floats(self, result: Any) -> list[Array]:
        library = library_named(self.call.library)
        return [library.numpy(x) for x in library.leaves(result)]

    def truth(self, call: Call, question: Question, weight: Callable[[Array, Array], Array]) -> Truth:
        library = library_named(call.library)
        arrays = [library.constant(value) for value in values_of(call)]
        subject = subject_of(called(call, library), arrays, None, None, library.name)
        (point,) = question.points
        values = subject.values([np.asarray(point.inputs[p.name]) for p in question.program.params])
        pairs = zip(question.weights, values, strict=True)
        weights = tuple(None if w is None else weight(w, np.asarray(y)) for w, y in pairs)
        return numeric_truth(subject, replace(question, weights=weights)).truth


def excused_call(call: Call, case: CheckResult) -> CheckResult:
    """The case, by the conventions of the function that is called."""
    rows = ((row, source) for row in CONVENTIONS if (source := row.source(call.function)) is not None)
    return excused(Repeated(call, case), rows)
