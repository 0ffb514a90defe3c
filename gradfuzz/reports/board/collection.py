"""Runs by system, release, op and finding."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from packaging.version import InvalidVersion, Version

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.functions import FAMILY, REFUSED
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.reports.common.summary import total

OPEN, FIXED, GONE = "open", "fixed", "not seen again"

WRONG, RIGHT, REFUSES, UNASKED = "wrong", "nothing wrong found", "refuses", "not asked"

_DIGITS = 12
"""Of a signature in an address: among a thousand findings two are alike once in 500 million times."""


@dataclass(frozen=True, slots=True)
class BoardRun:
    """One sweep, and when it began: "2026-03-01T12:00:00+00:00"."""

    began: str
    finished: SweepFinished
    review: Review | None = None


@dataclass(slots=True)
class ReleaseSummary:
    """What one release of a system was asked in one family, added up over seeds."""

    summary: TargetSummary
    ops: Counter[str]
    """By op how many programs with it, by function how many calls of it, it was asked about."""
    refused: set[str]
    """Functions that refuse every call."""
    latest: str
    """When the last of these runs began."""


@dataclass(slots=True)
class BoardFinding:
    """A finding over all runs and releases of one system."""

    finding: Finding
    """As the latest run recorded it."""
    first: str
    last: str
    releases: dict[str, str] = field(default_factory=dict)
    """For each release in which it was asked about: "wrong", "fixed" or "not seen again"."""
    ops: tuple[str, ...] = ()
    """What it is about: ops, functions, or forms of loops."""
    state: str = OPEN
    """Of the newest release that was asked about it."""

    @property
    def key(self) -> str:
        """The name of its page, which stays the same. Ids are short, and two sweeps may give one twice."""
        return f"{in_address(_owner(self.finding.target))}-gf-{signature_of(self.finding)[:_DIGITS]}"


@dataclass(slots=True)
class BoardSystem:
    """A library with all its ways, or whatever else was asked."""

    name: str
    releases: dict[str, dict[str, ReleaseSummary]]
    """By release, the newest first, and by family."""
    findings: list[BoardFinding]
    """The most serious first; open ones before others."""

    @property
    def key(self) -> str:
        return in_address(self.name)

    @property
    def newest(self) -> str:
        return next(iter(self.releases))

    @property
    def latest(self) -> str:
        """When the last run that asked it began, or found something in it."""
        runs = (asked.latest for families in self.releases.values() for asked in families.values())
        return max([*runs, *(known.last for known in self.findings)])

    @property
    def open(self) -> list[BoardFinding]:
        return [known for known in self.findings if known.state == OPEN]

    @property
    def checks(self) -> int:
        return sum(asked.summary.checks for asked in self.releases[self.newest].values())

    def families(self) -> list[str]:
        return list(dict.fromkeys(family for asked in self.releases.values() for family in asked))

    def about(self, op: str) -> tuple[str, int, list[BoardFinding]]:
        """What the newest release is known to do with an op or a function, how often it was asked about it,
        and its open findings about it.
        """
        found = [known for known in self.open if op in known.ops]
        state, times = self._asked(op, self.newest)
        return (WRONG if found else state), times, found

    def history(self, op: str) -> list[tuple[str, str, int]]:
        """What each release is known to do with an op or a function, and how often it was asked, the newest
        first.
        """
        own = [known for known in self.findings if op in known.ops]
        wrong = {version for known in own for version, state in known.releases.items() if state == WRONG}
        told = ((version, *self._asked(op, version)) for version in self.releases)
        return [(version, WRONG if version in wrong else state, times) for version, state, times in told]

    def _asked(self, op: str, version: str) -> tuple[str, int]:
        asked = self.releases[version].values()
        times = sum(one.ops[op] for one in asked)
        if any(op in one.refused for one in asked):
            return REFUSES, times
        return (RIGHT if times else UNASKED), times


@dataclass(slots=True)
class Board:
    """All systems, by name."""

    systems: list[BoardSystem]
    latest: str
    """When the last run began."""

    def ops(self) -> list[str]:
        """Every op that a system was asked about and every op or function that is wrong somewhere, by name.

        Functions of one library are no ops of another: only those about which there is a finding are listed.
        """
        asked = {
            op
            for system in self.systems
            for families in system.releases.values()
            for family, one in families.items()
            if family != FAMILY
            for op in one.ops
        }
        return sorted(asked | {op for known in self.findings() for op in known.ops})

    def findings(self) -> list[BoardFinding]:
        return [known for system in self.systems for known in system.findings]

    def families(self) -> list[str]:
        """Those of findings, by name."""
        return sorted({known.finding.family for known in self.findings()})


def board(runs: Iterable[BoardRun]) -> Board:
    """The board of these runs. Planted bugs are on it only where nothing else was asked."""
    ordered = sorted(runs, key=lambda run: run.began)
    asked = {_owner(s.name) for run in ordered for s in run.finished.summaries if s.checks}
    found = {_owner(finding.target) for run in ordered for finding in run.finished.findings}
    names = sorted(asked | found)
    real = [name for name in names if TargetName.of(name).library != "mutant"]
    systems = [_system(name, ordered) for name in real or names]
    return Board(systems, ordered[-1].began if ordered else "")


def in_address(text: str) -> str:
    """The text as a part of an address: small letters, digits, hyphens, dots and underscores.

    Of two texts that differ the addresses differ: where something is left out, digits of a hash follow.
    """
    plain = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-._")
    if plain == text:
        return plain
    return f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}".lstrip("-")


def _owner(name: str) -> str:
    return TargetName.of(name).owner


def _system(name: str, runs: Sequence[BoardRun]) -> BoardSystem:
    seeds: dict[tuple[str, str, int], ReleaseSummary] = {}
    for run in runs:
        for family, version, asked in _asked(name, run):
            key = family, version, run.finished.seed
            seeds[key] = _again(seeds[key], asked) if key in seeds else asked
    releases: dict[str, dict[str, ReleaseSummary]] = {}
    for (family, version, _), asked in seeds.items():
        families = releases.setdefault(version, {})
        families[family] = _both(families[family], asked) if family in families else asked
    known: dict[str, BoardFinding] = {}
    for run in runs:
        for finding in run.finished.findings:
            if _owner(finding.target) == name:
                _enter(known, finding, run)
                releases.setdefault(finding.version, {})
        for finding in run.review.fixed if run.review is not None else ():
            if (own := known.get(signature_of(finding))) is not None:
                for version in {s.version for s in run.finished.summaries if _owner(s.name) == name}:
                    own.releases[version] = FIXED
    ordered = dict(sorted(releases.items(), key=lambda item: _order(item[0]), reverse=True))
    for one in known.values():
        _settle(one, ordered)
    findings = sorted(known.values(), key=lambda one: (one.state != OPEN, rank(one.finding)))
    return BoardSystem(name, ordered, findings)


def _asked(name: str, run: BoardRun) -> Iterator[tuple[str, str, ReleaseSummary]]:
    """Family, release, and what was asked, of one run."""
    finished = run.finished
    groups: dict[tuple[str, str], list[TargetSummary]] = {}
    for summary in finished.summaries:
        if _owner(summary.name) == name and summary.checks:
            groups.setdefault((summary.family, summary.version), []).append(summary)
    for (family, version), ways in groups.items():
        summary, refused = replace(total(ways), name=name), set[str]()
        ops = Counter(summary.ops)
        if family == FAMILY:
            ops = +Counter({one.name: max(one.asked.values(), default=0) for one in finished.functions})
            refused = {one.name for one in finished.functions if one.outcome == REFUSED}
        yield family, version, ReleaseSummary(summary, ops, refused, run.began)


def _again(a: ReleaseSummary, b: ReleaseSummary) -> ReleaseSummary:
    """Two runs of one seed: they draw the same programs, and the longer one asks about more of them."""
    longer = max(a.summary, b.summary, key=lambda summary: summary.checks)
    return ReleaseSummary(longer, a.ops | b.ops, a.refused & b.refused, max(a.latest, b.latest))


def _both(a: ReleaseSummary, b: ReleaseSummary) -> ReleaseSummary:
    summary = replace(total([a.summary, b.summary]), programs=a.summary.programs + b.summary.programs)
    return ReleaseSummary(summary, a.ops + b.ops, a.refused & b.refused, max(a.latest, b.latest))


def _enter(known: dict[str, BoardFinding], finding: Finding, run: BoardRun) -> None:
    signature = signature_of(finding)
    own = known.setdefault(signature, BoardFinding(finding, run.began, run.began))
    own.finding, own.last = finding, run.began
    own.releases[finding.version] = WRONG


def _settle(known: BoardFinding, releases: dict[str, dict[str, ReleaseSummary]]) -> None:
    """What a finding is about, and its state: that in the newest release that was asked about its family."""
    trigger = Trigger.of_finding(known.finding)
    known.ops = tuple(sorted(trigger.ops)) or tuple(f"{form} loop" for form in sorted(trigger.loops))
    told = {}
    for version, families in releases.items():
        if version in known.releases:
            told[version] = known.releases[version]
        elif known.finding.family in families:
            told[version] = GONE
    known.releases = told
    newest = next(iter(told.values()), WRONG)
    known.state = OPEN if newest == WRONG else newest


def _order(version: str) -> tuple[bool, Version, str]:
    """Sorts releases as Python packages do; what is no such release comes before all others."""
    try:
        return True, Version(version), ""
    except InvalidVersion:
        return False, Version("0"), version
