"""Proves one derivative of a function at one point, and says where a wrong rule is wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gradfuzz.errors import EvaluationError, GradfuzzError
from gradfuzz.fuzzer.measuring.setting import Setting
from gradfuzz.fuzzer.measuring.subject import Subject, subject_of
from gradfuzz.fuzzer.proving.causes import cause_of, cause_of_answer
from gradfuzz.fuzzer.proving.proof import Blame, Proof
from gradfuzz.libraries.library import first_line
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.oracles.references.balls import DIGITS, KERNELS, SAME, Enclosure, derivative, rounding, value
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.tracing.common.units import Unit

_UNSEEN = "tracing misses a part of it"
_NOT_ITS_OWN = f"the rule that was traced does not give the library's answer: {_UNSEEN}"

_STEPS = 100
"""Steps of a function that are looked at."""


def proved(
    subject: Subject,
    modes: Sequence[Mode],
    *,
    answer: bool = True,
    explain: bool = True,
    known: dict[int, Setting] | None = None,
) -> Proof:
    """The proof of the derivative in `modes` at the inputs of a subject.

    Without `answer` the library computes nothing, and only its rule is judged. Without `explain` nobody asks
    where a wrong rule is wrong. The modes of an order share the function as it was traced, by `known`.
    """
    known = {} if known is None else known
    try:
        first = known.setdefault(len(modes), known.get(len(modes)) or Setting.of(subject, modes))
        setting = replace(first, modes=tuple(modes))
    except Exception as error:  # noqa: BLE001 - whatever a function raises
        return Proof(tuple(modes), "open", reason=_words(error))
    proof, function, rule = _of_rule(setting)
    if rule is None or function is None:
        return proof
    if proof.outcome == "wrong rule" and explain:
        proof = replace(proof, blame=_blame(setting, function, rule))
    if not answer:
        return proof
    try:
        found = setting.answer()
    except Exception as error:  # noqa: BLE001 - whatever a derivative raises
        return replace(proof, reason=proof.reason or _words(error))
    proof = _answered(proof, found, rule, setting.given, subject.precision)
    if proof.outcome == "wrong computation" and explain:
        proof = replace(proof, blame=_blame_of_answer(setting, rule))
    return proof


def proved_at(subject: Subject, modes: Sequence[Mode], points: int) -> list[Proof]:
    """The proofs at the inputs of a subject and at points around them: one trace serves them all. What the
    library answers confirms the first that is known, or there is none.
    """
    try:
        setting = Setting.of(subject, modes)
    except Exception as error:  # noqa: BLE001 - whatever a function raises
        return [Proof(tuple(modes), "open", reason=_words(error))]
    first, function, rule = _of_rule(setting)
    if function is None or rule is None or first.reason.endswith(_UNSEEN):
        return [first]
    found, blank = [first], Proof(setting.modes, "open")
    known = [(first, setting)] if first.outcome == "right" else []
    for seed in range(1, points):
        other = setting.elsewhere(seed)
        found.append(judged(blank, function, rule, other.given, other.moving, subject.precision))
        known += [(found[-1], other)] if found[-1].outcome != "open" else []
    if known and first.outcome != "wrong rule" and not _runs(known[0][0], rule, known[0][1]):
        return [replace(blank, reason=_NOT_ITS_OWN)]
    return found


def _of_rule(setting: Setting) -> tuple[Proof, Graph | None, Graph | None]:
    """The proof without an answer, and the graphs of the function and of the rule."""
    blank = Proof(setting.modes, "open")
    try:
        function, rule = setting.graphs()
    except Exception as error:  # noqa: BLE001 - whatever a function raises when it is traced
        return replace(blank, reason=_words(error)), None, None
    doubt = _misread(setting, function)
    if doubt:
        return replace(blank, reason=doubt), function, rule
    proof = judged(blank, function, rule, setting.given, setting.moving, setting.subject.precision)
    if proof.outcome == "wrong rule" and not _runs(proof, rule, setting):
        proof = replace(proof, outcome="open", reason=_NOT_ITS_OWN)
    return proof, function, rule


def _runs(proof: Proof, rule: Graph, setting: Setting) -> bool:
    """Whether the library's answer is that of the traced rule."""
    answer = _answer(setting, roughly=True)
    if answer is None or proof.rule is None or not math.isfinite(answer):
        return answer is None
    return _computes(rule, setting, proof.rule.middle, answer)


def _computes(graph: Graph, setting: Setting, mine: float, theirs: float) -> bool:
    """Whether a number of the library is that of a graph, `mine`, by half of its digits; True where it is not
    known how far rounding goes.
    """
    precision = setting.subject.precision
    try:
        room = rounding(graph, setting.given, precision)
    except EvaluationError:
        return True
    allowed = FORMATS[precision].half_of_the_digits * abs(mine) + KERNELS * room
    return abs(mine - theirs) <= allowed


def _blame(setting: Setting, function: Graph, rule: Graph) -> Blame:
    """The first step of the function whose own rule is wrong at the numbers that it meets, or the function as
    a whole.
    """
    for step, own in _steps(setting):
        proof, its_function, its_rule = _of_rule(own)
        if proof.outcome == "wrong rule" and its_function is not None and its_rule is not None:
            return Blame(its_rule, cause_of(own, its_function, its_rule), step.name, step.rule)
    return Blame(rule, cause_of(setting, function, rule))


