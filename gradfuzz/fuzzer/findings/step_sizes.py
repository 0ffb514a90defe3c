"""Central differences against their step. The best come near the truth: no step size explains the answer.

The error of (F(x + h) - F(x - h)) / 2h is about h^2 |F'''| / 6 + u |F| / h. It falls with h until h is near
u^(1/3), and rises again below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.errors import EvaluationError
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.rewrite import map_expressions
from gradfuzz.fuzzer.questions.weighted import plain_inputs
from gradfuzz.fuzzer.results.evidence import Differences, Step
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.verdict.labels import Entry, answered_entry, true_entry
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.precision import Precision, is_float, rounded
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import ArrayConst, Const, Expr

_STEPS = tuple(10.0**-k for k in range(15, 0, -1))


def differences(candidate: Candidate, smallest: CheckResult, entry: Entry) -> Differences | None:
    """The differences at the candidate's inputs, whose verdict is `smallest`. None where the entry has no
    true derivative or no answer.

    At order two and three they are differences of the engine's derivative of one order less. Steps that leave
    the domain are left out.
    """
    true, got = true_entry(smallest.truth, entry), answered_entry(smallest.answer, entry)
    name, index = entry
    if true is None or got is None or name not in candidate.wrt or not candidate.modes:
        return None
    wide = _in_float64(candidate)
    x = wide.inputs[name]
    ends = []
    for h in (*_STEPS, *(-h for h in _STEPS)):
        end = np.array(x)
        end[index] += h
        ends.append({**wide.inputs, name: end})
    heights = _heights(wide, ends)
    pairs = zip(_STEPS, heights[: len(_STEPS)], heights[len(_STEPS) :], strict=True)
    errors = [(h, abs((above - below) / (2.0 * h) - true[0])) for h, above, below in pairs]
    steps = [Step(h, error) for h, error in errors if math.isfinite(error)]
    return Differences(entry, true[0], got, abs(got - true[0]), tuple(steps)) if steps else None


def _in_float64(candidate: Candidate) -> Candidate:
    """The same function in float64; its constants are rounded to the candidate's precision."""
    inputs = {name: v.astype(np.float64) if is_float(v.dtype) else v for name, v in candidate.inputs.items()}
    program = _with_constants_of(candidate.program, candidate.precision)
    return replace(candidate.alone(), program=program, inputs=inputs, precision="float64")


def _with_constants_of(program: Program, precision: Precision) -> Program:
    def constant(e: Const) -> Const:
        return Const(rounded(e.value, precision)) if isinstance(e.value, float) else e

    def change(e: Expr) -> Expr:
        if isinstance(e, ArrayConst):
            return replace(e, values=tuple(map(constant, e.values)))
        return constant(e) if isinstance(e, Const) else e

    return replace(program, body=map_expressions(program.body, change))


def _heights(candidate: Candidate, points: Sequence[Mapping[str, Array]]) -> list[float]:
    """F at each point, or its derivative of one order less along the direction. NaN where there is none."""
    if len(candidate.modes) == 1:
        return [_value(candidate, inputs) for inputs in points]
    lower = replace(candidate, modes=candidate.modes[:-1])
    heights = []
    for answer in EngineOracle().answer(lower.question(points)):
        names = candidate.wrt if answer.status == "ok" else ()
        slopes = [np.sum(answer.gradient[n] * candidate.directions[n]) for n in names]
        heights.append(float(sum(slopes)) if slopes else math.nan)
    return heights


def _value(candidate: Candidate, inputs: Mapping[str, Array]) -> float:
    try:
        outputs = interpret(candidate.program, plain_inputs(inputs), NumpyNamespace("float64"))
    except EvaluationError:
        return math.nan
    return float(sum(np.sum(w * y) for w, y in zip(candidate.weights, outputs, strict=True) if w is not None))
