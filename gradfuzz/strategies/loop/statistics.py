"""What a test of Hypothesis's is told about a drawn program, for its statistics and for Tyche."""

from __future__ import annotations

from hypothesis import currently_in_test_context, event
from hypothesis.control import current_build_context

from gradfuzz.programs import Program
from gradfuzz.programs.language.program import called
from gradfuzz.strategies.drawing.draw import draws
from gradfuzz.strategies.loop.facts import ProgramFacts


def observed(program: Program, family: str) -> Program:
    """The program itself. Its family, ops, forms of loops and trip count become events of the example.

    Nothing is told outside of a test. The trip count is the largest bound that the text gives.
    """
    if not currently_in_test_context() or current_build_context().wrapped_test is draws:
        return program
    event("gradfuzz family", family)
    for op in called(program):
        event(f"gradfuzz op {op}")
    loops = ProgramFacts(program).loops
    event("gradfuzz loop", ", ".join(sorted({loop.form for loop in loops})) or "none")
    if trips := [max(n, int(loop.form == "repeat")) for loop in loops if isinstance(n := loop.count, int)]:
        event("gradfuzz trips", max(trips))
    if any(isinstance(loop.count, str) for loop in loops):
        event("gradfuzz trips are given at run time")
    if any(loop.by_value for loop in loops):
        event("gradfuzz trips depend on values")
    return program
