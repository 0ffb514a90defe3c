"""Runs for boards: sweeps of a few systems with findings."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.board.collection import Board, BoardRun, board
from tests.report_data import finding, finished

OPS = {"sin": 9, "cos": 40, "det": 2, "tan": 200}


def wrong(version: str, letter: str = "a", target: str = "torch:eager", **more: Any) -> Finding:
    own = {"id": f"GF-{letter * 4}", "signature": letter * 64, "culprits": ("sin",), "family": "loops"}
    return finding(target=target, version=version, **(own | more))


def swept(
    version: str, *findings: Finding, name: str = "torch:eager", ops: Mapping[str, int] = OPS
) -> SweepFinished:
    summary = TargetSummary(name, version, "loops", checks=100, agree=99, programs=250, ops=ops)
    return dataclasses.replace(finished(), findings=findings, summaries=(summary,), functions=())


def made(*runs: tuple[str, SweepFinished] | tuple[str, SweepFinished, Review]) -> Board:
    return board(BoardRun(*run) for run in runs)


def both() -> Board:
    jax = swept("0.10", wrong("0.10", "b", "jax:scan", culprits=("<b>&",)), name="jax:scan")
    return made(("2026-01-01T00:00:00+00:00", swept("1.0", wrong("1.0"))), ("2026-01-02T00:00:00+00:00", jax))


SYSTEMS = (
    *("autograd", "cppad", "drjit", "jax", "mlx", "nx"),
    *("paddle", "pytensor", "taichi", "tensorflow", "tinygrad", "torch"),
)


def large(number: int) -> Board:
    """Twelve systems in two releases, with so many findings about sixty ops, a third of them not seen again;
    an op was in 1, 3, 9, ... 6,561 programs.

    Each ten findings of a system have one id, as findings of different nights may. They have no evidence, as
    only their own pages would show it.
    """
    ops = [f"op_{k}" for k in range(60)]
    runs: list[tuple[str, SweepFinished]] = []
    for place, name in enumerate(SYSTEMS):
        target = f"{name}:eager"
        found = []
        for k in range(place, number, len(SYSTEMS)):
            signature = hashlib.sha256(f"{name} {k}".encode()).hexdigest()
            own = {"id": f"GF-{k // len(SYSTEMS) // 10:04x}", "signature": signature}
            found.append(
                finding(
                    k,
                    with_evidence=False,
                    target=target,
                    version="1.0",
                    family="loops",
                    culprits=(ops[k * 7 % len(ops)],),
                    **own,
                )
            )
        both = found, found[: 2 * len(found) // 3]
        for version, day, of in zip(("1.0", "2.0"), "12", both, strict=True):
            own_ = [dataclasses.replace(one, version=version) for one in of]
            sweep = swept(version, *own_, name=target, ops={op: 3 ** (k % 9) for k, op in enumerate(ops)})
            runs.append((f"2026-01-0{day}T00:00:00+00:00", sweep))
    return made(*runs)
