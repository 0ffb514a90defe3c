"""The status grid: no wrong cell for the engine, and where a planted bug is wrong a wrong cell, with a script
that shows it.
"""

from __future__ import annotations

import copy
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.probe.report import probe
from gradfuzz.fuzzer.questions.grids import GRIDS, GridRow
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.results.report_card import ProbeReport
from gradfuzz.fuzzer.verdict.shared import evaluator
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.reports.common import pieces
from gradfuzz.reports.common.scripts import check_folder, script_of, write_probe_scripts
from gradfuzz.reports.machine import json as documents
from gradfuzz.reports.terminal import report as terminal
from tests.shell import python

SITUATIONS = ("2-D", "batch", "jvp", "second order")


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """The suite "small": lu of square matrices, in a few situations."""
    grid = GRIDS["linalg"]
    (row,) = [row for row in grid.rows() if row.op == "lu" and row.use.endswith("square")]
    cells = tuple(row.cells[grid.columns.index(column)] for column in SITUATIONS)
    some = replace(grid, columns=SITUATIONS, rows=lambda: [GridRow(row.op, row.use, cells)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GRIDS, "small", some)
        yield


@pytest.fixture(scope="module")
def report(small: None) -> ProbeReport:
    return probe("mutant:lu-batch", resolve("mutant:lu-batch"), "small")


def words(report: ProbeReport) -> list[dict[str, object]]:
    (table,) = report.tables
    return [dict(zip(table.columns, line, strict=True)) for line in table.rows]


# Cells ------------------------------------------------------------------------------------------------------


def test_the_status_of_the_engine_has_no_wrong_cell() -> None:
    """A part of the grid of linear algebra; the whole is `gradfuzz probe engine --suite linalg`."""
    grid = {row.op: row for row in GRIDS["linalg"].rows()}
    for op in ("det", "triangular_solve", "qr", "matrix_norm"):
        for column, cell in zip(GRIDS["linalg"].columns, grid[op].cells, strict=True):
            ways = [
                o for o in resolve("engine", together=True) if o.traits.batched == (column == "vectorized")
            ]
            for question, way in itertools.product(cell, ways):
                for case in evaluator().cases(way.name, question, way.answer(question)):
                    assert case.verdict in (
                        Verdict.AGREE,
                        Verdict.CONVENTION,
                    ), f"{op}, {column} {question.modes}: {case.message}"


def test_the_status_of_a_batch_bug_is_wrong_in_the_batch_columns(report: ProbeReport) -> None:
    (row,) = words(report)
    assert [row[name] for name in SITUATIONS] == ["ok", "wrong", "ok", "wrong"]
    assert row["label"] == "differs"


def test_the_columns_of_linear_algebra() -> None:
    grid = GRIDS["linalg"]
    assert grid.columns == (
        *("2-D", "batch 1", "batch", "rank 4", "zero batch", "broadcast"),
        *("float32", "complex", "jvp", "second order", "vectorized"),
    )
    broadcast, vectorized = grid.columns.index("broadcast"), grid.columns.index("vectorized")
    rows = grid.about()
    asked = {row.op for row in rows if row.cells[broadcast]}
    assert asked == {"solve", "triangular_solve", "lstsq", "kron", "matmul"}
    for row in rows:
        for question in row.cells[broadcast]:
            a, b = (len(p.type.sizes) for p in question.program.params)
            assert a != b, "one operand has fewer batch axes"
        assert [len(question.points) for question in row.cells[vectorized]] == [2, 2], row.use


def test_a_vectorized_column_is_for_those_that_answer_in_one_call() -> None:
    report = probe("engine", resolve("engine", together=True), "linalg", ops=["outer"])
    (row,) = words(report)
    assert (row["way"], row["2-D"], row["batch"], row["vectorized"]) == ("all", "ok", "", "ok")
    assert "unsupported" not in row.values()
    assert report.cells == ()


def test_a_target_without_vectorized_calls_has_no_such_suite() -> None:
    with pytest.raises(UsageError, match="mutant:lu-batch has no such calls"):
        probe("mutant:lu-batch", resolve("mutant:lu-batch"), "vectorize")


@pytest.mark.parametrize("suite", ["linalg", "vectorize"])
def test_ops_pick_rows(suite: str) -> None:
    rows = list(GRIDS[suite].rows())
    grid = replace(GRIDS[suite], rows=lambda ops=None: rows)
    assert grid.about() == rows
    ops = sorted({row.op for row in rows})
    assert {row.op for row in grid.about(ops[:2])} == set(ops[:2])
    with pytest.raises(UsageError, match=rf"'no_such_op'; the ops are .*\b{ops[0]}, .*"):
        grid.about(["no_such_op"])


# Notes ------------------------------------------------------------------------------------------------------


def test_ways_that_are_wrong_alike_are_told_once(small: None) -> None:
    first: Oracle
    (first,) = resolve("mutant:lu-batch")
    second = copy.copy(first)
    second.name = "mutant:twin"
    report = probe("both", [first, *resolve("engine"), second], "small")
    assert [(row["way"], row["batch"]) for row in words(report)] == [
        (f"{first.name}, mutant:twin", "wrong"),
        ("engine", "ok"),
    ]
    assert {cell.ways for cell in report.cells} == {(first.name, "mutant:twin")}
    assert [cell.column for cell in report.cells] == ["batch", "second order"]


def test_what_is_said_of_a_wrong_cell(report: ProbeReport) -> None:
    cell = report.cells[0]
    assert (cell.word, cell.op, cell.column, cell.by) == ("wrong", "lu", "batch", ("rev",))
    assert "expected" in cell.text
    assert cell.references == ("arb", "mpmath")
    (table,) = report.tables
    assert any(note.startswith("[1] wrong: lu, batch (") and cell.text in note for note in table.notes)
    assert any("numbered wrong cells: 2 by arb and mpmath." in sentence for sentence in report.summary)


def printed(report: ProbeReport, width: int, folder: Path | None = None) -> str:
    out = io.StringIO()
    pieces.show(pieces.console(out, width=width), terminal.probe(report, folder))
    return out.getvalue()


@pytest.mark.parametrize("width", [64, 200])
def test_the_table_is_a_table_at_every_width(report: ProbeReport, width: int) -> None:
    text = printed(report, width)
    heading = next(line for line in text.splitlines() if "jvp" in line)
    assert {"2-D", "batch"} <= set(heading.split())
    assert " ".join(text.split()).endswith(
        "A script for each number: gradfuzz probe mutant:lu-batch --suite small --scripts FOLDER, or --script"
        " N to print one."
    )


# Scripts ----------------------------------------------------------------------------------------------------


def test_a_script_shows_what_is_wrong(report: ProbeReport, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "scripts"
    paths = write_probe_scripts(report, folder)
    assert [path.name for path in paths.values()] == [
        f"small-01-lu-{_dashed(report.cells[0].ways)}-batch.py",
        f"small-02-lu-{_dashed(report.cells[1].ways)}-second-order.py",
    ]
    assert str(folder) in printed(report, 1000, folder)
    assert "disagree" in python(paths[1], exit_code=1).stdout
    assert script_of(report, 1) == paths[1].read_text(encoding="utf-8")


def _dashed(ways: Sequence[str]) -> str:
    return ways[0].replace(":", "-")


def test_the_document_has_the_scripts(report: ProbeReport) -> None:
    document = json.loads(documents.dumps(documents.probe_document(report)))
    first = document["cells"][0]
    assert (first["number"], first["word"], first["op"], first["column"]) == (1, "wrong", "lu", "batch")
    assert first["script"] == script_of(report, 1)
    assert first["use"] == document["tables"][0]["rows"][0][1]


def test_a_number_without_a_script(report: ProbeReport) -> None:
    with pytest.raises(UsageError, match="no script 3: the numbers go from 1 to 2"):
        script_of(report, 3)
    with pytest.raises(UsageError, match="no cell is wrong"):
        script_of(replace(report, cells=()), 1)


def test_a_folder_that_cannot_be_written(report: ProbeReport, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_folder(tmp_path / "not" / "yet")
    with pytest.raises(UsageError, match=r"file.* is not a folder"):
        check_folder(tmp_path / "file" / "scripts")
    with pytest.raises(UsageError, match="cannot be written"):
        write_probe_scripts(report, tmp_path / "file" / "scripts")
