"""The processes in which calls are made: what JAX and XLA are told, and what processes share."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.fuzzer.turns import process, supervisor, xla
from gradfuzz.fuzzer.turns.turn import Result, Turn

SIN = Turn("jax", Function(("jax.numpy.sin",), "sin(x)", DIFFERENTIABLE, ""), seed=0, number=0, calls=1)


def a_python(path: Path, *known: str) -> str:
    """A Python whose XLA ends the process at a flag that is not `known`."""
    path.write_text(f'#!/bin/sh\ncase " {" ".join(known)} " in *" $XLA_FLAGS "*) ;; *) exit 1 ;; esac\n')
    path.chmod(0o755)
    return str(path)


def test_a_flag_that_xla_does_not_know_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = a_python(tmp_path / "old", *xla.FLAGS), a_python(tmp_path / "new", *xla.FLAGS[:2])
    monkeypatch.setenv("XLA_FLAGS", "--of_the_user=1")
    assert xla.flags_of(old) == " ".join((*xla.FLAGS, "--of_the_user=1"))
    assert xla.flags_of(new) == " ".join((*xla.FLAGS[:2], "--of_the_user=1"))
    assert xla.flags_of(str(tmp_path / "gone")) == "--of_the_user=1"
    (tmp_path / "new").unlink()
    assert xla.FLAGS[0] in xla.flags_of(new), "it is asked once"


def test_the_worker_of_this_jax_comes_up_with_its_flags(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    variables = process._environment(tmp_path, SIN)
    code = "import jax.numpy; print(float(jax.numpy.sin(0.0)))"
    run = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "0.0\n"), run.stderr
    assert "XLA_FLAGS" not in process._environment(tmp_path, replace(SIN, library="torch"))


def test_processes_share_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []

    class Quiet:
        def __init__(self, compiled: Path) -> None:
            folders.append(compiled)

        def run(self, turn: Turn, seconds: float) -> Result:
            return Result(drawn=1)

        def close(self) -> None:
            assert folders[0].is_dir(), "no process outlives its folder"

    monkeypatch.setattr(supervisor, "CallProcess", Quiet)
    threads = [threading.Thread(target=supervisor.supervised, args=(SIN,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    supervisor.end()
    assert len(folders) == 2
    assert folders[0] == folders[1]
    assert not folders[0].exists()
