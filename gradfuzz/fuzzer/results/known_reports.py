"""The known bugs: those that a library's tracker has already, and those of `docs/trophies` that it has not, a
row each of `known_reports.toml`.

A finding that fits a row is shown with the report or the entry, so that nobody files it again. A row holds
what is known of the bug and no more: what has another op, mode, class or version than it names may be another
bug. The reports are those of `docs/trophies`, too. A row of ops or loops is about programs, one of functions
or of the library's rules about calls of functions, and a row may be about both.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import FINITE, Class, Finding
from gradfuzz.fuzzer.results.shown import source
from gradfuzz.fuzzer.results.trigger import OF_PARTS, PLAIN, loops_in, ops_in
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import Precision


@dataclass(frozen=True, slots=True)
class KnownReport:
    """A row. What is empty is not asked for; loops and ops that are not named make it another bug.

    In the table a report has `names`, and derivatives are words: "fwd rev", or "order 2" for all four of
    them, "order 3" for all eight, "higher" for both. Of these "fwd again" stands for those in which forward
    mode is differentiated again, "fwd then rev" for those in which reverse mode does it, and "at last fwd"
    for those that end with forward mode, the first derivative, too. Of classes, "finite" stands for `FINITE`,
    "numbers" for NaN and infinity, too, and "digits" for numbers that are nearly right. Entries of
    `docs/trophies` are in the list of their system: each has its number there as `entry`, and holds from the
    version of the page, `since`, to the one in which the bug is gone, `until`.
    """

    name: str
    """As it is cited: "pytorch#192540"; of an entry "torch 12"."""
    system: str
    """The library, as a target is named."""
    versions: str
    """The versions that have the bug as far as known, as Python packages specify them: ">=2.13.0"."""
    what: str
    """What is wrong, in a few words."""
    classes: tuple[Class, ...]
    ops: tuple[str, ...] = ()
    """The ops that are wrong, of which the program has one."""
    beside: tuple[str, ...] = ()
    """Ops that may stand beside them, as `trigger.PLAIN` and `trigger.OF_PARTS` always may; "any" for all
    that are right alone.
    """
    loops: tuple[str, ...] = ()
    """The forms of loops that are wrong: "for", "while", "repeat"."""
    modes: tuple[tuple[Mode, ...], ...] = ()
    """The derivatives that are wrong, innermost mode first."""
    precisions: tuple[Precision, ...] = ()
    ways: tuple[str, ...] = ()
    """The ways into the library that are wrong."""
    sizes: tuple[float, float] = (0.0, math.inf)
    """Bounds of the largest entry, in absolute value, of the inputs at the smallest point."""
    near: float = math.inf
    """How far got / expected may be from 1 at the clearest point."""
    entry_sizes: tuple[float, float] = (0.0, math.inf)
    """Bounds of the entry by which the derivative is worst at the smallest point, in absolute value."""
    together: bool = False
    """Whether it shows only where several points are answered in one call."""
    least: float = math.inf
    """How large the smallest entry of the inputs, in absolute value, may be at the smallest point."""
    text: str = ""
    """A regular expression that is found in the program's text, or in the code of the call."""
    says: str = ""
    """What an error's message contains. Of a row without ops, loops, functions and rules it tells alone."""
    rules: tuple[str, ...] = ()
    """How the names begin of the library's own rules that are wrong: one of them differentiates a call."""
    functions: tuple[str, ...] = ()
    """The public names of functions that are wrong: a call is one of them. A name without a module stands for
    it in every module, and for the method.
    """
    real: bool = False
    """Whether it is about calls with real arrays only."""
    entry: int = 0
    """The number of its entry on the page of the system in `docs/trophies`; 0 of a report."""

    @property
    def cited(self) -> str:
        """As reports cite it: "pytorch#192540", "entry 12 of docs/trophies/torch.md"."""
        return f"entry {self.entry} of docs/trophies/{self.system}.md" if self.entry else self.name

    @property
    def link(self) -> str:
        """The address of the report. GitHub leads on from an issue's to that of a proposed change."""
        tracker, _, number = self.name.partition("#")
        return f"https://github.com/{TRACKERS[tracker]}/issues/{number}"

    def fits(self, finding: Finding) -> bool:
        """Whether a finding of the system is the bug of this report, as far as can be told."""
        return (
            finding.kind in self.classes
            and (not self.modes or finding.modes in self.modes)
            and (not self.precisions or finding.precision in self.precisions)
            and (not self.ways or TargetName.of(finding.target).way in self.ways)
            and (finding.kind is not Class.ERROR or self.says in finding.note)
            and _is_in(finding.version, self.versions)
            and self._fits_numbers(finding)
            and (
                self._fits_program(finding)
                if finding.call is None
                else self._fits_call(finding.call, finding)
            )
            and re.search(self.text, source(finding), re.DOTALL) is not None
        )

    def _fits_numbers(self, finding: Finding) -> bool:
        ratio = finding.clearest.ratio
        if self.near < math.inf and (ratio is None or not abs(ratio - 1.0) <= self.near):
            return False
        arrays = [np.abs(np.asarray(array)) for array in finding.smallest.inputs.values()]
        largest = max((float(np.max(array)) for array in arrays if array.size), default=0.0)
        least = min((float(np.min(array)) for array in arrays if array.size), default=math.inf)
        name, index = finding.smallest.entry
        at = (
            np.abs(np.asarray(finding.smallest.inputs[name])[index])
            if name in finding.smallest.inputs
            else largest
        )
        worst = float(np.max(at, initial=0.0))
        return (
            self.sizes[0] <= largest <= self.sizes[1]
            and self.entry_sizes[0] <= worst <= self.entry_sizes[1]
            and least <= self.least
            and (not self.together or bool(finding.others))
        )

    def _fits_program(self, finding: Finding) -> bool:
        """It has one of the ops and nothing else that may be wrong. What is wrong alone tells by itself."""
        if not (self.ops or self.loops):
            return self._is_about_anything
        if finding.culprits:
            return set(finding.culprits) <= set(self.ops)
        ops, loops = ops_in(finding.program), loops_in(finding.program)
        return (
            ("any" in self.beside or ops - PLAIN - OF_PARTS <= {*self.ops, *self.beside})
            and (not self.ops or not ops.isdisjoint(self.ops))
            and loops <= set(self.loops)
            and bool(loops) == bool(self.loops)
        )

    def _fits_call(self, call: Call, finding: Finding) -> bool:
        """It is a call of one of the functions, or one of the rules differentiates it."""
        is_named = not {call.function, call.function.rpartition(".")[2]}.isdisjoint(self.functions)
        is_ruled = bool(self.rules) and any(rule.startswith(self.rules) for rule in finding.rules)
        is_complex = any(one.is_complex for one in call.differentiated())
        return (is_named or is_ruled or self._is_about_anything) and not (self.real and is_complex)

    @property
    def _is_about_anything(self) -> bool:
        """Whether what an error says, or the text, tells alone."""
        return not (self.ops or self.loops or self.functions or self.rules)


