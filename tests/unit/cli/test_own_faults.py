"""Exceptions of gradfuzz itself lose no finding, end no sweep, and are no bug of a library."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.cli import FINDINGS, INTERRUPTED, OWN_FAULT, USAGE
from gradfuzz.errors import TargetProcessError, UntraceableError, UsageError
from gradfuzz.fuzzer.findings import prove as proving
from gradfuzz.fuzzer.results.events import FindingFound, SweepFinished
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.own_fault import Attempts, OwnFault, attempt
from gradfuzz.fuzzer.results.records import from_document, to_document
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep import SweepConfig, batch, programs, replaying, run, slot, sweep
from gradfuzz.fuzzer.sweep.work_item import WorkItem
from tests import shell

ORDER, OTHER = "mutant:nx-1747", "mutant:vjp.multiply.0.sign"
"""Two planted bugs, of a loop and of an op."""
CONFIG = SweepConfig(
    (ORDER, OTHER),
    max_examples=4,
    precisions=("float64",),
    orders=(1,),
    checks=("vjp",),
    jobs=1,
    shrink=False,
)
FLAGS = ("--max-examples", "4", "--dtypes", "float64", "--orders", "1", "--checks", "vjp", "--jobs", "1")
SAID = "ZeroDivisionError: planted"


def raising(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("planted")


def raising_for(target: str, real: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Raises where argument number `place` is this target, or names it."""

    def either(*args: Any, **more: Any) -> Any:
        if getattr(args[place], "name", args[place]) == target:
            raise ZeroDivisionError("planted")
        return real(*args, **more)

    return either


def interrupting(kind: type) -> Callable[..., None]:
    """A listener that somebody stops with Ctrl-C at an event of this kind."""

    def handle(self: object, event: object) -> None:
        if isinstance(event, kind):
            os.kill(os.getpid(), signal.SIGINT)

    return handle


pytestmark = pytest.mark.usefixtures("elsewhere")

gradfuzz = functools.partial(shell.run, exit_code=None)


@pytest.fixture(scope="module")
def whole() -> dict[str, Finding]:
    """What a sweep without a fault finds, by target."""
    return by_target(finished())


def finished(config: SweepConfig = CONFIG) -> SweepFinished:
    *_, end = sweep(config)
    assert isinstance(end, SweepFinished)
    return end


def by_target(end: SweepFinished) -> dict[str, Finding]:
    assert len({f.target for f in end.findings}) == len(end.findings), "one bug each"
    return {f.target: f for f in end.findings}


# What is a fault of gradfuzz --------------------------------------------------------------------------------


def test_what_is_told_on_purpose_is_no_fault() -> None:
    for told in (UsageError("no"), TargetProcessError("exit", "it is gone")):
        with pytest.raises(type(told)):
            attempt("asking", lambda told=told: (_ for _ in ()).throw(told))
    with pytest.raises(KeyboardInterrupt):
        attempt("asking", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    fault = attempt("tracing", lambda: (_ for _ in ()).throw(UntraceableError("no such op")))
    assert isinstance(fault, OwnFault), "nobody told the sweep to trace its own program"
    assert attempt("adding", lambda a, b: a + b, 1, b=2) == 3


def test_one_fault_is_kept_once() -> None:
    tried = Attempts()
    for _ in range(2):
        assert tried("dividing", 5, raising) == 5
    ((doing, error, trace),) = {(f.doing, f.error, f.traceback) for f in tried.faults}
    assert (doing, error, len(tried.faults)) == ("dividing", SAID, 1)
    assert trace.startswith("Traceback (most recent call last):")
    assert trace.rstrip().endswith(SAID)


# At a finding -----------------------------------------------------------------------------------------------


@pytest.mark.slow  # the other one is shrunk
def test_a_shrinker_that_raises_loses_nothing(
    whole: dict[str, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "smallest_alike", raising_for(ORDER, proving.smallest_alike, 2))
    end = finished(replace(CONFIG, shrink=True))
    found = by_target(end)
    assert found.keys() == whole.keys() == {ORDER, OTHER}
    assert found[OTHER].program != found[OTHER].original
    assert not found[OTHER].own_faults
    large = found[ORDER]
    assert large.program == large.original
    assert large.script
    assert "Not shrunk." in large.note
    assert [fault.error for fault in large.own_faults] == [SAID]
    assert end.complete
    assert not end.own_faults


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("facts", {"facts": (), "culprits": ()}),
        ("diagnose", {"cause": None}),
        ("reproducer", {"script": ""}),
        ("ports", {"ports": {}}),
        ("gather", {"evidence": None}),
        ("survey", {}),
        ("_on_grid", {}),
    ],
)
def test_a_step_of_the_diagnosis_that_raises_costs_what_it_tells(
    name: str, lost: dict[str, Any], whole: dict[str, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, name, raising)
    found = by_target(finished(replace(CONFIG, targets=(OTHER,))))[OTHER]
    assert found.program == whole[OTHER].program
    assert found.smallest.entry_got == whole[OTHER].smallest.entry_got
    assert {key: getattr(found, key) for key in lost} == lost
    assert [fault.error for fault in found.own_faults] == [SAID]
    assert all(getattr(whole[OTHER], key) for key in lost if key not in ("facts", "culprits")), "it tells"


def test_where_judging_again_raises_the_finding_is_as_it_was_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "_confirmed", raising)
    found = by_target(finished())
    assert found.keys() == {ORDER, OTHER}
    for finding in found.values():
        assert finding.program == finding.original
        assert finding.own_faults
        assert "not asked again" in finding.note
        assert finding.smallest.entry_got != finding.smallest.entry_expected


