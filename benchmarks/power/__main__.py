"""The command line of the power table."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.power.measuring import Case, cases, measured, said_by_others, surroundings
from benchmarks.power.plants import PLANTS
from benchmarks.power.rows import Row

ROOT = Path(__file__).parents[2]


def rows(pattern: str = "") -> list[Row]:
    """The rows of both libraries whose "library: name, tags" has the pattern."""
    from benchmarks.power import jax_rows, torch_rows

    every = (*torch_rows.ROWS, *jax_rows.ROWS)
    return [row for row in every if re.search(pattern, f"{row.library}: {row.name} [{', '.join(row.tags)}]")]


def records(row: Row, seed: int, count: int, kinds: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """What is said to each case of a row."""
    with surroundings(row):
        for case, fits in cases(row, seed, count, kinds):
            yield _record(case, fits, seed)


def _record(case: Case, fits: str, seed: int) -> dict[str, Any]:
    row = case.row
    told: dict[str, Any] = {
        "key": case.key,
        "row": row.name,
        "library": row.library,
        "dtype": row.dtype,
        "tags": row.tags,
    }
    told |= {
        "kind": case.plant.kind if case.plant else "",
        "wrapped": case.wrapped,
        "seed": seed,
        "fits": fits,
    }
    asked = case.asked()
    if fits != "yes" or asked is None:
        return told
    return told | measured(row, asked) | said_by_others(row, asked)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measures the power of gradfuzz: docs/power.md")
    parser.add_argument("--seed", type=int, default=0, help="draws the plants of each function")
    parser.add_argument("--count", type=int, default=6, help="plants for each function")
    parser.add_argument("--rows", default="", help="a pattern of '<library>: <name> [<tags>]'")
    parser.add_argument("--plants", default="", help="a pattern of their kinds")
    parser.add_argument("--part", default="1/1", help="as 2/5: every fifth row, from the second on")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so many; another run goes on")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "power", help="folder of results")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--print", action="store_true", help="measure again, print, and keep nothing")
    parser.add_argument("--report", action="store_true", help="write the page from what was measured")
    options = parser.parse_args(arguments)
    part, parts = map(int, options.part.split("/"))
    kinds = [plant.kind for plant in PLANTS if re.search(options.plants, plant.kind)]
    chosen = rows(options.rows)[part - 1 :: parts]
    file = options.results / f"seed-{options.seed}-{part}-of-{parts}.jsonl"
    start, finished = time.perf_counter(), True
    if not options.report:
        for folder in (options.results, options.out):
            folder.mkdir(parents=True, exist_ok=True)
        known = set() if options.print else _known(options.results, options.seed)
        for row in chosen:
            name = f"{row.library}: {row.name}"
            if name in known:
                continue
            if options.minutes and time.perf_counter() - start > 60 * options.minutes:
                finished = False
                break
            found = list(records(row, options.seed, options.count, kinds))
            for record in found:
                _tell(record)
            if not options.print:
                with file.open("a", encoding="utf-8") as out:
                    out.writelines(json.dumps(record) + "\n" for record in found)
    if not finished:
        print("not finished: run it again to go on", file=sys.stderr)
        return 1
    if options.report or (parts == 1 and not (options.print or options.rows or options.plants)):
        from benchmarks.power.report import text

        kept = read(options.results, options.seed)
        (options.out / "power.md").write_text(text(kept, options.seed), encoding="utf-8")
    return 0


def read(folder: Path, seed: int) -> list[dict[str, Any]]:
    files = sorted(folder.glob(f"seed-{seed}-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def _known(folder: Path, seed: int) -> set[str]:
    return {f"{record['library']}: {record['row']}" for record in read(folder, seed)}


def _tell(record: dict[str, Any]) -> None:
    if "verdict" in record:
        print(f"{record['key']}: {record['verdict']}, {record['other']} ({record['seconds']} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
