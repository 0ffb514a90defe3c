"""Who is asked how often, what is shrunk, what is told when it is met, and when a sweep ends."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.prove import FindingProof
from gradfuzz.fuzzer.probe import report
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepFinished
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.fuzzer.results.raw import Raw
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.sweep.batch import WorkItem, run
from gradfuzz.fuzzer.sweep.shrink_queues import ShrinkQueues
from gradfuzz.oracles.base import Answer, Point
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.reports.common import account
from tests.report_data import finding

BATCHED = "engine:vmap"
"""A way that a sweep of its library asks about one in a few programs."""


def test_a_way_that_is_named_is_asked_about_every_program() -> None:
    by_library = run(WorkItem(1, 8, 8, "loops", 3, (BATCHED,))).counts[BATCHED]
    named = run(WorkItem(1, 8, 8, "loops", 3, (BATCHED,), named=(BATCHED,))).counts[BATCHED]
    assert by_library.programs + by_library.refused < 8
    assert named.programs + named.refused == 8
    assert named.programs > by_library.programs


def test_the_summary_says_how_many_programs_each_way_was_asked_about() -> None:
    families = ("loops", "vectorize")
    *_, finished = sweep(SweepConfig(("engine",), families=families, max_examples=8, checks=("vjp",)))
    assert isinstance(finished, SweepFinished)
    counts = {f"{s.name}, {s.family}": (s.programs, s.refused) for s in finished.summaries}
    lines = account.asked(finished)
    assert len(lines) == len(counts)
    for line in lines:
        name, _, told = line.rpartition(": ")
        programs, refused = counts[name]
        assert told.startswith(f"{programs} of 8 programs")
        assert f"{8 - programs - refused} went to other ways, in turn" in told or programs + refused == 8
        assert (f"could not answer {refused}" in told) == (refused > 0)


# Shrinking --------------------------------------------------------------------------------------------------


def disagreements(kinds: Sequence[Class]) -> list[Raw]:
    """Disagreements of one way, of these classes."""
    question = plain_question(
        parse("def f(x):\n return x\n"), [Point({"x": np.asarray(1.0)})], "float64", None, ("rev",)
    )
    case = CheckResult("slow:way", question, question.points[0], None, Answer("ok"), Verdict.DISAGREE)
    return [Raw(replace(case, kind=kind), "loops", k, (), 0) for k, kind in enumerate(kinds)]


def shrunk(queues: ShrinkQueues) -> list[int]:
    """The programs that are shrunk, where each shows a bug of its own."""
    found = []
    while ready := list(queues.ready()):
        for _, raw in ready:
            found.append(raw.index)
            queues.settled(raw, FindingProof(None))
    return found


def test_every_kind_gets_its_first_shrink() -> None:
    """A slow way has six shrinks in all, and further ones only for kinds that had none."""
    kinds = [Class.WRONG_VALUE] * 4 + [Class.SIGN_FLIP] * 3 + [Class.MISSING]
    queues = ShrinkQueues({"slow:way"})
    for raw in disagreements(kinds):
        queues.add(raw)
    assert shrunk(queues) == [0, 1, 2, 3, 4, 5, 7]
    assert [raw.index for raw in queues.skipped] == [6]


@pytest.mark.parametrize(("slow", "taken"), [(True, [0, 1]), (False, [0, 1, 2])])
def test_a_repeated_finding_stands_for_the_other_ways(slow: bool, taken: list[int]) -> None:
    """Where each shrinking takes long: the second shrinks to the program of the first, as the third would."""
    raws = disagreements([Class.WRONG_VALUE, Class.SIGN_FLIP, Class.SIGN_FLIP])
    raws[2] = replace(raws[2], case=replace(raws[2].case, oracle="slow:other"))
    queues = ShrinkQueues({"slow:way", "slow:other"} if slow else ())
    for raw in raws:
        queues.add(raw)
    found = finding(with_evidence=False)
    shrunk = []
    while ready := list(queues.ready()):
        for _, raw in ready:
            shrunk.append(raw.index)
            kinds = frozenset([Class.WRONG_VALUE])
            queues.settled(raw, FindingProof(found, kinds=kinds, wrong_ways=("slow:way", "slow:other")))
    assert shrunk == taken


def test_a_crash_that_says_something_else_is_another_kind() -> None:
    """What is explained takes no shrink of the others."""
    queues = ShrinkQueues()
    for raw, words in zip(
        disagreements([Class.ERROR] * 4),
        ("ValueError: shapes (2, 3) do not fit", "ValueError: shapes (4,) do not fit", "OSError: shapes", ""),
        strict=True,
    ):
        queues.add(replace(raw, case=replace(raw.case, message=words)))
    asked = []
    while ready := list(queues.ready()):
        for _, raw in ready:
            asked.append((raw.index, queues.may_be_explained(raw)))
            queues.settled(raw, FindingProof(None, explained="a finding"))
    assert asked == [(0, False), (1, True), (2, False), (3, False)]


def test_a_disagreement_is_told_when_it_is_met() -> None:
    events = list(sweep(SweepConfig(("mutant:dropped-tangent",), max_examples=24, seed=1)))
    met = [k for k, e in enumerate(events) if isinstance(e, Progress) and e.met]
    found = [k for k, e in enumerate(events) if isinstance(e, FindingFound)]
    assert met
    assert found
    assert met[0] < found[0]
    first = events[met[0]]
    assert isinstance(first, Progress)
    assert "in mutant:dropped-tangent, " in first.met


# Time -------------------------------------------------------------------------------------------------------

ADAPTERS = Path(__file__).parents[3] / "gradfuzz" / "adapters"


def test_a_sweep_ends_with_its_time_though_an_answer_does_not(tmp_path: Path) -> None:
    script = tmp_path / "sleeping.py"
    script.write_text(
        f"import sys, time\nsys.path.insert(0, {str(ADAPTERS)!r})\nimport kit\nfrom toy_adapter import Toy\n"
        "class Sleeping(Toy):\n    ops = {name: lambda *xs: time.sleep(600) for name in Toy.ops}\n"
        "kit.serve('sleeping', '1', [Sleeping()])\n",
        encoding="utf-8",
    )
    start = time.monotonic()
    *_, finished = sweep(
        SweepConfig((f"cmd:{sys.executable} {script}",), max_examples=8, max_time=2.0, jobs=1)
    )
    assert time.monotonic() - start < 12.0
    assert isinstance(finished, SweepFinished)
    assert not finished.complete


def test_a_probe_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a second with every row."""
    rows: list[str] = []
    monkeypatch.setattr(report, "time", SimpleNamespace(monotonic=lambda: float(len(rows))))
    ways = resolve("engine")
    card = report.probe("engine", ways, "linalg", rows.append, max_time=3.5)
    (table,) = card.tables
    (note,) = [note for note in table.notes if "The time was up" in note]
    left, every = map(int, re.findall(r"\d+", note))
    assert every - left == 4 == len({row[:2] for row in table.rows})
    with pytest.raises(UsageError, match="give a time in seconds above 0"):
        report.probe("engine", ways, "linalg", max_time=-1.0)
