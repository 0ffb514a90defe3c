"""The 39 gradients through `Nx.vectorize` that were recorded of Nx, asked again of any Nx, as a table.

    python -m benchmarks.nx_vectorized nx==./before nx==./after

The cases are `tests/data/nx_vectorized.exs`, written as users write them; their true gradients and what Nx
said before and after its PR #1731 are in `tests/data/nx_vectorized.json`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradfuzz.oracles.foreign import managed

DATA = Path(__file__).parents[1] / "tests" / "data"
ALLOWED = 2e-5
"""The allowed error in float32, relative to the largest entry of the gradient."""

RECORDED = {
    "before_1731": "before #1731",
    "after_1731": "with it merged",
    "newest": "of the newest",
}
"""The recorded commits of Nx: a53bbaed, f787ba7a, 37901d74."""


def recorded() -> dict[str, Any]:
    """The recorded cases by name."""
    cases = json.loads((DATA / "nx_vectorized.json").read_text(encoding="utf-8"))["cases"]
    return {case["case"]: case for case in cases}


def asked(command: Sequence[str]) -> dict[str, Any]:
    """What an Nx says of each case, where `command` starts a script with it and the script is its last word.

    A result has the `shape`, the `values` and the axes (`vec`) of each gradient, or the name of an exception.
    """
    words = [*command[:-1], "-e", (DATA / "nx_vectorized.exs").read_text(encoding="utf-8")]
    printed = subprocess.run(  # noqa: S603 - the command of an environment
        words, check=True, stdout=subprocess.PIPE, encoding="utf-8", timeout=300
    ).stdout
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return {line["case"]: line.get("gradients", {"exception": line.get("exception")}) for line in lines}


def parts(said: Any) -> list[Any]:
    return said if isinstance(said, list) else [said]


def is_near(got: Any, expected: Any) -> bool:
    expected = np.asarray(expected, float)
    error = np.max(np.abs(np.asarray(got, float) - expected))
    return bool(error <= ALLOWED * max(1.0, float(np.max(np.abs(expected)))))


def repeats(said: Any, old: Any) -> bool:
    """Whether an Nx says what was recorded: the same exception, or numbers of the same shapes and axes."""
    if "exception" in said or "exception" in old:
        return "exception" in said and "exception" in old and said["exception"] == old["exception"]
    return len(parts(said)) == len(parts(old)) and all(
        (a["shape"], a["vec"]) == (b["shape"], b["vec"]) and is_near(a["values"], b["values"])
        for a, b in zip(parts(said), parts(old), strict=True)
    )


def judged(case: Mapping[str, Any], said: Any) -> str:
    """Says `right`, what was raised, or the wrong numbers.

    A gradient that lacks an axis is the same along it; in these cases it is the last axis.
    """
    if "exception" in said:
        return f"raises `{said['exception']}`"
    for truth, part in zip(case["truth"], parts(said)[-len(case["truth"]) :], strict=True):
        got = np.repeat(np.asarray(part["values"], float), len(truth) // len(part["values"]))
        if not is_near(determined(case, got), determined(case, truth)):
            return "wrong: " + ", ".join(f"{n:.4g}" for n in part["values"])
    return "right"


def determined(case: Mapping[str, Any], gradient: Any) -> Any:
    """The entries of a gradient, of its symmetric part where only that is determined: 2 x 2 matrices."""
    if not case.get("symmetric"):
        return gradient
    matrices = np.reshape(gradient, (-1, 2, 2))
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2


def table(answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lines of Markdown: a row for each case, a column for each Nx, and how often each says what."""
    lines = [f"| case | {' | '.join(answers)} |", "|---|" + "---|" * len(answers)]
    counts: dict[str, Counter[str]] = {name: Counter() for name in answers}
    for name, case in recorded().items():
        cells = []
        for nx, said in answers.items():
            cells.append(judged(case, said[name]))
            counts[nx][cells[-1].partition(" ")[0].rstrip(":")] += 1
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("")
    for nx, said in answers.items():
        told = ", ".join(f"{word} {count}" for word, count in counts[nx].most_common())
        same = [
            f"{sum(repeats(said[n], case[key]) for n, case in recorded().items())} {words}"
            for key, words in RECORDED.items()
        ]
        lines.append(f"- {nx}: {told}; as recorded: {', '.join(same)}.")
    return lines


def main() -> None:
    """Prints the table; environments that are missing are made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="+", help="an Nx each, as nx==0.11.0 or nx==./FOLDER")
    answers = {}
    for target in parser.parse_args().targets:
        managed.install(target, print)
        answers[target] = asked(managed.plan(target).words)
    print("\n".join(table(answers)))


if __name__ == "__main__":
    main()
