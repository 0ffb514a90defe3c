"""The cache by identity."""

from __future__ import annotations

from gradfuzz.programs import parse
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.recent import Recent

TEXT = "def f(x):\n    return sin(x)"


def test_what_is_made_is_found_again_by_identity_and_forgotten_in_order() -> None:
    made: list[Program] = []

    def make(program: Program) -> int:
        made.append(program)
        return len(made)

    cache = Recent(make, 2)
    first, equal, third = (parse(TEXT) for _ in range(3))
    assert first == equal
    assert [cache.get(first), cache.get(equal), cache.get(first), cache.get(equal)] == [1, 2, 1, 2]
    assert cache.get(third) == 3
    assert cache.get(equal) == 2
    assert cache.get(first) == 4, "the oldest of three had to go"


def test_what_cannot_be_made_is_tried_again() -> None:
    calls = 0

    def fail(program: Program) -> int:
        nonlocal calls
        calls += 1
        raise ValueError(program.name)

    cache, program = Recent(fail, 2), parse(TEXT)
    for _ in range(2):
        try:
            cache.get(program)
        except ValueError:
            continue
        raise AssertionError("what fails is not kept")
    assert calls == 2
