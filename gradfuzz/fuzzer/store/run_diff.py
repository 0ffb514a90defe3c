"""Compares two sets of findings: new, changed, gone, still there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.target_name import TargetName


@dataclass(frozen=True, slots=True)
class Change:
    """One mistake that looks otherwise than before: another class, or an error that says something else."""

    before: Finding
    after: Finding


@dataclass(frozen=True, slots=True)
class Difference:
    """Findings are equal where their signatures are. `still` has the later set's findings."""

    new: tuple[Finding, ...]
    changed: tuple[Change, ...]
    """Of equal findings, those of another class; and a finding that is gone with a new one of the same
    system, trigger and check, as where NaN became a wrong number.
    """
    gone: tuple[Finding, ...]
    still: tuple[Finding, ...]

    @property
    def worse(self) -> bool:
        """Whether something is wrong that was not wrong in this way: the difference fails a build."""
        return bool(self.new) or any(signature_of(c.before) != signature_of(c.after) for c in self.changed)


def difference(before: Sequence[Finding], after: Sequence[Finding]) -> Difference:
    """The difference from one set to a later one."""
    old = {signature_of(finding): finding for finding in before}
    now = {signature_of(finding) for finding in after}
    gone = [finding for finding in before if signature_of(finding) not in now]
    new: list[Finding] = []
    still: list[Finding] = []
    changed: list[Change] = []
    for finding in after:
        same = old.get(signature_of(finding))
        if same is None:
            same = next((one for one in gone if _otherwise(one, finding)), None)
            if same is None:
                new.append(finding)
                continue
            gone.remove(same)
            changed.append(Change(same, finding))
        elif same.kind is finding.kind:
            still.append(finding)
        else:
            changed.append(Change(same, finding))
    return Difference(tuple(new), tuple(changed), tuple(gone), tuple(still))


def _otherwise(one: Finding, other: Finding) -> bool:
    """Whether two findings with other signatures are one mistake that shows in another way."""
    looks = one.kind is not other.kind or one.kind is Class.ERROR
    return looks and _about(one) == _about(other)


def _about(finding: Finding) -> tuple[str, Trigger, tuple[Mode, ...]]:
    """The system, what the shrunk program needs, and what is asked: all of a signature but the mistake."""
    asked = () if finding.check == "value" else finding.modes
    return TargetName.of(finding.target).owner, Trigger.of_finding(finding), asked
