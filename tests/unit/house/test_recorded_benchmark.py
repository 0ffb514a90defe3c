"""What counts as reached in the table of recorded packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.recorded import reached
from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.calling.package import functions
from gradfuzz.fuzzer.results.call import Argument, Call

PACK = """
import abc, enum

class Base(abc.ABC):
    @abc.abstractmethod
    def value(self, x): ...

class Kind(enum.Enum):
    ONE = 1

class Broken(Exception):
    pass

def count(x) -> int:
    return len(x)

def size(x):
    return len(x)

def fixed(x):
    return x.detach()
"""


def row(name: str, outcome: str, why: str = "") -> dict[str, str]:
    return {"name": name, "outcome": outcome, "why": why}


def test_a_class_is_reached_by_one_of_its_methods_and_what_has_no_floats_does_not_count() -> None:
    rows = [
        row("p.Operator", "left out", "a class, whose 2 methods are called"),
        row("p.Operator.mv", "asked"),
        row("p.Operator.in_size", "refused", "p.Operator.in_size returns no array of floats here"),
        row("p.Solver", "refused", "its parameter state takes what gradfuzz does not draw"),
        row("p.Structure", "left out", "a class, whose 1 methods are called"),
        row("p.Structure.size", "not differentiable", "returns int"),
        row("p.solve", "asked"),
        row("p.late", "not reached"),
    ]
    found = reached(rows)
    assert [name for name, why in found.items() if why == "asked"] == ["p.Operator", "p.solve"]
    assert found["p.Solver"] == "refused: its parameter state takes what gradfuzz does not draw"
    assert set(found) == {"p.Operator", "p.solve", "p.Solver", "p.late"}


def test_why_something_has_no_floats_is_in_the_words_that_a_sweep_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    (tmp_path / "pack_without_floats.py").write_text(f"import torch\n{PACK}", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    listed = functions("pack_without_floats")
    rows = [row(one.names[0], one.outcome, one.why) for one in listed]
    for name in ("size", "fixed"):
        array = Argument(array=torch.ones(2, dtype=torch.float64).numpy())
        call = Call("torch", f"pack_without_floats.{name}", (array,))
        refused = judged(call).refused
        rows = [row(r["name"], "refused", refused) if r["name"] == call.function else r for r in rows]
    assert {r["name"].partition(".")[2] for r in rows} == {
        *("Base", "Base.value", "Kind", "Broken"),
        "count",
        "size",
        "fixed",
    }
    assert reached(rows) == {}
