"""The document and the plot of `tolerance`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.figures import COLOURS, axes, save
from benchmarks.tolerance_sample import ORDERS, POINTS, SOURCES, Tallies, Tally, Wrong, known
from gradfuzz.fuzzer.tolerance.allowed import SAFETY
from gradfuzz.fuzzer.tolerance.perturbed import EPS, FINE_EPS, FUNCTION_UNITS, LANES
from gradfuzz.fuzzer.verdict.along import FEW, MANY, STRAY
from gradfuzz.fuzzer.verdict.classify import CLEAR
from gradfuzz.programs.language.precision import FORMATS

__all__ = ["plot", "text"]

HEAD = """# What rounding is allowed, and what right answers take of it

<!-- Made by `python -m benchmarks.tolerance`; edit benchmarks/tolerance_report.py. -->

A derivative counts as wrong where its error is clearly more than rounding can explain. How much that is, is worked out for each program, point and entry; this page says how, what is assumed,
and how much of the allowed error correct systems use.

![Share of answers with a larger error](tolerance.svg)

The plot shows, for each dtype, the share of answers whose largest error is beyond x times what was allowed. At 1 the allowance ends, and the answer is inconclusive; at {clear:g} it is called wrong.
"""

METHOD = """## How it is derived
For each entry g of a derivative

    allowed = {safety:g} (noise + u |g|) + bound of the truth

where u is the unit roundoff of the dtype (2^-53, 2^-24, 2^-8 and 2^-11 for float64, float32, bfloat16 and float16) and *noise* is measured: the engine's own derivative of the
program is evaluated in {lanes} lanes at once. One is float64. In the others every primitive result, and each addition inside a sum, is multiplied by 1 + eps r; in five r is drawn from [-1, 1], in
one it is 1 throughout, and in one 1 for sums and -1 for the rest, as errors of equal trips add up. Noise is the largest distance of a lane from the first.

- eps is u where that is far above the rounding of float64; for float64 it is 2^{eps:.0f}, and the distance is scaled by u / eps.
- Where a lane strays from the first by more than 1/64 of an intermediate, the run is repeated with a smaller eps (2^{fine:.0f} for float64, u / 2^10 for the others): noise out of proportion to eps is that
  of a chaotic computation, and the check is inconclusive.
- Noise is that of reverse mode. An answer beyond it is measured again with the widest noise of several ways to the same derivative: reverse mode, forward mode, the mix that was asked for and, where the
  program has a product over an axis, a determinant or eigenvectors, the rules that divide by the entries or the matrix, or mask a diagonal by adding and taking away.
- The value of the program has to be within its own allowance before its derivative is judged. Comparisons whose sides are nearer than 16 times their noise, and intermediates at the end of the range
  of normal numbers or beyond, make a check inconclusive. So does an allowance of more than half of every entry that is not 0; answers to such checks are measured here, too.
- There is no absolute and no relative tolerance besides. An entry that is 0 whatever is rounded is granted the bound of the truth and nothing else.

## What is assumed
| result of a library | error that is granted, before the factor {safety:g} |
|---|---|
| sum, difference, product, quotient, square, square root | u of the result; a complex product what its real products and sums lose |
| sin, cos, tan, tanh, exp, expm1, log, log1p, pow | {units:g} u of the result |
| complex quotient, square root, sin, cos, tan, tanh, exp, abs | {units:g} u of the modulus; complex log that, and {units:g} u at the least |
| x**n, n an integer other than 0, 1 and 2 | max({units:g}, abs(n)) u |
| complex z**w, w an integer or not | {units:g} u (1 + abs(w) (1 + abs(log z))) of the modulus |
| softmax, logsumexp, mean, convolution, matrix product | what the sums, products and functions lose that they are made of |
| sum | at each addition u of the sum of sizes so far |
| qr, lu, solve, inv, det, slogdet, triangular solve | the exact result for a matrix whose entries are off by u of the length of their column |
| cholesky | the same, off by u sqrt(a_ii a_jj) |
| eigh, eig, svd, pinv, lstsq, expm, norms of singular values | the same, off by u of the Frobenius norm |
| each entry of such a result | u besides; of vectors of length 1, u of 1 |

A unit in the last place is u to 2 u of a number, so {units:g} u are two to four units in the last place; with the factor {safety:g} a sine may be off by sixteen.
Before anything is called wrong, additions are granted u of each operand, too: in which order the contributions to a derivative are added up is nobody's promise, and a
large one and its negative may have a small one between them.

