"""The table of adapters in docs/targets.md: what each system answers, measured by sweeps.

    python -m benchmarks.adapters
    python -m benchmarks.adapters autograd autograd==1.6.2 --max-examples 24

Every adapter that gradfuzz ships is swept, the newest release and one of about two years before. A system
that is not installed is named below the table, with the reason. Rows of systems that are not asked stay as
they are.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.pictures import swept
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS

PAGE = Path(__file__).parents[1] / "docs" / "targets.md"
BEGIN, END = "<!-- table of adapters -->", "<!-- end of the table of adapters -->"

OLDER = {
    "autograd": "1.6.2",
    "tensorflow": "2.18.0",
    "mygrad": "2.2.0",
    "drjit": "1.0.0",
    "mlx": "0.21.1",
    "paddle": "2.6.2",
    "warp": "1.5.0",
    "pytensor": "2.26.0",
    "equinox": "0.11.9",
    "tinygrad": "0.10.2",
    "casadi": "3.6.7",
    "taichi": "1.7.2",
    "swift": "6.0.3",
}
"""Releases of about two years before the newest one."""

FAMILIES = ("loops", "linalg", "tensor", "elementwise")
HEAD = ("adapter", "release", "ops", "loops", "dtypes", "modes, orders", "answered", "checks/s")


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """What a release answers: the union over its ways."""

    adapter: str
    release: str
    ops: str
    loops: str
    dtypes: str
    modes: str
    answered: str
    rate: str

    def line(self) -> str:
        return "| " + " | ".join(dataclasses.astuple(self)) + " |"


def joined(lists: Iterable[Sequence[object]]) -> str:
    """The entries of all lists, each once, in the order in which they come."""
    return ", ".join(dict.fromkeys(str(entry) for entries in lists for entry in entries))


def share(summaries: Sequence[TargetSummary]) -> float:
    """The part of the programs whose turn came that the best of the ways was able to answer."""
    able = [s for s in summaries if s.programs and not s.fault]
    return max((s.programs / (s.programs + s.refused) for s in able), default=0.0)


def families(end: SweepFinished) -> Mapping[str, list[TargetSummary]]:
    found: dict[str, list[TargetSummary]] = {}
    for summary in end.summaries:
        found.setdefault(summary.family, []).append(summary)
    return found


def measured(target: str, max_examples: int, max_time: float, jobs: int) -> Row:
    """The row of a target; `GradfuzzError` where it cannot be asked, or raises whatever each way is asked."""
    ways = [oracle.way for oracle in resolve(target) if isinstance(oracle, ForeignOracle)]
    ops = {op for way in ways for op in way.ops if op in OPS or op in FUNCTIONS}
    dtypes = [d for way in ways for d in way.dtypes] + ["complex"] * any("complex" in w.ops for w in ways)
    config = SweepConfig((target,), FAMILIES, max_examples=max_examples, max_time=max_time, jobs=jobs)
    end = swept(config)
    faults = [summary.fault for summary in end.summaries if summary.fault]
    if faults and not share(end.summaries):
        raise GradfuzzError(faults[0])
    parts = [
        f"{family} {share(found):.0%}" if share(found) else f"no {family}"
        for family, found in families(end).items()
        if any(summary.programs + summary.refused for summary in found)
    ]
    name = TargetName.of(target)
    return Row(
        adapter=name.library,
        release=end.summaries[0].version,
        ops=str(len(ops)),
        loops=joined([*(way.loops for way in ways), *(way.features for way in ways)]),
        dtypes=joined([dtypes]),
        modes=f"{joined(way.modes for way in ways)}; {joined(way.orders for way in ways)}",
        answered=", ".join(parts) or "nothing",
        rate=f"{end.checks / end.seconds:.1f}",
    )


def table(rows: Iterable[str], absent: Mapping[str, str], asked: str) -> str:
    """The part of the page between its marks."""
    lines = ["", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *sorted(rows, key=str.lower), ""]
    lines += [f"- {name}: {why}" for name, why in sorted(absent.items())]
    return "\n".join([BEGIN, *lines, *([""] if absent else []), asked, END])


def known(text: str) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """The rows of the page by adapter and release, and why others are absent."""
    part = text[text.index(BEGIN) : text.index(END)]
    rows = [line for line in part.splitlines() if line.startswith("| ") and not line.startswith("| adapter")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in rows]
    absent = dict(re.findall(r"^- (\S+): (.*)$", part, flags=re.MULTILINE))
    return {(c[0], c[1]): line for c, line in zip(cells, rows, strict=True)}, absent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", help="adapters, or releases of them; all if none is named")
    parser.add_argument("--max-examples", type=int, default=48, help="programs of each family")
    parser.add_argument("--max-time", type=float, default=360.0, help="seconds for a target")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    older = [f"{adapter}=={release}" for adapter, release in OLDER.items()]
    targets = options.targets or [*ADAPTERS, *older]
    text = options.page.read_text(encoding="utf-8")
    rows, absent = known(text)
    for target in targets:
        try:
            row = measured(target, options.max_examples, options.max_time, options.jobs)
        except GradfuzzError as error:
            absent[target] = str(error).splitlines()[0]
            print(f"{target}: {absent[target]}", flush=True)
            continue
        absent.pop(target, None)
        rows[row.adapter, row.release] = row.line()
        print(row.line(), flush=True)
    asked = (
        f"Made by `python -m benchmarks.adapters`: {options.max_examples} programs of each of "
        f"{', '.join(FAMILIES)}, worker processes: {options.jobs}."
    )
    start, end = text.index(BEGIN), text.index(END) + len(END)
    options.page.write_text(text[:start] + table(rows.values(), absent, asked) + text[end:], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
