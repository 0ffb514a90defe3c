"""What counts as reached in the table of recorded packages."""

from __future__ import annotations

from benchmarks.recorded import reached


def row(name: str, outcome: str, why: str = "") -> dict[str, str]:
    return {"name": name, "outcome": outcome, "why": why}


def test_a_class_is_reached_by_one_of_its_methods_and_what_has_no_floats_does_not_count() -> None:
    rows = [
        row("p.Operator", "left out", "a class, whose 2 methods are called"),
        row("p.Operator.mv", "asked"),
        row("p.Operator.in_size", "refused", "p.Operator.in_size returns no array of floats here"),
        row("p.Base", "left out", "a class: an abstract class, of which there are no objects"),
        row("p.Error", "left out", "a class: an exception"),
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
