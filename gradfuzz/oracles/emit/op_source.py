"""Ops of arrays in a library's dialect: the namespace runs the same text that a reproducer shows.

An op is seldom a single call: operands are broadcast over batch axes, an option has another name, a triangle
is transposed. A dialect's text is compiled once per shapes and parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS, result_type
from gradfuzz.programs.language.program import Program, called
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import Type

Shape = tuple[int, ...]
Params = Mapping[str, ParamValue]
Items = tuple[tuple[str, ParamValue], ...]
"""The items of parameters."""
Write = Callable[[str, Sequence[str], Sequence[Shape], Params], str]
"""(op, operand texts, their shapes, parameters but `part`) -> an expression; a tuple for several results."""
Compiled = Callable[[str, tuple[Shape, ...], Items], Callable[..., Any]]


def compiling(write: Write, names: Mapping[str, Any]) -> Compiled:
    """The texts of `write` as functions of the operands; `names` are the globals that the texts read."""

    @functools.lru_cache(maxsize=1024)
    def compiled(op: str, shapes: tuple[Shape, ...], params: Items) -> Callable[..., Any]:
        operands = [f"x{k}" for k in range(len(shapes))]
        text = f"lambda {', '.join(operands)}: {write(op, operands, shapes, dict(params))}"
        function: Callable[..., Any] = eval(text, dict(names))  # noqa: S307 - our own text, of an op that has been checked
        return function

    return compiled


def atom(text: str) -> str:
    """An operand, in brackets unless it is a name."""
    return text if text.isidentifier() else f"({text})"


def keywords(params: Params) -> list[str]:
    """The parameters that are set, as keyword arguments: `axis=0`."""
    return [f"{name}={value}" for name, value in params.items() if value is not None and value is not False]


def order_text(order: ParamValue, infinity: str) -> str:
    """The order of a norm; in the program language a string says an infinity."""
    words = {"inf": infinity, "-inf": f"-{infinity}", "fro": '"fro"', "nuc": '"nuc"'}
    return words.get(str(order), str(order))


INTERNAL = frozenset({"cofactor", "divide_by_gaps"})
"""Ops that occur only in derivatives. No library has them."""

LINALG = frozenset(
    {op for op, row in OPS.items() if row.kind == "linalg" and op not in INTERNAL}
    | {"diagonal", "einsum", "kron", "outer", "trace", "tril", "triu"}
)
"""Linear algebra."""

_TENSOR_OPS = (
    "all amax amin any argmax argmin argsort broadcast_to clip concat conv cumulative_max cumulative_prod"
    " cumulative_sum flip log_softmax logsumexp mean permute_dims prod reshape scatter_add softmax sort stack"
    " sum take take_along_axis window_sum"
)
WRITTEN = LINALG.union(_TENSOR_OPS.split())
"""The ops that a library's `write` has."""


def is_linalg(op: str) -> bool:
    """Whether an op is one of linear algebra."""
    return op in LINALG


def _method(op: str) -> Callable[..., Any]:
    def call(self: SourceMethods, *args: Any, **params: ParamValue) -> Any:
        operands = [self.operand(a) for a in args]
        shapes = tuple([tuple(np.shape(a)) for a in operands])
        return self.compiled(op, shapes, tuple(params.items()))(*operands)

    return call


class SourceMethods:
    """The written ops of a namespace, with all their results. A subclass defines `compiled`."""

    compiled: Compiled

    def operand(self, value: Any) -> Any:
        """`value`, which may be a plain int or bool, in the form that the library takes."""
        return value


for _op in WRITTEN:
    setattr(SourceMethods, _op, _method(_op))


def missing_op(program: Program, library: str = "") -> str | None:
    """Why a library cannot run a program: it has an op that the library lacks; None where it has all."""
    for op in sorted(called(program)):
        if op in INTERNAL:
            return f"{op} is an op of derivatives; libraries have no such function"
        if op in FUNCTIONS and FUNCTIONS[op].lacked(library):
            return f"{op}: {library} has no such function with a derivative"
    return None


def result_shapes(op: str, types: Sequence[Type], params: Params) -> list[Shape]:
    """The shapes of all results of an op; `params` without `part`."""
    places = [{"part": k} for k in range(len(OPS[op].parts))] or [{}]
    results = [result_type(op, tuple(types), {**params, **place}) for place in places]
    return [result.sizes for result in results]
