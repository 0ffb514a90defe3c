"""In which release of a library a finding came or went, found by asking as few releases as possible."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.utils import canonicalize_name

from gradfuzz.errors import GradfuzzError, InstallError
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.replayed import Status
from gradfuzz.fuzzer.sweep.replaying import replay
from gradfuzz.oracles.foreign import managed
from gradfuzz.oracles.foreign.oracle import worker
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName

_BETWEEN = 3
"""Releases between the ends that are asked where both ends give the same answer."""


@dataclass(frozen=True, slots=True)
class Said:
    """The status of the finding in one release."""

    version: str
    status: Status
    message: str
    packages: Mapping[str, str] = field(default_factory=dict)
    """The other packages of its environment, by name."""


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """A change between two neighbouring releases, except for releases that cannot tell."""

    came: bool
    """Whether the bug came (True) or went."""
    before: str
    after: str
    untold: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Other packages that differ before and after, as in "numpy 1.26.4 and 2.4.6"."""

    def __str__(self) -> str:
        what, old, new = ("came", "right", "wrong") if self.came else ("went", "wrong", "right")
        told = f"{self.before} is {old}, {self.after} is {new}"
        where, beside = self.after, ""
        if self.untold:
            where += f" or one of {', '.join(self.untold)}, which could not be judged"
        if self.others:
            others = ", ".join(self.others)
            beside = f" Beside them other packages differ, too ({others}); --with can hold one."
        return f"It {what} in {where}: {told}.{beside}"


@dataclass(frozen=True, slots=True)
class Bisection:
    """What was asked, oldest release first, and when it changed; `releases` are all that could be asked."""

    releases: tuple[str, ...]
    asked: tuple[Said, ...]
    changes: tuple[ReleaseChange, ...]

    @property
    def told(self) -> tuple[Said, ...]:
        return tuple(said for said in self.asked if said.status is not Status.ERROR)

    @property
    def words(self) -> str:
        """The answer in a sentence or two."""
        told = self.told
        if not told:
            return "No release could be judged."
        if self.changes:
            return " ".join(map(str, self.changes))
        what = "wrong" if told[0].status is Status.FAILED else "right"
        if len(told) == 1:
            return f"{told[0].version} is {what}, and no other release could be judged."
        others = ", ".join(said.version for said in told[1:-1])
        between = f" So {'are' if len(told) > 3 else 'is'} {others} between them." if others else ""
        return f"Nothing came or went: {told[0].version} and {told[-1].version} are both {what}.{between}"


def bisect(releases: Sequence[str], ask: Callable[[str], Said]) -> Bisection:
    """Asks the ends of `releases`, which are oldest first, and then between those that differ. Every release
    is asked at most once.

    A release that cannot tell is passed over. Where the ends agree, a few between them are asked too: a bug
    may have come and gone.
    """
    return _Search(releases, ask).result()


class _Search:
    def __init__(self, releases: Sequence[str], ask: Callable[[str], Said]) -> None:
        self._releases = tuple(releases)
        self._ask = ask
        self._said: dict[int, Said] = {}

    def result(self) -> Bisection:
        ends = self._ends()
        if ends is not None:
            first, last = ends
            if self._status(first) is self._status(last):
                for k in range(1, _BETWEEN + 1):
                    self._status(first + (last - first) * k // (_BETWEEN + 1))
            for low, high in itertools.pairwise(self._told()):
                self._narrow(low, high)
        asked = tuple(self._said[k] for k in sorted(self._said))
        return Bisection(self._releases, asked, tuple(self._changes()))

    def _status(self, k: int) -> Status:
        if k not in self._said:
            self._said[k] = self._ask(self._releases[k])
        return self._said[k].status

    def _told(self) -> list[int]:
        return [k for k in sorted(self._said) if self._said[k].status is not Status.ERROR]

    def _ends(self) -> tuple[int, int] | None:
        """The outermost releases that can tell; None where no release that was asked can.

        Other releases are asked where the oldest and the newest cannot tell.
        """
        last = len(self._releases) - 1
        for k in dict.fromkeys((0, last, last // 2, last // 4, 3 * last // 4)):
            self._status(k)
            if self._told() and len(self._said) >= min(2, last + 1):
                break
        told = self._told()
        if not told:
            return None
        return self._edge(0, told[0]), self._edge(last, told[-1])

    def _edge(self, outer: int, inner: int) -> int:
        """The release nearest to `outer` that can tell; `inner` can."""
        if self._status(outer) is not Status.ERROR:
            return outer
        while abs(outer - inner) > 1:
            middle = (outer + inner) // 2
            if self._status(middle) is Status.ERROR:
                outer = middle
            else:
                inner = middle
        return inner

    def _narrow(self, low: int, high: int) -> None:
        """Asks between two releases that differ until no release between two that differ can tell."""
        if self._status(low) is self._status(high):
            return
        while open_ := [k for k in range(low + 1, high) if k not in self._said]:
            middle = min(open_, key=lambda k: abs(2 * k - low - high))
            status = self._status(middle)
            if status is self._status(low):
                low = middle
            elif status is self._status(high):
                high = middle

    def _changes(self) -> list[ReleaseChange]:
        pairs = itertools.pairwise(self._told())
        return [self._change(a, b) for a, b in pairs if self._status(a) is not self._status(b)]

    def _change(self, low: int, high: int) -> ReleaseChange:
        before, after = self._said[low], self._said[high]
        shared = sorted({*before.packages} & {*after.packages})
        both = [(name, before.packages[name], after.packages[name]) for name in shared]
        others = tuple(f"{name} {one} and {other}" for name, one, other in both if one != other)
        untold, came = self._releases[low + 1 : high], after.status is Status.FAILED
        return ReleaseChange(came, before.version, after.version, untold, others)


def asker(
    finding: Finding,
    tell: Callable[[str], None],
    extra: Sequence[str] = (),
    *,
    discard: bool = False,
) -> Callable[[str], Said]:
    """A function that asks a release about a finding, in its existing or a new environment.

    `extra` are further requirements; `discard` removes the environments that were made.
    """
    target = TargetName.of(finding.target)

    def ask(version: str) -> Said:
        release = target.at(version)
        try:
            made, new = managed.install(release.base, tell, extra)
        except InstallError as error:
            return Said(version, Status.ERROR, " ".join(str(error).split()))
        own = canonicalize_name(made.distribution)
        others = {name: number for name, number in made.packages.items() if name != own}
        try:
            # Says why it does not start, or that it has no such entry point.
            resolve(release.whole, together=True, supervised=True)
            outcome = replay(replace(finding, target=release.whole))
            return Said(version, outcome.status, outcome.message, others)
        except GradfuzzError as error:
            return Said(version, Status.ERROR, " ".join(str(error).split()), others)
        finally:
            worker(managed.plan(release.base).command()).close()
            if new and discard:
                managed.remove(release.base)

    return ask
