"""Asks again about the finding of a call, which is made and judged as when it was found."""

from __future__ import annotations

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.errors import GradfuzzError, RecordError, TargetProcessError
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.failure import ENDS
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.replayed import Replayed, Status
from gradfuzz.fuzzer.turns.homes import home_of
from gradfuzz.fuzzer.turns.process import CallProcess, Died, Late
from gradfuzz.fuzzer.turns.recheck import asked_again
from gradfuzz.fuzzer.turns.set_up import answers, control, said, told
from gradfuzz.fuzzer.turns.supervisor import ending
from gradfuzz.fuzzer.turns.turn import Result, Turn


def replayed(finding: Finding) -> Replayed:
    """What became of the finding of a call."""
    call = finding.call
    if call is None:
        raise RecordError(f"{finding.id} is no finding of a call")
    try:
        home = home_of(finding.target)
        if not _ends(finding) and not home:
            return asked_again(finding)
        return _elsewhere(finding, call, home)
    except GradfuzzError as error:
        return Replayed(finding, Status.ERROR, str(error))


def _elsewhere(finding: Finding, call: Call, home: str) -> Replayed:
    """The same in a process of its own. Of a call at which the process ended, whether it ends again."""
    function = Function((call.function,), call.function, DIFFERENTIABLE, "")
    about, only = (None, call) if _ends(finding) else (finding, None)
    turn = Turn(call.library, function, 0, 0, 0, only=only, home=home, finding=about)
    process = CallProcess()
    try:
        found = process.run(turn)
        known = process.run(control(turn)) if isinstance(found, Died) else None
    except TargetProcessError as error:
        return Replayed(finding, Status.ERROR, told(turn, str(error)))
    finally:
        process.close()
    assert not isinstance(found, Late), "it may take as long as it takes"
    if isinstance(found, Died):
        if isinstance(known, Died):
            return Replayed(finding, Status.ERROR, told(turn, ending(known)))
        if isinstance(known, Result) and not answers(known):
            return Replayed(finding, Status.ERROR, told(turn, said(known)))
        return Replayed(finding, Status.FAILED, f"{ENDS}: {found.words}")
    if _ends(finding):
        return Replayed(finding, Status.FIXED, "the process does not end")
    if isinstance(found, Replayed):
        return found
    fault = next(iter(found.own_faults), None)
    return Replayed(finding, Status.ERROR, found.error or found.words, fault)


def _ends(finding: Finding) -> bool:
    """Whether it is about a process that ended."""
    return finding.note.startswith(ENDS)
