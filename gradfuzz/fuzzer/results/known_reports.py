"""The known reports: bugs that a library's tracker has already, a row each of `known_reports.toml`.

A finding that fits a row is shown with the report, so that nobody files it again. A row holds what is known
of the bug and no more: what has another op, mode, class or version than it names may be another bug. The
reports are those of `docs/trophies`. A row of ops or loops is about programs, one of functions or of the
library's rules about calls of functions, and a row may be about both.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import FINITE, Class, Finding
from gradfuzz.fuzzer.results.trigger import PLAIN, loops_in, ops_in
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import to_text


@dataclass(frozen=True, slots=True)
class KnownReport:
    """A row. What is empty is not asked for; loops and ops that are not named make it another bug.

    In the table a row has `names`, and derivatives are words: "fwd rev", or "order 2" for all four of them.
    Of classes, "finite" stands for `FINITE`, and "numbers" for NaN and infinity, too.
    """

    name: str
    """As it is cited: "pytorch#192540"."""
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
    """Ops that may stand beside them, as `trigger.PLAIN` ones always may."""
    loops: tuple[str, ...] = ()
    """The forms of loops that are wrong: "for", "while", "repeat"."""
    modes: tuple[tuple[Mode, ...], ...] = ()
    """The derivatives that are wrong, innermost mode first."""
    precisions: tuple[Precision, ...] = ()
    ways: tuple[str, ...] = ()
    """The ways into the library that are wrong."""
    sizes: tuple[float, float] = (0.0, math.inf)
    """Bounds of the largest entry, in absolute value, of the inputs at the smallest point."""
    text: str = ""
    """A regular expression that is found in the program's text, or, in a row of functions, in the code of the
    call.
    """
    says: str = ""
    """What an error's message contains. Of a row without ops and loops it is all that tells."""
    rules: tuple[str, ...] = ()
    """How the names begin of the library's own rules that are wrong: one of them differentiates a call."""
    functions: tuple[str, ...] = ()
    """The public names of functions that are wrong: a call is one of them."""
    real: bool = False
    """Whether it is about calls with real arrays only."""

    @property
    def link(self) -> str:
        """The address of the report. GitHub leads on from an issue's to that of a proposed change."""
        tracker, _, number = self.name.partition("#")
        return f"https://github.com/{TRACKERS[tracker]}/issues/{number}"

    def fits(self, finding: Finding) -> bool:
        """Whether the finding is the bug of this report, as far as can be told."""
        target = TargetName.of(finding.target)
        return (
            target.owner == self.system
            and finding.kind in self.classes
            and (not self.modes or finding.modes in self.modes)
            and (not self.precisions or finding.precision in self.precisions)
            and (not self.ways or target.way in self.ways)
            and (finding.kind is not Class.ERROR or self.says in finding.note)
            and _is_in(finding.version, self.versions)
            and self._fits_program(finding)
        )

    def _fits_program(self, finding: Finding) -> bool:
        if finding.call is not None:
            return self._fits_call(finding.call, finding)
        if not (self.ops or self.loops):
            return bool(self.says) and not (self.functions or self.rules)
        ops, loops = ops_in(finding.program), loops_in(finding.program)
        low, high = self.sizes
        return (
            ops - PLAIN <= {*self.ops, *self.beside}
            and (not self.ops or not ops.isdisjoint(self.ops))
            and loops <= set(self.loops)
            and bool(loops) == bool(self.loops)
            and low <= _largest(finding) <= high
            and re.search(self.text, to_text(finding.program), re.DOTALL) is not None
        )

    def _fits_call(self, call: Call, finding: Finding) -> bool:
        """It is a call of one of the functions, or one of the rules differentiates it."""
        is_named = call.function in self.functions
        is_ruled = bool(self.rules) and any(rule.startswith(self.rules) for rule in finding.rules)
        is_complex = any(a.array is not None and a.array.dtype.kind == "c" for a in call.differentiated())
        return (
            (is_named or is_ruled)
            and not (self.real and is_complex)
            and (not self.functions or re.search(self.text, finding.code or "", re.DOTALL) is not None)
        )


def reports_of(finding: Finding) -> tuple[KnownReport, ...]:
    """The known reports that the finding fits, in the order of the table."""
    return tuple(report for report in KNOWN_REPORTS if report.fits(finding))


def _largest(finding: Finding) -> float:
    """The largest entry of the inputs at the smallest point, in absolute value."""
    arrays = (np.asarray(value, np.float64) for value in finding.smallest.inputs.values())
    return max((float(np.max(np.abs(array))) for array in arrays if array.size), default=0.0)


@functools.cache
def _is_in(version: str, versions: str) -> bool:
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


# The table --------------------------------------------------------------------------------------------------

_CLASSES = {"finite": FINITE, "numbers": (*FINITE, Class.NON_FINITE)}
_MODES = {"order 2": ("rev rev", "rev fwd", "fwd rev", "fwd fwd")}


def _read(table: Mapping[str, Any]) -> Iterator[KnownReport]:
    """A row is of each of its names."""
    for row in table["report"]:
        names, classes, modes = row.pop("names"), row["classes"], row.get("modes", ())
        row["classes"] = [one for word in classes for one in _CLASSES.get(word, (word,))]
        row["modes"] = [one.split() for word in modes for one in _MODES.get(word, (word,))]
        yield from (msgspec.convert({**row, "name": name}, KnownReport) for name in names)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

TRACKERS: Mapping[str, str] = _TABLE["trackers"]
"""The repositories on GitHub of the trackers, by the names that reports are cited with."""

KNOWN_REPORTS: tuple[KnownReport, ...] = tuple(_read(_TABLE))
"""The rows, by system."""