def _blame_of_answer(setting: Setting, rule: Graph) -> Blame:
    """The first step whose answer alone loses digits at the numbers that it meets, or all steps together."""
    for step, own in _steps(setting):
        proof, _, its_rule = _of_rule(own)
        if its_rule is None or proof.outcome != "right":
            continue
        found = _answer(own)
        if found is None:
            continue
        proof = _answered(proof, found, its_rule, own.given, own.subject.precision)
        if proof.outcome == "wrong computation":
            return Blame(its_rule, cause_of_answer(own), step.name, step.rule)
    return Blame(rule, cause_of_answer(setting))


def _steps(setting: Setting) -> Iterator[tuple[Unit, Setting]]:
    """The steps of a function, each as a function at the numbers that it meets."""
    kit, mode = setting.subject.framework, setting.modes[0]
    try:
        with kit.context(setting.subject.precision):
            units = list(itertools.islice(kit.units(setting.total, setting.given, mode), _STEPS))
    except Exception:  # noqa: BLE001 - a function that cannot be taken apart
        return
    for unit in units:
        own = _setting(unit, setting)
        if own is not None:
            yield unit, own


def _setting(unit: Unit, whole: Setting) -> Setting | None:
    """A step as a function; None where it is none of floats."""
    try:
        subject = subject_of(unit.call, unit.arrays, None, None, whole.subject.framework.name)
        return Setting.of(subject, whole.modes)
    except Exception:  # noqa: BLE001 - whatever a step raises
        return None


def _answer(setting: Setting, *, roughly: bool = False) -> float | None:
    try:
        return setting.answer(roughly=roughly)
    except Exception:  # noqa: BLE001 - whatever a derivative raises
        return None


def _words(error: Exception) -> str:
    if isinstance(error, GradfuzzError):
        return str(error)
    return f"it raises {type(error).__name__}: {first_line(error)}"


def judged(
    blank: Proof,
    function: Graph,
    rule: Graph,
    inputs: Sequence[Array],
    lines: Sequence[Sequence[Array]],
    precision: Precision,
) -> Proof:
    """The rule against the truth, without an answer."""
    truth, doubt = _known(lambda: derivative(function, inputs, lines))
    own, own_doubt = _known(lambda: value(rule, inputs))
    proof = replace(blank, truth=truth, rule=own)
    if truth is None or own is None:
        words = f"the derivative is not known: {doubt}" if doubt else f"the rule is not known: {own_doubt}"
        return replace(proof, reason=words)
    if own.meets(truth):
        if _is_narrow(own, rule, inputs) and _is_narrow(truth, rule, inputs):
            return replace(proof, outcome="right")
        return replace(proof, reason="the bounds of the rule and the derivative are too wide to tell")
    if own.apart(truth) <= SAME:
        return replace(
            proof,
            outcome="right",
            reason="the rule and the derivative differ by no more than rounding in float64",
        )
    loose, _ = _known(lambda: derivative(function, inputs, lines, rounded=precision))
    own_loose, _ = _known(lambda: value(rule, inputs, rounded=precision))
    if loose is None or own_loose is None or not own_loose.meets(loose):
        return replace(proof, outcome="wrong rule")
    return replace(proof, outcome="right", reason="the rule is right but for the rounding of its constants")


def _is_narrow(one: Enclosure, rule: Graph, inputs: Sequence[Array]) -> bool:
    """Whether an enclosure has enough digits; where all its terms cancel, as many beside these."""
    if one.is_narrow:
        return True
    try:
        size = rounding(rule, inputs, "float64") / FORMATS["float64"].roundoff
    except EvaluationError:
        return False
    return math.isfinite(size) and float(one.ball.rad()) <= size * 10.0**-DIGITS


def _misread(setting: Setting, function: Graph) -> str:
    """Why the traced function is not the one that runs; empty where half of the digits are the same."""
    theirs = setting.value
    try:
        mine = value(function, setting.given).middle
    except EvaluationError:
        return ""
    if theirs is None or not math.isfinite(theirs) or _computes(function, setting, mine, theirs):
        return ""
    return f"the traced function gives {mine:.9g} and the function {theirs:.9g}: {_UNSEEN}"


def _known(compute: Callable[[], Enclosure]) -> tuple[Enclosure | None, str]:
    """The enclosure, or why there is none."""
    try:
        found = compute()
    except EvaluationError as error:
        return None, str(error)
    return (found, "") if found.ball.is_finite() else (None, "its bounds do not rule out infinity")


def _answered(
    proof: Proof, answer: float, rule: Graph, inputs: Sequence[Array], precision: Precision
) -> Proof:
    proof = replace(proof, answer=answer)
    if proof.rule is None:
        return proof
    middle = proof.rule.middle
    try:
        unit = FORMATS[precision].roundoff
        allowed = KERNELS * (rounding(rule, inputs, precision) + unit * abs(middle))
    except EvaluationError:
        return proof
    if not math.isfinite(allowed):
        return proof
    proof = replace(proof, allowed=allowed)
    is_off = not abs(answer - middle) <= allowed
    return replace(proof, outcome="wrong computation") if is_off and proof.outcome == "right" else proof
