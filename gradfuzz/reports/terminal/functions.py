"""The functions of a library for a terminal: its catalogue, and what a sweep asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.functions import MEANINGS, Coverage, coverage
from gradfuzz.reports.common.pieces import headed, paragraph
from gradfuzz.reports.common.titles import versioned
from gradfuzz.reports.terminal.sheet import Sheet

NOT_ASKED = "No sweep in the store asked these functions: gradfuzz sweep {library} --family functions does."


def render(
    target: str,
    version: str,
    rows: Sequence[Mapping[str, Any]],
    counts: Mapping[str, int],
    asked: Sequence[FunctionSummary] = (),
) -> RenderableType:
    """The functions by outcome and reason, each with its public names; the counts, which add up; last what
    sweeps `asked` of them.
    """
    rows = plain.inert(rows)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["outcome"], row["why"]), []).append(row)
    parts: list[RenderableType] = []
    table = Sheet("outcome", "why", "functions", numeric=["functions"])
    order = list(counts)
    for (outcome, why), members in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), -len(g[1]))):
        lines = [line for row in members for line in _lines(row)]
        parts += [
            Text(f"{outcome}: {why} ({len(members):,})", style="bold"),
            Text("\n".join(lines)),
            Text(""),
        ]
        table.add_row(outcome, why, f"{len(members):,}")
    sums = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
    library = versioned(plain.line(target), plain.line(version))
    end = f"{library} lists {len(rows):,} functions and other things that can be called: {sums}."
    told = section(plain.inert(asked)) or [paragraph(NOT_ASKED.format(library=plain.line(target)))]
    return Group(*parts, table, Text(""), paragraph(end), *told)


_MOST_NAMED = 20
"""The most functions that are listed with the words about them; the rest is only counted."""


def section(functions: Sequence[FunctionSummary]) -> list[RenderableType]:
    """What a sweep asked of the functions: tables by outcome and by derivative, calls, answers, and what was
    refused in the library's words. Empty without functions.
    """
    if not functions:
        return []
    found = coverage(functions)
    wrong = [f"    {words}" for words in found.wrong_rules]
    return [
        _outcomes(found),
        Text(""),
        _modes(found),
        Text(""),
        *(Text(told, overflow="fold") for told in (found.calls, found.answers)),
        *headed("Inconclusive, and why:", _counted(found.inconclusive)),
        *([Text(found.proofs, overflow="fold")] if found.proofs else []),
        *headed("Derivatives of which nothing is proved, and why:", _counted(found.open)),
        *headed("Rules that are proved wrong, though the numbers agree:", wrong),
        *headed("Refused, in the library's words:", _named(found.refused)),
        *headed("Not finished, by an error of gradfuzz itself; please report it:", _named(found.broken)),
        Text(""),
    ]


def in_short(functions: Sequence[FunctionSummary]) -> list[str]:
    """How many functions were asked, and what they answered, in two sentences. Empty without functions."""
    if not functions:
        return []
    found = coverage(functions)
    outcomes = ", ".join(f"{n:,} {outcome}" for outcome, n in found.outcomes.items() if n)
    return [f"Of {found.total:,} functions {outcomes}.", found.answers]


def _counted(reasons: Iterable[tuple[int, str, str]]) -> list[str]:
    return [f"{n:>8,}  {part:>6}  {reason}" for n, part, reason in reasons]


def _outcomes(found: Coverage) -> Sheet:
    table = Sheet("outcome", "functions", "meaning", numeric=["functions"], title="Functions of the library")
    for outcome, n in found.outcomes.items():
        table.add_row(outcome, f"{n:,}", MEANINGS[outcome])
    table.add_row("all", f"{found.total:,}", "")
    return table


def _modes(found: Coverage) -> Sheet:
    numeric = ["functions asked", "share", "calls", "without it"]
    caption = (
        "share: of the functions that may have a derivative. without it: functions without this derivative"
    )
    table = Sheet("derivative", *numeric, numeric=numeric, title="By derivative", caption=caption)
    for row in found.modes:
        table.add_row(*row)
    return table


def _named(words_of: Sequence[tuple[str, str]]) -> list[str]:
    """Functions, and the words about each."""
    lines = [f"  {name}: {words}" for name, words in words_of[:_MOST_NAMED]]
    more = len(words_of) - _MOST_NAMED
    return [*lines, f"  and {more:,} more"] if more > 0 else lines


def _lines(row: Mapping[str, Any]) -> list[str]:
    """A function: its signature, and its public names below."""
    names = ", ".join(row["names"])
    return [f"  {row['signature']}", *([f"      {names}"] if names else [])]
