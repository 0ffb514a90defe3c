"""What a plant is: an answer that an excuse lets pass, and wrong ones beside it that it must not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.measuring.measured import Measured
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.oracles.base import Answer, Mode, Oracle, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import parse
from gradfuzz.programs.language.precision import Precision

Result = CheckResult | Measured

Gradient = Mapping[str, Any]


@dataclass(frozen=True)
class Planted:
    """`excused` must be no finding and say `words`; where it simply agrees, `reached` tells that the excuse
    had a part in it. Each of `wrong` must be a finding.
    """

    excused: Result
    words: str
    wrong: tuple[Result, ...]
    reached: bool = True


def told(result: Result) -> str:
    """The verdict, its reason and its message."""
    if isinstance(result, Measured):
        return f"{result.verdict.value}: {result.reason}"
    reason = "" if result.reason is None else result.reason.value
    return f"{result.verdict.value}: {reason}: {result.message}"


def is_wrong(result: Result) -> bool:
    return result.verdict in (Verdict.DISAGREE, Verdict.CRASHED)


# Programs ---------------------------------------------------------------------------------------------------


class Changed(EngineOracle):
    """The engine, whose gradient is changed: `change(gradient, point)`."""

    def __init__(self, change: Callable[[dict[str, Any], Point], Gradient]) -> None:
        super().__init__("engine:changed")
        self.change = change

    def answer(self, question: Question) -> list[Answer]:
        return [self._changed(a, p) for a, p in zip(super().answer(question), question.points, strict=True)]

    def _changed(self, answer: Answer, point: Point) -> Answer:
        with np.errstate(all="ignore"):
            found = self.change(dict(answer.gradient), point)
            dtypes = {n: answer.gradient[n].dtype if n in answer.gradient else np.float64 for n in found}
            gradient = {n: np.array(g, dtypes[n]) for n, g in found.items()}
        return replace(answer, gradient=gradient)


def times(factor: float) -> Changed:
    """All of a gradient times a factor."""
    return Changed(lambda gradient, point: {n: factor * g for n, g in gradient.items()})


def saying(**gradient: Any) -> Changed:
    """This gradient, whatever the point; of other inputs the engine's."""
    return Changed(lambda given, point: {**given, **gradient})


def asked(
    text: str, modes: tuple[Mode, ...] = ("rev",), precision: Precision = "float64", **inputs: Any
) -> Question:
    """A question about a program at a point; a text of one line is the expression that it returns."""
    if "\n" not in text:
        sizes = {name: np.shape(value) for name, value in inputs.items()}
        params = ", ".join(f'{n}: "float{list(size)}"' if size else n for n, size in sizes.items())
        before, _, output = text.rpartition("; ")
        lines = [*before.split("; "), f"return {output}"] if before else [f"return {output}"]
        text = "\n    ".join([f"def f({params}):", *lines]) + "\n"
    program = parse(text)
    kinds = {p.name: precision if p.type.is_float else p.type.dtype for p in program.params}
    point = Point({name: np.array(inputs[name], kind) for name, kind in kinds.items()})
    return plain_question(program, [point], precision, None, modes)


def judged(
    question: Question, target: Oracle | None = None, evaluator: Evaluator | None = None
) -> CheckResult:
    """The verdict at the first point, as `gradfuzz check` and the proof of a finding make it."""
    return check_question(question, [target or EngineOracle()], evaluator).cases[0]
