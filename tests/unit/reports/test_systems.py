"""Ways into a system, taken together."""

from __future__ import annotations

from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.finding import Reason
from gradfuzz.reports.common.summary import group, systems


def test_counts_add_up() -> None:
    kink, range_ = list(Reason)[:2]
    found = systems(
        [
            TargetSummary("a:x", "1", "loops", 5, 3, 1, 1, {kink: 2}, 7, 0, 0.5),
            TargetSummary("b:x", "1", "loops", 1),
            TargetSummary("a:y", "1", "loops", 4, 4, 0, 0, {kink: 1, range_: 1}, 1, 2, 0.25),
            TargetSummary("a:x", "1", "linalg", 2),
            TargetSummary("a:x", "2", "loops", 9),
        ]
    )
    assert [(s.summary.name, s.summary.version, s.summary.family, s.ways) for s in found] == [
        ("a", "1", "loops", 2),
        ("b", "1", "loops", 1),
        ("a", "1", "linalg", 1),
        ("a", "2", "loops", 1),
    ]
    assert found[0].summary == TargetSummary("a", "1", "loops", 9, 7, 1, 1, {kink: 3, range_: 1}, 8, 2, 0.5)


def test_the_ways_into_a_command_are_one_system_everywhere() -> None:
    names = ["cmd:python a.py#fast", "cmd:python a.py#slow", "cmd:python b.py#fast"]
    summaries = [TargetSummary(name, "1", "loops", 1) for name in names]
    assert [s.summary.name for s in systems(summaries)] == ["cmd:python a.py", "cmd:python b.py"]
    assert list(group(summaries)) == ["cmd:python a.py", "cmd:python b.py#fast"], "a single way stays itself"
