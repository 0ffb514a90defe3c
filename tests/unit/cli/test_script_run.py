"""The script of a finding is run before the finding is told: one that says "right" makes a fault of ours."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.cli import CLEAN, FINDINGS, OWN_FAULT, main
from gradfuzz.fuzzer.findings import script_run
from gradfuzz.fuzzer.findings.prove import FindingProof, confirmed
from gradfuzz.fuzzer.results.events import FindingFound, SweepFinished
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Finding, Reason
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep import SweepConfig, programs, run, sweep
from gradfuzz.fuzzer.sweep import functions as plan
from gradfuzz.fuzzer.sweep import plans as function_sweeps
from gradfuzz.fuzzer.turns import turn as turns
from gradfuzz.fuzzer.verdict import judge
from gradfuzz.oracles.foreign import managed

RIGHT, WRONG = "engine", "mutant:nx-1747"
FLAGS = ("--max-examples=4", "--dtypes=float64", "--orders=1", "--checks=vjp", "--jobs=1", "--no-shrink")
CONFIG = SweepConfig(
    (WRONG,), max_examples=4, precisions=("float64",), orders=(1,), checks=("vjp",), jobs=1, shrink=False
)
NOT_RUN = "Its script was not run: the sweep ended before."
SAYS_RIGHT = "its script says right"

X = Parameter("x", (ARRAY,), required=True)
TANH = Function(("autograd.numpy.tanh",), "tanh(x)", DIFFERENTIABLE, "", (X,))
TRIPLED = Function(("own_rules.square",), "square(x)", DIFFERENTIABLE, "", (X,))
OWN_RULES = """
import autograd.extend

@autograd.extend.primitive
def square(x):
    return x * x

autograd.extend.defvjp(square, lambda y, x: lambda g: 3.0 * x * g)
"""


pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture
def accusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge of this process reads each derivative with the other sign."""
    real: Callable[..., CheckResult] = judge._judge_gradient

    def turned(case: CheckResult, *known: Any) -> CheckResult:
        gradient = {name: -slope for name, slope in case.answer.gradient.items()}
        return real(replace(case, answer=replace(case.answer, gradient=gradient)), *known)

    monkeypatch.setattr(judge, "_judge_gradient", turned)
    monkeypatch.setattr(plan, "supervised", lambda turn, seconds: turns.run(turn, lambda call: None))


@pytest.fixture
def no_copies() -> Iterator[None]:
    """No process waits to be copied, before and after."""
    script_run.end()
    yield
    script_run.end()


@pytest.fixture(scope="module")
def wrong() -> Finding:
    """A finding of a target that is wrong."""
    *_, end = sweep(CONFIG)
    (finding,) = end.findings
    return finding


def ended(config: SweepConfig) -> tuple[list[Finding], SweepFinished]:
    *events, end = sweep(config)
    assert isinstance(end, SweepFinished)
    return [event.finding for event in events if isinstance(event, FindingFound)], end


def of_functions(*functions: Function, **more: Any) -> tuple[list[Finding], SweepFinished]:
    config = SweepConfig(("autograd",), ("functions",), max_examples=2, jobs=1, **more)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan, "functions", lambda name: ("1.8.0", list(functions)))
        *events, end = function_sweeps.sweep(config)
    assert isinstance(end, SweepFinished)
    return [event.finding for event in events if isinstance(event, FindingFound)], end


# A right target that is accused -----------------------------------------------------------------------------


def test_a_right_target_that_is_accused_is_a_fault_of_ours(accusing: None) -> None:
    told, end = ended(replace(CONFIG, targets=(RIGHT,)))
    assert (told, end.findings) == ([], ())
    fault = end.own_faults[0]
    assert fault.doing == f"accusing {RIGHT}"
    assert SAYS_RIGHT in fault.error
    check, script = fault.traceback.split("Its script, which exits with 0:")
    assert "sign_flip, vjp by" in check
    assert "engine: agree" in script
    assert "check_program(" in script, "the script is there to be run again"
    (summary,) = end.summaries
    assert summary.inconclusive[Reason.REFERENCES] == len(end.own_faults)