def test_a_record_keeps_the_fault(whole: dict[str, Finding]) -> None:
    finding = whole[OTHER]
    assert "own_faults" not in to_document(finding), "documents without one are as they were"
    kept = replace(finding, own_faults=(OwnFault("shrinking it", SAID, "Traceback\n"),))
    again = from_document(json.loads(json.dumps(to_document(kept))), Finding, "it")
    assert again.own_faults == kept.own_faults


# Elsewhere --------------------------------------------------------------------------------------------------


def test_a_batch_that_raises_costs_its_programs(
    whole: dict[str, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    def second(item: WorkItem) -> batch.Batch:
        return raising() if item.number == 1 else batch.run(item)

    monkeypatch.setattr(slot, "run", second)
    end = finished(replace(CONFIG, max_examples=20))
    assert end.programs == 8
    assert {f.target for f in end.findings} == whole.keys()
    assert not end.complete
    assert not end.interrupted
    assert [(f.doing, f.error) for f in end.own_faults] == [("judging programs 5-16 of loops", SAID)]


def test_a_sweep_that_raises_ends_with_what_is_known(
    whole: dict[str, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs.ShrinkQueues, "settled", raising)
    end = finished()
    assert len(end.findings) >= 1, "that one was settled"
    assert end.own_faults
    monkeypatch.setattr(programs, "drawn", raising)
    end = finished()
    assert (end.programs, end.complete, [f.error for f in end.own_faults]) == (0, False, [SAID])


def test_findings_that_cannot_be_clustered_are_findings(
    whole: dict[str, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "clusters", raising)
    end = finished()
    assert [f.id for f in end.findings] == [f.id for f in whole.values()]
    assert (end.clusters, len(end.own_faults), end.complete) == ((), 1, True)


# The command ------------------------------------------------------------------------------------------------


def test_the_report_says_it_and_the_exit_code_is_4(monkeypatch: pytest.MonkeyPatch) -> None:
    """And `show` prints the traceback."""
    monkeypatch.setattr(proving, "smallest_alike", raising_for(ORDER, proving.smallest_alike, 2))
    forms = ["terminal", "concise", "json", "html", "junit", "sarif", "markdown", "ndjson"]
    reports = [f"--report={name}={name}.out" for name in forms]
    monkeypatch.setattr(proving, "survey", raising_for(ORDER, proving.survey, 2))
    result = gradfuzz("sweep", ORDER, OTHER, *FLAGS, "--no-shrink", *reports)
    assert result.exit_code == OWN_FAULT, result.output
    told = " ".join(result.stdout.split())
    assert f"failed at this finding, asking in other ways: {SAID}. Please report it" in told
    assert "2 findings in 4 programs" in told
    (name,) = {f["id"] for f in json.loads(Path("json.out").read_text())["findings"] if f["own_faults"]}
    for form in forms:
        text = Path(f"{form}.out").read_text(encoding="utf-8")
        assert "gradfuzz itself failed" in text or SAID in text, form
    shown = gradfuzz("show", name, "--full").stdout
    assert "Traceback (most recent call last)" in shown
    assert gradfuzz("sweep", ORDER, OTHER, *FLAGS, "--no-shrink", "--resume").exit_code == USAGE, (
        "it is complete"
    )


def test_a_resumed_sweep_goes_on_beyond_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "smallest_alike", raising)
    assert gradfuzz("sweep", ORDER, *FLAGS).exit_code == OWN_FAULT
    path = Path(".gradfuzz") / "store.sqlite"
    with Store(path) as store:
        ((first,), _) = store.findings(1), store.runs()
    with monkeypatch.context() as stopped:
        stopped.setattr(run, "_HEARTBEAT", 0.0)
        stopped.setattr("gradfuzz.reports.terminal.live.Heartbeat.handle", interrupting(FindingFound))
        assert gradfuzz("sweep", ORDER, *FLAGS).exit_code == INTERRUPTED
    again = gradfuzz("sweep", ORDER, *FLAGS, "--resume")
    assert again.exit_code == OWN_FAULT, again.output
    with Store(path) as store:
        (second,) = store.findings(2)
    assert f"gradfuzz itself failed at {second.id}: please report it" in " ".join(again.stdout.split())
    assert (second.id, second.own_faults) == (first.id, first.own_faults)


@pytest.mark.parametrize("name", ["html", "terminal"])
def test_a_report_that_raises_leaves_the_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"html": "gradfuzz.reports.html.render", "terminal": "gradfuzz.reports.terminal.report.brief"}
    with monkeypatch.context() as broken:
        broken.setattr(place[name], raising)
        result = gradfuzz(
            "sweep", OTHER, *FLAGS, "--no-shrink", "--report=html=a.html", "--report=json=a.json"
        )
    assert result.exit_code == OWN_FAULT, result.output
    assert f"failed writing the {name} report: {SAID}" in result.stderr
    assert "Traceback (most recent call last)" in result.stderr
    assert len(json.loads(Path("a.json").read_text())["findings"]) == 1
    assert Path("a.html").exists() is (name != "html")
    with Store(Path(".gradfuzz/store.sqlite")) as store:
        end, _ = store.finished(1)
    assert [fault.error for fault in end.own_faults] == [SAID], "the store has it"
    assert SAID in gradfuzz("report").stdout


def test_an_exception_of_any_command_is_exit_code_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradfuzz.oracles.registry.installed", raising)
    result = gradfuzz("check", "acc*x")
    assert result.exit_code == OWN_FAULT
    assert "Traceback (most recent call last)" in result.stderr
    assert f"{SAID}\ngradfuzz itself failed" in result.stderr
    assert gradfuzz("check", "acc*").exit_code == USAGE


def test_a_self_test_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.selftest.kills", raising)
    result = gradfuzz("selftest", "--mutant", "nx-1747", "--max-examples", "4", "--jobs", "1")
    assert result.exit_code == OWN_FAULT, result.output
    assert "failed asking about programs 1-4 of loops" in result.stderr
    assert "nx-1747" in result.stdout


def test_replay_goes_on_to_the_next_finding(
    whole: dict[str, Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, finding in {"a": whole[ORDER], "b": whole[OTHER]}.items():
        Path(f"{name}.json").write_text(json.dumps(to_document(finding)), encoding="utf-8")
    real = replaying.sustained
    monkeypatch.setattr(replaying, "sustained", raising_for(ORDER, real, 3))
    result = gradfuzz("replay", "a.json", "b.json")
    assert result.exit_code == OWN_FAULT, result.output
    first, second = result.stdout.splitlines()
    assert first.startswith("ERROR")
    assert SAID in first
    assert second.startswith("FAILED")


def test_a_crash_of_a_target_is_a_finding_and_no_fault() -> None:
    raises = Path(__file__).parents[2] / "targets" / "raising.py"
    result = gradfuzz("sweep", f"cmd:{sys.executable} {raises}", *FLAGS, "--checks=jvp", "--no-shrink")
    assert result.exit_code == FINDINGS, result.output
    assert "gradfuzz itself failed" not in result.output
