"""Waiting for the other side of a pipe, and the lines that a server reads from one."""

from __future__ import annotations

import os
import select
import threading
import time

import pytest

from gradfuzz.oracles.foreign import polling
from gradfuzz.oracles.foreign.polling import Poller
from gradfuzz.oracles.server import _lines


def pipe() -> tuple[int, int, Poller]:
    reader, writer = os.pipe()
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    return reader, writer, Poller(poll)


def later(seconds: float, writer: int) -> threading.Thread:
    thread = threading.Thread(target=lambda: (time.sleep(seconds), os.write(writer, b"x")))
    thread.start()
    return thread


def test_what_is_there_is_seen_at_once_and_what_never_comes_is_not_waited_for() -> None:
    reader, writer, waiting = pipe()
    assert waiting.wait(0.01) == []
    os.write(writer, b"x")
    assert waiting.wait(None) == [(reader, select.POLLIN)]
    assert waiting.wait(0.0) == [(reader, select.POLLIN)]


def test_whoever_was_not_prompt_is_slept_for_until_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_ALONE", False)
    reader, writer, waiting = pipe()
    waiting._prompt = True
    thread = later(0.05, writer)
    before = time.process_time()
    assert waiting.wait(5.0)
    used = time.process_time() - before
    thread.join()
    assert used < 0.04, "it slept while nothing came"
    assert not waiting._prompt
    monkeypatch.setattr(polling, "_MOMENT", 1.0)
    os.read(reader, 1)
    thread = later(0.05, writer)
    assert waiting.wait(5.0)
    thread.join()
    assert waiting._prompt, "within a moment: prompt"


def test_the_only_core_is_left_to_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_ALONE", True)
    monkeypatch.setattr(polling, "_MOMENT", 1.0)
    _, writer, waiting = pipe()
    thread = later(0.01, writer)
    assert waiting.wait(5.0)
    thread.join()
    assert not waiting._prompt


def test_lines_come_whole_however_they_were_written() -> None:
    reader, writer = os.pipe()
    lines = _lines(reader)
    os.write(writer, b'{"a": 1')
    os.write(writer, b"}\n")
    assert next(lines) == b'{"a": 1}'
    os.write(writer, b"one\ntwo\nthr")
    assert [next(lines), next(lines)] == [b"one", b"two"]
    os.write(writer, b"ee\n")
    os.close(writer)
    assert list(lines) == [b"three"]


def test_a_line_longer_than_what_is_read_at_once() -> None:
    reader, writer = os.pipe()
    line = bytes(range(48, 58)) * 100_000

    def write() -> None:
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[os.write(writer, rest) :]
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    assert list(_lines(reader)) == [line]
    thread.join()
