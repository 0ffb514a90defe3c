"""The engine against the references and against itself, on drawn programs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.engine import compile
from gradfuzz.errors import DomainError
from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.tolerance.allowed import tolerances
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Mode, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import Program, interpret, lower, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.graphs.raising import to_program
from gradfuzz.strategies import cases, draw_many


@pytest.mark.parametrize("programs", [120, pytest.param(2_000, marks=pytest.mark.slow)])
def test_the_engine_never_disagrees_with_the_references(programs: int, seed: int) -> None:
    engine, evaluator = EngineOracle(), Evaluator()
    verdicts: Counter[Verdict] = Counter()
    for index, drawn in enumerate(draw_many(cases(), programs, seed)):
        for question in questions(drawn, index, seed):
            for case in evaluator.cases("engine", question, engine.answer(question)):
                verdicts[case.verdict] += 1
                assert case.verdict is not Verdict.DISAGREE, (
                    f"{case.message} {case.point.inputs}\n{to_text(drawn.program)}"
                )
                assert case.verdict is not Verdict.CRASHED, case.message
    assert verdicts[Verdict.AGREE] > 0.85 * verdicts.total(), verdicts


def test_forward_and_reverse_are_transposes(seed: int) -> None:
    """<J v, u> = <v, J^T u>: the two rule tables know nothing of each other."""
    judged = 0
    for index, drawn in enumerate(draw_many(cases(precisions=("float64",)), 150, seed)):
        for question in questions(drawn, index, seed, orders=(1,), checks=("vjp",))[:1]:
            allowed = tolerances(question)
            both = [EngineOracle().answer(_with(question, mode)) for mode in ("rev", "fwd")]
            for k, tolerance in enumerate(allowed):
                if tolerance.reason is not None:
                    continue
                for name in question.wrt:
                    back, forth = both[0][k].gradient[name], both[1][k].gradient[name]
                    limit = 2 * tolerance.allowed(back, tolerance.noise[name], np.zeros(np.shape(back)))
                    assert np.all(np.abs(back - forth) <= limit), (
                        to_text(drawn.program),
                        question.points[k].inputs,
                    )
                    judged += 1
    assert judged > 150


def _with(question: Question, mode: Mode) -> Question:
    return replace(question, modes=(mode,))


def test_compiled_code_is_the_interpreted_program(seed: int) -> None:
    """In float32, where NumPy computes both, the results are equal bit for bit; and so is the program made of
    the lowered one.
    """
    namespace = NumpyNamespace("float32")
    for drawn in draw_many(cases(precisions=("float32",)), 200, seed):
        program = drawn.program
        function = compile(lower(program), precision="float32", trip_limit=10_000)
        again = to_program(lower(program))
        for point in drawn.points:
            inputs = {p.name: _plain(point[p.name], p.type.dtype) for p in program.params}
            try:
                expected = interpret(program, inputs, namespace)
            except DomainError:
                continue
            assert _same(function(*[point[p.name] for p in program.params]), expected), to_text(program)
            assert _same(_run(again, inputs, namespace), expected), to_text(again)


def _run(program: Program, inputs: dict[str, Any], namespace: NumpyNamespace) -> tuple[Any, ...]:
    return interpret(
        program, dict(zip((p.name for p in program.params), inputs.values(), strict=True)), namespace
    )


def _plain(value: Any, dtype: str) -> Any:
    return value[()] if dtype == "float" or value.shape else value.item()


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in itertools.zip_longest(a, b))
