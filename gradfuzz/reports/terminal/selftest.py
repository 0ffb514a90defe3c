"""The score of a self-test, on a terminal and as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group as Parts
from rich.console import RenderableType
from rich.text import Text

from gradfuzz.fuzzer.results.score import Group, MutantScore, OracleScore, Score, SelftestProgress
from gradfuzz.reports.common import numbers, plain
from gradfuzz.reports.terminal.sheet import Sheet

_HARDEST = 8
"""Mutants that are shown as the hardest to kill."""


def heartbeat(progress: SelftestProgress) -> str:
    """One line of progress."""
    killed = f"{progress.killed:,} of {progress.total:,} killed"
    return f"{progress.seconds:4.0f} s  {killed}  {plain.line(progress.doing)}"


def selftest(score: Score) -> RenderableType:
    """Kill rates by group, the hardest mutants, survivors with reasons, the correct oracles, the result."""
    score = plain.inert(score)
    parts: list[RenderableType] = [_groups(score.groups), Text("")]
    for table in (_hardest(score.mutants), _survivors(score.survivors), _correct(score.correct)):
        if table.rows:
            parts += [table, Text("")]
    parts += [Text(f"  {alarm}", overflow="fold") for oracle in score.correct for alarm in oracle.alarms]
    parts.append(Text(_outcome(score), style="bold"))
    seeds = f"Seed {score.seeds[0]}" if len(score.seeds) == 1 else f"Seeds {', '.join(map(str, score.seeds))}"
    parts.append(Text(f"{seeds}. Again: {score.rerun}", overflow="fold"))
    return Parts(*parts)


_OF_A_MUTANT = ("name", "killed", "programs_to_kill", "group", "summary")


def selftest_document(score: Score) -> dict[str, Any]:
    """{mutants: [{name, killed, programs_to_kill, ...}], killed, total, correct: [{oracle, ...}], ...}."""
    return {
        "profile": score.profile,
        "seeds": list(score.seeds),
        "max_examples": score.max_examples,
        "seconds": round(score.seconds, 3),
        "mutants": [
            {
                **{name: getattr(m, name) for name in _OF_A_MUTANT},
                "by_seed": {str(seed): n for seed, n in m.programs.items()},
                "reason": m.reason or None,
            }
            for m in score.mutants
        ],
        "killed": score.killed,
        "total": len(score.mutants),
        "groups": [asdict(group) for group in score.groups],
        "correct": [asdict(oracle) for oracle in score.correct],
        "equivalent": [{"name": name, "proof": proof} for name, proof in score.equivalent.items()],
        "complete": score.complete,
        "interrupted": score.interrupted,
        "passed": score.passed,
        "rerun": score.rerun,
    }


# Pieces -----------------------------------------------------------------------------------------------------


def _groups(groups: Sequence[Group]) -> Sheet:
    numeric = ("killed", "of", "share", "median", "worst")
    table = Sheet(
        "planted bugs",
        *numeric,
        numeric=numeric,
        title="Planted bugs that were found",
        caption="median and worst: how many programs of one family were drawn until the bug was found",
    )
    for g in groups:
        found = (f"{g.killed:,}", f"{g.total:,}", _share(g.killed, g.total))
        table.add_row(g.name, *found, _number(g.median), _number(g.worst))
    return table


def _share(part: int, whole: int) -> str:
    """Per cent, rounded down: 100 % means all."""
    return f"{1000 * part // whole / 10:g} %" if whole else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,g}"


def _short(m: MutantScore) -> str:
    return m.name.removeprefix("mutant:")


def _hardest(mutants: Sequence[MutantScore]) -> Sheet:
    table = Sheet("found last", "programs", "what is wrong", numeric=("programs",))
    found = [(n, m) for m in mutants if (n := m.programs_to_kill) is not None]
    for n, m in sorted(found, key=lambda pair: -pair[0])[:_HARDEST]:
        table.add_row(_short(m), f"{n:,}", m.summary)
    return table


def _survivors(mutants: Sequence[MutantScore]) -> Sheet:
    table = Sheet("not found", "what is wrong", "why")
    for m in mutants:
        seeds = [str(seed) for seed, n in m.programs.items() if n is None]
        which = f" (seeds {', '.join(seeds)})" if len(m.programs) > 1 else ""
        table.add_row(_short(m), m.summary, f"{m.reason}{which}")
    return table


def _correct(oracles: Sequence[OracleScore]) -> Sheet:
    numeric = ("checks", "inconclusive", "findings", "false alarms")
    table = Sheet(
        "correct oracle",
        "version",
        *numeric,
        numeric=numeric,
        title="What should be right",
        caption="findings: those that a second reference and a script of their own confirm",
    )
    for o in oracles:
        alarms = Text(f"{o.false_alarms:,}", style="bold red" if o.false_alarms else "")
        table.add_row(o.oracle, o.version, f"{o.checks:,}", f"{o.inconclusive:,}", f"{o.findings:,}", alarms)
    return table


def _outcome(score: Score) -> str:
    bugs = numbers.count(len(score.mutants), "planted bug")
    told = f"{score.killed:,} of {bugs} found ({_share(score.killed, len(score.mutants))})"
    if score.correct:
        alarms = numbers.count(score.false_alarms, "false alarm")
        told += f", {alarms} in {sum(o.checks for o in score.correct):,} checks"
    verdict = "Passed." if score.passed else "Failed."
    if not score.complete:
        verdict = "Incomplete: it ended before all was asked."
    return f"{told}, {score.seconds:.0f} s. {verdict}"
