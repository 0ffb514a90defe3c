"""The self-test: are the planted bugs found, and do correct oracles pass?

Every mutant is asked about the programs that a sweep draws, family by family, until one of them kills it. The
work is done in rounds of one batch per family and seed; a mutant that is killed in a round is not asked
again. So the numbers depend on the seeds alone, not on timing. Then correct oracles are swept, and each
finding against them must be confirmed.
"""

from __future__ import annotations

import itertools
import shlex
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gradfuzz.errors import UnknownTargetError, UsageError
from gradfuzz.fuzzer.findings.script_run import unconfirmed
from gradfuzz.fuzzer.results.events import Progress, SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.own_fault import OwnFault, attempt
from gradfuzz.fuzzer.results.score import (
    JVP_RULES,
    VJP_RULES,
    MutantScore,
    OracleScore,
    Score,
    SelftestProgress,
)
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.sweep.kills import ORDERS, Kills, Ordeal, Record, kills
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from gradfuzz.fuzzer.workers.local import Here, Pool, usual_size
from gradfuzz.fuzzer.workers.worker import Workers
from gradfuzz.oracles.mutants.mutant import Mutant, Need
from gradfuzz.oracles.mutants.registry import GROUPS, MUTANTS, named
from gradfuzz.oracles.mutants.systematic import EQUIVALENT, systematic
from gradfuzz.oracles.registry import installed, resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.strategies import FAMILIES

Profile = Literal["quick", "full"]

_EVERY = 11
"""The quick profile asks every n-th systematic mutant, and all that need a third order; this n reaches every
op and kind of mistake."""

_CORRECT: Mapping[Profile, tuple[int, tuple[str, ...]]] = {
    "quick": (12, ("loops",)),
    "full": (16, tuple(FAMILIES)),
}
"""How many programs correct oracles are asked about, from which families: JAX spends its time compiling."""

_QUICK_WAYS = ("engine", "jax:scan:nojit", "torch:eager", "torch:func")
"""The entry points that a quick self-test asks: none that compiles whole programs."""

_BATCHES = (4, 12, 16)
"""Programs in the first rounds and in all later ones: most mutants are killed by a few."""

_PAUSE = 5.0
"""Seconds between two progress events while correct oracles are asked."""


@dataclass(frozen=True, slots=True)
class SelftestConfig:
    """The settings of a self-test."""

    profile: Profile = "quick"
    seeds: tuple[int, ...] = (0,)
    max_examples: int = 300
    """Programs per family and seed that a mutant may survive before it counts as not found."""
    mutants: tuple[str, ...] = ()
    """Only these, by id, alias or systematic name; then correct oracles are not asked."""
    jobs: int | None = None
    """Worker processes; None: one per core, at most four."""
    max_time: float | None = None
    """Seconds after which no new round begins."""


def selftest(config: SelftestConfig) -> Iterator[SelftestProgress | Score]:
    """Progress after every round, and the score last. `UsageError` and `UnknownTargetError` come first."""
    if config.profile not in _CORRECT:
        raise UsageError(f"unknown profile {config.profile!r}; there is {', '.join(_CORRECT)}")
    given = {"max_examples": config.max_examples, "jobs": config.jobs, "number of seeds": len(config.seeds)}
    for name, value in given.items():
        if value is not None and value < 1:
            raise UsageError(f"the {name} is {value}; it must be at least 1")
    return _Selftest(config, _mutants(config)).events()


def _mutants(config: SelftestConfig) -> list[Mutant]:
    if not config.mutants:
        rows = list(systematic())
        if config.profile == "quick":
            rows = [row for k, row in enumerate(rows) if k % _EVERY == 0 or row.order > max(ORDERS)]
        return [*MUTANTS, *rows]
    found = {}
    for name in config.mutants:
        row = named(name.removeprefix("mutant:"))
        if row is None:
            resolve(f"mutant:{name.removeprefix('mutant:')}")  # its error suggests similar names
            raise UnknownTargetError(f"unknown mutant {name!r}")
        found[row.alias] = row
    return list(found.values())


