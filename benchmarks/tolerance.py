"""How far right answers stay within what the derived tolerance allows: docs/tolerance.md and
docs/tolerance.svg.

    python -m benchmarks.tolerance
    python -m benchmarks.tolerance --programs 20 --out /tmp

Correct oracles answer questions of first and second order about drawn programs of every family and dtype;
each answer that can be judged is measured, those that are right to the last bit too. A few minutes of one
core, the same numbers in every run with one seed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.tolerance_report import plot, text
from benchmarks.tolerance_sample import BATCH, ORACLES, SOURCES, Tallies, Tally, measure
from gradfuzz.fuzzer.workers.local import Pool
from gradfuzz.oracles.registry import resolve


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=30, help="per family and dtype")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs", help="folder of the two files"
    )
    options = parser.parse_args(arguments)
    pool, futures = Pool(options.jobs), []
    for dtype, sources in SOURCES.items():
        for family, precision in sources:
            for number, first in enumerate(range(0, options.programs, BATCH)):
                count = min(BATCH, options.programs - first)
                futures.append(pool.submit(measure, dtype, family, precision, number, count, options.seed))
    tallies: Tallies = {}
    for k, future in enumerate(futures, start=1):
        for key, tally in future.result().items():
            tallies.setdefault(key, Tally()).join(tally)
        print(f"{k} of {len(futures)} parts", file=sys.stderr, flush=True)
    pool.close()
    options.out.mkdir(parents=True, exist_ok=True)
    versions = {name.partition(":")[0]: resolve(name)[0].version for name, _ in ORACLES}
    (options.out / "tolerance.md").write_text(
        text(tallies, options.programs, options.seed, versions), encoding="utf-8"
    )
    plot(tallies, options.out / "tolerance.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
