"""Floats made ints, which no op does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradfuzz.engine as engine
from gradfuzz.engine.rules.value import ACTIVE, Operand, Value, apply
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.tracing.common.compositions import inside

_EXPONENT_BITS = 11


def frexp(x: Operand) -> tuple[Any, Any]:
    """x = m 2^e with 1/2 <= |m| < 1: m and e; what is 0 has no derivative here."""
    power = apply("floor", apply("log2", engine.abs(x))) + 1.0
    return x * apply("exp2", -power), truncated(power, _EXPONENT_BITS)


def truncated(x: Operand, bits: int) -> Any:
    """`x` rounded towards 0, as an int, for x of less than 2^bits. It has no derivative.

    A float that was an int is that int. What an op has rounded is moved off its step: no comparison could
    tell it from what is just less.
    """
    builder, level, made = _maker(x)
    if made is not None and made.op == "astype" and made.inputs[0].type.dtype == "int":
        return Value(builder, made.inputs[0], level)
    if made is not None and made.op in FUNCTIONS and FUNCTIONS[made.op].step:
        return _whole(x + 0.5, bits)
    return engine.where(apply("less", x, 0.0), -_whole(-x, bits), _whole(x, bits))


def _whole(x: Operand, bits: int) -> Any:
    """The greatest int that is no greater than x, found bit by bit."""
    x = inside(apply("less", engine.abs(x), math.ldexp(1.0, bits)), x)
    steps = np.array([1 << k for k in range(bits, -1, -1)])

    def step(i: Operand, found: Operand) -> Any:
        more = found + apply("index", steps, i, pattern=("at",))
        return engine.where(apply("less_equal", more, x), more, found)

    return engine.fori_loop(0, bits + 1, step, np.full(np.shape(x), -(1 << bits)))


def _maker(x: Operand) -> tuple[Any, int, Equation | None]:
    """The equation of an op that made a value, and the graph and the level that it is in."""
    for level, builder in enumerate(ACTIVE.get(), 1):
        for node in builder.nodes:
            if isinstance(node, Equation) and isinstance(x, Value) and node.output is x.atom:
                return builder, level, node
    return None, 0, None
