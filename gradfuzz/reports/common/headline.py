"""A sweep in one sentence, and what may be concluded where nothing was found: the same in every report."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.functions import FAMILY, NOTHING_ASKED
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.functions import noun
from gradfuzz.reports.common.numbers import count
from gradfuzz.reports.common.summary import group
from gradfuzz.reports.common.words import MALFORMED

_MOST_NAMES = 4
_LONGEST_FAULT = 900
_LONGEST = 80
"""The most characters of a target's name."""


def headline(finished: SweepFinished) -> str:
    """How many findings of which kind, in which targets."""
    wrong: list[tuple[str, int]] = []
    right: list[str] = []
    unsettled: list[str] = []  # the sweep ended before any of their disagreements was shrunk
    for target, all_ways in group(finished.summaries).items():
        ways = [way for way in all_ways if way.fault is None]
        if not ways:
            continue
        name, names = plain.line(target, _LONGEST), {way.name for way in ways}
        if found := sum(finding.target in names for finding in finished.findings):
            wrong.append((name, found))
        else:
            (unsettled if any(way.disagree for way in ways) else right).append(name)
    more = f" Disagreements in {listed(unsettled)} were not followed up." if unsettled else ""
    more += "".join(f" {plain.line(fault, _LONGEST_FAULT)}" for fault in faults(finished))
    more += f" {told}" if (told := own_faults(finished)) else ""
    if finished.findings:
        found_in = listed([f"{name} ({n})" if len(wrong) > 1 else name for name, n in wrong])
        what = count(len(finished.findings), _what(finished.findings)).capitalize()
        rest = f"; none in {listed(right)}" if right else ""
        return f"{what} in {found_in or 'targets that are not listed'}{rest}.{more}"
    if right:
        return f"Nothing wrong was found in {listed(right)}.{more}"
    return more.strip() or "Nothing was asked."


def faults(finished: SweepFinished) -> list[str]:
    """A sentence about each way that raised whatever it was asked."""
    programs: dict[tuple[str, str], int] = {}
    told = []
    for way in finished.summaries:
        if way.fault is not None and way.fault.startswith(NOTHING_ASKED):
            told.append(f"{way.name} was not tested: {way.fault}.")
        elif way.fault is not None and way.family == FAMILY:
            told.append(
                f"{way.name} was not tested: it answers no call, so its set-up is at fault: {way.fault}"
            )
        elif way.fault is not None:
            key = way.name, way.fault
            programs[key] = programs.get(key, 0) + way.programs
    return told + [
        f"{name} was not tested: it raises whatever it is asked, about {count(n, drawn(finished))}, so its"
        f" set-up is at fault, or its adapter does not fit this release: {raised}"
        for (name, raised), n in programs.items()
    ]


def own_faults(finished: SweepFinished) -> str:
    """Where gradfuzz itself failed, in a sentence; empty where it did not."""
    at = [finding.id for finding in finished.findings if finding.own_faults]
    places = [f"at {listed(at)}"] if at else []
    places += [plain.line(f"{fault.doing} ({fault.error})", _LONGEST_FAULT) for fault in finished.own_faults]
    return f"gradfuzz itself failed {'; '.join(places)}: please report it to gradfuzz." if places else ""


def _what(findings: Sequence[Finding]) -> str:
    """The narrowest noun that fits all findings."""
    kinds = {finding.kind for finding in findings}
    if kinds == {Class.ERROR}:
        return "error"
    return "finding" if kinds & (MALFORMED | {Class.WRONG_PRIMAL}) else "wrong derivative"


def work(finished: SweepFinished, thousands: str = ",") -> str:
    """How much was asked, and whether the sweep was complete. `thousands` separates those of the seconds."""
    programs, checks = count(finished.programs, drawn(finished)), count(finished.checks, "check")
    done = f"{programs}, {checks}, {finished.seconds:{thousands}.0f} s."
    if finished.interrupted:
        return f"{done} Interrupted: this is the part that was done."
    return done if finished.complete else f"{done} Incomplete: it ended before all was asked."


def drawn(finished: SweepFinished) -> str:
    """What the sweep drew: "program" or "call"."""
    return noun(summary.family for summary in finished.summaries)


def silence(finished: SweepFinished) -> str:
    """What may be concluded where nothing was found, and what may not."""
    checks, told = sum(s.checks for s in finished.summaries), sum(judged(s) for s in finished.summaries)
    if not checks:
        return "No check was made, so nothing can be concluded."
    others = "the others" if checks - told > 1 else "the other one"
    left = f"; {others} could not be judged, which is not agreement" if checks > told else ""
    return (
        f"{told:,} of {count(checks, 'check')} were judged against a derivative known to a proved bound"
        f"{left}. Where nothing was wrong, every judged check agreed up to rounding; that is no proof for"
        f" {drawn(finished)}s that were not drawn."
    )


def judged(summary: TargetSummary) -> int:
    """The checks with a verdict of agree or disagree."""
    return summary.agree + summary.disagree


def listed(names: Sequence[str]) -> str:
    """As in "a", "a and b", "a, b and c", "a, b, c, d and 3 others"."""
    if len(names) > _MOST_NAMES + 1:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
