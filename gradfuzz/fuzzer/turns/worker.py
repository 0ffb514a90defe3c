"""A worker process: it has one turn after the other, and notes every call in its box before it makes it.

It is `python -m gradfuzz.fuzzer.turns.worker LIBRARY BOX FOLDER`, by the Python beside gradfuzz or by that in
the environment of a target. It gets a turn a line, and answers with lines; what a library prints goes to
stderr.
"""

from __future__ import annotations

import base64
import mmap
import os
import pickle
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from gradfuzz.fuzzer.calling.judge import Modes
from gradfuzz.fuzzer.findings.calls.prove import deadly
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.turns.recheck import asked_again
from gradfuzz.fuzzer.turns.turn import Result, Turn, run
from gradfuzz.libraries.detect import library_named
from gradfuzz.oracles.foreign.memory import collect_less

BOX = 1 << 20
"""The most bytes of a noted call."""

HEAD = 24
"""The bytes of a box before the call: its length, and when it was noted."""

READY = b"ready"
"""The line that a worker says first."""


def packed(message: object) -> bytes:
    """A message as a line."""
    return base64.b64encode(pickle.dumps(message)) + b"\n"


def unpacked(line: bytes) -> Any:
    """The message of such a line."""
    return pickle.loads(base64.b64decode(line))  # noqa: S301 - written by our own process


def main() -> None:
    """Works off turns until there are no more lines."""
    library, box, folder = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_less()
    turns, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    library_named(library).begin()
    _say(answers, READY + b"\n")
    _work(turns, answers, box, folder, {library})


def _say(answers: IO[bytes], line: bytes) -> None:
    answers.write(line)
    answers.flush()


def _work(turns: IO[bytes], answers: IO[bytes], box: str, folder: str, begun: set[str]) -> None:
    os.chdir(folder)
    sys.addaudithook(_without_network)
    with Path(box).open("r+b") as file, mmap.mmap(file.fileno(), BOX) as memory:
        note = _Note(memory)
        for line in turns:
            turn = unpacked(line)
            if turn.library not in begun:
                begun.add(turn.library)
                library_named(turn.library).begin()

            def begins(modes: Modes, turn: Turn = turn) -> None:
                assert turn.only is not None, "told of the only call of a turn"
                draft = deadly(turn.only, modes)
                _say(answers, packed(replace(draft, target=turn.home) if turn.home else draft))

            try:
                result = run(turn, note, begins) if turn.finding is None else asked_again(turn.finding)
            except Exception as error:  # noqa: BLE001 - told with the function, and the sweep goes on
                result = Result()
                result.break_off(turn, error)
            note.nothing()
            _say(answers, packed(result))


class _Note:
    """Writes calls into a box."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    def __call__(self, call: Call) -> None:
        data = pickle.dumps(call)
        if len(data) > BOX - HEAD:
            data = b""
        self._memory[:8] = len(data).to_bytes(8, "little")
        self._memory[8:HEAD] = time.monotonic_ns().to_bytes(16, "little")
        self._memory[HEAD : HEAD + len(data)] = data

    def nothing(self) -> None:
        self._memory[:HEAD] = bytes(HEAD)


_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "os.system")


def _without_network(event: str, _arguments: object) -> None:
    """Python's own report of what a function is about to do."""
    if event in _NETWORK:
        raise PermissionError(f"a sweep does not let a function use {event}")


if __name__ == "__main__":
    main()
