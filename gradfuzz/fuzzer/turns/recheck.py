"""Asks again about the finding of a call, where its library is: the call is judged as when it was found."""

from __future__ import annotations

from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.findings.calls.prove import target_of
from gradfuzz.fuzzer.measuring.measure import FACTORS
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.results.replayed import Replayed, Status
from gradfuzz.libraries.detect import library_named


def asked_again(finding: Finding) -> Replayed:
    """What became of the finding of a call that is wrong in some modes."""
    call = finding.call
    assert call is not None, "it is the finding of a call"
    library_named(call.library).begin()
    found = judged(call, [finding.modes], (1.0, *FACTORS))
    if found.refused or not found.verdicts:
        words = found.refused or next(iter(found.lacks.values()), "it has no such derivative")
        return Replayed(finding, Status.ERROR, words)
    verdicts = [one.case.verdict for one in found.verdicts]
    wrong = next((one.case for one in found.verdicts if one.case.verdict.is_wrong), None)
    if wrong is not None:
        numbers = f"expected {wrong.expected:.9g}, got {wrong.got:.9g}" if wrong.expected is not None else ""
        return Replayed(finding, Status.FAILED, numbers or wrong.message)
    if all(verdict in (Verdict.AGREE, Verdict.CONVENTION) for verdict in verdicts):
        told = " ".join(filter(None, target_of(call)))
        return Replayed(finding, Status.FIXED, f"{told} is right at each of its points")
    return Replayed(finding, Status.ERROR, found.verdicts[0].case.message)
