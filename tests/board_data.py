"""Runs for boards: sweeps of a few systems with findings."""

from __future__ import annotations

import dataclasses
from typing import Any

from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.board.collected import Board, Run, board
from tests.report_data import finding, finished

OPS = {"op": {"sin": 9, "cos": 9, "det": 4, "tan": 2}}


def wrong(version: str, letter: str = "a", target: str = "torch:eager", **more: Any) -> Finding:
    own = {"id": f"GF-{letter * 4}", "signature": letter * 64, "culprits": ("sin",), "family": "loops"}
    return finding(target=target, version=version, **(own | more))


def swept(version: str, *findings: Finding, name: str = "torch:eager", never: tuple[str, ...] = ()) -> Any:
    summary = TargetSummary(name, version, "loops", checks=100, agree=99, programs=10, never=never)
    return dataclasses.replace(finished(), findings=findings, summaries=(summary,), tested=OPS, functions=())


def made(*runs: tuple[str, SweepFinished] | tuple[str, SweepFinished, Review]) -> Board:
    return board(Run(*run) for run in runs)


def both() -> Board:
    jax = swept("0.10", wrong("0.10", "b", "jax:scan", culprits=("<b>&",)), name="jax:scan")
    return made(("2026-01-01T00:00:00+00:00", swept("1.0", wrong("1.0"))), ("2026-01-02T00:00:00+00:00", jax))
