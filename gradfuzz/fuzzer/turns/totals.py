"""What the turns of a sweep found out, added up."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gradfuzz.adapters import catalogue as of
from gradfuzz.fuzzer.results import functions as outcomes
from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.failure import Failure
from gradfuzz.fuzzer.results.finding import Finding, Reason
from gradfuzz.fuzzer.results.functions import FAMILY, FunctionSummary
from gradfuzz.fuzzer.results.identity import short_id, signature_of, simpler_signatures
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.turns.turn import Result, merged

_OUTCOMES = {of.NOT_DIFFERENTIABLE: outcomes.NOT_DIFFERENTIABLE, of.LEFT_OUT: outcomes.LEFT_OUT}

_REASONS, _LONGEST = 6, 110
"""The reasons that are told why nothing was asked, and their characters."""

Key = tuple[str, int]
"""A library, and the number of a function in its catalogue."""


class FunctionTotals:
    """The sums of one sweep, function by function."""

    def __init__(self, libraries: dict[str, tuple[str, list[of.Function]]]) -> None:
        """`libraries`: version and functions by the name of the library."""
        self._libraries = libraries
        self._results: dict[Key, list[Result]] = {}
        self._findings: dict[str, Finding] = {}
        self._simpler: dict[str, tuple[str, ...]] = {}
        """The signatures that simpler findings of the same bug have, by that of a finding."""
        self._about: dict[Key, dict[str, None]] = {}

    def add(self, key: Key, result: Result) -> list[Finding]:
        """Adds the result of a turn; returns its findings, counted with those of earlier turns."""
        self._results.setdefault(key, []).append(result)
        found = []
        for finding in result.findings:
            own = signature_of(finding)
            known = self._findings.get(own)
            faults = tuple(dict.fromkeys((*(known.own_faults if known else ()), *finding.own_faults)))
            merged = finding if known is None else replace(known, seen=known.seen + 1, own_faults=faults)
            self._findings[own] = merged
            self._about.setdefault(key, {})[own] = None
            if known is None:
                self._simpler[own] = simpler_signatures(finding)
                found += [self._told(own)] if self._home(own) == own else []
        return found

    def _home(self, signature: str) -> str:
        """The signature under which a finding is told: that of the simplest one of its bug."""
        first = next((one for one in self._simpler[signature] if one in self._findings), None)
        return signature if first is None else self._home(first)

    def _told(self, signature: str) -> Finding:
        """A finding as it is told: with an id of its own, and the other functions that have its rule."""
        finding = self._findings[signature]
        own = finding.call.function if finding.call is not None else ""
        with_rule = (key for key, about in self._about.items() if signature in map(self._home, about))
        others = dict.fromkeys(self._name(k) for k in with_rule if own not in self._function_of(k).names)
        facts = (f"the same rule is wrong in {', '.join(others)}",) if others else ()
        id = short_id(signature, self._findings)
        seen = sum(one.seen for key, one in self._findings.items() if self._home(key) == signature)
        return replace(finding, id=id, seen=seen, facts=(*finding.facts, *facts))

    def is_known(self, finding: Finding) -> bool:
        """Whether an earlier turn has the same finding."""
        return signature_of(finding) in self._findings

    def without_a_valid_call(self) -> list[Key]:
        """The functions of which calls were drawn, and none was valid, in the order of their turns."""
        return [
            key
            for key, results in self._results.items()
            if any(result.drawn for result in results) and not any(result.valid for result in results)
        ]

    @property
    def judged(self) -> int:
        """Calls that were judged."""
        return sum(result.judged for results in self._results.values() for result in results)

    @property
    def checks(self) -> int:
        """Answers that were judged."""
        return sum(n for results in self._results.values() for r in results for n in r.verdicts.values())

    def findings(self) -> tuple[Finding, ...]:
        """All findings, the most serious first."""
        return tuple(sorted(map(self._told, set(map(self._home, self._findings))), key=rank))

    def own_faults(self) -> tuple[OwnFault, ...]:
        """Where gradfuzz itself failed, elsewhere than at a finding, each once."""
        results = (result for of_one in self._results.values() for result in of_one)
        return tuple(dict.fromkeys(fault for result in results for fault in result.own_faults))

    def summaries(self, faults: Mapping[str, str] = MappingProxyType({})) -> tuple[TargetSummary, ...]:
        """The counts of each library. `faults` has what is wrong with the set-up of some."""
        return tuple(self._summary(name, faults.get(name)) for name in self._libraries)

    def unasked(self) -> dict[str, str]:
        """Why no call of a library was judged whose functions had their turns, by library."""
        functions, found = self.functions(), {}
        for library, (_, listed) in self._libraries.items():
            own, functions = functions[: len(listed)], functions[len(listed) :]
            if not any(one.judged for one in own) and any(one.outcome != outcomes.NOT_REACHED for one in own):
                counts = Counter(f"{one.outcome}: {one.why}" if one.why else one.outcome for one in own)
                reasons = (
                    f"{n} {textwrap.shorten(why, _LONGEST)}" for why, n in counts.most_common(_REASONS)
                )
                found[library] = (
                    f"{outcomes.NOTHING_ASKED} {len(own)} functions could be judged; {'; '.join(reasons)}"
                )
        return found

    def _summary(self, library: str, fault: str | None) -> TargetSummary:
        results = [r for (name, _), rs in self._results.items() if name == library for r in rs]
        whole = merged(results)
        told, reasons = whole.verdicts, whole.inconclusive
        return TargetSummary(
            library,
            self._libraries[library][0],
            FAMILY,
            checks=sum(told.values()),
            agree=told.get("agree", 0),
            disagree=told.get("disagree", 0),
            convention=told.get("convention", 0),
            inconclusive={reason: reasons[reason.value] for reason in Reason if reason.value in reasons},
            unsupported=sum(len(r.lacks) for r in results),
            crashed=told.get("crashed", 0),
            failures={one: whole.failures[one.value] for one in Failure if one.value in whole.failures},
            programs=whole.judged,
            fault=fault,
        )

    def functions(self) -> tuple[FunctionSummary, ...]:
        """Every function of every library, and what was asked of it."""
        return tuple(
            self._summed((library, number))
            for library, (_, functions) in self._libraries.items()
            for number in range(len(functions))
        )

    def _function_of(self, key: Key) -> of.Function:
        library, number = key
        return self._libraries[library][1][number]

    def _name(self, key: Key) -> str:
        function = self._function_of(key)
        return function.names[0] if function.names else function.signature

    def _summed(self, key: Key) -> FunctionSummary:
        name, function = self._name(key), self._function_of(key)
        if function.why.startswith(of.UNREAD):
            return FunctionSummary(name, function.signature, outcomes.REFUSED, function.why)
        if function.outcome in _OUTCOMES:
            return FunctionSummary(name, function.signature, _OUTCOMES[function.outcome], function.why)
        results = self._results.get(key, [])
        if not results:
            return FunctionSummary(name, function.signature, outcomes.NOT_REACHED, "")
        whole = merged(results)
        return FunctionSummary(
            name,
            function.signature,
            outcomes.BROKEN if whole.error else outcomes.ASKED if whole.asked else outcomes.REFUSED,
            whole.error or ("" if whole.asked else whole.words or next(iter(whole.lacks.values()), "")),
            findings=tuple(
                short_id(own, self._findings)
                for own in dict.fromkeys(map(self._home, self._about.get(key, {})))
            ),
            **whole.tally(),
        )
