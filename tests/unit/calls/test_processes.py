"""The processes in which calls are made: what JAX and XLA are told, and what processes share."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gradfuzz.calls.sweep import process, supervise
from gradfuzz.calls.sweep.turn import Result, Turn


def test_flags_of_xla_are_those_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA ends a process at a flag that it does not know, and a later release knows others."""
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert "XLA_FLAGS" not in process._environment(tmp_path, "")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    assert process._environment(tmp_path, "")["XLA_FLAGS"] == "--xla_cpu_enable_fast_math=false"


def test_processes_share_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []

    class Quiet:
        def __init__(self, compiled: Path) -> None:
            folders.append(compiled)

        def run(self, turn: Turn) -> Result:
            return Result(drawn=1)

        def close(self) -> None:
            assert folders[0].is_dir(), "no process outlives its folder"

    monkeypatch.setattr(supervise, "CallProcess", Quiet)
    threads = [threading.Thread(target=supervise.supervised, args=(None,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    supervise.end()
    assert len(folders) == 2
    assert folders[0] == folders[1]
    assert not folders[0].exists()
