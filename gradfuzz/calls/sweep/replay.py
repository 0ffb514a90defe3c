"""Asks again about the finding of a call: it is made and judged as when it was found."""

from __future__ import annotations

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.calls.judging.judge import judged
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.calls.sweep.turn import Turn
from gradfuzz.calls.sweep.workers import Died, Workers
from gradfuzz.errors import RecordError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Finding, Verdict
from gradfuzz.fuzzer.sweep.replaying import Replayed, Status
from gradfuzz.testing.measuring.measure import FACTORS


def replayed(finding: Finding) -> Replayed:
    """What became of the finding of a call."""
    call = finding.call
    if call is None:
        raise RecordError(f"{finding.id} is no finding of a call")
    if not finding.modes:
        return _made_again(finding, call)
    library = library_named(call.library)
    library.begin()
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
        told = f"{call.library} {library.version} is right at each of its points"
        return Replayed(finding, Status.FIXED, told)
    return Replayed(finding, Status.ERROR, found.verdicts[0].case.message)


def _made_again(finding: Finding, call: Call) -> Replayed:
    """The same of a call at which the process ended: it is made in a process of its own."""
    function = Function((call.function,), call.function, DIFFERENTIABLE, "")
    workers = Workers(1)
    try:
        workers.give(Turn(call.library, function, seed=0, number=0, calls=0, only=call))
        while not (found := workers.taken(1.0)):
            pass
    finally:
        workers.close()
    if isinstance(found[0], Died):
        return Replayed(finding, Status.FAILED, f"the process ends: {found[0].words}")
    return Replayed(finding, Status.FIXED, "the process does not end")
