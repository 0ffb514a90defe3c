"""A program's plan, drawn before its details, so that shrinking can change one part and keep the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gradfuzz.strategies.drawing.dice import Dice, Odds
from gradfuzz.strategies.loop.body import TEMPORARIES, BodyPlan

Form = Literal["for", "while", "repeat"]
Kind = Literal["scalar", "pair", "sequence", "vector", "mixed", "matrix"]

FORMS: tuple[Form, ...] = ("for", "while", "repeat")
"""The forms of a loop: counted, test first, body first."""

_WEIGHTS: Odds[tuple[Form, bool]] = Odds(
    (42, ("for", False)), (22, ("while", False)), (29, ("repeat", False)), (7, ("while", True))
)
"""The form, and whether a `while` counts at the top of its body, so that `continue` cannot skip the count."""
_COUNTS = Odds((64, "constant"), (14, "input"), (22, "outer"))
"""The source of the trip count, where the loop allows it."""
_TEMPORARIES_IN_REPEAT = Odds((54, 0), (34, 1), (12, 2))
_SCALARS = Odds((28, 1), (46, 2), (26, 3))
_SECOND = Odds((79, "none"), (4, "only"), (8, "after"), (9, "inside"))
"""Whether there is a second loop, and where. "only" replaces the first: shrinking can drop either."""
_BEFORE = Odds((80, "nothing"), (17, "value"), (3, "alias"))
_BOUNDS: Odds[float | str] = Odds(
    *((20, 2.0), (20, 4.0), (15, 10.0), (5, 100.0), (5, 0.75)),
    *((8, "parameter"), (8, "parameter + 2"), (14, "parameter alone"), (5, "carried")),
)
"""The bounds at which a loop stops by value."""
_KINDS: Odds[Kind] = Odds(
    (62, "scalar"), (13, "pair"), (9, "sequence"), (8, "vector"), (4, "mixed"), (4, "matrix")
)
KINDS = tuple(kind for _, kind in _KINDS.rows)
"""What a loop carries."""
MAX_TRIPS = 17


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """The options of `loops`."""

    min_trips: int = 0
    max_trips: int = MAX_TRIPS
    forms: tuple[Form, ...] = FORMS
    max_params: int = 3
    max_loops: int = 2
    max_outputs: int = 3
    arrays: bool = True
    branches: bool = True
    exits: bool = True
    run_time: bool = True
    by_value: bool = True
    ops: frozenset[str] | None = None
    about: str | None = None
    """An op that is drawn as soon as it can be."""
    kinds: tuple[Kind, ...] = KINDS


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """The plan of a loop, drawn before its details.

    `place`, below 100, is the loop's place in the table of trip counts. The loop stops by value where
    `by_value`, also below 100, is high.
    """

    form: Form
    early: bool
    place: int
    count: str
    by_value: int
    bound: float | str
    body: BodyPlan

    @classmethod
    def drawn(cls, dice: Dice, options: LoopOptions) -> LoopPlan:
        """A plan. It always takes the same number of draws."""
        form, early = dice.weighted(_WEIGHTS.where(lambda f: f[0] in options.forms))
        place, count = dice.below(100), dice.weighted(_COUNTS)
        by_value, bound = dice.below(100), dice.weighted(_BOUNDS)
        exits: tuple[str, ...] = ()
        if options.exits and options.min_trips == 0:
            exits = ("break", "continue") if form == "for" or early else ("break",)
        table = _TEMPORARIES_IN_REPEAT if form == "repeat" else TEMPORARIES
        body = BodyPlan.drawn(dice, temporaries=table, branches=options.branches, exits=exits)
        return cls(form, early, place, count, by_value, bound, body)


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of a program, drawn before their details."""

    kind: Kind
    scalars: int
    second: str
    before: str
    passed: bool
    first_loop: LoopPlan
    second_loop: LoopPlan | None

    @classmethod
    def drawn(cls, dice: Dice, options: LoopOptions) -> Plan:
        """A plan. It always takes the same number of draws, except for the second loop."""
        kind = dice.weighted(_KINDS.where(lambda kind: kind in options.kinds))
        scalars = dice.weighted(_SCALARS)
        second, before, passed = dice.weighted(_SECOND), dice.weighted(_BEFORE), dice.chance(8)
        kind = kind if options.arrays or kind == "pair" else "scalar"
        kind = kind if kind != "sequence" or dice.has("index") else "scalar"
        second = second if options.max_loops > 1 else "none"
        first_loop = LoopPlan.drawn(dice, options)
        second_loop = None if second == "none" else LoopPlan.drawn(dice, options)
        if second == "only" and second_loop is not None:
            first_loop, second_loop = second_loop, None
        return cls(kind, scalars, second, before, passed, first_loop, second_loop)
