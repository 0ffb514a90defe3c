"""Runs the script of a finding before the finding is told, once, in a process of its own. Those of functions
of Torch run in copies of one that has loaded Torch, which takes most of their time.

A script asks the target anew, and computes what is right anew. What it exits with decides:

    1                        the finding stands
    0                        the target is right: there is no finding, but a fault of gradfuzz. Of a process
                             that ended it says that the memory decided, and there is neither
    125 and anything else    the script did not run to its end, and the finding says so; of a finding that the
                             target raises or ends its process, that is how it stands
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.errors import WorkerDiedError
from gradfuzz.fuzzer.findings import script_server
from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault
from gradfuzz.oracles.foreign import managed, process_registry
from gradfuzz.oracles.libraries import LIBRARIES
from gradfuzz.oracles.registry import beside
from gradfuzz.oracles.target_name import TargetName

_SECONDS = 120.0
"""What a script may take: seconds on a free machine, mostly of imports."""

_LAST = 4000
"""Characters of what a script says that are kept, the last ones."""

_TIMES = 5
"""So often the script of a process that ended runs, until it ends there, too."""

_CANNOT = 125
"""The exit code of a script that lacks something."""

_TRACEBACK = "Traceback (most recent call last)"

_NOT_ENDED, _NOT_RUN = "Its script did not run to its end", "Its script was not run"

_COPIED = {"torch": ("torch", "torch._dynamo")}
"""Libraries that a copy of a process has as a new process would, and what is loaded: the second module is
what torch.func loads when it is used first.
"""

_running: set[subprocess.Popen[bytes]] = set()

_waiting: dict[tuple[Any, ...], list[subprocess.Popen[bytes]]] = {}
"""Processes that have loaded a library: by their Python, the library and their variables."""


def has_check(finding: Finding) -> bool:
    """Whether there is a script that tells something. One of a hang would hang, and one that takes all memory
    would take it here.
    """
    endless = (Failure.HANG, Failure.OUT_OF_MEMORY)
    return bool(finding.script) and not (finding.kind is Class.ERROR and failure_of(finding.note) in endless)


def confirmed(finding: Finding) -> Finding | OwnFault | None:
    """The finding as its script bears it out, or the fault of gradfuzz in its place; None where a process
    ended in the sweep, and never in the script.

    It is as it was where its script cannot run on this machine.
    """
    if not has_check(finding):
        return finding
    tried = Attempts()
    ends = finding.kind is Class.ERROR and failure_of(finding.note) is Failure.CRASH
    for _ in range(_TIMES if ends else 1):
        ran = tried("running its script", None, _ran, finding)
        if ran is None or ran[0] != 0:
            break
    if ran is None:
        faults = *finding.own_faults, *tried.faults
        return replace(finding, own_faults=faults) if tried.faults else finding
    code, said = ran
    if code == 0:
        return None if ends else _fault(finding, said)
    ended = _ending(finding, code, said)
    return _noted(finding, f"{_NOT_ENDED}: {ended}.") if ended else finding


def unchecked(finding: Finding) -> Finding:
    """The finding where there was no time to run its script."""
    return _noted(finding, f"{_NOT_RUN}: the sweep ended before.") if has_check(finding) else finding


def unconfirmed(finding: Finding) -> str:
    """What the finding says of its script, where that does not bear it out."""
    found = re.search(f"({_NOT_ENDED}|{_NOT_RUN}).*", finding.note, re.DOTALL)
    return found[0] if found else ""


def end() -> None:
    """Ends the scripts that run in other threads; these raise `WorkerDiedError`."""
    while _running:
        _kill(_running.pop())
    while _waiting:
        for process in _waiting.popitem()[1]:
            _close(process)


def _ran(finding: Finding) -> tuple[int | None, str] | None:
    """What its script exits with and says; None where nothing here runs it."""
    with tempfile.TemporaryDirectory(prefix="gradfuzz-script-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "script.py")
        path.write_text(finding.script, encoding="utf-8")
        command = _command(finding, path)
        if not command:
            return None
        library = finding.call.library if finding.call is not None else ""
        is_copied = library in _COPIED and finding.kind is not Class.ERROR and len(command) == 2
        is_copied = is_copied and hasattr(os, "fork")
        return _run(command, Path(folder), library if is_copied else "")


def _command(finding: Finding, script: Path) -> list[str]:
    """What runs the script with the finding's own target; empty where nothing here does."""
    name = TargetName.of(finding.target)
    adapter = ADAPTERS.get(name.library)
    own = [sys.executable, str(script)]
    if "\n    from gradfuzz" in finding.script:  # gradfuzz asks, and finds the target
        return own
    if adapter is not None and adapter.language != "python":
        return []
    has_environments = adapter is not None or name.library in LIBRARIES
    if not name.specifier and (not has_environments or beside(name.library) is not None):
        return own
    if managed.find(name.base) is None:
        return []
    plan = managed.plan(name.base)
    return plan.language.command(plan.folder, script)