K = {safety:g} is a choice. It covers that {lanes} lanes see only a part of the spread of rounding errors, and that libraries write the same derivative in other ways than the engine does.

## Along directions
`check_gradient` judges a gradient of more than {few} entries along two random directions w first. Each weight is
in inverse proportion to what its entry is allowed, so no entry hides behind another, whatever their sizes.
What is allowed along w is the sum of what is allowed to the entries. Rounding errors go either way, so their
sum is about sqrt(n) of one: from {stray:g}/sqrt(n) of the allowed sum on, a closer look is taken, and every
verdict but "right" comes from that look. A single wrong entry is seen where its error is 4 sqrt(n) times what
it is allowed alone:

| entries | float64: share of the entry | float32 |
|---|---|---|
{rows}

The table is for entries that rounding changes by one u, the least there is. Entries that rounding cannot
change, such as structural zeros, have a direction of their own, and any error in them is seen. Up to {many}
entries the closer look is taken at each; above, at the one that differs most from the engine's gradient, and
if that is right, by bisection. Where the truth is measured on the function itself, the bound of the
differences takes the place of rounding; entries whose share in the sum differs by more than 4,096 have
directions of their own.

## What is not covered
- Errors are taken for random, or for all of one sign. An order of operations that makes them add up in another way may lose more.
- A library that computes a derivative by a formula that loses more than those of the engine, and than the alternatives named above, exceeds what it is granted although each of its operations is right. That
  is reported as a disagreement.
- Arithmetic in less than the dtype inside a library (TF32, approximate kernels, subnormals taken for 0) is granted nothing. Everything here ran on a CPU.
- The sample: small programs, {points} points of each at the most, orders one and two. What is rarer than one in the number of answers of a row is not seen.
"""


def text(tallies: Tallies, programs: int, seed: int, versions: Mapping[str, str]) -> str:
    parts = [
        HEAD.format(clear=CLEAR),
        _verdict(tallies),
        _by_dtype(tallies, programs, seed),
        _by_oracle(tallies, versions),
    ]
    fields = {
        "safety": SAFETY,
        "lanes": LANES,
        "units": FUNCTION_UNITS,
        "points": POINTS,
        "eps": math.log2(EPS["float64"]),
        "fine": math.log2(FINE_EPS["float64"]),
        "few": FEW,
        "many": MANY,
        "stray": STRAY,
        "rows": "\n".join(_seen(n) for n in (25, 400, 10_000)),
    }
    parts += [_left_out(tallies), METHOD.format(**fields)]
    return "\n".join(parts)


def _seen(entries: int) -> str:
    """The least errors that are seen along directions."""
    units = [4.0 * math.sqrt(entries) * SAFETY * 2.0 * FORMATS[p].roundoff for p in ("float64", "float32")]
    return _row([f"{entries:,}", *(f"{share:.0e}" for share in units)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(head), _row(["---"] * len(head)), *map(_row, rows)]) + "\n"


def _whole(tallies: Iterable[Tally]) -> Tally:
    whole = Tally()
    for t in tallies:
        whole.join(t)
    return whole


def _figures(tally: Tally) -> list[str]:
    errors = np.sort(np.array(tally.errors))
    if not len(errors):
        return ["0", *["-"] * 6]
    quantiles = [f"{np.quantile(errors, q):.2g}" for q in (0.9, 0.99, 0.999)]
    beyond = int(np.sum(errors > 1.0))
    return [
        f"{len(errors):,}",
        f"{100 * np.mean(errors == 0):.0f} %",
        *quantiles,
        f"{errors[-1]:.2g}",
        str(beyond),
    ]


_FIGURES = ("answers", "exact", "90 %", "99 %", "99.9 %", "largest", "beyond 1")


def _verdict(tallies: Tallies) -> str:
    whole = _whole(tallies.values())
    beyond = sum(e > 1.0 for e in whole.errors)
    own = sum(w.oracle == "engine" for w in whole.wrong)
    return (
        f"Of {len(whole.errors):,} answers that were measured, {beyond} are beyond what is allowed; the"
        f" largest error is {max(whole.errors):.2g} of it. {len(whole.wrong)} more are beyond {CLEAR:g} and"
        f" called wrong: they are [listed below](#what-is-left-out); {own} of them are the engine's.\n"
    )


def _by_dtype(tallies: Tallies, programs: int, seed: int) -> str:
    rows = []
    for dtype, sources in SOURCES.items():
        for order in ORDERS:
            whole = _whole(t for (d, o, _), t in tallies.items() if (d, o) == (dtype, order))
            unjudged = whole.reasons.total() + whole.values
            share = f"{100 * unjudged / max(1, unjudged + len(whole.errors)):.1f} %"
            rows.append(
                [dtype, ", ".join(family for family, _ in sources), str(order), *_figures(whole), share]
            )
    head = ["dtype", "families", "order", *_FIGURES, "inconclusive"]
    return (
        "## By dtype and order\nThe largest error of an answer in units of what was allowed for that entry."
        " *Exact* is the share without any error, the percentages are quantiles; *inconclusive* are those"
        f" for which there is no truth or no tolerance. {programs} programs of each family and dtype, seed"
        f" {seed}; LAPACK's ops have no half precision.\n\n" + _table(head, rows)
    )


def _by_oracle(tallies: Tallies, versions: Mapping[str, str]) -> str:
    names = list(dict.fromkeys(oracle for _, _, oracle in tallies))
    rows = [[name, *_figures(_whole(t for (_, _, o), t in tallies.items() if o == name))] for name in names]
    said = ", ".join(f"{name} {version.partition('+')[0]}" for name, version in versions.items())
    return f"## By system\n{said}.\n\n{_table(['', *_FIGURES], rows)}"


def _left_out(tallies: Tallies) -> str:
    whole = _whole(tallies.values())
    reasons = "; ".join(f"{n:,}: {reason.value}" for reason, n in whole.reasons.most_common())
    rows: dict[tuple[str, str, str, str], list[Wrong]] = {}
    for wrong in whole.wrong:
        found = known(wrong)
        rows.setdefault(
            (wrong.oracle, wrong.check, wrong.kind.value, found.words if found else "not explained"), []
        ).append(wrong)
    unknown = sum(known(wrong) is None for wrong in whole.wrong)
    confirmed = sum(w.confirmed for w in whole.wrong)
    head = ["", "asked", "class", "what is wrong", "answers", "error at least"]
    table = _table(head, ([*key, str(len(found)), _least(found)] for key, found in sorted(rows.items())))
    explained = "not one is without such a bug" if not unknown else f"{unknown} are of no such bug"
    return f"""## What is left out
