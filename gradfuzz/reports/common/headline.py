"""A sweep in one sentence, and what may be concluded where nothing was found: the same in every report."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.numbers import count
from gradfuzz.reports.common.summary import group
from gradfuzz.reports.common.words import MALFORMED

_MOST_NAMES = 4
_LONGEST = 80
"""The most characters of a target's name."""


def headline(finished: SweepFinished) -> str:
    """How many findings of which kind, in which targets."""
    found = _found(finished)
    wrong = [name for name, n in found.items() if n]
    open_ = _unsettled(finished)
    right = [plain.line(name, _LONGEST) for name, n in found.items() if not n and name not in open_]
    more = (
        f"Disagreements in {listed([plain.line(name, _LONGEST) for name in open_])} were not followed up."
        if open_
        else ""
    )
    if not finished.findings:
        nothing = (
            f"Nothing wrong was found in {listed(right)}." if right else "" if more else "Nothing was asked."
        )
        return f"{nothing} {more}".strip()
    what = _what(finished.findings)
    told = [plain.line(name, _LONGEST) + (f" ({found[name]})" if len(wrong) > 1 else "") for name in wrong]
    sentence = (
        f"{count(len(finished.findings), what).capitalize()} in"
        f" {listed(told) or 'targets that are not listed'}"
    )
    rest = f"; none in {listed(right)}." if right else "."
    return f"{sentence}{rest} {more}".strip()


def _found(finished: SweepFinished) -> dict[str, int]:
    """The number of findings of each target."""
    targets = {name: {way.name for way in ways} for name, ways in group(finished.summaries).items()}
    return {name: sum(f.target in ways for f in finished.findings) for name, ways in targets.items()}


def _unsettled(finished: SweepFinished) -> list[str]:
    """Targets with disagreements and no finding: the sweep ended before any was shrunk."""
    found = _found(finished)
    return [
        name
        for name, ways in group(finished.summaries).items()
        if not found[name] and any(way.disagree for way in ways)
    ]


def _what(findings: Sequence[Finding]) -> str:
    """The narrowest noun that fits all findings."""
    kinds = {finding.kind for finding in findings}
    if kinds == {Class.ERROR}:
        return "error"
    return "finding" if kinds & (MALFORMED | {Class.WRONG_PRIMAL}) else "wrong derivative"


def work(finished: SweepFinished) -> str:
    """How much was asked, and whether the sweep was complete."""
    done = (
        f"{count(finished.programs, 'program')}, {count(finished.checks, 'check')}, {finished.seconds:,.0f} s"
    )
    if finished.interrupted:
        return f"{done}. Interrupted: this is the part that was done."
    return f"{done}." if finished.complete else f"{done}. Incomplete: it ended before all was asked."


def silence(finished: SweepFinished) -> str:
    """What may be concluded where nothing was found, and what may not."""
    checks, told = sum(s.checks for s in finished.summaries), sum(judged(s) for s in finished.summaries)
    if not checks:
        return "No check was made, so nothing can be concluded."
    rest = checks - told
    left = (
        "; the others could not be judged, which is not agreement"
        if rest > 1
        else "; the other one could not be judged, which is not agreement"
        if rest
        else ""
    )
    return (
        f"{told:,} of {count(checks, 'check')} were judged against a derivative known to a proved"
        f" bound{left}. Where nothing was wrong, every judged check agreed up to rounding; that is no proof"
        " for programs that were not drawn."
    )


def judged(summary: TargetSummary) -> int:
    """The checks with a verdict of agree or disagree."""
    return summary.agree + summary.disagree


def listed(names: Sequence[str]) -> str:
    """As in "a", "a and b", "a, b and c", "a, b, c, d and 3 others"."""
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
