"""What check_gradient says of packages as they are used: docs/packages.md.

Each operation of `package_rows` is asked about as it is, with NumPy's arrays and no other option, and again
with a planted mistake: its gradient by the first argument a hundredth too large. A package that is not
installed is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from benchmarks.package_rows import PACKAGES

ROOT = Path(__file__).parents[1]
LIMIT = 120
"""Seconds for a check; one that takes longer is not judged."""

DISTRIBUTIONS = {
    "torch.distributions": "torch",
    "haiku": "dm-haiku",
    "ott": "ott-jax",
    "pyro": "pyro-ppl",
    "e3nn_jax": "e3nn-jax",
    "torch_geometric": "torch-geometric",
}

RIGHT = ("agree", "convention")
WRONG = ("disagree", "crashed")


class _LateError(BaseException):
    """Nothing between here and there takes it for an exception of a function."""


def _late(signum: int, frame: FrameType | None) -> None:
    raise _LateError


def timed(what: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, or raises, and the seconds that it takes."""
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(LIMIT)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = what()
    except _LateError:
        found = TimeoutError(f"more than {LIMIT} seconds")
    except Exception as error:  # noqa: BLE001 - whatever a package raises is noted
        found = error
    finally:
        signal.alarm(0)
    return found, time.perf_counter() - start


def planted(f: Callable[..., Any], framework: str) -> Callable[..., Any]:
    """The same function, its gradient by the first argument a hundredth too large."""
    if framework == "jax":
        import jax

        @jax.custom_vjp
        def steeper(x: Any) -> Any:
            return x

        steeper.defvjp(lambda x: (x, None), lambda _, g: (1.01 * g,))
        return lambda x, *rest: f(steeper(x), *rest)
    import torch

    class Steeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return 1.01 * gradients[0]

    return lambda x, *rest: f(Steeper.apply(x), *rest)


def by_others(f: Callable[..., Any], args: Sequence[Any], framework: str) -> bool:
    """Whether the framework's own check passes."""
    if framework == "jax":
        import jax
        from jax.test_util import check_grads

        check_grads(f, [jax.numpy.asarray(a) for a in args], order=1, modes=("rev",))
        return True
    import torch

    return bool(torch.autograd.gradcheck(f, [torch.tensor(np.asarray(a)).requires_grad_() for a in args]))


def framework_of(package: str, row: str) -> str:
    return "jax" if row.endswith(", JAX") else PACKAGES[package][0]


def records(package: str, pattern: str = "") -> list[dict[str, Any]]:
    """What is said to each operation of a package."""
    from gradfuzz.testing import measure_gradient

    if PACKAGES[package][0] == "jax" or package == "einops":
        import jax

        jax.config.update("jax_enable_x64", True)
    if PACKAGES[package][0] == "torch":
        import torch

        torch.set_default_dtype(torch.float64)
    found = []
    for row, (f, *args) in PACKAGES[package][1]().items():
        if not re.search(pattern, row):
            continue
        framework = framework_of(package, row)
        told: dict[str, Any] = {"package": package, "row": row, "framework": framework}
        said, told["seconds"] = timed(lambda f=f, args=args: measure_gradient(f, *args))
        told |= _said(said)
        said, _ = timed(
            lambda f=f, args=args, w=framework: measure_gradient(
                planted(f, w), *args, modes="rev", framework=w
            )
        )
        told["planted"] = _said(said)["verdict"]
        other, told["other_seconds"] = timed(lambda f=f, args=args, w=framework: by_others(f, args, w))
        told["other"] = other is True
        found.append(told)
        print(json.dumps(told), flush=True)
    return found


def _said(said: Any) -> dict[str, Any]:
    if isinstance(said, Exception):
        return {"verdict": "not asked", "reason": f"{type(said).__name__}: {said}"[:300]}
    return {
        "verdict": said.verdict.value,
        "method": said.method,
        "reason": said.reason,
        "untraced": said.untraced,
        "kind": said.kind and said.kind.value,
    }


def release(package: str) -> str | None:
    """The installed release; None if there is none."""
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return None


# The page ---------------------------------------------------------------------------------------------------


