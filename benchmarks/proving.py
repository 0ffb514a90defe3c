"""What a proof of a rule costs beside the trace of it, over ordinary functions of Torch and JAX."""

from __future__ import annotations

import statistics
import time
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchmarks.gradient_functions import Row, jax_rows, torch_rows
from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.measuring.setting import Setting
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.proving.prove import proved
from gradfuzz.libraries.library import LibraryName
from gradfuzz.oracles.base import Mode

MODES: tuple[Mode, ...] = ("rev", "fwd")
MOST = 100
"""Entries of the arguments: beyond them the arithmetic is that of many numbers, not of a rule."""


def measured(rows: Sequence[Row], framework: LibraryName) -> None:
    """Prints how long proofs take as ratios to their traces, and what came of them."""
    ratios, outcomes = [], Counter[str]()
    for row in rows:
        if sum(np.size(a) for a in row.arguments) > MOST:
            continue
        subject = subject_of(row.f, row.arguments, None, None, framework)
        for mode in MODES:
            try:
                Setting.of(subject, (mode,)).graphs()  # what a library loads at first
                begin = time.process_time()
                Setting.of(subject, (mode,)).graphs()
                traced = time.process_time() - begin
            except (GradfuzzError, RuntimeError, NotImplementedError):
                outcomes["open"] += 1
                continue
            begin = time.process_time()
            outcomes[proved(subject, (mode,), answer=False, explain=False).outcome] += 1
            ratios.append((time.process_time() - begin) / traced)
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(
        f"{framework}: {len(ratios)} derivatives of functions of up to {MOST} entries; proof / trace"
        f" {statistics.median(ratios):.2f} in the median, {max(ratios):.1f} at most; {told}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measured(torch_rows(), "torch")
    measured(jax_rows(), "jax")
