"""The engine against the references: its worst error over generated programs, in units of the derived
tolerance.

    python benchmarks/accuracy.py --programs 5000 --seed 0
    python benchmarks/accuracy.py --programs 3000 --family linalg --max-order 2

Every program is differentiated at its points: to first order in both modes, to second and third order in one
mix of forward and reverse mode each, in turn. Every check is measured, including those that are right to the
last bit; what cannot be judged is counted by its reason. Ends with exit code 1 where the engine disagrees.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gradfuzz.fuzzer.questions.weighted import questions
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.workers.local import Pool
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.programs import to_text
from gradfuzz.strategies import FAMILIES, draw_many
from gradfuzz.strategies.inputs.point import PRECISIONS

BATCH = 50
"""Programs that a worker process takes at once."""

Modes = tuple[Mode, ...]


@dataclass
class Tally:
    """What came of one mix of modes."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: Counter[Reason] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    """Error in units of what is allowed, one for each check that could be judged."""


@dataclass
class Batch:
    """What came of the programs of one worker."""

    tallies: dict[Modes, Tally] = field(default_factory=dict)
    worst: tuple[float, Modes, str] = (0.0, (), "")
    """Error, modes, and the program with its point."""
    wrong: list[str] = field(default_factory=list)
    """Programs on which the engine disagrees."""


def modes_of(index: int, max_order: int) -> list[Modes]:
    """The questions of the program with this index."""
    result: list[Modes] = [("rev",), ("fwd",)]
    for order in range(2, max_order + 1):
        mixes: list[Modes] = list(itertools.product(("rev", "fwd"), repeat=order))
        result.append(mixes[index % len(mixes)])
    return result


def run(family: str, number: int, count: int, seed: int, max_order: int) -> Batch:
    engine, evaluator, batch = EngineOracle(), Evaluator(), Batch()
    for k, drawn in enumerate(
        draw_many(FAMILIES[family].cases(PRECISIONS), count, f"{seed}/{family}/{number}")
    ):
        index = number * BATCH + k
        asked = questions(drawn, index, seed, orders=(1,), checks=("vjp",))
        for first, modes in itertools.product(asked[:1], modes_of(index, max_order)):
            tally = batch.tallies.setdefault(modes, Tally())
            question = replace(first, modes=modes)
            for case in evaluator.cases("engine", question, engine.answer(question), thorough=True):
                tally.verdicts[case.verdict] += 1
                where = (
                    f"{case.message}\n{to_text(drawn.program)}  at {dict(case.point.inputs)},"
                    f" {question.precision}"
                )
                if case.reason is not None:
                    tally.reasons[case.reason] += 1
                elif case.verdict.is_wrong:
                    batch.wrong.append(where)
                elif case.verdict is Verdict.AGREE and case.error_over_allowed is not None:
                    tally.errors.append(case.error_over_allowed)
                    batch.worst = max(batch.worst, (case.error_over_allowed, modes, where))
    return batch


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=5000)
    parser.add_argument("--family", choices=FAMILIES, default="loops")
    parser.add_argument("--max-order", type=int, choices=(1, 2, 3), default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    pool = Pool(options.jobs)
    sizes = [min(BATCH, options.programs - first) for first in range(0, options.programs, BATCH)]
    futures = [
        pool.submit(run, options.family, number, size, options.seed, options.max_order)
        for number, size in enumerate(sizes)
    ]
    total: dict[Modes, Tally] = {}
    worst: tuple[float, Modes, str] = (0.0, (), "")
    wrong: list[str] = []
    for k, future in enumerate(futures, start=1):
        batch = future.result()
        for modes, tally in batch.tallies.items():
            own = total.setdefault(modes, Tally())
            own.verdicts.update(tally.verdicts)
            own.reasons.update(tally.reasons)
            own.errors += tally.errors
        worst = max(worst, batch.worst)
        wrong += batch.wrong
        if k % 10 == 0:
            print(
                f"{time.monotonic() - started:6.0f} s  {sum(sizes[:k]):,} programs, {len(wrong)} wrong",
                file=sys.stderr,
            )
    pool.close()
    print_table(total)
    print(f"\nWorst: {worst[0]:.3g} of what is allowed, {', '.join(worst[1])}: {worst[2]}")
    print(f"{options.programs:,} programs, seed {options.seed}: the engine is wrong in {len(wrong)} checks")
    print("\n\n".join(wrong))
    return 1 if wrong else 0


def print_table(total: dict[Modes, Tally]) -> None:
    print(
        f"{'modes':15} {'checks':>8} {'agree':>8} {'kink':>6} {'unsure':>7} {'wrong':>6} {'median':>8}"
        f" {'99 %':>8} {'worst':>8}"
    )
    for modes, tally in sorted(total.items(), key=lambda item: (len(item[0]), item[0])):
        v, errors = tally.verdicts, sorted(tally.errors)
        shares = [errors[int(share * (len(errors) - 1))] if errors else 0.0 for share in (0.5, 0.99, 1.0)]
        counts = [v.total(), v[Verdict.AGREE], v[Verdict.CONVENTION], v[Verdict.INCONCLUSIVE]]
        bad = v[Verdict.DISAGREE] + v[Verdict.CRASHED]
        numbers = "".join(f"{n:>{w},}" for n, w in zip([*counts, bad], (9, 9, 7, 8, 7), strict=True))
        print(f"{', '.join(modes):15}{numbers}" + "".join(f"{s:9.2g}" for s in shares))
    print("\nWhy unsure:")
    reasons: Counter[Reason] = Counter()
    for tally in total.values():
        reasons.update(tally.reasons)
    for reason, n in reasons.most_common():
        print(f"{n:8,}  {reason.value}")


if __name__ == "__main__":
    sys.exit(main())
