"""The sweep of a library's functions, in processes of its own."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, LEFT_OUT, Function, Parameter
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.calls.script import ending_script
from gradfuzz.fuzzer.results.codec import encode
from gradfuzz.fuzzer.results.events import FindingFound, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.finding import Class
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.identity import signature, signatures
from gradfuzz.fuzzer.results.replayed import Status
from gradfuzz.fuzzer.sweep import functions as plan
from gradfuzz.fuzzer.sweep import plans as sweeps
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.turns import process
from gradfuzz.fuzzer.turns.process import CallProcess
from gradfuzz.fuzzer.turns.replay import replayed
from gradfuzz.fuzzer.turns.turn import Result, Turn

X = Parameter("x", (ARRAY,), required=True)


def function(name: str, outcome: str = DIFFERENTIABLE) -> Function:
    return Function((name,), f"{name}(x)", outcome, "a reason" if outcome == LEFT_OUT else "", (X,))


SIN, EXP = function("autograd.numpy.sin"), function("autograd.numpy.exp")
NEVER = Function(("autograd.numpy.linalg.inv",), "inv(x, x, x)", DIFFERENTIABLE, "", (X, X, X))
DIES, HANGS, SLOPES = (function(f"deadly.{name}") for name in ("dies", "hangs", "slopes"))

DEADLY = """
import autograd.extend, os, signal, time

def dies(x):
    os.kill(os.getpid(), signal.SIGSEGV)

def hangs(x):
    time.sleep(1000.0)

@autograd.extend.primitive
def slopes(x):
    return 2.0 * x

autograd.extend.defvjp(slopes, lambda y, x: dies)
"""


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of which one function ends the process, and one never returns."""
    (tmp_path / "deadly.py").write_text(DEADLY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def swept(functions: list[Function], monkeypatch: pytest.MonkeyPatch, memo: Any = None, **more: Any) -> Any:
    monkeypatch.setattr(plan, "functions", lambda name: ("1.8.0", functions))
    config = SweepConfig(("autograd",), ("functions",), max_examples=3, jobs=1, **more)
    return list(sweeps.sweep(config, memo))


def raising(*_: Any) -> Any:
    raise ZeroDivisionError("planted")


def test_a_turn_that_cannot_be_supervised_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a sweep that raises elsewhere ends with what is known."""

    def one(turn: Turn, seconds: float) -> Result:
        told = Result(drawn=1, valid=1, judged=1, asked={"rev": 1}, verdicts={"agree": 1})
        return raising() if turn.function is SIN else told

    monkeypatch.setattr(plan, "supervised", one)
    *_, end = swept([SIN, EXP], monkeypatch)
    assert {one.name: one.outcome for one in end.functions} == {SIN.names[0]: "broken", EXP.names[0]: "asked"}
    assert [fault.doing for fault in end.own_faults] == [f"calling {SIN.names[0]}"]
    assert end.complete
    monkeypatch.setattr(plan.Functions, "_taken", raising)
    *_, end = swept([SIN, EXP], monkeypatch)
    assert (end.complete, {fault.error for fault in end.own_faults}) == (
        False,
        {"ZeroDivisionError: planted"},
    )


class Memo:
    """Keeps results in memory."""

    def __init__(self, *earlier: tuple[FunctionSummary, ...]) -> None:
        self.kept: dict[str, Any] = {}
        self.asked = 0
        self.earlier = earlier

    def recall(self, work: Any) -> Any:
        self.asked += 1
        return self.kept.get(str(encode(type(work), work)))

    def keep(self, work: Any, result: Any) -> None:
        self.kept[str(encode(type(work), work))] = result

    def functions(self, target: str, version: str) -> Any:
        assert (target, version) == ("autograd", "1.8.0")
        return self.earlier


def test_every_function_is_told_and_none_is_lost(monkeypatch: pytest.MonkeyPatch, deadly: None) -> None:
    """A function that ends its process is a finding, and the others are judged all the same."""
    memo = Memo()
    functions = [SIN, DIES, EXP, function("autograd.numpy.load", LEFT_OUT)]
    events = swept(functions, monkeypatch, memo)
    assert isinstance(events[0], SweepStarted)
    end = events[-1]
    assert isinstance(end, SweepFinished)
    assert end.complete
    by_name = {one.name: one for one in end.functions}
    assert by_name["autograd.numpy.sin"].asked == dict.fromkeys(
        ("rev", "fwd", "rev rev", "rev fwd", "fwd rev", "fwd fwd"), 3
    )
    assert by_name["autograd.numpy.exp"].judged == 3
    assert by_name["autograd.numpy.load"].outcome == "left out"
    (finding,) = [event.finding for event in events if isinstance(event, FindingFound)]
    assert finding.kind is Class.ERROR
    assert finding.note == "the process ends: segmentation fault"
    assert finding.culprits == ("deadly.dies",)
    assert by_name["deadly.dies"].findings == (finding.id,)
    assert "segmentation fault" in by_name["deadly.dies"].why

    again = swept(functions, monkeypatch, memo)[-1]  # as a sweep that is resumed
    assert again.functions == end.functions
    assert [f.signature for f in again.findings] == [f.signature for f in end.findings]


@pytest.mark.parametrize("outcome", ["asked", "refused", "not reached"])
def test_what_fewer_earlier_sweeps_reached_comes_first(outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the seed: short sweeps add up. A function that was refused was reached."""
    sin = FunctionSummary(SIN.names[0], SIN.signature, outcome, "")
    exp = FunctionSummary(EXP.names[0], EXP.signature, "asked", "")
    for seed in range(3):
        memo = Memo((sin, exp), (sin,))
        swept([SIN, EXP], monkeypatch, memo, seed=seed)
        first = next(iter(memo.kept))
        assert (EXP.names[0] in first) is (outcome != "not reached")


def test_a_gradient_that_ends_the_process_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch, deadly: None, tmp_path: Path
) -> None:
    """The finding says that it is reverse mode, and its script ends as the process did."""
    (finding,) = swept([SLOPES], monkeypatch)[-1].findings
    assert (finding.modes, finding.check) == (("rev",), "vjp")
    assert finding.note == "the process ends: segmentation fault"
    assert replayed(finding).status is Status.FAILED
    value = replace(finding, modes=(), check="value")
    assert signature(value) in signatures(finding), "a baseline of gradfuzz 0.2 accepts it"
    for one, ends in ((finding, True), (replace(value, script=ending_script(finding.call, ())), False)):
        script = tmp_path / "script.py"
        script.write_text(one.script, encoding="utf-8")
        ended = subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=False)
        assert ended.returncode == (-signal.SIGSEGV if ends else 0)