def _size(number: int) -> int:
    """Programs in a round."""
    return _BATCHES[min(number, len(_BATCHES) - 1)]


class _Selftest:
    def __init__(self, config: SelftestConfig, mutants: list[Mutant]) -> None:
        self._config = config
        self._mutants = mutants
        self._programs: dict[tuple[str, int], int] = {}
        self._records: dict[tuple[str, int], Record] = {}
        self._started = time.monotonic()
        self._complete = True
        self._interrupted = False
        self._failed: list[OwnFault] = []
        self._jobs = config.jobs or usual_size()

    def events(self) -> Iterator[SelftestProgress | Score]:
        correct: tuple[OracleScore, ...] = ()
        try:
            yield from self._rounds()
            if self._complete and not self._config.mutants:
                correct = yield from self._correct()
        except KeyboardInterrupt:
            self._complete, self._interrupted = False, True
        yield self._score(correct)

    # Mutants

    def _rounds(self) -> Iterator[SelftestProgress]:
        workers: Workers = Here() if self._jobs == 1 else Pool(self._jobs)
        ended = False
        try:
            config, first = self._config, 0
            yield self._progress(0, f"asking about {', '.join(FAMILIES)}")
            for number in itertools.count():
                ordeals = self._round(number, first)
                if not ordeals:
                    break
                promises = [workers.submit(_killed, ordeal) for ordeal in ordeals]
                for promise in promises:
                    self._enter(promise.result())
                first = min(first + _size(number), config.max_examples)
                yield self._progress(first, f"asked about programs 1-{first} of each family")
            ended = True
        finally:
            workers.close(at_once=not ended)

    def _round(self, number: int, first: int) -> list[Ordeal]:
        """A batch per family and seed for living mutants; empty once mutants, programs or time run out."""
        config = self._config
        count = min(_size(number), config.max_examples - first)
        alive = {
            seed: tuple(m.alias for m in self._mutants if (m.alias, seed) not in self._programs)
            for seed in config.seeds
        }
        if count <= 0 or not any(alive.values()):
            return []
        if config.max_time is not None and time.monotonic() - self._started >= config.max_time:
            self._complete = False
            return []
        return [
            Ordeal(WorkItem(number, first, count, family, seed, (), orders=ORDERS), alive[seed])
            for seed in config.seeds
            for family in FAMILIES
            if alive[seed]
        ]

    def _enter(self, found: Kills | OwnFault) -> None:
        if isinstance(found, OwnFault):
            self._complete = False
            self._failed.append(found)
            return
        seed = found.item.seed
        for name, programs in found.killed.items():
            self._programs[name, seed] = min(programs, self._programs.get((name, seed), programs))
        for name, record in found.records.items():
            self._records.setdefault((name, seed), Record()).add(record)

    # Correct oracles

    def _correct(self) -> Generator[SelftestProgress, None, tuple[OracleScore, ...]]:
        config = self._config
        programs, families = _CORRECT[config.profile]
        libraries = installed()
        quick = tuple(way for way in _QUICK_WAYS if TargetName.of(way).library in libraries)
        targets = quick if config.profile == "quick" else tuple(libraries)
        most = min(programs, config.max_examples)
        asked = SweepConfig(targets, families, config.seeds[0], most, jobs=self._jobs)
        latest = time.monotonic()
        yield self._progress(config.max_examples, f"asking {', '.join(asked.targets)}")
        for event in sweep(asked):
            if isinstance(event, Progress) and time.monotonic() - latest >= _PAUSE:
                latest = time.monotonic()
                said = f"asked {', '.join(asked.targets)} {event.checks:,} times"
                yield self._progress(config.max_examples, said)
        finished = event
        assert isinstance(finished, SweepFinished), "a sweep ends so"
        self._complete, self._interrupted = finished.complete, finished.interrupted
        self._failed += finished.own_faults
        self._failed += [fault for finding in finished.findings for fault in finding.own_faults]
        found = [(finding, _doubt(finding)) for finding in finished.findings]
        scores = []
        for name in libraries:
            own = [s for s in finished.summaries if TargetName.of(s.name).library == name]
            against = [(f, doubt) for f, doubt in found if TargetName.of(f.target).library == name]
            alarms = tuple(
                f"{f.id}, {f.kind.value} as {f.check} of {f.target}: {doubt}" for f, doubt in against if doubt
            )
            checks, unclear = sum(s.checks for s in own), sum(sum(s.inconclusive.values()) for s in own)
            right = len(against) - len(alarms)
            scores.append(OracleScore(name, own[0].version, checks, unclear, right, len(alarms), alarms))
        return tuple(scores)

    # Events

    def _progress(self, programs: int, doing: str) -> SelftestProgress:
        total = len(self._mutants) * len(self._config.seeds)
        return SelftestProgress(time.monotonic() - self._started, programs, len(self._programs), total, doing)

    def _score(self, correct: tuple[OracleScore, ...]) -> Score:
        config = self._config
        groups = {row.alias: group for group, rows in GROUPS.items() for row in rows}
        scores = []
        for m in self._mutants:
            programs = {seed: self._programs.get((m.alias, seed)) for seed in config.seeds}
            record = Record()
            for seed in (seed for seed, n in programs.items() if n is None):
                record.add(self._records.get((m.alias, seed), Record()))
            survived = any(n is None for n in programs.values())
            group = groups.get(m.alias) or (VJP_RULES if m.alias.startswith("vjp") else JVP_RULES)
            reason = _reason(m, record) if survived else ""
            scores.append(MutantScore(f"mutant:{m.alias}", group, m.summary, programs, reason))
        return Score(
            profile=config.profile,
            seeds=config.seeds,
            max_examples=config.max_examples,
            seconds=time.monotonic() - self._started,
            mutants=tuple(scores),
            correct=correct,
            complete=self._complete,
            interrupted=self._interrupted,
            rerun=_rerun(config),
            equivalent=EQUIVALENT,
            own_faults=tuple(dict.fromkeys(self._failed)),
        )