def text(found: Sequence[Mapping[str, Any]], releases: Mapping[str, str | None]) -> str:
    """The page."""
    sums = _sums(found)
    share = {k: f"{v} of {len(found)} ({100 * v / max(len(found), 1):.0f} %)" for k, v in sums.items()}
    lines = [
        "# Packages as they are used",
        "",
        "<!-- Made by `make packages`; edit benchmarks/packages.py. -->",
        "",
        f"{len(found)} operations of {len({r['package'] for r in found})} packages on JAX and Torch are asked"
        " about as their documents call them:\n`check_gradient(f, *args)` with NumPy's arrays in float64 and"
        " no other option. Each operation is right, as\nfar as anybody knows. It is asked about again with a"
        " planted mistake, a gradient that is a hundredth too large.",
        "",
        f"- right verdict: {share['right']}",
        f"- accused: {share['accused']}",
        f"- not judged: {share['unjudged']}",
        f"- right by the traced function, so that the truth is proved: {share['proved']}",
        f"- planted mistake found: {share['found']}; passed: {share['passed']}",
        "",
        "The other check is `jax.test_util.check_grads` in reverse mode or `torch.autograd.gradcheck`, with\n"
        "their defaults. Seconds are those of all operations of the package, each asked for the first time.",
        "",
        "| package | asked | proved | right | not judged | accused | planted: found | passed | seconds"
        " | the other: right | seconds |",
        "| --- " + "| ---: " * 10 + "|",
    ]
    for package, installed in releases.items():
        own = [r for r in found if r["package"] == package]
        if installed is None or not own:
            why = "not installed" if installed is None else "not measured"
            lines.append(f"| {package} | {why} |" + " |" * 9)
            continue
        s = _sums(own)
        numbers = [len(own), s["proved"], s["right"], s["unjudged"], s["accused"], s["found"], s["passed"]]
        numbers += [math.ceil(sum(r["seconds"] for r in own)), sum(r["other"] for r in own)]
        numbers += [math.ceil(sum(r["other_seconds"] for r in own))]
        lines.append(f"| {package} {installed} | {' | '.join(map(str, numbers))} |")
    lines += ["", "## Not right, or not proved", "", "| operation | verdict | why |", "| --- | --- | --- |"]
    for r in found:
        if not _is_proved(r):
            why = (
                r["reason"] if r["verdict"] not in RIGHT else r["untraced"]
            ) or f"traced; judged by {r['method']}"
            why = re.sub(r"\s+", " ", why).replace("|", "\\|")
            lines.append(f"| {r['package']}: {r['row']} | {r['verdict']} | {why} |")
    return "\n".join(lines) + "\n"


def _is_proved(row: Mapping[str, Any]) -> bool:
    """Whether it is right by the derivative of the traced function, and not by measured differences."""
    return row["verdict"] in RIGHT and row["method"] == "traced"


def _sums(found: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    verdicts = [r["verdict"] for r in found]
    return {
        "proved": sum(map(_is_proved, found)),
        "right": sum(v in RIGHT for v in verdicts),
        "accused": sum(v in WRONG for v in verdicts),
        "unjudged": sum(v not in (*RIGHT, *WRONG) for v in verdicts),
        "found": sum(r["planted"] in WRONG for r in found),
        "passed": sum(r["planted"] in RIGHT for r in found),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", choices=PACKAGES, help="measure one, print, and write no page")
    parser.add_argument("--rows", default="", help="a pattern of its operations")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "packages", help="folder of results")
    parser.add_argument("--report", action="store_true", help="write the page from what was measured")
    options = parser.parse_args(arguments)
    if options.package:
        records(options.package, options.rows)
        return
    options.results.mkdir(parents=True, exist_ok=True)
    releases = {package: release(package) for package in PACKAGES}
    found: list[dict[str, Any]] = []
    for package, installed in releases.items():
        file = options.results / f"{package}.jsonl"
        if installed and not options.report and not file.exists():
            command = [sys.executable, "-m", "benchmarks.packages", "--package", package]
            run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
            file.write_text(run.stdout, encoding="utf-8")
        if file.exists():
            found += [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    (ROOT / "docs" / "packages.md").write_text(text(found, releases), encoding="utf-8")


if __name__ == "__main__":
    main()
