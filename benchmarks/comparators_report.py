"""The document and the plot of `comparators`."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from benchmarks.comparators_sample import (
    BANDS,
    DTYPES,
    FAMILIES,
    JUDGE,
    ORDINARY,
    SCALES,
    WRONG,
    Key,
    Sample,
    Tally,
)
from benchmarks.figures import COLOURS, axes, save
from benchmarks.foreign_checks import CHECKS

__all__ = ["merged", "plot", "rate", "text"]

Tallies = dict[Key, Tally]

NAMES = (JUDGE, *CHECKS)

LIBRARIES = ("torch", "jax", "autograd", "numpy", "scipy")

HEAD = """# What comparators miss, and what they accuse

<!-- Made by `python -m benchmarks.comparators`; edit benchmarks/comparators_report.py. -->

A comparator is shown gradients that are right and gradients of planted bugs. It *misses* a wrong one that it lets pass, and gives a *false alarm* for a right one that it
rejects. Both numbers belong together: what rejects everything misses nothing.

![Misses and false alarms by the scale of the output](comparators.svg)
"""

TOOLS = """## What was compared
| comparator | how it is asked | how it decides |
|---|---|---|
| gradfuzz | the verdict of one check (`fuzzer/verdict/judge.py`) | a true derivative with a bound, and an allowed error measured for this program at this point: see [tolerance.md](tolerance.md) |
| torch gradcheck, slow | `torch.autograd.gradcheck(f, x)` | every entry against a central difference: eps 1e-6, atol 1e-5, rtol 1e-3 |
| torch gradcheck, fast | `gradcheck(f, x, fast_mode=True)` | the same numbers, one random projection |
| jax check_grads | `jax.test_util.check_grads(f, x, order=1, modes=["rev"])` | one random direction: eps 1e-4; atol and rtol 1e-5 in float64, 2e-3 in float32 |
| autograd check_grads | `autograd.test_util.check_grads(f, modes=["rev"], order=1)` | one random direction: eps 1e-6; an error of 1e-6, or of 1e-6 of the sum, is accepted |
| NablaFuzz's | `gradcheck` with the constants of its `helper_torch.py` | eps 1e-6, atol 1e-1, rtol 1e-3 in float64; an alarm at a point where one of five random neighbours within 1e-4 looks different counts as none |
| rtol 1e-3 | `numpy.allclose(g, d, rtol=1e-3, atol=0)` | every entry against a central difference d in the dtype, of step eps^(1/3) max(1, abs(x)) |

