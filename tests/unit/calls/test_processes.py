"""The processes in which calls are made: what JAX and XLA are told, and what processes share."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gradfuzz.calls.sweep import process, supervise, worker
from gradfuzz.calls.sweep.turn import Result, Turn

COMPILES = "import jax.numpy as jnp; print(float(jnp.sin(1.0)))"


def compiled_with(flags: str) -> subprocess.CompletedProcess[str]:
    """JAX, which computes sin(1) in a process with these flags of XLA."""
    words = [sys.executable, "-c", COMPILES]
    environment = {**os.environ, "XLA_FLAGS": flags}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """XLA's flags in a process that calls functions of JAX."""
    pytest.importorskip("jax")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setenv("XLA_FLAGS", process._environment(tmp_path, "")["XLA_FLAGS"])
    worker._compile_quickly()
    return os.environ["XLA_FLAGS"]


def test_xla_takes_every_flag(flags: str) -> None:
    found = compiled_with(flags)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) == pytest.approx(0.8414709848, rel=1e-6)
    assert "--xla_backend_optimization_level=0" in flags.split()
    assert "--xla_cpu_use_fusion_emitters=false" in flags.split()


def test_xla_reads_the_flags_to_the_end(flags: str) -> None:
    """It stops, and says nothing, at a word that is no flag."""
    found = compiled_with(f"{flags} --xla_there_is_no_such_flag=1")
    assert found.returncode != 0
    assert "xla_there_is_no_such_flag" in found.stderr


def test_a_jaxlib_without_the_flag_is_not_given_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setattr(worker.importlib.metadata, "version", lambda name: "0.5.3")
    worker._compile_quickly()
    assert os.environ["XLA_FLAGS"] == ""


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