- {whole.unsupported:,} answers that a system has no way to give, and {whole.raised:,} for which it raised an exception.
- {whole.kinks:,} answers on a kink, between the slopes on both sides.
- {whole.reasons.total():,} checks that cannot be judged. {reasons}. In {whole.values:,} more the value of the program, not its derivative, is just beyond its allowance.
- {len(whole.wrong):,} clearly wrong answers: they are no right ones, so they say nothing about the allowance. Both references confirm {confirmed:,} of them.

The table puts the wrong answers down to the bugs in [trophies](trophies.md) by system, op and mode; {explained}. The last column is the smallest error of a row, relative to what is right.

{table}"""


def _least(found: Sequence[Wrong]) -> str:
    """The smallest relative error of the entries that decided."""
    errors = [
        abs(w.got - w.expected) / abs(w.expected)
        for w in found
        if w.expected is not None and w.got is not None and w.expected != 0.0 and math.isfinite(w.got)
    ]
    return f"{min(errors):.1g}" if errors else "-"


def plot(tallies: Tallies, path: Path) -> None:
    """The share of answers beyond x, a panel for each order, both axes logarithmic."""
    figure, panels = axes(1, len(ORDERS), size=(9.0, 4.2), sharex=True, sharey=True)
    for panel, order in zip(panels, ORDERS, strict=True):
        for k, dtype in enumerate(SOURCES):
            errors = np.sort(
                np.array(_whole(t for (d, o, _), t in tallies.items() if (d, o) == (dtype, order)).errors)
            )
            if len(errors):
                above = 1.0 - np.arange(len(errors)) / len(errors)  # the share of those at least as large
                some = errors > 0
                panel.step(
                    errors[some], above[some], where="pre", color=COLOURS[k], label=dtype, linewidth=1.5
                )
        for x, word in ((1.0, "allowed"), (CLEAR, "called wrong")):
            panel.axvline(x, color="#444444", linestyle="--", linewidth=1.0)
            place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            panel.annotate(word, (x, 1.0), (3, -2), rotation=90, va="top", fontsize=8, **place)
        panel.set(
            xscale="log",
            yscale="log",
            xlim=(1e-4, 30.0),
            title=f"{'first' if order == 1 else 'second'} order",
            xlabel="error / allowed",
        )
    panels[0].set_ylabel("share of answers with a larger error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SOURCES))
    save(figure, path)
