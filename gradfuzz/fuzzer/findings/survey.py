"""Where a shrunk disagreement shows: the library's other entry points, modes, precisions and loop forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import loop_forms
from gradfuzz.fuzzer.results.evidence import Aspect
from gradfuzz.fuzzer.results.finding import CheckResult, Verdict
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Answer, Array, Mode, Oracle, check_name
from gradfuzz.programs.language.precision import Precision, is_float

_MODES: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",))
_PRECISIONS: tuple[Precision, ...] = ("float64", "float32")

_PLURALS = {Aspect.WAY: "ways", Aspect.MODE: "checks", Aspect.DTYPE: "precisions", Aspect.LOOP: "loop forms"}


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """The answer with one thing changed: `name` is what it is changed to, `case.oracle` who was asked."""

    aspect: Aspect
    name: str
    candidate: Candidate
    case: CheckResult


@dataclass(frozen=True, slots=True)
class Survey:
    """A note in words (empty where there is nothing to tell), and all outcomes with the finding's own."""

    note: str
    outcomes: tuple[Tried, ...]

    @property
    def wrong_ways(self) -> tuple[str, ...]:
        """The library's entry points that are wrong, the target's own included."""
        return tuple(o.name for o in self.outcomes if o.aspect is Aspect.WAY and o.case.verdict.is_wrong)


def survey(candidate: Candidate, smallest: CheckResult, target: Oracle, ways: Sequence[Oracle]) -> Survey:
    """Asks where the same library is right and wrong about the candidate. `smallest` is the verdict on it."""
    outcomes = tuple(_outcomes(candidate, smallest, target, ways))
    parts = []
    for aspect, what in _PLURALS.items():
        verdicts = {o.name: o.case.verdict for o in outcomes if o.aspect is aspect}
        if verdicts:
            parts.append(_sentence(what, verdicts))
    return Survey(" ".join(filter(None, parts)), outcomes)


def _outcomes(
    candidate: Candidate, smallest: CheckResult, target: Oracle, ways: Sequence[Oracle]
) -> Iterator[Tried]:
    precisions = [p for p in dict.fromkeys((*_PRECISIONS, candidate.precision)) if p != candidate.precision]
    forms = {k: replace(candidate, program=program) for k, program in loop_forms(candidate).items()}
    _prepare([*(_in_precision(candidate, p) for p in precisions), *forms.values()], target)
    yield Tried(Aspect.WAY, target.name, candidate, smallest)
    for way in ways:
        if way.name != target.name:
            yield tried(Aspect.WAY, way.name, candidate, way)
    if candidate.modes:
        yield Tried(Aspect.MODE, check_name(candidate.modes), candidate, smallest)
        for modes in _MODES:
            if modes != candidate.modes:
                yield tried(Aspect.MODE, check_name(modes), replace(candidate, modes=modes), target)
    for precision in dict.fromkeys((*_PRECISIONS, candidate.precision)):
        if precision == candidate.precision:
            yield Tried(Aspect.DTYPE, precision, candidate, smallest)
        else:
            yield tried(Aspect.DTYPE, precision, _in_precision(candidate, precision), target)
    for form, changed in forms.items():
        yield tried(Aspect.LOOP, f"{form} loop", changed, target)


def _prepare(candidates: Sequence[Candidate], target: Oracle) -> None:
    """Lets a target that compiles many programs at once do so: it keeps them until it is asked about each."""
    if target.traits.at_once > 1:
        questions = [c.question() for c in candidates]
        target.answer_all([q for q in questions if target.supports(q) is None])


def tried(aspect: Aspect, name: str, candidate: Candidate, way: Oracle) -> Tried:
    """What `way` answers about a candidate, or that it cannot be asked."""
    refusal = way.supports(candidate.question())
    if refusal is None:
        return Tried(aspect, name, candidate, asked(candidate, way))
    question, answer = candidate.alone().question(), Answer("unsupported", message=refusal)
    unsupported = Verdict.UNSUPPORTED
    case = CheckResult(way.name, question, question.points[0], None, answer, unsupported, message=refusal)
    return Tried(aspect, name, candidate, case)


def asked(candidate: Candidate, way: Oracle, *, confirm: bool = False) -> CheckResult:
    """The verdict on `way`'s answer about a candidate; with its others where it answers in one call."""
    question, answer = candidate.alone().question(), answered(candidate, way)
    (case,) = evaluator().cases(way.name, question, [answer], confirm=confirm)
    return case


def answered(candidate: Candidate, way: Oracle) -> Answer:
    """`way`'s answer about a candidate: in one call with its others where it answers together, else alone."""
    if way.traits.batched:
        return way.answer(candidate.question())[candidate.place]
    return way.answer(candidate.alone().question())[0]


def _sentence(what: str, verdicts: Mapping[str, Verdict]) -> str:
    """As in "Of the loop forms, wrong: repeat loop; right: for loop." Empty where nothing differs."""
    wrong = [name for name, v in verdicts.items() if v.is_wrong]
    right = [name for name, v in verdicts.items() if v in (Verdict.AGREE, Verdict.CONVENTION)]
    if not right:
        return f"Wrong in all {what} that can be asked: {', '.join(wrong)}." if len(wrong) > 1 else ""
    return f"Of the {what}, wrong: {', '.join(wrong) or 'none'}; right: {', '.join(right)}."


def _in_precision(candidate: Candidate, precision: Precision) -> Candidate:
    def rounded(inputs: Mapping[str, Array]) -> dict[str, Array]:
        return {name: v.astype(precision) if is_float(v.dtype) else v for name, v in inputs.items()}

    with np.errstate(over="ignore", under="ignore"):
        inputs, others = rounded(candidate.inputs), tuple(map(rounded, candidate.others))
    return replace(candidate, precision=precision, inputs=inputs, others=others)