Each library gets the function and the gradient as it wants custom gradients written (`torch.autograd.Function`, `jax.custom_vjp`, `autograd.extend.primitive`), is called
through its public function and keeps its defaults; only first order in reverse mode is asked for, as the function that it gets has a gradient and no second derivative. The function is the same NumPy code for
all. The gradient of a bug of forward mode is the one that forward mode builds entry by entry. The last row is in no released tool as it stands: it shows what is left where there is no absolute tolerance.
In float32 torch warns that gradcheck "will likely fail", and autograd has the same constants as in float64: both are shown there because nothing stops a user. NablaFuzz converts all inputs to float64,
so it has no row in float32.
"""


def text(tallies: Tallies, sample: Sample, seed: int) -> str:
    versions = ", ".join(f"{name} {version(name).partition('+')[0]}" for name in LIBRARIES)
    parts = [HEAD, _summary(tallies)]
    parts += [f"## {precision}\n{_rates(tallies, precision, FAMILIES)}" for precision in DTYPES]
    parts += [TOOLS, _sample(sample, seed), _judge(tallies), _bands(tallies)]
    parts.append(
        "## Loops and linear algebra apart\n"
        + "\n".join(_family(tallies, f, p) for p in DTYPES for f in FAMILIES)
    )
    parts.append(f"Versions: {versions}.\n")
    return "\n".join(parts)


def merged(
    tallies: Tallies, name: str, precision: str, scale: float, families: Sequence[str] = FAMILIES
) -> Tally | None:
    """The tallies of several families as one; None where there is none."""
    found = [tallies[key] for f in families if (key := (name, precision, f, scale)) in tallies]
    if not found:
        return None
    whole = Tally()
    for t in found:
        whole.right += t.right
        whole.alarms += t.alarms
        whole.wrong += t.wrong
        whole.passed += t.passed
        whole.unjudged.update(t.unjudged)
        whole.bands.update(t.bands)
    return whole


def rate(count: int, total: int) -> str:
    """A share and its 95 % interval (Clopper and Pearson 1934): "12 % (8-17)"."""
    if not total:
        return "-"
    interval = binomtest(count, total).proportion_ci()
    return f"{_percent(count / total)} % ({_percent(interval.low)}-{_percent(interval.high)})"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 9.95 or percent == 0 else f"{percent:.1f}"


def _scale(scale: float) -> str:
    return "1" if scale == 1 else f"{scale:.0e}".replace("e-0", "e-")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(head), _row(["---"] * len(head)), *map(_row, rows)]) + "\n"


def _rates(tallies: Tallies, precision: str, families: Sequence[str]) -> str:
    misses, alarms, totals = [], [], set()
    for name in NAMES:
        found = [
            t for scale in SCALES if (t := merged(tallies, name, precision, scale, families)) is not None
        ]
        if found:
            totals |= {n for t in found for n in (t.right, t.wrong)}
            misses.append([name, *(rate(t.passed, t.wrong) for t in found)])
            alarms.append([name, *(rate(t.alarms, t.right) for t in found)])
    counts = " or ".join(f"{n:,}" for n in sorted(totals))
    scales = [_scale(s) for s in SCALES]
    return (
        f"By the scale of the output. Each cell is a share of {counts} gradients, with its 95 % interval.\n\n"
        + _table(["misses", *scales], misses)
        + "\n"
        + _table(["false alarms", *scales], alarms)
    )


def _family(tallies: Tallies, family: str, precision: str) -> str:
    return f"### {family}, {precision}\n{_rates(tallies, precision, (family,))}"


def _summary(tallies: Tallies) -> str:
    wrong = right = passed = silent = alarms = 0
    for (name, *_), t in tallies.items():
        if name == JUDGE:
            wrong, right, passed, alarms = (
                wrong + t.wrong,
                right + t.right,
                passed + t.passed,
                alarms + t.alarms,
            )
            silent += t.passed - t.unjudged["wrong"]
    return (
        f"gradfuzz over all scales and dtypes: {alarms} false alarms in {right:,} right gradients; {passed}"
        f" of {wrong:,} wrong ones not accused, {silent} of them called right and {passed - silent}"
        " inconclusive, which counts as a miss here.\n"
    )


def _sample(sample: Sample, seed: int) -> str:
    total = sample.points.total()
    drawn = total + sample.dropped.total()
    mutants = ", ".join(
        f"{name} {n}" for name, n in sorted(sample.mutants.items(), key=lambda item: (-item[1], item[0]))
    )
    low, middle, high = np.quantile(sample.sizes, (0.1, 0.5, 0.9))
    dropped = "; ".join(f"{n:,} lack {what}" for what, n in sample.dropped.most_common())
    return f"""## The sample
Programs are drawn by `gradfuzz.strategies`, families loops and linalg, seed {seed}, one point each: {total:,} of {drawn:,} are taken. Of the others {dropped}.

- *Ordinary point*: every input is 0 or between {ORDINARY[0]:g} and {ORDINARY[1]:g} in size, as the steps of finite differences suit no others.
- *Truth*: ball arithmetic and differences in high precision, which both give a bound, agree.
- *Right*: every entry has at least half of the digits of the dtype, and is 0 where the true one is. {sample.by_torch:,} of the right gradients come from `torch.autograd`, the others from gradfuzz's engine.
- *Wrong*: the gradient of a planted bug, with an entry that is off by at least {100 * WRONG:g} % of the largest entry, or not finite, at a point where the engine's own gradient is right in this sense:
  rounding explains less than 0.03 % in float32. One bug for each point, at random of those that show there.
