"""Custom ops of Torch in a user's package, with broken rules: a sweep that does not know them finds them.

The turn of a function depends on nothing but itself, so that a sweep of twenty broken rules finds each of
them as a sweep in which it alone is broken.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.sweep.plans import sweep

pytest.importorskip("torch")
pytestmark = pytest.mark.slow(reason="two sweeps of a module with twenty ops: a minute each")

MODULE = "custom_ops.ops"
OPS = 20
FOUND = 18
HELPERS = ("name", "ruled", "summed_to")
SECONDS = 300.0


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


def swept() -> Any:
    config = SweepConfig((MODULE,), (FAMILY,), max_examples=5, max_time=SECONDS, seed=5)
    *_, end = sweep(config)
    assert isinstance(end, SweepFinished)
    return end


def asked(end: Any) -> dict[str, Any]:
    """What became of each op."""
    names = {one.name.rpartition(".")[2]: one for one in end.functions if one.outcome in ("asked", "refused")}
    return {name: one for name, one in names.items() if name not in HELPERS}


def test_right_rules_are_no_findings() -> None:
    end = swept()
    ops = asked(end)
    assert len(ops) == OPS
    assert [finding.code for finding in end.findings] == []
    assert [name for name, one in ops.items() if not one.asked.get("rev")] == []


def test_broken_rules_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADFUZZ_BROKEN", "1")
    end = swept()
    missed = [name for name, one in asked(end).items() if not one.findings]
    assert len(missed) <= OPS - FOUND, missed
    print(f"{OPS - len(missed)} of {OPS} found in {end.seconds:.0f} s; missed: {missed}")
