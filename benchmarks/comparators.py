"""Miss rates and false alarms of gradfuzz and of what others check gradients with: docs/comparators.md and
docs/comparators.svg.

    python -m benchmarks.comparators
    python -m benchmarks.comparators --points 10 --out /tmp

One sample of drawn programs and points serves all. At each point stand two gradients, one that is right and
one of a planted bug that is plainly wrong; every comparator is shown both, with the output scaled by 1, 1e-2,
1e-4 and 1e-8. A few minutes of one core, and the same numbers in every run with one seed.

    right    by the engine or, at every second point where it can, by torch: every entry has half of the
             digits of its dtype
    wrong    some entry is off by at least 1 % of the largest one, or not finite, at a point where the engine
             is right: so it is not rounding
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.comparators_report import plot, text
from benchmarks.comparators_sample import DTYPES, FAMILIES, Key, Sample, Tally, compared
from gradfuzz.fuzzer.workers.local import Pool


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=40, help="per family and dtype")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs", help="folder of the two files"
    )
    options = parser.parse_args(arguments)
    pool, sample = Pool(options.jobs), Sample()
    parts = [(family, precision) for precision in DTYPES for family in FAMILIES]
    futures = [
        pool.submit(compared, family, precision, options.points, options.seed) for family, precision in parts
    ]
    tallies: dict[Key, Tally] = {}
    for (family, precision), future in zip(parts, futures, strict=True):
        found, some = future.result()
        tallies |= found
        sample.join(some)
        print(f"{precision}, {family}: {some.points.total()} points", file=sys.stderr, flush=True)
    pool.close()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "comparators.md").write_text(text(tallies, sample, options.seed), encoding="utf-8")
    plot(tallies, options.out / "comparators.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
