"""Programs as graphs whose loops have been looked at, and as functions of JAX with loops in one style."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradfuzz.errors import TripLimitError
from gradfuzz.oracles.jax.loops import Style, loop_source
from gradfuzz.oracles.jax.trips import known_trips
from gradfuzz.programs.graphs.graph import Branch, Graph, Loop
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program


@dataclass(frozen=True, eq=False)
class LoweredProgram:
    """A program as a graph, and what is known of its loops before it runs."""

    graph: Graph
    trips: dict[Loop, int]
    loops: tuple[Loop, ...]
    error: str = ""

    @property
    def counted(self) -> bool:
        """Whether some loop suits `lax.fori_loop`."""
        return any(loop in self.trips or loop.form == "for" for loop in self.loops)

    @property
    def open_ended(self) -> bool:
        """Whether some loop's trip count is known only at run time."""
        return any(loop not in self.trips for loop in self.loops)

    @property
    def selects(self) -> bool:
        """Whether a batched run also computes what is not taken."""
        return self.open_ended or any(isinstance(node, Branch) for node in self.graph.walk())


@functools.lru_cache(maxsize=256)
def lowered_program(program: Program) -> LoweredProgram:
    graph = lower(program)
    loops = tuple(node for node in graph.walk() if isinstance(node, Loop) and node.carries)
    try:
        return LoweredProgram(graph, known_trips(graph), loops)
    except TripLimitError as error:
        return LoweredProgram(graph, {}, loops, str(error))


def program_source(program: Program, precision: Precision, style: Style, bound: int) -> str:
    """The program as JAX source, a function `f`. `bound`: as for `loop_source`."""
    known = lowered_program(program)
    return loop_source(known.graph, precision, style, known.trips, bound)


@functools.lru_cache(maxsize=256)
def function_of(
    program: Program, precision: Precision, style: Style, bound: int
) -> Callable[..., Sequence[Any]]:
    """The program as a function of all parameters that returns a tuple."""
    dtypes = {"F": np.dtype(precision).type, "C": FORMATS[precision].complex_dtype}
    names: dict[str, Any] = {**dtypes, "jax": jax, "jnp": jnp, "lax": lax, "np": np}
    exec(program_source(program, precision, style, bound), names)  # noqa: S102 - our own text, made from a typed program
    f = names["f"]
    return f if len(program.result.values) > 1 else lambda *arguments: (f(*arguments),)
