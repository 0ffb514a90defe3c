"""A turn from its beginning to its end, also where processes die of it.

Each thread keeps its process from turn to turn. What JAX compiles in one serves all.
"""

from __future__ import annotations

import math
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

from gradfuzz.errors import TargetProcessError
from gradfuzz.fuzzer.findings import script_run
from gradfuzz.fuzzer.findings.calls.prove import named
from gradfuzz.fuzzer.results.failure import ENDS
from gradfuzz.fuzzer.turns.process import CallProcess, Died, Late
from gradfuzz.fuzzer.turns.turn import AGAIN, Result, Turn, merged
from gradfuzz.oracles.foreign.worker import last_words

_own = threading.local()
_processes: list[CallProcess] = []
_compiled: list[tempfile.TemporaryDirectory[str]] = []
"""One folder, from the first process to the last."""
_lock = threading.Lock()


def supervised(turn: Turn, seconds: float = math.inf) -> Result | None:
    """What a turn found out; None where it takes more than so many `seconds`.

    Where a process dies at a call, this is called again alone, as long as it takes: a call that is deadly is
    a finding. The turn begins again with other calls.
    """
    process = _process()
    parts: list[Result] = []
    waiting = [turn]
    while waiting:
        one = waiting.pop(0)
        try:
            found = process.run(one, seconds if one.only is None else math.inf)
        except TargetProcessError as error:
            parts.append(Result(error=str(error), ended=str(error)))
            break
        if isinstance(found, Late):
            return None
        if isinstance(found, Died):
            parts.append(Result(ended=ending(found)))
        if isinstance(found, Result):
            parts.append(found)
        elif not isinstance(found, Died):
            raise AssertionError("no turn of a sweep asks about a finding")
        elif one.only is not None:
            if found.draft is not None:
                finding = replace(found.draft, note=f"{ENDS}: {found.words}")
                parts.append(Result(findings=(named(finding),)))
        else:
            if found.call is not None:
                waiting.append(replace(one, only=found.call))
            if one.again < AGAIN:
                waiting.append(replace(one, again=one.again + 1))
            else:
                words = f"its process died in each of {AGAIN + 1} turns: {found.words}"
                parts.append(Result(words=words))
    return merged(parts)


def ending(died: Died) -> str:
    """How a process ended, and what it said last."""
    return f"{died.words}{last_words(died.stderr)}"


def _process() -> CallProcess:
    """The process of this thread."""
    if not hasattr(_own, "process"):
        with _lock:
            if not _compiled:
                prefix = "gradfuzz-compiled-"
                _compiled.append(tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))
            _own.process = CallProcess(Path(_compiled[0].name))
            _processes.append(_own.process)
    process: CallProcess = _own.process
    return process


def end() -> None:
    """Ends the processes of all threads."""
    script_run.end()
    while _processes:
        _processes.pop().close()
    while _compiled:
        _compiled.pop().cleanup()
