"""A worker that ends or raises whatever it is asked: a fault of the set-up, told once, and no finding."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.cli import main
from gradfuzz.errors import TargetProcessError
from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.replayed import Status
from gradfuzz.fuzzer.sweep import card
from gradfuzz.fuzzer.sweep import functions as plan
from gradfuzz.fuzzer.sweep import plans as sweeps
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.turns import homes, process
from gradfuzz.fuzzer.turns.replay import replayed
from gradfuzz.fuzzer.turns.set_up import Had, SetUp
from gradfuzz.fuzzer.turns.turn import Result, Turn
from gradfuzz.oracles.foreign import fault

X = Parameter("x", (ARRAY,), required=True)
SWEEP = ["sweep", "autograd", "--family", "functions", "--max-examples", "3", "--no-store"]


def function(name: str) -> Function:
    return Function((name,), f"{name}(x)", DIFFERENTIABLE, "", (X,))


SIN, COS, DIES = map(function, ("autograd.numpy.sin", "autograd.numpy.cos", "deadly.dies"))

START = "raise SystemExit('libfoo.so: cannot open shared object file')"
FIRST = """
def run(turn, note, begins):
    print("F1129 12:00:00.0 1 env.cc:234] Unknown flag in XLA_FLAGS: --no_such_flag", file=sys.stderr)
    os.abort()
worker.run = run
"""
NOTED = """
from gradfuzz.fuzzer.turns import turn
def dies(call, estimated):
    print("INTEL MKL FATAL ERROR: cannot load libmkl", file=sys.stderr, flush=True)
    os._exit(7)
turn.size_of = dies
"""
RAISES = """
def run(turn, note, begins):
    raise ImportError("numpy>=9 is required, and numpy 1.0 is installed")
worker.run = run
"""
REFUSES = """
import autograd.numpy
def broken(x):
    raise OSError("libbar.so: undefined symbol: dgemm")
autograd.numpy.sin = autograd.numpy.cos = broken
"""
FULL = """
def run(turn, note, begins):
    os.write(2, b"a warning without an end of line " * 1_000_000)
    os.write(2, b"\\nfatal error: out of patience\\n")
    os._exit(7)
worker.run = run
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets processes of a library run some code before they work."""
    script, usual = tmp_path / "worker.py", homes.command

    def planted(code: str, library: str = "autograd") -> None:
        whole = f"import os, sys\nfrom gradfuzz.fuzzer.turns import worker\n{code}\nworker.main()"
        script.write_text(whole, encoding="utf-8")

        def command(wanted: str, home: str) -> list[str]:
            is_planted = code and wanted == library
            return [sys.executable, str(script), wanted] if is_planted else usual(wanted, home)

        monkeypatch.setattr(homes, "command", command)

    return planted


def listed(monkeypatch: pytest.MonkeyPatch, *functions: Function) -> None:
    """Lets the catalogue of every library consist of these functions."""
    monkeypatch.setattr(plan, "functions", lambda name: ("1.8.0", list(functions)))


def swept(memo: Any = None, targets: tuple[str, ...] = ("autograd",)) -> SweepFinished:
    config = SweepConfig(targets, ("functions",), max_examples=3, jobs=1)
    end = list(sweeps.sweep(config, memo))[-1]
    assert isinstance(end, SweepFinished)
    return end


FAULTS = {
    "at its start": (START, "libfoo.so: cannot open shared object file"),
    "at its first call": (FIRST, "Unknown flag in XLA_FLAGS: --no_such_flag"),
    "at every call": (NOTED, "INTEL MKL FATAL ERROR: cannot load libmkl"),
    "by raising": (RAISES, "numpy>=9 is required, and numpy 1.0 is installed"),
    "as the library": (REFUSES, "libbar.so: undefined symbol: dgemm"),
    "with a full stderr": (FULL, "fatal error: out of patience"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_worker_that_fails_whatever_it_is_asked(
    case: str, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 and one message, with the command, the last words, and what to try."""
    code, words = FAULTS[case]
    listed(monkeypatch, SIN)
    worker(code)
    ended = CliRunner().invoke(main, SWEEP)
    text = " ".join(ended.output.split())
    assert ended.exit_code == 2, text
    assert text.count(words) == 1
    assert text.count("autograd was not tested: it answers no call, so its set-up is at fault") == 1
    assert f"The command was `{sys.executable} " in text
    assert f"To try: does `{sys.executable} -c 'import autograd'` work?" in text
    assert "GF-" not in text


