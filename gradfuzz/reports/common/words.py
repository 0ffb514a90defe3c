"""Verdicts in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import (
    SYSTEMATIC,
    Cause,
    CheckResult,
    Class,
    Finding,
    Likelihood,
    Verdict,
)
from gradfuzz.fuzzer.results.known_reports import entries_of, reports_of
from gradfuzz.oracles.base import Array, in_words
from gradfuzz.reports.common import titles
from gradfuzz.reports.common.numbers import (
    apart,
    bound,
    count,
    factor,
    inputs,
    pair,
    ratio,
    right_digits,
    where,
)

EXPLANATIONS: dict[Class, str] = {
    Class.SIGN_FLIP: "the derivative has the wrong sign",
    Class.RATIO_BLOWUP: "the derivative is far too large",
    Class.MISSING: "the derivative is returned as zero or almost zero, and is not",
    Class.SPURIOUS: "the derivative is zero, or too small to tell from zero, and something else is returned",
    Class.WRONG_VALUE: "the derivative is wrong",
    Class.NON_FINITE: "the derivative is finite, and NaN or infinity is returned",
    Class.WRONG_PRIMAL: "the value itself is wrong",
    Class.WRONG_SHAPE: "the derivative comes back with the wrong shape",
    Class.WRONG_DTYPE: "the derivative comes back with the wrong dtype",
    Class.ERROR: "the target gives no answer: an exception, a crash, a hang, or out of memory",
    Class.WRONG_RULE: "the derivative rule is wrong, by less than a check of numbers would show",
    Class.PRECISION: "the derivative has lost digits",
}
"""Each class of disagreement, whatever the numbers, as a sentence without its full stop."""


_FAILURES: dict[Failure, str] = {
    Failure.EXCEPTION: "the library raises an exception",
    Failure.CRASH: "the process crashes",
    Failure.HANG: "the target hangs",
    Failure.OUT_OF_MEMORY: "the target runs out of memory",
}

MALFORMED = frozenset(kind for kind in Class if not kind.of_numbers)
"""Classes without two numbers to compare."""


def title(finding: Finding) -> str:
    """As in "GF-7c1e  torch.sin, reverse mode: wrong sign (torch:eager 2.13.0, float64)"."""
    return f"{finding.id}  {titles.heading(finding)}"


def one_line(finding: Finding) -> str:
    """The title and the clearest point, as in "GF-7c1e  torch.sin, ...; at x = 0.5 expected 1, got -1", and
    where it is reported.
    """
    return f"{title(finding)}; {in_short(finding)}"


def in_short(finding: Finding) -> str:
    """The clearest point, the reports and the entries: "at x = 0.5 expected 1, got -1; reported as jax#1"."""
    reports = _reports(finding)
    entries = [row.cited for row in entries_of(finding)]
    return "; ".join([summary(finding), *([f"reported as {reports}"] if reports else []), *entries])


def reported(finding: Finding) -> str:
    """The known reports that the finding fits, as in "Reported as jax#1 (https://...): NaN where an entry is
    0.", and the entries; empty without one.
    """
    what = dict.fromkeys(report.what for report in reports_of(finding))
    told = f"Reported as {_reports(finding)}: {'; '.join(what)}." if what else ""
    return " ".join(filter(None, [told, listed(finding)]))


def listed(finding: Finding) -> str:
    """The entries of docs/trophies that the finding fits: "Known as entry 3 of docs/trophies/jax.md: 0 at
    0."; empty without one.
    """
    return " ".join(f"Known as {row.cited}: {row.what}." for row in entries_of(finding))


def _reports(finding: Finding) -> str:
    return ", ".join(f"{report.name} ({report.link})" for report in reports_of(finding))


def summary(finding: Finding) -> str:
    """The clearest point in a few words, as in "at x = 0.5 expected 1, got -1"."""
    point = finding.clearest
    at = f"at {_short(point.inputs)}"
    if finding.kind in MALFORMED:
        return f"{at} {_explained(finding)}{_said(finding)}"
    expected, got = pair(point.entry_expected, point.entry_got)
    name, index = point.entry
    several = len(point.expected) > 1 or index
    by = f" by {where(name, index)}" if several and finding.kind is not Class.WRONG_PRIMAL else ""
    return f"{at} expected {expected}{by}, got {got}"


def _short(values: Mapping[str, Array]) -> str:
    """The inputs of a point; of large arrays only the shape."""
    texts = {name: inputs({name: value}) for name, value in values.items()}
    told = [
        text if len(text) <= _SHORT else f"{name} of shape {np.shape(values[name])}"
        for name, text in texts.items()
    ]
    return ", ".join(told) or inputs(values)


_SHORT = 60
"""The most characters of an input in one line."""


def class_of(finding: Finding) -> str:
    """The name of the class: "wrong_value"; of an error which it is: "exception", "crash", "hang", "out of
    memory".
    """
    return failure_of(finding.note).value if finding.kind is Class.ERROR else finding.kind.value


def verdict_of(case: CheckResult) -> str:
    """The verdict of a check, and its class: "agree", "disagree wrong_value", "hang"."""
    if case.verdict is Verdict.CRASHED:
        return failure_of(case.message).value
    return f"{case.verdict.value} {case.kind.value}" if case.kind is not None else str(case.verdict.value)


def plain_kind(finding: Finding) -> str:
    """The same in words: "wrong value"."""
    return class_of(finding).replace("_", " ")


def _said(finding: Finding) -> str:
    """What was raised, behind a colon: the note begins with it, as in ": ValueError: no such axis"."""
    told = _message(finding)
    return f": {told}" if told else ""


def _message(finding: Finding) -> str:
    """What was raised: "ValueError: no such axis"; empty where nothing was."""
    first = finding.note.split(". ")[0].rstrip(".")
    if finding.kind is not Class.ERROR or not re.match(r"[\w. ]{1,40}: ", first):
        return ""
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]} ..."


_LONGEST = 200
"""The most characters of a message in a line."""


def _explained(finding: Finding) -> str:
    if finding.kind is Class.ERROR:
        return _FAILURES[failure_of(finding.note)]
    return EXPLANATIONS[finding.kind]


def claim(kind: Class, expected: float | None, got: float | None, times: float | None) -> str:
    """What is wrong with a number, as a sentence without its full stop, as in "the derivative is wrong: -0.02
    times what is right". `times` is got / expected.

    It never says more than the numbers: "returned as zero" only of zero.
    """
    if expected is None or got is None:
        return EXPLANATIONS[kind]
    right, wrong = pair(expected, got)
    match kind:
        case Class.MISSING if got == 0.0:
            return "the derivative is returned as zero, and is not"
        case Class.MISSING:
            return f"the derivative is returned as almost zero: {wrong} where {right} is right"
        case Class.SPURIOUS if expected == 0.0:
            return "the derivative is zero, and something else is returned"
        case Class.WRONG_VALUE if times is not None:
            return f"the derivative is wrong: {ratio(times)} times what is right"
        case Class.PRECISION if got != expected:
            digits = right_digits(expected, got)
            return f"the derivative has lost digits: {digits} of them {'is' if digits == 1 else 'are'} right"
        case Class.WRONG_RULE if got != expected and expected:
            share = apart(expected, got)
            return f"the derivative rule is wrong: in exact numbers it is off by {share:.2g} of it"
        case Class.RATIO_BLOWUP if times is not None and times < 0.0:
            return "the derivative is far too large, and has the wrong sign"
        case _:
            return EXPLANATIONS[kind]


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def verdict(finding: Finding) -> str:
    """What is wrong, at the clearest point, in one or two sentences; first of all what was raised."""
    point = finding.clearest
    if finding.kind in MALFORMED:
        explained, message = sentence(_explained(finding)), _message(finding)
        return f"{message}{'' if message.endswith('...') else '.'} {explained}" if message else explained
    expected, got = pair(point.entry_expected, point.entry_got)
    claimed = claim(finding.kind, point.entry_expected, point.entry_got, point.ratio)
    name, index = point.entry
    what = "value" if finding.kind is Class.WRONG_PRIMAL else f"derivative by {where(name, index)}"
    size = ""
    told = ratio(point.ratio)
    if point.ratio is not None and finding.kind in (Class.RATIO_BLOWUP, Class.SIGN_FLIP) and told != "-1":
        size = f"; that is {told} times as much"
    off = bound(float(point.bound[name][index]) if name in point.bound else 0.0)
    return (
        f"{sentence(claimed)} At the clearest point {finding.target} returns {got} for the {what};"
        f" it is {expected} ({off}){size}."
    )


def weights(finding: Finding, holder: str) -> str:
    """Which function of the outputs is differentiated, unless it is the only output itself."""
    if len(finding.weights) == 1 and all(w is not None and not w.shape and w == 1 for w in finding.weights):
        return ""
    return f"The derivative is of a weighted sum of the outputs; the {holder} has the weights."


def flaky(finding: Finding) -> bool:
    """Whether the wrong answer comes only sometimes."""
    again, asked = finding.reproduced
    return again < asked


def judged(finding: Finding) -> str:
    """The references, the size of the error, and how often it was reproduced."""
    again, asked = finding.reproduced
    clear = ""
    if finding.kind not in MALFORMED:
        clear = f"The error is {factor(finding.clearest.error_over_allowed)} times what rounding allows. "
    by = " and ".join(finding.references)
    told = f"Judged by {by}" if by else "Judged without a reference"
    repeated = "Flaky: repeated" if flaky(finding) else "Repeated"
    often = f"{repeated} {again} of {count(asked, 'time')}; seen {count(finding.seen, 'time')} in this sweep"
    return f"{told}. {clear}{often}."


def cause(finding: Finding) -> str:
    """The planted bug that behaves like the finding, how sure that is, and where such a bug was reported; and
    what is known in any case. Empty where nothing is.
    """
    known = f"What is known: {'; '.join(finding.facts)}." if finding.facts else ""
    found = finding.cause
    if found is None:
        return known
    source = "a rule changed on purpose" if found.reported == SYSTEMATIC else f"as in {found.reported}"
    told = f"{_CAUSES[found.likelihood]}: {found.summary} (mutant:{found.mutant}, {source}). {_why(found)}"
    return f"{told} {known}" if known else told


def failed(finding: Finding) -> str:
    """Where gradfuzz itself failed at the finding; empty where it did not."""
    if not finding.own_faults:
        return ""
    what = "; ".join(f"{fault.doing}: {fault.error}" for fault in finding.own_faults)
    shown = f"`gradfuzz show {finding.id}` prints the traceback"
    return f"gradfuzz itself failed at this finding, {what}. Please report it to gradfuzz; {shown}."


_CAUSES: dict[Likelihood, str] = {
    Likelihood.CERTAIN: "Behaves exactly like this bug",
    Likelihood.LIKELY: "Probable cause",
    Likelihood.POSSIBLE: "Possible cause",
}


def _why(cause: Cause) -> str:
    others = ", ".join(cause.also[:_MOST_OTHERS]) + (", ..." if len(cause.also) > _MOST_OTHERS else "")
    match cause.likelihood:
        case Likelihood.CERTAIN:
            return "No other planted bug gives the same answers, here and on the program as it was drawn."
        case Likelihood.LIKELY if others:
            return f"It gives the same answers; so do {others}."
        case Likelihood.LIKELY:
            return "It alone gives the same answers."
        case Likelihood.POSSIBLE:
            told = "It gives the same wrong answers here, but not always the same answers elsewhere"
            return f"{told}; so do {others}." if others else f"{told}."


_MOST_OTHERS = 3


def asked(finding: Finding) -> str:
    """What was asked, in words: "vjp", "forward over reverse"."""
    return finding.check if len(finding.modes) < 2 or finding.check == "value" else in_words(finding.modes)


def remark(case: CheckResult) -> str:
    """Why a check has no verdict, or what the target said; empty where there is nothing to say."""
    return case.message or case.answer.message or (case.reason.value if case.reason else "")


def by_point(cases: Iterable[tuple[str, CheckResult]]) -> list[list[tuple[str, CheckResult]]]:
    """(loop form, case) by the case's point; the points in the order in which they come first."""
    points: dict[object, list[tuple[str, CheckResult]]] = {}
    for loop, case in cases:
        inputs = sorted(case.point.inputs.items())
        key = tuple((name, value.dtype.str, value.shape, value.tobytes()) for name, value in inputs)
        points.setdefault(key, []).append((loop, case))
    return list(points.values())


def told_best(at: Sequence[tuple[str, CheckResult]]) -> CheckResult:
    """The first case whose truth is known, or else the first."""
    known = (case for _, case in at if case.truth is not None and case.truth.status == "ok")
    return next(known, at[0][1])
