"""Cases: a program with points and a question about them, in the form that a sweep asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from gradfuzz.programs import Call, Program, walk
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds
from gradfuzz.strategies.drawing.display import inputs_text
from gradfuzz.strategies.drawing.validation import check_choices, reject
from gradfuzz.strategies.inputs.point import PRECISIONS, Inputs, draw_point
from gradfuzz.strategies.loop.program import loops

Modes = tuple[str, ...]

MODES: Odds[Modes] = Odds(
    *((40, ("rev",)), (24, ("fwd",))),
    *((8, ("rev", "fwd")), (7, ("fwd", "rev")), (7, ("rev", "rev")), (6, ("fwd", "fwd"))),
    *((2, ("rev", "fwd", "fwd")), (2, ("rev", "fwd", "rev"))),
    *((2, ("rev", "rev", "rev")), (2, ("fwd", "fwd", "fwd"))),
)
"""The differentiations of a question, innermost first: both modes, all pairs of them, and third orders."""


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedCase:
    """A program, points in `precision`, the inputs to differentiate, and the modes, innermost first."""

    program: Program
    points: tuple[Inputs, ...]
    wrt: tuple[str, ...]
    precision: Precision
    modes: Modes = ("rev",)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis shows a case as the call that makes it, with all digits."""
        points = "".join(inputs_text(point) + ", " for point in self.points)
        with printer.group(14, "GeneratedCase(", ")"):
            printer.text("program=")
            printer.pretty(self.program)
            last = (f"precision={self.precision!r}", f"modes={self.modes}")
            for text in (f"points=({points.rstrip()})", f"wrt={self.wrt}", *last):
                printer.text(",")
                printer.breakable()
                printer.text(text)


@st.composite
def cases(
    draw: Draw,
    *,
    programs: st.SearchStrategy[Program] | None = None,
    precisions: tuple[Precision, ...] = PRECISIONS,
    min_points: int = 1,
    max_points: int = 4,
    max_order: int = 3,
    extremes: bool = True,
) -> GeneratedCase:
    """Cases over `programs` (None: `loops()`) with `min_points` to `max_points` points each.

    The inputs to differentiate are all float inputs, one alone with the others constant, or all but one.
    Shrinks towards the simplest program, one point, reverse mode, in the first of `precisions`.
    """
    if not 1 <= min_points <= max_points:
        given = f"min_points={min_points!r}, max_points={max_points!r}"
        reject(f"{given}: 1 <= min_points <= max_points must hold")
    check_asked(precisions, max_order)
    if programs is not None and not isinstance(programs, st.SearchStrategy):
        reject(f"programs={programs!r}: a strategy for programs; st.just(program) draws one program")
    program: Program = draw(_LOOPS if programs is None else programs)
    dice = Dice(draw)
    precision = draw_precision(dice, precisions, 40)
    modes = draw_modes(dice, max_order)
    wrt = _inputs(dice, tuple(p.name for p in program.params if p.type.is_float))
    points = [draw_point(dice, program, precision, extremes=extremes) for _ in range(min_points)]
    while len(points) < max_points and dice.chance(65):
        points.append(draw_point(dice, program, precision, extremes=extremes))
    return GeneratedCase(program, tuple(points), wrt, precision, modes)


_LOOPS = loops()

st.register_type_strategy(GeneratedCase, cases())


def check_asked(precisions: tuple[Precision, ...], max_order: int) -> None:
    """`InvalidArgument` where no case exists in such precisions or orders."""
    check_choices("precisions", precisions, FORMATS)
    if not 1 <= max_order <= 3:
        reject(f"max_order={max_order!r}: orders are 1, 2 and 3")


def draw_precision(dice: Dice, precisions: tuple[Precision, ...], percent: int) -> Precision:
    """The first of `precisions`, or with this probability in percent another one."""
    return precisions[0] if len(precisions) == 1 or not dice.chance(percent) else dice.pick(precisions[1:])


def draw_modes(dice: Dice, max_order: int) -> Modes:
    """The differentiations of a question of at most this order."""
    return dice.weighted(MODES.where(lambda modes: len(modes) <= max_order))


class CaseView:
    """A case as goals see it, with the nodes of its program."""

    def __init__(self, case: GeneratedCase) -> None:
        self.case = case
        self.nodes = list(walk(case.program))
        self.calls = [node for node in self.nodes if isinstance(node, Call)]
        self.ops = frozenset(call.op for call in self.calls)
        self.outputs = case.program.result.values


def _inputs(dice: Dice, names: tuple[str, ...]) -> tuple[str, ...]:
    """All of `names`, one of them, or all but one."""
    if len(names) < 2 or not dice.chance(55):
        return names
    k = dice.below(len(names))
    if len(names) > 2 and dice.chance(25):
        return names[:k] + names[k + 1 :]
    return (names[k],)
