"""Plants beside the excuses of calls, of what libraries refuse, and of findings that are asked again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import autograd.numpy as anp
import numpy as np
from autograd.extend import defjvp, defvjp, primitive

from gradfuzz.fuzzer.calling.judge import Judgement, judged
from gradfuzz.fuzzer.findings import prove
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library
from gradfuzz.oracles.base import Answer, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.lacks import Lack
from gradfuzz.testing import measure_gradient
from tests.excuses import planted
from tests.excuses.planted import Planted
from tests.excuses.registry import EXCUSES, Excuse, excuse, planted_elsewhere
from tests.excuses.sites import sites
from tests.unit.calls.test_conventions import EXCLUDED, PLANTS

# Conventions ------------------------------------------------------------------------------------------------

CONVENTIONS = "tests/unit/calls/test_conventions.py::"
ACCEPTED = f"{CONVENTIONS}test_what_is_accepted_is_a_convention_and_what_is_planted_is_wrong"

for _name in EXCLUDED:
    planted_elsewhere(
        "The documents exclude the call. The same answer is wrong at a call that they define.",
        (f"{CONVENTIONS}test_a_call_that_is_excluded_is_inconclusive",),
        f"convention of calls: {_name}",
    )
for _name in PLANTS:
    planted_elsewhere(
        "The documents choose the answer. Any other one at the same call is wrong.",
        (ACCEPTED, f"{CONVENTIONS}test_a_wrong_value_shape_or_dtype_is_no_convention"),
        f"convention of calls: {_name}",
    )
planted_elsewhere(
    "A row excludes the call, or accepts the answer up to its rounding.",
    (
        f"{CONVENTIONS}test_a_call_that_is_excluded_is_inconclusive",
        ACCEPTED,
        f"{CONVENTIONS}test_an_entry_is_granted_its_own_allowance",
    ),
    "fuzzer/conventions/convention.py excused: Reason.UNDEFINED",
    "fuzzer/conventions/convention.py excused: Verdict.CONVENTION",
    "fuzzer/conventions/situation.py: _ROUNDINGS",
    "fuzzer/conventions/situation.py OfCall.granted: inf",
    "fuzzer/conventions/phases.py: _ROUNDINGS",
    "fuzzer/conventions/phases.py: _SHARES",
    "fuzzer/conventions/predicted.py: _OF_A_DISTRIBUTION",
    "fuzzer/conventions/predicted.py of_a_factor: inf",
    "fuzzer/conventions/predicted.py of_a_factor: inf",
)
planted_elsewhere(
    "A call that raises is refused. A gradient that raises is none.",
    ("tests/unit/calls/test_turn.py::test_a_gradient_that_raises_is_no_refusal",),
    "fuzzer/calling/judge.py _judged: except Exception",
    "fuzzer/calling/judge.py _followed: except Exception",
)

planted_elsewhere(
    "Its own script calls the target right. A finding whose script does not is told.",
    (
        "tests/unit/cli/test_script_run.py::test_a_wrong_target_is_a_finding_as_before",
        "tests/unit/cli/test_script_run.py::test_a_wrong_function_is_a_finding_as_before",
    ),
    "fuzzer/findings/prove.py confirmed: Reason.REFERENCES",
)

planted_elsewhere(
    "A process that ended once, and in no run of its script. One that ends in any of five is told.",
    ("tests/unit/cli/test_script_run.py::test_a_process_that_ends_by_what_its_memory_holds",),
    "fuzzer/findings/prove.py confirmed: Reason.REFERENCES",
)

# What a library refuses -------------------------------------------------------------------------------------


def _raising(words: str) -> Callable[..., Any]:
    def rule(*args: Any) -> Any:
        raise ValueError(words)

    return rule


def _sine(rev: Callable[..., Any] | float = 1.0, fwd: Callable[..., Any] | float = 1.0) -> Any:
    """The sine of autograd: of each mode the slope is off by a factor, or the rule is this one."""
    found = primitive(np.sin)
    defvjp(found, rev if callable(rev) else lambda ans, x: lambda g: rev * g * anp.cos(x))
    defjvp(found, fwd if callable(fwd) else lambda t, ans, x: fwd * t * anp.cos(x))
    return found


def _judged(sine: Any, words: str) -> Judgement:
    call = Call("autograd", "autograd.numpy.sin", (Argument(array=np.array([0.5, 1.25])),))
    library = type(library_named("autograd"))
    by_words = patch.multiple(library, refuses=Library.refuses, refusals=(words,), create=True)
    with patch.object(anp, "sin", sine), by_words:
        return judged(call, [("rev",), ("fwd",)])


def _case(judgement: Judgement, mode: Any) -> CheckResult:
    found = judgement.of((mode,))
    assert found is not None, judgement
    return found.case


def _of_refusal(words: str) -> Planted:
    """The library says these words in reverse mode. Forward mode is judged, and so is another exception."""
    refusing = _judged(_sine(rev=_raising(f"it says: {words}")), words)
    forward = _judged(_sine(rev=_raising(f"it says: {words}"), fwd=2.0), words)
    other = _judged(_sine(rev=_raising("of the rule")), words)
    wrong = (_case(forward, "fwd"), _case(other, "rev"))
    return Planted(_case(refusing, "fwd"), "agree", wrong, ("rev",) in refusing.lacks)


@functools.cache
def _of_mode(row: Lack) -> Planted:
    """The framework says that it lacks a mode. The other modes are judged, and other exceptions fail."""
    speaks, other = _raising(f"it says: {row.words}"), _raising("of the rule")

    def measured(f: Any, **more: Any) -> Any:
        return measure_gradient(f, 0.5, framework="autograd", **more)

    def inner(rule: Callable[..., Any] | float, outer: float = 1.0) -> Any:
        """The sine by a cosine whose own rule in reverse mode is this one."""
        cos = primitive(np.cos)
        defvjp(cos, rule if callable(rule) else lambda ans, x: lambda g: -rule * g * anp.sin(x))
        defjvp(cos, lambda t, ans, x: -t * anp.sin(x))
        return _sine(rev=lambda ans, x: lambda g: outer * g * cos(x))

    with patch.object(type(library_named("autograd")), "lacks", (row,)):
        if row.fwd:
            excused, lacks = measured(_sine(fwd=speaks)), ("fwd",)
            wrong = [measured(_sine(rev=2.0, fwd=speaks)), measured(_sine(fwd=other))]
            wrong += [] if row.rev else [measured(_sine(rev=speaks))]
        elif row.rev:
            excused, lacks = measured(_sine(rev=speaks)), ("rev",)
            wrong = [
                measured(_sine(rev=speaks, fwd=2.0)),
                measured(_sine(rev=other)),
                measured(_sine(fwd=speaks)),
            ]
        else:
            second = {"order": 2, "modes": "rev"}
            excused = measured(inner(speaks), order=2)
            lacks = ("rev", "rev")
            wrong = [
                measured(inner(other), **second),
                measured(_sine(rev=speaks)),
                measured(inner(speaks, 2.0)),
            ]
    return Planted(excused, "agree", tuple(wrong), lacks in excused.left_out)


@functools.cache
def _of_way(row: Lack) -> Planted:
    """The library says what a way of it does not take. What else the way raises or answers is judged."""
    library = library_named("jax" if row.ways.startswith("jax.") else "torch")
    met = next(way for way in library.ways if row.ways in way.name and not way.slow)

    def measured(answer: Callable[[Any], Any]) -> Any:
        def asked(self: Any, way: Any, f: Any, xs: Any, wanted: Any) -> Any:
            return f(*xs), [answer(g) for g in self.derivative(f, xs, wanted)[1]]

        change = {"derivative_by": asked, "ways": (met,)}
        with patch.multiple(type(library), **change):
            return measure_gradient(lambda x: x * x, 0.5, framework=library.name, ways="all")

    def raising(words: str) -> Callable[[Any], Any]:
        def raises(g: Any) -> Any:
            raise RuntimeError(words)

        return raises

    excused = measured(raising(f"it says: {row.words}"))
    wrong = measured(raising("of the rule")), measured(lambda g: 2.0 * g)
    return Planted(excused, "it says", wrong, row.words in excused.reason)


for _site in sites():
    _where, _, _what = _site.partition(": ")
    if _where.startswith("libraries/") and _what.startswith("refusal"):
        _words = _what.removeprefix("refusal ")[1:-1].strip()
        _told = "The library says that it has no such derivative. What it says of other modes is judged."
        EXCUSES.append(Excuse(_site, _told, (_site,), functools.partial(_of_refusal, _words)))
    elif _where.startswith("libraries/") and _what.startswith("Lack("):
        _row = eval(_what, {"Lack": Lack})
        _told = "The framework lacks the mode by its documents. Other modes and other exceptions are judged."
        _plant = _of_way if _row.ways else _of_mode
        EXCUSES.append(Excuse(_site, _told, (_site,), functools.partial(_plant, _row)))

# Oracles ----------------------------------------------------------------------------------------------------

planted_elsewhere(
    "An oracle does not support a question, by its own word beforehand. Another exception is an error.",
    (
        "tests/unit/fuzzer/test_judge.py::test_unsupported_and_crashed",
        "tests/unit/foreign/test_foreign_oracle.py::test_refusals_are_answers",
    ),
    "fuzzer/verdict/judge.py _judged: Verdict.UNSUPPORTED",
    "fuzzer/verdict/checking.py LazyAnswers.to: Answer 'unsupported'",
    "fuzzer/verdict/checking.py refused: Answer 'unsupported'",
    "fuzzer/sweep/batch.py _ask: Answer 'unsupported'",
    "fuzzer/sweep/batch.py _ask: Verdict.UNSUPPORTED",
    "fuzzer/findings/survey.py tried: Answer 'unsupported'",
    "fuzzer/findings/survey.py tried: Verdict.UNSUPPORTED",
    "fuzzer/probe/status.py confirmed: Answer 'unsupported'",
    "oracles/engine/oracle.py failure: Answer 'unsupported'",
    "oracles/foreign/oracle.py ForeignOracle.answer: Answer 'unsupported'",
    "oracles/foreign/oracle.py _not_ok: Answer 'unsupported'",
    "oracles/foreign/oracle.py _refusal: Answer 'unsupported'",
)
planted_elsewhere(
    "JAX is not asked, or lacks this by its list. Another exception is an error.",
    (
        "tests/unit/oracles/test_jax_oracle.py::test_what_is_raised_is_an_answer",
        "tests/unit/oracles/test_jax_oracle.py::test_a_name_that_a_release_lacks_is_no_error_of_jax",
    ),
    "oracles/jax/answers.py answer: Answer 'unsupported'",
    "oracles/jax/answers.py failure: Answer 'unsupported'",
    "oracles/jax/answers.py failure: Answer 'unsupported'",
    "oracles/jax/structured.py Structured._job: Answer 'unsupported'",
    "oracles/jax/unrolled.py Unrolled.answer: Answer 'unsupported'",
    "oracles/jax/unrolled.py Unrolled._refusal: Answer 'unsupported'",
    "oracles/jax/vmap.py Vmap._answered: Answer 'unsupported'",
)
planted_elsewhere(
    "Torch is not asked, or lacks this by its list. Another exception is an error.",
    ("tests/unit/oracles/test_torch_oracle.py::test_an_exception_is_an_answer",),
    *(site for site in sites() if site.startswith("oracles/torch/") and "Lack(" not in site),
)
planted_elsewhere(
    "A rule that cannot be traced, or is not what the library runs, is not judged. One that is traced is.",
    ("tests/unit/oracles/test_rule.py::test_a_term_that_rounding_hides_is_a_wrong_rule",),
    *(site for site, count in sites().items() for _ in range(count) if site.startswith("oracles/rule.py")),
    "fuzzer/verdict/judge.py _judged: Reason.REFERENCES",
)


class _Summed(EngineOracle):
    """A derivative of the sum over two points, of which the second overflows."""

    def __init__(self, slope: float, overflows: bool) -> None:
        super().__init__("engine:summed")
        self.slope, self.overflows = slope, overflows

    def answer(self, question: Question) -> list[Answer]:
        from gradfuzz.oracles.engine.summed import of_a_sum

        (right,) = super().answer(question)
        infinite = Answer("ok", (np.array(np.inf if self.overflows else 1.0),), {"x": np.array(1.0)})
        return of_a_sum([replace(right, gradient={"x": np.array(self.slope)}), infinite])[:1]


@excuse(
    "A derivative of the sum over all points is NaN where another point overflows, or where a lane selects"
    " among values that are not finite. A number is judged, and NaN where nothing overflows.",
    "oracles/engine/summed.py of_a_sum: Answer 'inconclusive'",
    "oracles/jax/vmap.py _checked: Answer 'inconclusive'",
)
def a_sum_that_overflows() -> Planted:
    question = planted.asked("x * x", x=1.5)
    found = (planted.judged(question, _Summed(s, o)) for s, o in ((7.0, True), (np.nan, False)))
    return Planted(planted.judged(question, _Summed(np.nan, True)), "overflows", tuple(found))


# Asked again ------------------------------------------------------------------------------------------------


class _Fickle(EngineOracle):
    """Wrong by a factor for the first answers, and right from then on."""

    def __init__(self, wrong: float) -> None:
        super().__init__("engine:fickle")
        self.wrong = wrong

    def answer(self, question: Question) -> list[Answer]:
        self.wrong -= 1
        factor = 2.0 if self.wrong >= 0 else 1.0
        return [replace(a, gradient={"x": factor * a.gradient["x"]}) for a in super().answer(question)]


@excuse(
    "A disagreement that is none when it is asked again, alone, is no finding. One that stays is.",
    "fuzzer/findings/prove.py _proof: Reason.REFERENCES",
    "fuzzer/sweep/totals.py Totals.settle: Reason.REFERENCES",
    "fuzzer/sweep/totals.py Totals.settle: Verdict.INCONCLUSIVE",
    "pytest_plugin/check.py _outcome: Reason.REFERENCES",
)
def an_answer_that_does_not_stay() -> Planted:
    def met(wrong: float) -> tuple[CheckResult, CheckResult, prove.FindingProof]:
        target, question = _Fickle(wrong), planted.asked("x * x", x=1.5)
        first = planted.judged(question, target)
        with patch.object(prove, "oracle", lambda name: target):
            proof = prove.prove(Raw(first, "loops", 0), shrink=False)
        return first, planted.judged(question, target), proof

    first, again, proof = met(1.0)
    assert planted.is_wrong(first), "it was met as a disagreement"
    reached = proof.finding is None and "answers otherwise" in proof.message
    _, stays, found = met(np.inf)
    assert found.finding is not None, "a disagreement that stays is a finding"
    return Planted(again, "agree", (stays,), reached)
