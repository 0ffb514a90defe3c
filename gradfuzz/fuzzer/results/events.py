"""The events of a sweep. Reports listen; the fuzzer never prints.

SweepStarted (Progress | FindingFound)* SweepFinished        always in this order, the last one always comes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradfuzz.fuzzer.results.codec import OPTIONAL
from gradfuzz.fuzzer.results.failure import Failure
from gradfuzz.fuzzer.results.finding import Cluster, Finding, Reason
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.own_fault import OwnFault


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """Counts for one oracle (one entry point of a target) and one family."""

    name: str
    version: str
    family: str
    checks: int = 0
    agree: int = 0
    disagree: int = 0
    convention: int = 0
    inconclusive: Mapping[Reason, int] = field(default_factory=dict)
    unsupported: int = 0
    crashed: int = 0
    """Checks without an answer; `failures` tells them apart."""
    worst_agreeing: float = 0.0
    """The largest error in units of the allowed one, among the checks that agree."""
    programs: int = field(default=0, metadata={OPTIONAL: True})
    """Programs about which it was asked something."""
    refused: int = field(default=0, metadata={OPTIONAL: True})
    """Programs whose turn came, and of which it supports nothing. The others were not its turn."""
    drawn: int = field(default=0, metadata={OPTIONAL: True})
    """Programs about which it could have been asked: those that were drawn for it, or for everybody."""
    never: tuple[str, ...] = field(default=(), metadata={OPTIONAL: True})
    """Ops that the family can be about, and that none of these programs has, in order."""
    ops: Mapping[str, int] = field(default_factory=dict, metadata={OPTIONAL: True})
    """By op, at the end of a sweep: how many of the programs that it was asked something about have it."""
    failures: Mapping[Failure, int] = field(default_factory=dict, metadata={OPTIONAL: True})
    proofs: int = field(default=0, metadata={OPTIONAL: True})
    """Checks of a rule in exact numbers that are decided."""
    untraced: Mapping[str, int] = field(default_factory=dict, metadata={OPTIONAL: True})
    """Why there was no graph of a rule, and at how many points."""
    fault: str | None = field(default=None, metadata={OPTIONAL: True})
    """What it raised in every program: an error of its set-up. None where it answered."""


@dataclass(frozen=True, slots=True)
class SweepStarted:
    """The first event: which targets are asked, and what."""

    seed: int
    targets: tuple[tuple[str, str], ...]
    """(oracle name, version)."""
    families: tuple[str, ...]
    max_examples: int
    max_time: float | None
    rerun: str
    """The exact command that repeats this sweep."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Comes at least every few seconds."""

    seconds: float
    programs: int
    checks: int
    doing: str
    """A few words: "judging torch:eager on programs 17-32"."""
    latest_program: str = ""
    summaries: tuple[TargetSummary, ...] = ()
    met: str = field(default="", metadata={OPTIONAL: True})
    """The first disagreement of a kind, in words, when it is met. A finding follows if it holds."""
    workers: int = field(default=0, metadata={OPTIONAL: True})
    """Workers that there are now."""
    under_way: int = field(default=0, metadata={OPTIONAL: True})
    """Pieces of work that were handed out."""
    quiet: float = field(default=0.0, metadata={OPTIONAL: True})
    """Seconds since the last finding, or since the start."""
    dashboard: str = field(default="", metadata={OPTIONAL: True})
    """Where Dask shows what its workers do."""


@dataclass(frozen=True, slots=True)
class FindingFound:
    """A shrunk finding. The same `finding.id` may come again with a higher `seen`."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a sweep, with all the work that was done for it."""

    part: int
    """Counted from 1."""
    parts: int
    settings: str
    """What the whole sweep's result depends on, as JSON: versions and configuration."""
    work: Mapping[str, str]
    """The result of each piece of work by its key, packed and in base64."""


@dataclass(frozen=True, slots=True)
class SweepFinished:
    """The last event: all counts and findings."""

    seed: int
    seconds: float
    programs: int
    checks: int
    summaries: tuple[TargetSummary, ...]
    findings: tuple[Finding, ...]
    """Ranked: at ordinary inputs first and absurd ones last, then by order, class and how often seen."""
    complete: bool
    """False where a time limit or an interrupt ended it early."""
    interrupted: bool
    rerun: str
    coverage: Mapping[str, int] = field(default_factory=dict)
    """How many programs had each trigger that strategies.coverage counts."""
    clusters: tuple[Cluster, ...] = ()
    """The findings by root cause."""
    tested: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What the programs contained, so that no findings about a feature mean something.

    By "op", "trips", "dtype", "size of inputs", "order" and "loop form": how many programs had each feature
    (of sizes, how many points).
    """
    conventions: Mapping[str, int] = field(default_factory=dict)
    """How many checks met each row of the conventions table."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Versions of gradfuzz, Python and the references' libraries, the platform, and the start in UTC."""
    functions: tuple[FunctionSummary, ...] = field(default=(), metadata={OPTIONAL: True})
    """Every function that the library lists, and what was asked of it; of a sweep that calls functions."""
    shard: Shard | None = field(default=None, metadata={OPTIONAL: True})
    """Where the sweep is one part of several: what `gradfuzz merge` takes."""
    own_faults: tuple[OwnFault, ...] = field(default=(), metadata={OPTIONAL: True})
    """Where gradfuzz itself failed, elsewhere than at a finding."""


Event = SweepStarted | Progress | FindingFound | SweepFinished
