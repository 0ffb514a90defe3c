"""The strategy for programs of any family."""

from __future__ import annotations

from typing import Literal, get_args

from hypothesis import strategies as st

from gradfuzz.programs import Program
from gradfuzz.strategies.complex.program import complex_programs
from gradfuzz.strategies.drawing.dice import Dice, Draw
from gradfuzz.strategies.drawing.validation import check_choices, reject
from gradfuzz.strategies.linalg.program import linalg_programs
from gradfuzz.strategies.loop.program import loops
from gradfuzz.strategies.tensor.program import tensor_programs

ProgramFamily = Literal["loops", "linalg", "tensor", "complex"]

_FAMILIES: dict[ProgramFamily, st.SearchStrategy[Program]] = {
    "loops": loops(),
    "linalg": linalg_programs(),
    "tensor": tensor_programs(),
    "complex": complex_programs(),
}


@st.composite
def programs(
    draw: Draw,
    *,
    families: tuple[ProgramFamily, ...] = get_args(ProgramFamily),
    ops: tuple[str, ...] | None = None,
) -> Program:
    """Programs of all families, or of those in `families`, equally often, each with its default options.

    `ops`: the only ops to use (None: all); it needs `families=("loops",)`. `points(program)` draws inputs of
    any of them. Shrinks towards the simplest program of the first family.
    """
    check_choices("families", families, _FAMILIES)
    if ops is not None:
        if set(families) != {"loops"}:
            reject(
                f"ops={ops!r} with families={families!r}: only loops are drawn of some ops alone; give"
                ' families=("loops",), or draw the others by their own strategies, whose ops= says what they'
                " are about"
            )
        held: Program = draw(loops(ops=ops))
        return held
    program: Program = draw(_FAMILIES[Dice(draw).pick(families)])
    return program


st.register_type_strategy(Program, programs())