- *Scale*: the weights of the program's outputs are multiplied by it, and so is the function that everybody sees. At scale 1 the largest entry of the gradient is {middle:.2g} in the
  median, below {low:.2g} at one point of ten and beyond {high:.2g} at another.
- A gradient of the wrong shape is not in the sample, as every library refuses it by itself.

What is right or wrong is measured against the true derivative with these numbers, not with gradfuzz's own tolerance. The points are those at which a derivative exists and is known: at the others nobody is judged.
The intervals take the points for independent of each other; they are so from program to program, and the four scales share them.

Planted bugs and how often each was taken: {mutants}.
"""


def _judge(tallies: Tallies) -> str:
    rows = []
    for precision in DTYPES:
        for scale in SCALES:
            t = merged(tallies, JUDGE, precision, scale)
            if t is not None:
                calls = rate(t.unjudged["right"], t.right), rate(t.unjudged["wrong"], t.wrong)
                rows.append(
                    [precision, _scale(scale), *calls, str(t.passed - t.unjudged["wrong"]), str(t.alarms)]
                )
    head = [
        "dtype",
        "scale",
        "right: inconclusive",
        "wrong: inconclusive",
        "wrong: called right",
        "right: called wrong",
    ]
    return f"## Where gradfuzz does not decide\n{_table(head, rows)}"


def _bands(tallies: Tallies) -> str:
    edges = [f"{100 * b:g} %" for b in (WRONG, *BANDS)]
    names = [f"{a} to {b}" for a, b in itertools.pairwise(edges)] + [f"from {edges[-1]} on"]
    rows = []
    for precision in DTYPES:
        for name in NAMES:
            bands: list[Counter[tuple[int, bool]]] = [
                t.bands for s in SCALES[:3] if (t := merged(tallies, name, precision, s)) is not None
            ]
            if bands:
                whole = sum(bands, Counter())
                counts = [(whole[k, True], whole[k, True] + whole[k, False]) for k in range(len(names))]
                rows.append([precision, name, *(f"{missed} of {n}" for missed, n in counts)])
    return (
        "## Misses by the size of the error\n"
        "Relative to the largest entry; the scales 1, 1e-2 and 1e-4 together.\n\n"
        + _table(["dtype", "", *names], rows)
    )


def plot(tallies: Tallies, path: Path) -> None:
    """Misses on the left, false alarms on the right, a row for each dtype."""
    figure, grid = axes(len(DTYPES), 2, size=(9.0, 6.4), sharex=True, sharey=True)
    for row, precision in enumerate(DTYPES):
        for column, what in enumerate(("misses", "false alarms")):
            panel = grid[2 * row + column]
            for k, name in enumerate(NAMES):
                found = [
                    (k, t)
                    for k, s in enumerate(SCALES)
                    if (t := merged(tallies, name, precision, s)) is not None
                ]
                shares = [(t.passed / t.wrong if column == 0 else t.alarms / t.right) for _, t in found]
                style = {"linewidth": 2.6, "zorder": 5} if name == JUDGE else {"linewidth": 1.3}
                marker = "osD^vPX"[k]
                panel.plot(
                    [x for x, _ in found],
                    [100 * s for s in shares],
                    color=COLOURS[k],
                    marker=marker,
                    label=name,
                    **style,
                )
            panel.set_title(f"{what}, {precision}")
            panel.set_ylim(-3, 103)
            if column == 0:
                panel.set_ylabel("%")
            if row == len(DTYPES) - 1:
                panel.set_xlabel("scale of the output")
                panel.set_xticks(range(len(SCALES)), [_scale(s) for s in SCALES])
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, path)
