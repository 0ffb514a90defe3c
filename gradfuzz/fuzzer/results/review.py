"""The state of recorded findings and of the baseline at the end of a sweep, for reports to show."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.codec import KEY, OPTIONAL
from gradfuzz.fuzzer.results.finding import Finding


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """A finding that is accepted for now."""

    id: str
    """The finding's id, "GF-7c1e"."""
    signature: str
    target: str
    reason: str
    link: str = ""
    expires: datetime.date | None = None
    """The first day on which the finding counts again; None: never."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An entry, and for the reader what it accepts."""

    entry: BaselineEntry
    finding: Finding | None = field(default=None, metadata={OPTIONAL: True})
    """The whole finding, in files of gradfuzz 0.2. Since then the store has it."""
    what: str | None = field(default=None, metadata={OPTIONAL: True})
    """As in "wrong_value in det, vjp"."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a rule accepts: findings that fit every glob that is given."""

    id: str | None = field(default=None, metadata={OPTIONAL: True})
    target: str | None = field(default=None, metadata={OPTIONAL: True})
    op: str | None = field(default=None, metadata={OPTIONAL: True})
    """It fits one of the telling ops of the shrunk program, or one of its loops: "solve", "while"."""
    cause: str | None = field(default=None, metadata={OPTIONAL: True})
    """It fits the alias of the planted bug that is the target, or certainly or likely the cause.

    Of a call it fits the library's rule that alone differentiates it, as reports name it: "SoftmaxBackward0".
    """
    kind: str | None = field(default=None, metadata={KEY: "class", OPTIONAL: True})
    function: str | None = field(default=None, metadata={OPTIONAL: True})
    """It fits the function that is called: "torch.nn.functional.softplus"."""
    report: str | None = field(default=None, metadata={OPTIONAL: True})
    """It fits a known report: "pytorch#192540"."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Findings that are accepted for now without being named one by one."""

    accept: Pattern
    reason: str = field(default="", metadata={OPTIONAL: True})
    """Never empty: a rule without it is refused."""
    link: str = field(default="", metadata={OPTIONAL: True})
    expires: datetime.date | None = field(default=None, metadata={OPTIONAL: True})
    """The first day on which the findings count again; None: never."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """All accepted findings, by target and id, and the rules by which others are accepted."""

    accepted: tuple[Accepted, ...] = field(default=(), metadata={OPTIONAL: True})
    rules: tuple[Rule, ...] = field(default=(), metadata={OPTIONAL: True})


@dataclass(frozen=True, slots=True)
class Review:
    """Known findings are those of the sweep that the baseline accepts; the sweep's others are new or open."""

    known: tuple[BaselineEntry, ...] = ()
    """An entry for each finding of this sweep that is accepted, by an entry of its own or by a rule."""
    expired: tuple[BaselineEntry, ...] = ()
    """An entry for each finding of this sweep that was accepted until now."""
    stale: tuple[BaselineEntry, ...] = ()
    """Entries whose finding is fixed: rechecked, the target is right."""
    fixed: tuple[Finding, ...] = ()
    """Findings of earlier sweeps that are fixed."""
    first_seen: tuple[tuple[str, str], ...] = ()
    """(id, date first recorded, as in "2026-03-01") of this sweep's findings known from earlier sweeps."""
