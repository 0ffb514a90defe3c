"""Which ways raise in every program: that is an error of the set-up, and no bug of a library.

A release that lacks what its adapter needs, a missing compiler or a file that is not there raises whatever is
asked. So the crashes of a way wait until it has given its first answer. A way that has given none after
`ENOUGH` programs is at fault as a whole: none of its crashes is shrunk, and reports say once what it raises.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.fuzzer.results.counts import Counts
from gradfuzz.fuzzer.results.finding import ANSWERS
from gradfuzz.fuzzer.results.raw import Raw

ENOUGH = 8
"""So many programs in a row that raise are no coincidence: the first of a sweep are the simplest ones."""


class WaySetUp:
    """The ways of a sweep that have not answered yet, and what they raised."""

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._waiting: dict[str, list[Raw]] = {}

    def ready(self, counts: Mapping[str, Counts], raws: tuple[Raw, ...]) -> list[Raw]:
        """The disagreements of a batch and of earlier ones that are the library's, in their order."""
        begun = {name for name, own in counts.items() if any(own.verdicts[v] for v in ANSWERS)}
        result = [raw for name in sorted(begun - self._answered) for raw in self._waiting.pop(name, [])]
        self._answered |= begun
        for raw in raws:
            if raw.case.oracle in self._answered:
                result.append(raw)
            else:
                self._waiting.setdefault(raw.case.oracle, []).append(raw)
        return result

    def too_few(self) -> list[Raw]:
        """At the end of a sweep: the crashes of ways that were asked about too few programs to tell."""
        few = [name for name in self._waiting if name not in self.faults()]
        return [raw for name in few for raw in self._waiting.pop(name)]

    def faults(self) -> dict[str, str]:
        """What the ways at fault raise, by their names."""
        crashed = {name: {(raw.family, raw.index) for raw in raws} for name, raws in self._waiting.items()}
        return {
            name: self._waiting[name][0].case.message
            for name, programs in crashed.items()
            if len(programs) >= ENOUGH
        }
