"""Proves one derivative of a function at one point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from gradfuzz.errors import EvaluationError, GradfuzzError
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.testing.frameworks.framework import first_line
from gradfuzz.testing.measuring.subject import Subject
from gradfuzz.testing.proving.balls import Enclosure, derivative, rounding, value
from gradfuzz.testing.proving.causes import cause_of
from gradfuzz.testing.proving.proof import Proof
from gradfuzz.testing.proving.rule import Setting

_SAFETY = 64.0
"""An answer may be off by so many times what rounding does to the traced rule: the library's own kernels go
other ways.
"""


def proved(
    subject: Subject, modes: Sequence[Mode], *, factor: float = 1.0, seed: int = 0, answer: bool = True
) -> Proof:
    """The proof of the derivative in `modes` at the inputs of a subject times `factor`.

    `seed` draws the lines. Without `answer` the library computes nothing, and only its rule is judged.
    """
    blank = Proof(tuple(modes), "open")
    try:
        setting = Setting.of(subject, modes, factor, seed)
        function, rule = setting.graphs()
    except GradfuzzError as error:
        return replace(blank, reason=str(error))
    except Exception as error:  # noqa: BLE001 - whatever a function raises
        return replace(blank, reason=f"{type(error).__name__}: {first_line(error)}")
    doubt = _misread(setting, function)
    if doubt:
        return replace(blank, reason=doubt)
    proof = judged(blank, function, rule, setting.inputs, setting.lines, subject.precision)
    if proof.outcome == "wrong rule":
        proof = replace(proof, cause=cause_of(setting, function, rule), graph=rule)
    if not answer:
        return proof
    try:
        found = setting.answer()
    except Exception as error:  # noqa: BLE001 - whatever a derivative raises
        return replace(proof, reason=proof.reason or f"{type(error).__name__}: {first_line(error)}")
    return _answered(proof, found, rule, setting.inputs, subject.precision)


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
        narrow = own.is_narrow and truth.is_narrow
        return replace(proof, outcome="right") if narrow else replace(proof, reason="the bounds are wide")
    loose, _ = _known(lambda: derivative(function, inputs, lines, rounded=precision))
    own_loose, _ = _known(lambda: value(rule, inputs, rounded=precision))
    if loose is None or own_loose is None or not own_loose.meets(loose):
        return replace(proof, outcome="wrong rule")
    return replace(proof, outcome="right", reason="its constants are rounded")


def _misread(setting: Setting, function: Graph) -> str:
    """Why the traced function is not the one that runs; empty where half of the digits are the same."""
    form = FORMATS[setting.subject.precision]
    try:
        mine, theirs = value(function, setting.inputs).middle, setting.value()
        room = rounding(function, setting.inputs, setting.subject.precision)
    except EvaluationError:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever a function raises
        return f"{type(error).__name__}: {first_line(error)}"
    if not math.isfinite(theirs) or abs(mine - theirs) <= form.half_of_the_digits * abs(mine) + _SAFETY * room:
        return ""
    return f"the traced function gives {mine:.9g} and the function {theirs:.9g}: the trace does not see all"


def _known(compute: Callable[[], Enclosure]) -> tuple[Enclosure | None, str]:
    """The enclosure, or why there is none."""
    try:
        found = compute()
    except EvaluationError as error:
        return None, str(error)
    return (found, "") if found.ball.is_finite() else (None, "it is not known to be finite")


def _answered(
    proof: Proof, answer: float, rule: Graph, inputs: Sequence[Array], precision: Precision
) -> Proof:
    proof = replace(proof, answer=answer)
    if proof.rule is None:
        return proof
    try:
        unit = FORMATS[precision].roundoff
        allowed = _SAFETY * (rounding(rule, inputs, precision) + unit * abs(proof.rule.middle))
    except EvaluationError:
        return proof
    if not math.isfinite(allowed):
        return proof
    proof = replace(proof, allowed=allowed)
    off = not abs(answer - proof.rule.middle) <= allowed
    return replace(proof, outcome="wrong computation") if off and proof.outcome == "right" else proof