def test_a_call_that_never_ends_is_a_finding(monkeypatch: pytest.MonkeyPatch, deadly: None) -> None:
    monkeypatch.setattr(process, "HANGS", 2.0)
    began = time.monotonic()
    events = swept([HANGS], monkeypatch, seed=3)
    (finding,) = events[-1].findings
    assert finding.note == "the process ends: no answer within 2 s"
    assert time.monotonic() - began < 60.0


def test_a_time_limit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [
        function(f"autograd.numpy.{name}") for name in ("sin", "cos", "tan", "exp", "log", "sqrt") * 400
    ]
    end = swept(functions, monkeypatch, max_time=4.0)[-1]
    assert not end.complete
    assert end.seconds < 15.0
    assert "not reached" in {one.outcome for one in end.functions}


def test_what_is_done_when_the_time_is_up_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also behind a turn that is not done; results are taken in the order of the turns."""
    over = threading.Event()

    def one(turn: Turn, seconds: float) -> Result:
        if turn.function is SIN:
            over.wait(60.0)
        return Result(drawn=1, judged=1, verdicts={"agree": 1})

    monkeypatch.setattr(plan, "supervised", one)
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.run._GRACE", 0.1)
    monkeypatch.setattr(plan, "functions", lambda name: ("1.8.0", [SIN, EXP, NEVER]))
    monkeypatch.setattr(plan.random.Random, "shuffle", lambda self, keys: None)
    config = SweepConfig(("autograd",), ("functions",), max_examples=3, jobs=2, max_time=1.0)
    try:
        *_, end = sweeps.sweep(config)
    finally:
        over.set()
    assert {one.name for one in end.functions if one.outcome == "not reached"} == {SIN.names[0]}
    assert end.programs == 2


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (SweepConfig(("mutant:x",), ("functions",)), "give one of torch, jax, autograd"),
        (SweepConfig(("torch:eager",), ("functions",)), "ask for 'torch'"),
        (SweepConfig(("torch==2.6.0:eager",), ("functions",)), "ask for 'torch==2.6.0'"),
        (SweepConfig(("engine",), ("functions", "loops")), "asked about the functions of engine"),
        (SweepConfig(("math",), ("functions", "loops")), "asked about programs"),
        (SweepConfig(("torch",), ("functions",), precisions=("float8",)), "unknown dtype 'float8'"),
        (SweepConfig((), ("functions",)), "needs a library"),
        (SweepConfig(("torch",), ("functions",), orders=(3,)), "leave nothing to ask"),
        (SweepConfig(("torch",), ("functions",), device="cuda"), "leave out --device cuda"),
        (SweepConfig(("torch",), ("functions",), max_examples=0), "at least one call"),
    ],
)
def test_a_sweep_that_makes_no_sense_says_why(config: SweepConfig, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(sweeps.sweep(config))


def test_a_function_without_a_name_is_left_to_those_that_call_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = Function((), "_inner(x)", LEFT_OUT, "internal", (X,))
    end = swept([hidden], monkeypatch)[-1]
    assert end.functions == (FunctionSummary("_inner(x)", "_inner(x)", "left out", "internal"),)


OWN = """
import torch
from torch import Tensor


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.tanh(x) * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - torch.tanh(x)), None


def scaled_tanh(x: Tensor, scale: float = 2.0) -> Tensor:
    return Tanh.apply(x, scale)


