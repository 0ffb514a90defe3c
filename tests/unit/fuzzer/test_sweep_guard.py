"""A sweep that a script starts without `if __name__ == "__main__":` is refused in words; with it, it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradfuzz

ROOT = Path(gradfuzz.__file__).parents[1]

SWEEP = """
from gradfuzz.fuzzer.sweep import SweepConfig, sweep


def run():
    events = list(sweep(SweepConfig(("mutant:nx-1747",), max_examples=1, orders=(1,), jobs={jobs})))
    print("checks:", events[-1].checks)
"""

REPLAY = """
from pathlib import Path

from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.records import from_document, load
from gradfuzz.fuzzer.sweep.replaying import replay_all


def run():
    path = Path({path!r})
    finding = from_document(load(path), Finding, "one")
    object.__setattr__(finding, "target", "cmd:none")
    print("replayed:", [outcome.message for outcome in replay_all([finding])])
"""

GUARDED = """
if __name__ == "__main__":
    run()
"""


def said(text: str, tmp_path: Path) -> tuple[int, str, str]:
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stdout, done.stderr


def replay() -> str:
    return REPLAY.format(path=str(ROOT / "tests" / "data" / "finding.json"))


@pytest.mark.parametrize("text", [SWEEP.format(jobs=2), replay()], ids=["sweep", "replay"])
def test_a_script_without_a_guard_is_told_so(text: str, tmp_path: Path) -> None:
    code, out, err = said(f"{text}\nrun()\n", tmp_path)
    assert code == 1
    assert out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("gradfuzz.errors.UsageError: no worker process came up")
    assert last.endswith('so put what the script does under `if __name__ == "__main__":`')
    assert "the script starts worker processes again; put" in err


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_script_with_one_sweeps(jobs: int, tmp_path: Path) -> None:
    code, out, err = said(f"{SWEEP.format(jobs=jobs)}\n{GUARDED}", tmp_path)
    assert (code, err) == (0, "")
    assert int(out.removeprefix("checks:")) > 0


def test_without_workers_no_guard_is_needed(tmp_path: Path) -> None:
    code, out, _ = said(f"{SWEEP.format(jobs=1)}\nrun()\n", tmp_path)
    assert code == 0
    assert int(out.removeprefix("checks:")) > 0