def test_a_library_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "autograd.py").write_text("import there_is_no_such_module", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    listed(monkeypatch, SIN)
    end = swept()
    (fault,) = [one.fault for one in end.summaries]
    assert fault is not None
    assert "No module named 'there_is_no_such_module'" in fault
    assert f"The command was `{sys.executable} -m gradfuzz.fuzzer.turns.worker autograd`" in fault
    assert not end.findings


@pytest.mark.slow  # JAX is loaded by several processes, one after the other
def test_a_flag_that_xla_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA ends the process at the first array, long after the library was imported."""
    pytest.importorskip("jax")
    monkeypatch.setenv("XLA_FLAGS", "--no_such_flag")
    listed(monkeypatch, function("jax.numpy.sin"))
    end = swept(targets=("jax",))
    (fault,) = [one.fault for one in end.summaries]
    assert fault is not None
    assert "Unknown flag in XLA_FLAGS: --no_such_flag" in fault
    assert not end.findings


def test_turns_before_an_answer_are_counted_once_there_is_one() -> None:
    """A function that ends its process is a finding, also where it comes first."""
    turn = Turn("autograd", SIN, 0, 0, 1)
    died, right = Result(ended="segmentation fault"), Result(judged=1, verdicts={"agree": 1})
    set_up = SetUp()
    first, second = Had(("autograd", 0), turn, died), Had(("autograd", 1), turn, right)
    assert set_up.ready(first) == []
    ((name, asked),) = set_up.doubts()
    assert (name, asked.function.names) == ("autograd", ("autograd.numpy.sin",))
    assert list(set_up.doubts(at_end=True)) == [], "it is asked once"
    assert set_up.ready(second) == [first, second]
    assert (set_up.controlled("autograd", died), set_up.faults(), set_up.given_up()) == ([], {}, frozenset())


def test_without_an_answer_no_more_turns_are_made() -> None:
    turn, set_up = Turn("autograd", SIN, 0, 0, 1), SetUp()
    refused = Result(drawn=9, words="ValueError: no")
    for k in range(4):
        assert not list(set_up.doubts()), "a function may refuse what is drawn"
        set_up.ready(Had(("autograd", k), turn, refused))
    assert [name for name, _ in set_up.doubts()] == ["autograd"]
    assert set_up.given_up() == frozenset()
    set_up.controlled("autograd", Result(words="ImportError: libfoo"))
    assert set_up.given_up() == {"autograd"}
    assert set_up.faults()["autograd"].startswith("ImportError: libfoo. The command was")


def test_a_sweep_that_was_too_short_is_in_no_doubt() -> None:
    set_up, had = SetUp(), Had(("autograd", 0), Turn("autograd", SIN, 0, 0, 1), Result(drawn=9))
    set_up.ready(had)
    assert set_up.faults() == {}
    assert set_up.rest() == [had]


def test_the_message_about_an_environment() -> None:
    """What it is lent is a long list; the way out is to make it anew."""
    command = ["envs/mlx/bin/python", "launcher.py", "--lend", '{"numpy": "/a/b"}', "worker", "mlx"]
    assert fault.told("ImportError: numpy 1.0", command, "mlx", "mlx==0.31.2") == (
        "ImportError: numpy 1.0. The command was `envs/mlx/bin/python launcher.py --lend '{...}' worker mlx`."
        " To try: make its environment anew: `gradfuzz targets remove 'mlx==0.31.2'`, then"
        " `gradfuzz targets install 'mlx==0.31.2'`"
    )


DEADLY = """
import os, signal

def dies(x):
    os.kill(os.getpid(), signal.SIGSEGV)
"""


class Memo:
    """Keeps results in memory; earlier sweeps reached all but `DIES`, which therefore comes first."""

    def __init__(self) -> None:
        self.kept: dict[Turn, Result] = {}

    def recall(self, work: Turn) -> Result | None:
        return next((result for one, result in self.kept.items() if _key(one) == _key(work)), None)

    def keep(self, work: Turn, result: Result) -> None:
        self.kept[work] = result

    def functions(self, target: str, version: str) -> Any:
        return [[FunctionSummary(f.names[0], f.signature, "asked", "") for f in (SIN, COS)]]


def _key(turn: Turn) -> Any:
    return turn.library, turn.function, turn.number, turn.seed


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deadly.py").write_text(DEADLY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def test_a_deadly_function_that_comes_first_is_a_finding(
    deadly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(monkeypatch, SIN, DIES)
    memo = Memo()
    end = swept(memo)
    assert end.complete
    (finding,) = end.findings
    assert finding.note == "the process ends: segmentation fault"
    assert next(iter(memo.kept)).function == DIES


@pytest.mark.slow  # two sweeps, and a finding that is asked again about
def test_what_a_broken_set_up_hid_is_found_once_it_is_mended(
    deadly: None, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep has no finding and keeps nothing; resumed, it has the true one."""
    listed(monkeypatch, SIN, DIES)
    memo = Memo()
    worker(NOTED)
    end = swept(memo)
    assert [one.fault is None for one in end.summaries] == [False]
    assert not end.findings
    assert not end.complete, "--resume continues it"
    assert not memo.kept
    assert {one.outcome for one in end.functions} == {"not reached"}

    worker("")
    (finding,) = swept(memo).findings
    assert finding.culprits == ("deadly.dies",)
    assert replayed(finding).status is Status.FAILED
    worker(NOTED)
    again = replayed(finding)
    assert again.status is Status.ERROR
    assert "INTEL MKL FATAL ERROR: cannot load libmkl" in again.message


@pytest.mark.slow  # two libraries
def test_a_bad_set_up_loses_no_finding_of_another_library(
    deadly: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mlx.py").write_text("raise ImportError('libfoo.so: cannot open')", encoding="utf-8")
    monkeypatch.setattr(homes.registry, "beside", lambda name: "1.8.0")
    rows = {"autograd": [DIES, COS], "mlx": [function("mlx.core.sin")]}
    monkeypatch.setattr(plan, "functions", lambda name: ("1.8.0", rows[name]))
    end = swept(targets=("mlx", "autograd"))
    bad, good = end.summaries
    assert bad.fault is not None
    assert "libfoo.so: cannot open" in bad.fault
    assert good.fault is None
    assert [finding.culprits for finding in end.findings] == [("deadly.dies",)]


def test_a_report_card_of_a_bad_set_up_says_so(worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, SIN)
    worker(START)
    with pytest.raises(TargetProcessError, match=r"autograd was not tested: .*libfoo\.so.* To try: does"):
        card.card("autograd", lambda words: None, jobs=1)


def test_of_what_a_process_writes_the_end_is_kept(tmp_path: Path, worker: Any) -> None:
    worker(FULL)
    of_calls = process.CallProcess()
    try:
        found = of_calls.run(Turn("autograd", SIN, 0, 0, 1))
    finally:
        of_calls.close()
    assert isinstance(found, process.Died)
    assert found.stderr.endswith("\nfatal error: out of patience\n")
    assert len(found.stderr) <= 1 << 14
