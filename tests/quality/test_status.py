"""The status grid: no wrong cell for the engine, and wrong cells where a planted bug is wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from gradfuzz.fuzzer.batch import jury
from gradfuzz.fuzzer.finding import Verdict
from gradfuzz.fuzzer.grids import GRIDS
from gradfuzz.fuzzer.probe import probe
from gradfuzz.oracles.registry import resolve


def test_the_status_of_the_engine_has_no_wrong_cell() -> None:
    """A part of the grid of linear algebra; the whole is `gradfuzz probe engine --suite linalg`."""
    grid = {row.op: row for row in GRIDS["linalg"].rows()}
    for op in ("det", "triangular_solve", "qr", "matrix_norm"):
        for column, cell in zip(GRIDS["linalg"].columns, grid[op].cells, strict=True):
            ways = [o for o in resolve("engine", together=True) if o.together == (column == "vectorized")]
            for question, way in itertools.product(cell, ways):
                for case in jury().cases(way.name, question, way.answer(question)):
                    assert case.verdict in (Verdict.AGREE, Verdict.CONVENTION), f"{op}, {column} {question.modes}: {case.message}"


def test_the_status_of_a_batch_bug_is_wrong_in_the_batch_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = GRIDS["linalg"]
    some = [row for row in grid.rows() if row.op == "lu" and row.use.endswith("square")]
    monkeypatch.setitem(GRIDS, "linalg", replace(grid, rows=lambda: some))
    report = probe("mutant:lu-batch", resolve("mutant:lu-batch"), "linalg")
    (table,) = report.tables
    (row,) = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    assert [row[name] for name in ("2-D", "batch 1", "zero batch", "jvp")] == ["ok"] * 4
    assert [row[name] for name in ("batch", "float32", "second order")] == ["wrong"] * 3
    assert row["label"] == "differs"
    assert any("batch:" in note for note in table.notes)
