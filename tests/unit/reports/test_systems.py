"""Ways into a system, taken together."""

from __future__ import annotations

import pytest

from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.finding import Reason
from gradfuzz.reports.common.systems import system, systems


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("torch:eager", "torch"),
        ("jax:scan:nojit", "jax"),
        ("warp==1.19.0:kernel", "warp==1.19.0"),
        ("engine", "engine"),
        ("mutant:nx-1747", "mutant:nx-1747"),
        ("cmd:python a:b.py", "cmd:python a:b.py"),
        ("cmd:python a.py#fast", "cmd:python a.py"),
    ],
)
def test_the_system_of_a_target(target: str, name: str) -> None:
    assert system(target) == name


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
