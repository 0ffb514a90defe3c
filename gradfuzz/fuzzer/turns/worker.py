"""A worker process: it has one turn after the other, and notes every call in its box before it makes it.

It is `python -m gradfuzz.fuzzer.turns.worker LIBRARY PIPE BOX FOLDER`, PIPE the number of an open file, by
the Python beside gradfuzz or by that in the environment of a target.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import sys
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

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

READY = "ready"
"""What a worker in an environment says first."""


def main() -> None:
    """Works off turns until the pipe is closed."""
    library, pipe, box, folder = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_less()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    library_named(library).begin()
    connection = Connection(int(pipe))
    connection.send(READY)
    _work(connection, box, folder, {library})


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _work(pipe: Connection, box: str, folder: str, begun: set[str]) -> None:
    os.chdir(folder)
    sys.addaudithook(_without_network)
    with Path(box).open("r+b") as file, mmap.mmap(file.fileno(), BOX) as memory:
        note = _Note(memory)
        while True:
            try:
                turn = pipe.recv()
            except EOFError:
                return
            if turn.library not in begun:
                begun.add(turn.library)
                library_named(turn.library).begin()

            def begins(modes: Modes, turn: Turn = turn) -> None:
                assert turn.only is not None, "told of the only call of a turn"
                draft = deadly(turn.only, modes)
                pipe.send(replace(draft, target=turn.home) if turn.home else draft)

            try:
                result = run(turn, note, begins) if turn.finding is None else asked_again(turn.finding)
            except Exception as error:  # noqa: BLE001 - told with the function, and the sweep goes on
                result = Result()
                result.break_off(turn, error)
            note.nothing()
            pipe.send(result)


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
        raise PermissionError(f"a function that is called has no business with {event}")


if __name__ == "__main__":
    main()
