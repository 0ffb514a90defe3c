"""Parts of a sweep, united."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.errors import RecordError, UsageError
from gradfuzz.fuzzer.results.events import Shard, SweepFinished
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.sweep.merging import Parts, SweepPart, parts_in
from gradfuzz.fuzzer.sweep.recorder import Recorder
from gradfuzz.reports.machine import json as json_report
from gradfuzz.reports.machine.json import sweep_document
from gradfuzz.reports.machine.ndjson import line

pytestmark = pytest.mark.xdist_group("merging")  # one worker sweeps, once

CONFIG = SweepConfig(
    ("engine", "mutant:nx-1747", "mutant:dropped-tangent"), max_examples=24, orders=(1,), seed=3, jobs=1
)


def document(finished: SweepFinished) -> dict[str, Any]:
    """All that is said of a sweep but when it was."""
    told = sweep_document(dataclasses.replace(finished, seconds=0.0))
    told["environment"].pop("started")
    return told


def part(number: int, parts: int, **more: Any) -> SweepFinished:
    *_, finished = sweep(dataclasses.replace(CONFIG, shard=(number, parts), **more))
    assert isinstance(finished, SweepFinished)
    return finished


@pytest.fixture(scope="module")
def two() -> list[Shard]:
    found = [part(number, 2).shard for number in (1, 2)]
    assert all(found)
    return [one for one in found if one is not None]


def named(shards: list[Shard]) -> list[SweepPart]:
    return [SweepPart(f"part{k}.ndjson", shard) for k, shard in enumerate(shards)]


@pytest.mark.slow
def test_the_parts_make_the_sweep_that_nobody_divided(two: list[Shard], tmp_path: Path) -> None:
    *_, whole = sweep(CONFIG)
    assert isinstance(whole, SweepFinished)
    assert whole.findings
    parts = Parts(named(two))
    assert dataclasses.replace(parts.config, jobs=1) == CONFIG
    *_, merged = sweep(dataclasses.replace(parts.config, jobs=1), parts)
    assert isinstance(merged, SweepFinished)
    assert document(merged) == document(whole)


@pytest.mark.slow
def test_parts_are_read_from_stores_streams_and_reports(two: list[Shard], tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with Store(store, write=True) as opened:
        for number in (1, 2):
            config = dataclasses.replace(CONFIG, shard=(number, 2))
            recorder = Recorder(opened, config)
            for event in sweep(config, recorder):
                recorder.handle(event)
            opened.review(recorder.run, Review(), complete=True)
    found = {one.shard.part: one.shard for one in parts_in(store)}
    assert {k: shard.work for k, shard in found.items()} == {shard.part: shard.work for shard in two}
    finished = part(1, 2)
    stream, report = tmp_path / "one.ndjson", tmp_path / "one.json"
    stream.write_text(line(finished), encoding="utf-8")
    report.write_text(json_report.render(finished, None), encoding="utf-8")
    for path in (stream, report):
        ((source, shard),) = parts_in(path)
        assert source == str(path)
        assert shard == finished.shard


def test_what_is_missing_doubled_or_of_another_sweep(two: list[Shard]) -> None:
    with pytest.raises(UsageError, match=r"part 2 of 2 of the sweep is missing"):
        Parts(named(two[:1]))
    with pytest.raises(UsageError, match=r"part 1 of 2 is there twice, in part0\.ndjson and part1\.ndjson"):
        Parts(named([two[0], two[0]]))
    other = json.loads(two[1].settings)
    other["config"]["seed"] = 4
    with pytest.raises(UsageError, match=r"part1\.ndjson differs from part0\.ndjson: seed was 3 and is 4"):
        Parts(named([two[0], dataclasses.replace(two[1], settings=json.dumps(other))]))
    other = json.loads(two[1].settings)
    other["versions"]["engine"] = "0.0"
    with pytest.raises(UsageError, match=r"part1\.ndjson differs from .*: engine was .* and is 0\.0"):
        Parts(named([two[0], dataclasses.replace(two[1], settings=json.dumps(other))]))
    with pytest.raises(UsageError, match="is one of 3 parts, and part0"):
        Parts(named([two[0], dataclasses.replace(two[1], parts=3)]))


def test_what_is_no_part_says_so(tmp_path: Path) -> None:
    *_, whole = sweep(dataclasses.replace(CONFIG, max_examples=2))
    path = tmp_path / "whole.ndjson"
    assert isinstance(whole, SweepFinished)
    path.write_text(line(whole), encoding="utf-8")
    with pytest.raises(RecordError, match=r"no part of a sweep; `gradfuzz sweep \.\.\. --shard 1/4`"):
        parts_in(path)
    path.write_text(line(dataclasses.replace(part(1, 2), complete=False)), encoding="utf-8")
    with pytest.raises(RecordError, match=r"not complete; the same command with --resume"):
        parts_in(path)


@pytest.mark.parametrize("shard", [(0, 2), (3, 2)])
def test_a_part_that_there_is_not(shard: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=r"the parts of a sweep are 1/2 to 2/2"):
        sweep(dataclasses.replace(CONFIG, shard=shard))