def right(x: Tensor, y: Tensor) -> Tensor:
    return torch.sin(x) * y


def counted(n: int) -> int:
    return n + 1
"""


def test_a_function_that_took_no_call_has_a_longer_turn_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """`inv` of three arrays is never valid; a sweep goes on to the next function, and comes back once."""
    tried: list[tuple[str, int, int]] = []

    def result(self: CallProcess, turn: Turn, seconds: float) -> Result:
        name = turn.function.names[0]
        tried.append((name, turn.number, turn.patience))
        right = Result(drawn=9, valid=3, judged=3, verdicts={"agree": 3})
        return Result(drawn=9) if name == NEVER.names[0] else right

    monkeypatch.setattr(CallProcess, "run", result)
    swept([NEVER, SIN], monkeypatch)
    rounds = [(name, number, 1000) for number in (0, 1) for name in (NEVER.names[0], SIN.names[0])]
    assert sorted(tried[:4]) == sorted(rounds)
    assert tried[4:] == [(NEVER.names[0], 2, 6000)]


def test_what_is_slow_is_put_off_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function has its first call before any has its third. One that takes too long comes back after
    the round, and at last as long as it takes; what is found out is the same.
    """
    limits: list[tuple[str, int, float]] = []
    slow: dict[str, float] = {}

    def one(turn: Turn, seconds: float) -> Result | None:
        name = turn.function.names[0]
        limits.append((name, turn.calls, seconds))
        told = Result(drawn=1, valid=1, judged=turn.calls, asked={"rev": turn.calls}, verdicts={"agree": 1})
        return None if slow.get(name, 0.0) > seconds else told

    monkeypatch.setattr(plan, "supervised", one)
    functions = [SIN, EXP, function("autograd.numpy.cos")]
    right = swept(functions, monkeypatch)[-1]
    assert [calls for _, calls, _ in limits] == [1] * 3 + [2] * 3
    limits.clear()
    slow.update({SIN.names[0]: 60.0, EXP.names[0]: 600.0})
    end = swept(functions, monkeypatch)[-1]
    assert end.functions == right.functions
    assert end.complete
    assert [limit for name, *limit in limits if name == EXP.names[0]] == [
        *([1, 20.0], [1, 120.0], [1, math.inf], [2, math.inf]),
    ]
    assert [limit for name, *limit in limits if name == SIN.names[0]] == [[1, 20.0], [1, 120.0], [2, 120.0]]
    assert max(k for k, (_, calls, _) in enumerate(limits) if calls == 1 and limits[k][2] < 100) < 3


def test_each_class_of_a_package_is_asked_once_before_any_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_ops.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    asked: list[str] = []

    def one(turn: Turn, seconds: float) -> Result:
        asked.append(turn.function.names[0].removeprefix("own_ops."))
        return Result(drawn=1, valid=1, judged=turn.calls, asked={"rev": turn.calls})

    monkeypatch.setattr(plan, "supervised", one)
    names = ["sin", "cos", *(f"{owner}.{method}" for owner in ("First", "Second") for method in "abc")]
    rows = [Function((f"own_ops.{n}",), f"{n}(x)", DIFFERENTIABLE, "torch", (X,)) for n in names]
    monkeypatch.setattr(plan, "functions", lambda name: ("", rows))
    for seed in range(3):
        asked.clear()
        list(sweeps.sweep(SweepConfig(("own_ops",), ("functions",), max_examples=1, jobs=1, seed=seed)))
        assert {name.partition(".")[0] for name in asked[:4]} == {"sin", "cos", "First", "Second"}


def test_a_turn_that_takes_too_long_is_given_up(deadly: None) -> None:
    """And the next one has a new process."""
    of_calls = CallProcess()
    try:
        late = of_calls.run(Turn("autograd", HANGS, 0, 0, 1), 0.5)
        found = of_calls.run(Turn("autograd", SIN, 0, 0, 1), 60.0)
    finally:
        of_calls.close()
    assert isinstance(late, process.Late)
    assert isinstance(found, Result)
    assert found.judged == 1


@pytest.mark.slow  # a sweep of a module, with its workers
def test_the_functions_of_a_module_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_ops.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    config = SweepConfig(("own_ops",), ("functions",), max_examples=3, jobs=1)
    end = list(sweeps.sweep(config))[-1]
    outcomes = {one.name: one.outcome for one in end.functions}
    assert outcomes == {
        "own_ops.scaled_tanh": "asked",
        "own_ops.right": "asked",
        "own_ops.counted": "not differentiable",
        "own_ops.Tanh.apply": "asked",
    }
    (finding,) = end.findings
    assert finding.target == "own_ops"
    both = {"own_ops.scaled_tanh", "own_ops.Tanh.apply"}
    assert {*finding.culprits} < both
    (other,) = both - {*finding.culprits}
    assert f"the same rule is wrong in {other}" in finding.facts
    script = tmp_path / "script.py"
    script.write_text(finding.script, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.splitlines()[-1] == "wrong"
