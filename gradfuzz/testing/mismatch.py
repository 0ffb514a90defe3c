"""The assertion that fails, and its message."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradfuzz.errors import SideEffectError
from gradfuzz.fuzzer.measuring.measured import Measured, Nearby
from gradfuzz.fuzzer.results.finding import Class, Verdict
from gradfuzz.oracles.base import check_name
from gradfuzz.reports.common.numbers import bound, factor, number, pair, ratio, where
from gradfuzz.reports.common.words import MALFORMED, claim


class GradientMismatch(AssertionError):  # noqa: N818 - it is no error of gradfuzz, and reads as what it is
    """A gradient is wrong. `measured` has all details."""

    def __init__(self, message: str, measured: Measured | None = None) -> None:
        super().__init__(message)
        self.measured = measured


def told(measured: Measured) -> str:
    """A measurement in words: what is wrong or inconclusive, the decisive entry, the allowed error."""
    return "\n".join(_lines(measured))


def _lines(m: Measured) -> Iterator[str]:
    yield _headline(m)
    along = "along fixed random directions, " if m.order > 1 and not m.of_a_scalar else ""
    by = f", by {m.way}" if m.way else ""
    asked = f"{check_name(m.modes)}, {along}{m.precision}, {m.framework}{by}"
    if m.verdict is Verdict.CRASHED:
        yield f"  {m.reason}"
        yield f"  asked: {asked}"
        return
    if m.reason:
        yield f"  {m.reason}"
    if m.stopped and m.wrong:
        yield f"  {m.stopped}"
        yield '  if you mean that, pass allow="stop_gradient", or the gradient that you mean as reference='
    if _may_approximate(m):
        yield "  if the function is an approximation, as solvers are, pass its accuracy, as in accuracy=1e-4,"
        yield "  or the name of its argument that is the tolerance, as in accuracy='tol'"
    told = None not in (m.worst, m.worst_expected, m.worst_got) and m.kind not in MALFORMED
    if told and not m.in_part:
        yield from _numbers(m)
    if m.modes:
        yield f"  asked     {asked}" + (", with a random cotangent" if m.weighted else "")
    if m.drawn:
        yield f"  draws     random numbers of {' and '.join(m.drawn)}, with the same seed at each call"
    if m.method is not None and (m.expected or m.untraced):
        yield f"  truth     {_short(m.basis)}"
    if m.nearby and m.worst is not None:
        yield from _around(m)


def _headline(m: Measured) -> str:
    what = f"the derivative{f' of order {m.order}' if m.order > 1 else ''} of {m.function}"
    if m.verdict is Verdict.INCONCLUSIVE:
        return f"{what} could not be judged right or wrong"
    if m.verdict is Verdict.CRASHED:
        return f"{what} " + ("has a side effect" if m.reason.startswith(_EFFECT) else "raises an error")
    if m.in_part:
        judged, size = m.judged
        return f"{judged} of {size} entries of {what} are right, and {_not_judged(m)}"
    if m.right:
        return f"{what} is {'right' if m.verdict is Verdict.AGREE else 'one of the legal answers at a kink'}"
    if m.kind is Class.WRONG_PRIMAL:
        return f"the value of {m.function} changes when it is differentiated"
    name = f" by {where(*m.worst)}" if m.worst is not None and m.kind not in MALFORMED else ""
    if m.kind is None:
        return f"{what}{name} is wrong"
    return f"{what}{name} is wrong ({m.kind.value}: {claim(m.kind, m.worst_expected, m.worst_got, m.ratio)})"


_EFFECT = SideEffectError.__name__


def _not_judged(m: Measured) -> str:
    """Which entries are not judged: the first few by name."""
    places = [where(name, tuple(map(int, k))) for name, mask in m.unjudged.items() for k in np.argwhere(mask)]
    names = ", ".join(places[:_NAMED]) + (f" and {len(places) - _NAMED} more" if len(places) > _NAMED else "")
    return f"{len(places)} {'is' if len(places) == 1 else 'are'} not judged: {names}"


_NAMED = 3
"""So many entries that are not judged are named."""


def _numbers(m: Measured) -> Iterator[str]:
    assert m.worst is not None, "only an entry has numbers"
    assert m.worst_expected is not None, "only an entry has numbers"
    assert m.worst_got is not None, "only an entry has numbers"
    name, index = m.worst
    wrong = m.verdict is Verdict.DISAGREE
    expected, got = pair(m.worst_expected, m.worst_got, agree=not wrong)
    error = f" ({bound(float(m.bound[name][index]))})" if name in m.bound else ""
    yield f"  expected  {expected}{error}"
    yield f"  got       {got}" + (f", {ratio(m.ratio)} times as much" if m.ratio and wrong else "")
    if name in m.allowed and m.error_over_allowed is not None:
        yield (
            f"  allowed   {number(float(m.allowed[name][index]), 2)}: {_granted(m)}what rounding to"
            f" {m.precision} may do here; the error is {factor(m.error_over_allowed)} times that"
        )


def _may_approximate(m: Measured) -> bool:
    """Whether an error is small enough for an approximation, and larger than rounding, where the function may
    be one.
    """
    known = m.worst is not None and m.worst[0] in m.expected and None not in (m.worst_expected, m.worst_got)
    if m.accuracy or not m.iterates or not known or m.verdict not in (Verdict.DISAGREE, Verdict.INCONCLUSIVE):
        return False
    assert m.worst is not None, "it is known"
    largest = float(np.nanmax(np.abs(m.expected[m.worst[0]]), initial=0.0))
    error = abs((m.worst_got or 0.0) - (m.worst_expected or 0.0))
    return (m.error_over_allowed or 0.0) > 1.0 and error <= _SMALL * largest


_SMALL = 1e-2
"""An approximation is hardly ever worse than this share of the largest entry."""


def _granted(m: Measured) -> str:
    return f"an accuracy of {number(m.accuracy, 2)} of the largest entry, and " if m.accuracy else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG].rpartition(' ')[0]} ..."


_LONG = 200
"""The most characters of a line about the truth; `Measured.basis` has all of it."""


def _around(m: Measured) -> Iterator[str]:
    assert m.worst is not None, "only an entry is shown near by"
    yield f"  near by, at other {where(*m.worst)}:"
    rows = [_row(n) for n in m.nearby]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    for row in rows:
        at, expected, got = (text.rjust(width) for text, width in zip(row, widths, strict=False))
        yield f"    {at}   expected {expected}   got {got}   {row[3]}"


_VERDICTS = {
    Verdict.AGREE: "right",
    Verdict.DISAGREE: "wrong",
    Verdict.CRASHED: "raises",
    Verdict.CONVENTION: "a convention",
}


def _row(n: Nearby) -> tuple[str, str, str, str]:
    agree = n.verdict is Verdict.AGREE
    expected = "-" if n.expected is None else number(n.expected)
    got = "-" if n.got is None else number(n.got)
    if n.expected is not None and n.got is not None:
        expected, got = pair(n.expected, n.got, agree=agree)
    return number(n.at), expected, got, _VERDICTS.get(n.verdict, "unclear")