def reports_of(finding: Finding) -> tuple[KnownReport, ...]:
    """The known reports that the finding fits, in the order of the table."""
    return tuple(_fitting(KNOWN_REPORTS, finding))


def entries_of(finding: Finding) -> tuple[KnownReport, ...]:
    """The entries of `docs/trophies` without a report that the finding fits, one row of each."""
    return tuple({row.name: row for row in _fitting(TROPHIES, finding)}.values())


def _fitting(rows: Iterable[KnownReport], finding: Finding) -> Iterator[KnownReport]:
    system = TargetName.of(finding.target).owner
    return (row for row in rows if row.system == system and row.fits(finding))


@functools.cache
def _is_in(version: str, versions: str) -> bool:
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


# The table --------------------------------------------------------------------------------------------------

_CLASSES = {
    "finite": FINITE,
    "numbers": (*FINITE, Class.NON_FINITE),
    "digits": (Class.PRECISION, Class.WRONG_RULE),
}
_SECOND, _THIRD = (tuple(itertools.product(("rev", "fwd"), repeat=order)) for order in (2, 3))
_HIGHER = (*_SECOND, *_THIRD)
_MODES = {
    "order 2": _SECOND,
    "order 3": _THIRD,
    "higher": _HIGHER,
    "fwd again": [modes for modes in _HIGHER if "fwd" in modes[:-1]],
    "fwd then rev": [modes for modes in _HIGHER if "fwd rev" in " ".join(modes)],
    "at last fwd": [("fwd",), *(modes for modes in _HIGHER if modes[-1] == "fwd")],
}


def _read(row: Mapping[str, Any], **about: Any) -> KnownReport:
    """A row of the table; `about` is what its place there says."""
    classes = [one for word in row["classes"] for one in _CLASSES.get(word, (word,))]
    modes = [one for word in row.get("modes", ()) for one in _MODES.get(word, (word.split(),))]
    return msgspec.convert({**row, **about, "classes": classes, "modes": modes}, KnownReport)


def _entries(system: str, listed: Mapping[str, Any]) -> Iterator[KnownReport]:
    """The entries of a system that are on the page of docs/trophies alone."""
    for row in listed["entries"]:
        versions = ",".join([f">={listed['since']}", *(f"<{until}" for until in [row.get("until")] if until)])
        yield _read(row, name=f"{system} {row['entry']}", system=system, versions=versions)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

TRACKERS: Mapping[str, str] = _TABLE["trackers"]
"""The repositories on GitHub of the trackers, by the names that reports are cited with."""

KNOWN_REPORTS: tuple[KnownReport, ...] = tuple(
    _read(row, name=name) for row in _TABLE["report"] for name in row["names"]
)
"""The reports, by system."""

TROPHIES: tuple[KnownReport, ...] = tuple(
    row for system, listed in _TABLE["trophies"].items() for row in _entries(system, listed)
)
"""The entries of docs/trophies for which no report is known, by system."""