def test_without_its_script_it_would_be_a_finding(accusing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plant does accuse."""
    monkeypatch.setattr(script_run, "has_check", lambda finding: False)
    monkeypatch.setattr(programs, "has_check", lambda finding: False)
    _, end = ended(replace(CONFIG, targets=(RIGHT,)))
    assert {finding.target for finding in end.findings} == {RIGHT}


def test_no_report_has_it_and_the_exit_code_is_4(accusing: None) -> None:
    forms = ["json", "sarif", "terminal", "concise", "junit", "ndjson"]
    reports = [f"--report={form}={form}.out" for form in forms]
    result = CliRunner().invoke(main, ["sweep", RIGHT, *FLAGS, *reports])
    assert result.exit_code == OWN_FAULT, result.output
    said = " ".join(result.stdout.split())
    assert "No findings" in said
    assert f"gradfuzz itself failed accusing {RIGHT}" in said
    document = json.loads(Path("json.out").read_text())
    assert document["findings"] == []
    assert {fault["doing"] for fault in document["own_faults"]} == {f"accusing {RIGHT}"}
    assert json.loads(Path("sarif.out").read_text())["runs"][0]["results"] == []
    assert not any("GF-" in Path(f"{form}.out").read_text(encoding="utf-8") for form in forms)
    with Store(Path(".gradfuzz/store.sqlite")) as store:
        assert store.findings(1) == ()
        kept, _ = store.finished(1)
    assert SAYS_RIGHT in kept.own_faults[0].error


def test_a_right_function_that_is_accused_is_a_fault_of_ours(accusing: None) -> None:
    told, end = of_functions(TANH, shrink=False)
    assert (told, end.findings) == ([], ())
    assert {fault.doing for fault in end.own_faults} == {"accusing autograd"}
    assert all(SAYS_RIGHT in fault.error for fault in end.own_faults)
    check, script = end.own_faults[0].traceback.split("Its script, which exits with 0:")
    assert "expected" in check
    assert script.partition("The script:")[0].split()[-1] == "right"


# A wrong one ------------------------------------------------------------------------------------------------


def test_a_wrong_target_is_a_finding_as_before(wrong: Finding) -> None:
    assert wrong.target == WRONG
    assert not wrong.own_faults
    assert not script_run.unconfirmed(wrong)
    assert CliRunner().invoke(main, ["sweep", WRONG, *FLAGS]).exit_code == FINDINGS
    assert CliRunner().invoke(main, ["sweep", RIGHT, *FLAGS]).exit_code == CLEAN


def test_a_wrong_function_is_a_finding_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its script finds the module that the sweep found."""
    (tmp_path / "own_rules.py").write_text(OWN_RULES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    ran: list[int | None] = []
    real = script_run._run

    def counted(*given: Any) -> tuple[int | None, str]:
        code, said = real(*given)
        ran.append(code)
        return code, said

    monkeypatch.setattr(script_run, "_run", counted)
    (finding,), end = of_functions(TRIPLED)
    assert finding.culprits == TRIPLED.names
    assert "the answer is 1.5 times the derivative, also at other values" in finding.facts
    assert not script_run.unconfirmed(finding)
    assert not end.own_faults
    assert ran == [1]


# What a script exits with -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "kind", "note", "said"),
    [
        ("raise SystemExit(1)", Class.SIGN_FLIP, "", ""),
        ("raise SystemExit(125)", Class.SIGN_FLIP, "", "it exits with 125."),
        ("print('no mpmath')\nraise SystemExit(125)", Class.ERROR, "ValueError: no.", "with 125, no mpmath."),
        ("1 / 0", Class.SIGN_FLIP, "", "ZeroDivisionError: division by zero."),
        ("1 / 0", Class.ERROR, "ZeroDivisionError: division by zero.", ""),
        ("1 / 0", Class.ERROR, "IndexError: so.", "ZeroDivisionError: division by zero."),
        ("import os; os.abort()", Class.SIGN_FLIP, "", f"it exits with -{signal.SIGABRT:d}."),
        ("import os; os.abort()", Class.ERROR, "the process ends: aborted", ""),
        ("import os; os.abort()", Class.ERROR, "SIGABRT: the process was killed by signal 6.", ""),
        ("import time; time.sleep(60)", Class.SIGN_FLIP, "", "it took more than 3 s."),
    ],
)
def test_a_script_that_says_nothing_leaves_the_finding(
    script: str, kind: Class, note: str, said: str, wrong: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_run, "_SECONDS", 3.0)
    given = replace(wrong, script=script, kind=kind, note=note)
    found = script_run.confirmed(given)
    assert isinstance(found, Finding)
    assert found.note.startswith(note)
    assert bool(script_run.unconfirmed(found)) is bool(said)
    assert script_run.unconfirmed(found).endswith(said)
    assert not found.own_faults


@pytest.mark.parametrize("kind", [Class.SIGN_FLIP, Class.ERROR])
def test_a_script_that_exits_with_0_leaves_none(kind: Class, wrong: Finding) -> None:
    """Also of an exception, or of a process that ends, that does not come again."""
    given = replace(wrong, script="print('all is well')", kind=kind, note="ValueError: no.")
    fault = script_run.confirmed(given)
    assert isinstance(fault, OwnFault)
    assert "all is well" in fault.traceback
    proof = confirmed(FindingProof(given))
    assert (proof.finding, proof.reason, proof.own_faults) == (None, Reason.REFERENCES, (fault,))


@pytest.mark.parametrize("note", ["timed out: no answer within 60 seconds", "out of memory: more than 8 GiB"])
def test_no_script_hangs_or_takes_all_memory_here(note: str, wrong: Finding) -> None:
    given = replace(wrong, script="raise SystemExit(0)", kind=Class.ERROR, note=note)
    assert script_run.confirmed(given) is given
    assert script_run.unchecked(given) is given


@pytest.mark.parametrize("target", ["nx:while", "tfjs", "torch==1.0:eager", "cmd:docker run it"])
def test_a_target_whose_script_cannot_run_here_is_told_as_before(target: str, wrong: Finding) -> None:
    script = "" if target.startswith("cmd:") else "print('asks the library')"
    given = replace(wrong, target=target, script=script)
    assert script_run.confirmed(given) is given


def test_the_script_of_a_release_runs_in_its_environment(
    wrong: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that asks gradfuzz runs beside gradfuzz, which finds the environment."""
    given = replace(wrong, target="torch==1.0:eager", script="import torch")
    made = managed.Environment("torch==1.0", "torch", "1.0", (), "pip", 1.0)
    monkeypatch.setattr(managed, "find", lambda base: made if base == "torch==1.0" else None)
    path = tmp_path / "script.py"
    folder = managed.root() / "torch-1.0"
    assert script_run._command(given, path) == [str(folder / "bin" / "python"), "-E", "-s", str(path)]
    assert script_run._command(replace(given, target="torch:eager"), path) == [sys.executable, str(path)]
    assert script_run._command(replace(given, script=wrong.script), path) == [sys.executable, str(path)]


def test_a_script_that_cannot_be_started_is_a_fault_at_the_finding(
    wrong: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*_: Any) -> Any:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(script_run, "_run", raising)
    found = script_run.confirmed(wrong)
    assert isinstance(found, Finding)
    assert [fault.error for fault in found.own_faults] == ["ZeroDivisionError: planted"]


# A sweep that ends early ------------------------------------------------------------------------------------


def interrupting(*_: Any) -> Any:
    """What Ctrl-C does while a script runs."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10.0)
    raise AssertionError("the sweep went on")


def test_ctrl_c_while_a_script_runs_loses_no_finding(wrong: Finding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_run, "_run", interrupting)
    told, end = ended(CONFIG)
    assert end.interrupted
    assert [finding.id for finding in told] == [finding.id for finding in end.findings] == [wrong.id]
    assert script_run.unconfirmed(end.findings[0]).startswith(
        "Its script was not run: the sweep ended before."
    )


def test_a_resumed_sweep_runs_the_script_that_was_not_run(wrong: Finding) -> None:
    with pytest.MonkeyPatch.context() as stopped:
        stopped.setattr(script_run, "_run", interrupting)
        CliRunner().invoke(main, ["sweep", WRONG, *FLAGS])
    with Store(Path(".gradfuzz/store.sqlite")) as store:
        (first,) = store.findings(1)
    assert "was not run" in first.note
    assert CliRunner().invoke(main, ["sweep", WRONG, *FLAGS, "--resume"]).exit_code == FINDINGS
    with Store(Path(".gradfuzz/store.sqlite")) as store:
        (second,) = store.findings(1)
    assert (second.id, second.note) == (wrong.id, wrong.note)


def test_a_time_limit_while_a_script_runs_loses_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it wait for the script."""
    (tmp_path / "own_rules.py").write_text(OWN_RULES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    real = script_run._run
    began: list[float] = []

    def slow(command: list[str], folder: Path, library: str) -> tuple[int | None, str]:
        began.append(time.monotonic())
        return real([sys.executable, "-c", "import time; time.sleep(60)"], folder, library)

    monkeypatch.setattr(script_run, "_run", slow)
    monkeypatch.setattr(run.Sweep, "late", lambda self, grace=0.0: bool(began))
    (finding,), end = of_functions(TRIPLED)
    assert script_run.unconfirmed(finding) == NOT_RUN
    assert [one.id for one in end.findings] == [finding.id]
    assert time.monotonic() - began[0] < 20.0
    assert not script_run._running


@pytest.mark.parametrize(
    ("script", "code", "last"),
    [
        ("print(__name__, __file__[-9:])\nraise SystemExit(1)", 1, "__main__ script.py"),
        ("import sys\nprint(len(sys.argv), input())", 1, "EOFError: EOF when reading a line"),
        ("raise SystemExit('words')", 1, "words"),
        ("raise SystemExit", 0, ""),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("import os; os.abort()", -signal.SIGABRT, ""),
        ("import json\njson.left = True", 0, ""),
        ("import json\nprint(hasattr(json, 'left'))", 0, "False"),
    ],
)
@pytest.mark.parametrize("library", ["", "json", "no_such_library"])
@pytest.mark.usefixtures("no_copies")
def test_a_script_ends_in_a_copy_as_in_a_process_of_its_own(
    script: str, code: int, last: str, library: str, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    ended, said = script_run._run([sys.executable, str(tmp_path / "script.py")], tmp_path, library)
    assert ended == code
    assert said.splitlines()[-1:] == ([last] if last else [])


@pytest.mark.usefixtures("no_copies")
def test_what_is_copied_ends_with_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("", encoding="utf-8")
    command = [sys.executable, str(tmp_path / "script.py")]
    script_run._run(command, tmp_path, "json")
    (process,) = itertools.chain(*script_run._waiting.values())
    script_run._run(command, tmp_path, "json")
    assert [*itertools.chain(*script_run._waiting.values())] == [process]
    script_run.end()
    assert process.poll() is not None
    assert not script_run._waiting


@pytest.mark.usefixtures("no_copies")
def test_a_copy_that_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_run, "_SECONDS", 1.0)
    (tmp_path / "script.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    ended, _ = script_run._run([sys.executable, str(tmp_path / "script.py")], tmp_path, "json")
    assert ended is None
    assert not any(script_run._waiting.values())


@pytest.mark.parametrize("ends_at", [1, 3, 5, 6])
def test_a_process_that_ends_by_what_its_memory_holds(ends_at: int, wrong: Finding, tmp_path: Path) -> None:
    """Five runs of its script decide. An exception that does not come again is a fault of gradfuzz."""
    count = tmp_path / "count"
    script = (
        f"import os, pathlib\nfile = pathlib.Path({str(count)!r})\n"
        "times = len(file.read_text()) + 1 if file.exists() else 1\n"
        f"file.write_text('.' * times)\nif times == {ends_at}:\n    os.abort()\n"
    )
    given = replace(wrong, script=script, kind=Class.ERROR, note="the process ends: aborted")
    found = script_run.confirmed(given)
    assert found == (given if ends_at <= 5 else None)
    assert len(count.read_text()) == min(ends_at, 5)
    raised = replace(given, script="print('right')", note="ValueError: no.")
    assert isinstance(script_run.confirmed(raised), OwnFault)


def test_a_function_whose_process_does_not_end_again_is_unproved(wrong: Finding) -> None:
    ended = replace(wrong, script="print('right')", kind=Class.ERROR, note="the process ends: aborted")
    result = turns.confirmed(turns.Result(findings=(ended, wrong)))
    assert (result.findings, result.unproved, result.own_faults) == ((wrong,), 1, ())
