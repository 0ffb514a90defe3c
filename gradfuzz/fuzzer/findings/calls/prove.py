"""A disagreement of a call, shrunk, confirmed again, and diagnosed: a finding."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.adapters.catalogue import Function
from gradfuzz.fuzzer.calling.drawing.forms import outside
from gradfuzz.fuzzer.calling.invocation import called, quiet, values_of
from gradfuzz.fuzzer.calling.judge import COMBINATIONS, Judged, Judgement, Modes, judged
from gradfuzz.fuzzer.calling.objects import module_of
from gradfuzz.fuzzer.calling.proofs import PROVING, subject_of_call
from gradfuzz.fuzzer.findings.calls.code import code
from gradfuzz.fuzzer.findings.calls.script import ending_script, script
from gradfuzz.fuzzer.findings.calls.short import short
from gradfuzz.fuzzer.findings.representative import clearest, finding_at, finding_point, worst
from gradfuzz.fuzzer.measuring.measure import FACTORS
from gradfuzz.fuzzer.measuring.measured import Method
from gradfuzz.fuzzer.proving.listing import record_of
from gradfuzz.fuzzer.proving.prove import proved as proved_rule
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.call import Call, Form
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Finding, Verdict
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault, attempt
from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.fuzzer.results.ranking import ON_PURPOSE
from gradfuzz.fuzzer.shrinking.call_reductions import Wrong, shrunk
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.layouts import LAYOUTS
from gradfuzz.oracles.base import Answer, Point, Question, check_name
from gradfuzz.oracles.registry import release_of
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Const, Param, Return
from gradfuzz.programs.language.types import Type

_SECONDS, _TRIALS = 120.0, 120
"""What shrinking may cost: the count of trials decides, so that a turn is the same on a slow machine."""

_AGAIN = 2
"""So many times the shrunk call is judged again, from new arrays."""

_METHODS: dict[Method, str] = {
    "traced": "the truth is the derivative of the function, traced as a program",
    "complex step": "the truth is computed by complex steps of the function in float64",
    "Richardson": "the truth is computed by differences of the function in float64, extrapolated",
}

_FORMS: dict[Form, str] = {
    "between": "the error shows where the call stands between smooth functions, not where it stands alone",
    "loop": "the error shows where the call stands in a loop, not where it stands alone",
    "twice": "the error shows where a call takes the result of another, not where it stands alone",
    "vectorized": "the error shows where the call is vectorized, not where it stands alone",
    "compiled": "the error shows where the call is compiled, not where it runs eagerly",
}


def proved(
    call: Call,
    wrong: Judged,
    function: Function,
    note: Callable[[Call], None],
    *,
    shrink: bool = True,
    tried: Attempts | None = None,
) -> Finding | None:
    """The finding of what is wrong about a call, or None where it does not come again, or is the rounding of
    a rule that is proved right.

    `note` is told each call before it is made. Without `shrink` the finding has the call as it was drawn.
    Where gradfuzz itself fails, which `tried` collects, the finding lacks what that would have told; at worst
    it is as it was met.
    """
    tried = tried or Attempts()
    found = attempt("judging it again", _proved, call, wrong, function, note, tried, shrink=shrink)
    if isinstance(found, OwnFault):
        tried.keep(found)
        met = _finding(call, call, wrong.case, wrong.modes, tried)
        what = f"{met.note.rstrip('.')}. " if met.note else ""
        found = named(replace(met, note=f"{what}It was not asked again and not shrunk."))
    return None if found is None else replace(found, own_faults=tuple(tried.faults))


def _proved(
    call: Call,
    wrong: Judged,
    function: Function,
    note: Callable[[Call], None],
    tried: Attempts,
    *,
    shrink: bool,
) -> Finding | None:
    same = Wrong(wrong.modes, wrong.case.kind)
    small = call
    if shrink:
        given = call, same, function, note
        small = tried("shrinking it", call, shrunk, *given, seconds=_SECONDS, trials=_TRIALS)
    unshrunk = "Not shrunk." if tried.faults else ""
    note(small)
    found = judged(small, [wrong.modes], (1.0, *FACTORS))
    again = [judged(small, [wrong.modes]) for _ in range(_AGAIN - 1)]
    first = found.of(wrong.modes)
    confirmed = sum(same.fits(one.of(wrong.modes)) for one in (found, *again))
    drawn = call, wrong, function, note, tried
    if first is None or not same.fits(first) or confirmed < _AGAIN:
        return _proved(*drawn, shrink=False) if small is not call else None
    cases = [one.case for one in found.verdicts if same.fits(one)]
    case = cases[0]
    assert case.kind is not None, "a disagreement has a class"
    proof = tried("proving its rule", None, _proof, small, wrong.modes)
    if proof is not None and proof.outcome == "right" and case.kind.of_finite_numbers and not _lost(case):
        return _proved(*drawn, shrink=False) if shrink else None
    facts, alike = tried("telling the facts", ((), ()), _told, found, same, first, cases)
    finding = _finding(small, call, case, wrong.modes, tried)
    short_text = tried("writing it in a few lines", "", _short, small, case)
    finding = replace(
        finding,
        clearest=finding_point(clearest(cases)),
        worst=finding_point(worst(cases)),
        reproduced=(confirmed, _AGAIN),
        note=" ".join(filter(None, (finding.note, unshrunk))),
        script=tried("writing its script", "", _script, small, case),
        ports={"short": short_text} if short_text else {},
        facts=(*facts, *_by_proof(proof), *tried("reading its documents", (), lambda: tuple(outside(small)))),
        rules=_rules(small),
        proof=proof,
        alike=alike,
    )
    return named(finding)


def _lost(case: CheckResult) -> bool:
    """Whether a right rule has lost more than half of the digits of an entry."""
    if case.kind is not Class.PRECISION or case.got is None or case.expected is None:
        return False
    half = FORMATS[case.question.precision].half_of_the_digits
    return abs(case.got - case.expected) > half * abs(case.expected)


def _finding(call: Call, drawn: Call, case: CheckResult, modes: Modes, tried: Attempts) -> Finding:
    """The finding of a call as far as its verdict tells it: without an id."""
    asked = replace(Candidate.of(case.question), modes=modes)
    target, version = target_of(call)
    return replace(
        finding_at(asked, case, version, FAMILY, case.question.program),
        target=target,
        note=case.message if case.kind is Class.ERROR else "",
        culprits=(call.function,),
        call=call,
        drawn=drawn,
        code=tried("writing it as code", None, code, call),
        drawn_code=tried("writing it as code", None, code, drawn),
    )


def _rules(call: Call) -> tuple[str, ...]:
    """The library's rules that differentiate a call."""
    library = library_named(call.library)
    try:
        with quiet():
            return library.rules(called(call, library), [library.constant(v) for v in values_of(call)])
    except Exception:  # noqa: BLE001 - what the derivative raises is the finding, and said there
        return ()


