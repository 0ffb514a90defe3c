"""Sweeps of targets in processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.cli import main as cli
from gradfuzz.fuzzer.results.events import Progress, SweepFinished
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.programs import interpret
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.reports.common import account
from gradfuzz.strategies.linalg.recipes import WEIGHTS

TARGETS = Path(__file__).parents[1] / "targets"
CRASHING = TARGETS / "crashing.py"
NARROW = f"cmd:{sys.executable} {TARGETS / 'narrow.py'}"
LIKE_TAICHI = f"cmd:{sys.executable} {TARGETS / 'like_taichi.py'}"
UNFIT = f"cmd:{sys.executable} {TARGETS / 'unfit.py'}"


def finished(target: str, examples: int) -> SweepFinished:
    *_, last = sweep(SweepConfig((target,), max_examples=examples, jobs=1))
    assert isinstance(last, SweepFinished)
    return last


@pytest.mark.slow
def test_a_crash_is_a_finding_and_the_sweep_goes_on() -> None:
    """The finding is shrunk to a program with the sine, of a number beyond 1, that ended the process."""
    end = finished(f"cmd:{sys.executable} {CRASHING}", 24)
    assert end.complete
    assert end.programs == 24
    (finding,) = [f for f in end.findings if f.kind is Class.ERROR]
    assert "SIGSEGV: the process was killed by signal 11" in finding.note
    assert finding.reproduced == (5, 5)
    assert any(isinstance(n, Call) and n.op == "sin" for n in walk(finding.program))

    class Seen(NumpyNamespace):
        largest = 0.0

        def sin(self, x):
            self.largest = max(self.largest, float(x))
            return np.sin(x)

    seen = Seen()
    interpret(finding.program, {name: np.float64(v) for name, v in finding.smallest.inputs.items()}, seen)
    assert seen.largest > 1


def test_an_error_in_every_program_is_one_of_the_set_up(tmp_path: Path) -> None:
    """It is said once, and the exit code is that of a usage error."""
    flags = ["--max-examples", "40", "--jobs", "1", "--store", str(tmp_path / "store.sqlite")]
    ended = CliRunner().invoke(cli, ["sweep", UNFIT, "engine", *flags])
    assert ended.exit_code == 2
    assert ended.stdout.count("libtoy.so.3") == 1
    told = " ".join(ended.stdout.split())
    assert "it raises whatever it is asked, about" in told
    assert "so its set-up is at fault" in told
    assert "No findings" in ended.stdout


@pytest.mark.parametrize(("target", "programs"), [(UNFIT, 2), (f"{UNFIT} partly", 24)])
def test_an_error_in_some_programs_or_in_all_of_a_few_is_a_finding(target: str, programs: int) -> None:
    end = finished(target, programs)
    assert [f.kind for f in end.findings] == [Class.ERROR]
    assert [s.fault for s in end.summaries] == [None]


@pytest.mark.slow
def test_a_narrow_target_gets_programs_that_it_can_answer(seed: int) -> None:
    """Of nine ops one is wrong, and found although hardly a program for everybody has these ops alone."""
    *_, end = sweep(SweepConfig((NARROW, "engine"), max_examples=30, jobs=1, seed=seed))
    assert isinstance(end, SweepFinished)
    narrow, engine = end.summaries
    assert (narrow.drawn, engine.drawn) == (30, 30)
    assert narrow.programs >= 0.7 * narrow.drawn
    assert Trigger.of(end.findings[0].program).ops <= {"divide"}
    assert {f.target for f in end.findings} == {narrow.name}


def test_what_a_target_refuses_only_when_it_is_asked_is_drawn_again() -> None:
    """Most programs of linear algebra have stacks of matrices."""
    pytest.importorskip("autograd")
    target = f"cmd:{sys.executable} {TARGETS / 'matrices.py'}"
    config = SweepConfig((target,), ("linalg",), max_examples=12, checks=("value",), orders=(1,), jobs=1)
    *_, end = sweep(config)
    assert isinstance(end, SweepFinished)
    (summary,) = end.summaries
    assert summary.programs == 12
    assert summary.refused == 0


PLANTED = {
    "constant": ({"plain", "in_place"}, {"reverse", "vectors", "functions"}),
    "counter": ({"plain", "in_place"}, {"reverse", "vectors", "functions"}),
    "in_place": ({"in_place"}, {"reverse", "vectors", "functions", "plain"}),
    "nested": ({"reverse", "plain", "in_place"}, {"vectors", "functions"}),
}
"""Bug -> the ways that show it, and those that do not."""


@pytest.mark.slow  # 200 programs of five ways
@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_that_only_one_way_of_writing_shows_is_found_within_200_programs(bug: str) -> None:
    showing, hiding = PLANTED[bug]
    end = finished(f"{LIKE_TAICHI} {bug}", 200)
    wrong = {s.name.rpartition("#")[2] for s in end.summaries if s.disagree}
    assert wrong <= showing
    assert wrong.isdisjoint(hiding)
    assert {f.target.rpartition("#")[2] for f in end.findings} <= showing
    assert end.findings
    assert not any(s.crashed for s in end.summaries)


@pytest.mark.slow  # 40 programs of five ways
def test_without_a_bug_every_way_of_writing_is_right() -> None:
    end = finished(LIKE_TAICHI, 40)
    assert not end.findings
    assert {s.name.rpartition("#")[2]: s.agree > 0 for s in end.summaries} == dict.fromkeys(
        ("reverse", "vectors", "functions", "plain", "in_place"), True
    )


@pytest.mark.slow
def test_a_wide_target_shares_the_programs_of_the_others() -> None:
    """Those of another seed-mate do not change what the engine is asked."""
    *_, both = sweep(SweepConfig((NARROW, "engine"), max_examples=8, jobs=1))
    *_, one = sweep(SweepConfig(("engine",), max_examples=8, jobs=1))
    assert isinstance(both, SweepFinished)
    assert isinstance(one, SweepFinished)
    assert one.summaries[0] in both.summaries
    assert both.programs == 2 * one.programs


@pytest.mark.slow
def test_a_report_names_the_ops_that_were_never_asked() -> None:
    *_, few = sweep(SweepConfig(("engine",), ("linalg",), max_examples=8, jobs=1))
    *_, many = sweep(SweepConfig(("engine",), ("linalg",), max_examples=72, orders=(1,), jobs=1))
    assert isinstance(few, SweepFinished)
    assert isinstance(many, SweepFinished)
    asked = {name for name in WEIGHTS if few.tested["op"].get(name)}
    assert few.summaries[0].never == tuple(sorted(set(WEIGHTS) - asked))
    assert any("engine: never about" in line for line in account.never(few))
    assert (many.summaries[0].never, account.never(many)) == ((), []), "every op had its turn"


def test_the_families_take_turns() -> None:
    """So a time limit leaves none out."""
    families = ("loops", "linalg", "tensor")
    events = sweep(SweepConfig(("engine",), families, max_examples=12, jobs=1))
    judged = [e for e in events if isinstance(e, Progress) and e.doing.startswith("judged")]
    for turn, event in enumerate(judged[:3], 1):
        assert [s.family for s in event.summaries if s.checks] == list(families[:turn])


@pytest.mark.slow
def test_autograd_is_right_about_loops_of_plain_arithmetic() -> None:
    """But for the second derivative of tanh, which overflows, and for float64 out of forward mode in float32
    (docs/trophies/autograd.md, 11 and 18).
    """
    pytest.importorskip("autograd")
    end = finished("autograd", 16)
    for finding in end.findings:
        ops = Trigger.of_finding(finding).ops
        if finding.kind is Class.WRONG_DTYPE:
            assert finding.check == "jvp"
            assert finding.precision == "float32"
            assert ops & {"where", "minimum", "maximum", "power"}
        else:
            assert finding.kind is Class.NON_FINITE
            assert "tanh" in ops
    (summary,) = end.summaries
    assert summary.name == "autograd:eager"
    assert summary.checks > 300
