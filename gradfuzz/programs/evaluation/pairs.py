"""Programs of complex inputs and outputs as programs of pairs of floats: what is asked about is real.

A complex parameter z becomes z_re and z_im, and the first statement `z = complex(z_re, z_im)`; a complex
output becomes its real and its imaginary part. So the gradient with respect to z_re and z_im is that of a
real function of two real inputs, and whose convention a complex gradient follows does not matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gradfuzz.errors import ProgramTypeError
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Assign, Call, Expr, For, Name, Param, Return
from gradfuzz.programs.language.typecheck import Typed, typecheck

PARTS = ("_re", "_im")
"""What is added to a name for its two parts."""


def in_pairs(program: Program) -> Program:
    """`program` with float parameters and outputs in place of complex ones; the program itself where there
    are none.

    `ProgramTypeError` where it does not type-check, or has a name of its own that a part would get.
    """
    typed = typecheck(program)
    complex_params = [p.name for p in program.params if p.type.is_complex]
    if not complex_params and not any(t.is_complex for t in typed.outputs):
        return program
    taken = {p.name for p in program.params}
    taken |= {n.target for n in walk(program) if isinstance(n, (Assign, For))}
    params: list[Param] = []
    first: list[Assign] = []
    for param in program.params:
        if param.name not in complex_params:
            params.append(param)
            continue
        names = [param.name + part for part in PARTS]
        for name in names:
            if name in taken:
                raise ProgramTypeError(
                    f"{param.name} is complex and is given as {' and '.join(names)}, but the program has a"
                    f" {name} of its own; rename it"
                )
        params += [Param(name, param.type.with_dtype("float")) for name in names]
        first.append(Assign(param.name, Call("complex", tuple(map(Name, names)))))
    named, outputs = _outputs(typed, taken)
    last = Return(outputs, program.result.line)
    return Program(program.name, tuple(params), (*first, *program.body[:-1], *named, last))


def _outputs(typed: Typed, taken: set[str]) -> tuple[list[Assign], tuple[Expr, ...]]:
    """The real outputs, and what has to be assigned before: a complex output that is no variable yet."""
    fresh = _fresh(taken)
    named: list[Assign] = []
    outputs: list[Expr] = []
    for value, of in zip(typed.program.result.values, typed.outputs, strict=True):
        if not of.is_complex:
            outputs.append(value)
            continue
        if not isinstance(value, Name):
            named.append(Assign(next(fresh), value))
            value = Name(named[-1].target)
        outputs += [Call("real", (value,)), Call("imag", (value,))]
    return named, tuple(outputs)


def _fresh(taken: set[str]) -> Iterator[str]:
    """Names for results: out, out_2, ..."""
    names = ("out" if k == 1 else f"out_{k}" for k in itertools.count(1))
    return (name for name in names if name not in taken)