def target_of(call: Call) -> tuple[str, str]:
    """The library and its release, or the module of the function where it is a user's own, and the release of
    that, empty where it has none.
    """
    if call.function.startswith(f"{call.library}."):
        return call.library, library_named(call.library).version
    return module_of(call.function), release_of(call.function.partition(".")[0]) or ""


def _script(call: Call, case: CheckResult) -> str:
    if case.kind in (Class.ERROR, Class.WRONG_SHAPE, Class.WRONG_DTYPE, Class.WRONG_PRIMAL):
        return ""
    name = check_name(case.question.modes) + (f" by {call.way}" if call.way else "")
    return script(call, case, f"{call.function} of {call.library}: the {name} is wrong.")


def _short(call: Call, case: CheckResult) -> str:
    """A few lines of the library; none for a finding about a value, a shape or a dtype."""
    if case.kind in (Class.WRONG_SHAPE, Class.WRONG_DTYPE, Class.WRONG_PRIMAL):
        return ""
    return short(call, case)


# Facts ------------------------------------------------------------------------------------------------------


def _told(
    found: Judgement, wrong: Wrong, first: Judged, cases: Sequence[CheckResult]
) -> tuple[tuple[str, ...], tuple[Modes, ...]]:
    """The facts, and the simpler derivatives that are wrong alike."""
    call = found.call
    whole = judged(call)
    simpler = itertools.takewhile(lambda modes: modes != first.modes, () if call.way else COMBINATIONS)
    alike = tuple(modes for modes in simpler if _is_alike(first, whole.of(modes)))
    return tuple(_facts(found, wrong, first, cases, whole)), alike


def _is_alike(first: Judged, other: Judged | None) -> bool:
    """Whether another derivative is wrong in the same class, and by the same factor where there is one."""
    if other is None or not other.case.verdict.is_wrong or other.case.kind is not first.case.kind:
        return False
    ratios = [one.case.ratio for one in (first, other)]
    finite = [ratio for ratio in ratios if ratio is not None and np.isfinite(ratio)]
    return not finite or (len(finite) == len(ratios) and _is_one_factor(finite))


def _facts(
    found: Judgement, wrong: Wrong, first: Judged, cases: Sequence[CheckResult], whole: Judgement
) -> Iterator[str]:
    call = found.call
    yield from _on_purpose(found, wrong)
    yield from _by_modes(whole, wrong.modes)
    if call.way:
        yield f"the error shows where the derivative is asked by {call.way}, not in the usual way"
    if call.form != "alone":
        yield _FORMS[call.form]
    for argument in call.arguments:
        if argument.array is not None and argument.layout in LAYOUTS[1:]:
            yield f"the error shows where an argument is {argument.layout}, not where it is contiguous"
    dtypes = {a.array.dtype.name for a in call.differentiated() if a.array is not None}
    if dtypes and not dtypes & {"float64"}:
        yield f"the error shows in {' and '.join(sorted(dtypes))}, not in float64"
    yield from _by_keyword(call, wrong)
    ratios = [case.ratio for case in cases if case.ratio is not None and np.isfinite(case.ratio)]
    if len(ratios) == len(cases) > 1 and _is_one_factor(ratios):
        yield f"the answer is {_factor(ratios[0])} times the derivative, also at other values"
    if first.method in _METHODS:
        yield _METHODS[first.method]