def _killed(ordeal: Ordeal) -> Kills | OwnFault:
    item = ordeal.item
    doing = f"asking about programs {item.first + 1}-{item.first + item.count} of {item.family}"
    return attempt(doing, kills, ordeal)


_NEEDS: Mapping[Need, str] = {
    "": "",
    "complex": " with complex numbers",
    "broadcast": " with an operand that is broadcast",
    "square": " with square matrices",
    "batch": " with batch axes",
}


def _reason(mutant: Mutant, record: Record) -> str:
    """Why a mutant survived, as far as the record shows."""
    if not record.asked:
        names = {"rev": "reverse", "fwd": "forward"}
        modes = " or ".join(name for mode, name in names.items() if mode in mutant.modes)
        program = f"{', '.join(sorted(mutant.ops))}{_NEEDS[mutant.needs]} in {modes} mode"
        return f"never asked: no program drawn has {program}"
    if not record.different:
        return f"asked {record.asked} times, and never different from the engine"
    said = ", ".join(f"{n} x {text}" for text, n in sorted(record.verdicts.items()))
    return f"different {record.different} times of {record.asked}, and then: {said}"


def _doubt(finding: Finding) -> str:
    """Why a finding is a false alarm; empty where a second reference and its own script confirm it."""
    if finding.kind.of_numbers and len(finding.references) < 2:
        return "only one reference says so"
    if not finding.script:
        return "there is no script that shows it"
    return unconfirmed(finding)


def _rerun(config: SelftestConfig) -> str:
    """The command that repeats the self-test. Defaults are left out, except profile and seeds."""
    parts = ["gradfuzz", "selftest", "--profile", config.profile]
    first, last = config.seeds[0], config.seeds[-1]
    parts += ["--seed", str(first)] if first == last else ["--seeds", f"{first}..{last}"]
    default = SelftestConfig()
    if config.max_examples != default.max_examples:
        parts += ["--max-examples", str(config.max_examples)]
    for name in config.mutants:
        parts += ["--mutant", name]
    if config.jobs is not None:
        parts += ["--jobs", str(config.jobs)]
    if config.max_time is not None:
        parts += ["--max-time", f"{config.max_time:g}"]
    return shlex.join(parts)