def _run(command: list[str], folder: Path, library: str) -> tuple[int | None, str]:
    """The exit code of a command, None where it takes too long, and the end of what it says. It is run in a
    copy of a process that has loaded the library, if one is named.
    """
    with (folder / "said").open("w+b") as file:
        found = _code_of_copy(command[0], library, folder) if library else ()
        code = found[0] if found else _code(command, folder, file)
        file.seek(0)
        return code, file.read().decode(errors="replace")[-_LAST:]


def _code(command: list[str], folder: Path, said: IO[bytes]) -> int | None:
    streams = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": subprocess.STDOUT}
    child = _started(command, cwd=folder, **streams)
    with _watched(child), contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(_SECONDS)
    return None


def _code_of_copy(python: str, library: str, folder: Path) -> tuple[int | None, ...]:
    """The exit code; () where the process that is copied has ended."""
    waiting = _waiting.setdefault((python, library, *sorted(_environment().items())), [])
    try:
        process = waiting.pop()
    except IndexError:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        process = _started([python, script_server.__file__, *_COPIED.get(library, (library,))], **pipes)
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    with _watched(process) as keep, contextlib.suppress(OSError, ValueError):
        process.stdin.write(f"{folder}\n".encode())
        process.stdin.flush()
        if not select.select([process.stdout], [], [], _SECONDS)[0]:
            return (None,)
        code = int(process.stdout.readline())
        keep(waiting)
        return (code,)
    return ()


def _started(command: list[str], **streams: Any) -> subprocess.Popen[bytes]:
    started: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - our own script, without a shell
        command, env=_environment(), start_new_session=True, **streams
    )
    process_registry.begun(started.pid)
    return started


@contextlib.contextmanager
def _watched(
    child: subprocess.Popen[bytes],
) -> Iterator[Callable[[list[subprocess.Popen[bytes]]], None]]:
    """Ends a process after what is done with it, unless that keeps it in a list. `WorkerDiedError` where
    somebody else ended it.
    """
    places: list[list[subprocess.Popen[bytes]]] = []
    _running.add(child)
    try:
        yield places.append
    finally:
        was_ended = child not in _running
        _running.discard(child)
        if places and not was_ended:
            places[0].append(child)
        else:
            _close(child)
        if was_ended:
            raise WorkerDiedError("the sweep has ended")


def _close(child: subprocess.Popen[bytes]) -> None:
    _kill(child)
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    child.wait()
    process_registry.ended(child.pid)


def _environment() -> Mapping[str, str]:
    """The script finds the modules that this process finds, and the environments of targets."""
    modules = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    return {**os.environ, "PYTHONPATH": modules, managed.VARIABLE: str(managed.root())}


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)


def _ending(finding: Finding, code: int | None, said: str) -> str:
    """How the script ended, where that does not bear out the finding."""
    if code is None:
        return f"it took more than {_SECONDS:g} s"
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "").strip().rstrip(".")
    failed = code == 1 and _TRACEBACK in said
    if finding.kind is Class.ERROR and code != _CANNOT:
        raises = failure_of(finding.note) is Failure.EXCEPTION
        return last if failed and raises and finding.note.partition(":")[0] not in said else ""
    if code == 1:
        return last if failed else ""
    return f"it exits with {code}{f', {last}' if last else ''}"


def _noted(finding: Finding, words: str) -> Finding:
    return replace(finding, note=f"{finding.note} {words}".strip())


def _fault(finding: Finding, said: str) -> OwnFault:
    """What the check said, and beside it what the script said."""
    shown = finding.clearest
    entry = "".join([shown.entry[0], *(f"[{k}]" for k in shown.entry[1])])
    check = f"{finding.kind.value}, {finding.check} by {entry}: expected {shown.entry_expected!r}, got"
    numbers = not math.isnan(shown.entry_expected)
    told = f"{check} {shown.entry_got!r}" if numbers else f"{finding.kind.value}, {finding.check}"
    parts = {
        "The check": " ".join(filter(None, (told, finding.note))),
        "Its script, which exits with 0": said.strip(),
        "The script": finding.script.strip(),
    }
    text = "\n".join(f"{head}:\n{textwrap.indent(body, '    ')}" for head, body in parts.items())
    return OwnFault(f"accusing {finding.target}", f"the check says {told}; its script says right", text)


atexit.register(end)