def _is_one_factor(ratios: Sequence[float]) -> bool:
    """Whether ratios of wrong answers are the same number. Of two near 1, what they are off 1 is the same."""
    first = ratios[0]
    return max(ratios) - min(ratios) <= min(1e-6 * abs(first), 1e-3 * abs(first - 1.0))


def _factor(ratio: float) -> str:
    """With six digits, and with more where these are 1."""
    digits = next((n for n in range(6, 17) if float(f"{ratio:.{n}g}") != 1.0), 17)
    return f"{ratio + 0.0:.{digits}g}"  # -0.0 is 0


def _proof(call: Call, modes: Modes) -> ProofRecord | None:
    """What is proved of the library's rule; None where it cannot be traced."""
    subject = (
        subject_of_call(call) if call.library in PROVING and call.form == "alone" and not call.way else None
    )
    if subject is None:
        return None
    with quiet():
        proof = record_of(proved_rule(subject, modes), call.function)
    return None if proof.outcome == "open" else proof


def _by_proof(proof: ProofRecord | None) -> Iterator[str]:
    """The same in words."""
    if proof is None:
        return
    where = f" in {proof.step} ({proof.where})" if proof.step else ""
    cause = f": {proof.cause}" if proof.cause else ""
    if proof.outcome == "wrong rule":
        yield f"the rule is proved wrong, without any tolerance{where}{cause}"
    else:
        yield f"the rule is proved right, but the library computes it wrongly{where}{cause}"


def _on_purpose(found: Judgement, wrong: Wrong) -> Iterator[str]:
    """That the function itself hides a value from differentiation, where nothing else is wrong."""
    if not found.stopped:
        return
    held = judged(found.call, [wrong.modes], allowed=True).of(wrong.modes)
    if held is not None and held.case.verdict is Verdict.AGREE:
        word = next((word for word in _HIDING if word in found.stopped), found.stopped)
        yield f"{ON_PURPOSE} ({word}), and with that value held the derivative is right"


_HIDING = ("stop_gradient", "detach", "no_grad")


def _by_modes(all_modes: Judgement, own: Modes) -> Iterator[str]:
    """In which modes the call is right and wrong."""
    verdicts: dict[str, list[str]] = {"right": [], "wrong": []}
    for modes in COMBINATIONS:
        found = all_modes.of(modes)
        if found is not None and found.case.verdict is Verdict.AGREE:
            verdicts["right"].append(check_name(modes))
        elif found is not None and found.case.verdict.is_wrong:
            verdicts["wrong"].append(check_name(modes))
    for word, names in verdicts.items():
        if names and (word == "right" or len(names) > 1):
            yield f"{word}: {', '.join(names)}"


def _by_keyword(call: Call, wrong: Wrong) -> Iterator[str]:
    """The keywords without which it is right."""
    for k, argument in enumerate(call.arguments):
        if not argument.keyword:
            continue
        without = replace(call, arguments=(*call.arguments[:k], *call.arguments[k + 1 :]))
        found = judged(without, [wrong.modes]).of(wrong.modes)
        if found is not None and found.case.verdict is Verdict.AGREE:
            yield f"without {argument.keyword} it is right"


# Death ------------------------------------------------------------------------------------------------------


def deadly(call: Call, modes: Modes) -> Finding:
    """The finding of a call at which the process ends, or never ends, when it is asked in `modes`. Nothing is
    called.
    """
    arrays = [np.asarray(np.real(np.asarray(one.array))) for one in call.differentiated()]
    params = tuple(Param(f"x{k}", Type("float", array.shape)) for k, array in enumerate(arrays))
    nothing = Program("f", params, (Return((Const(0.0),)),))
    inputs = {param.name: array for param, array in zip(params, arrays, strict=True)}
    question = Question(nothing, (Point(inputs),), "float64", tuple(inputs), modes, (), {})
    answer, kind = Answer("error"), Class.ERROR
    case = CheckResult("", question, question.points[0], None, answer, Verdict.CRASHED, kind=kind)
    met = _finding(call, call, case, modes, Attempts())
    return replace(met, reproduced=(2, 2), script=ending_script(call, modes))


def named(finding: Finding) -> Finding:
    """The finding with its signature and its id."""
    own = signature(finding)
    return replace(finding, signature=own, id=f"GF-{own[:4]}")
