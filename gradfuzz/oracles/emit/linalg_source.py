"""Linear algebra in a library's dialect: the namespace runs the same text that a reproducer shows.

An op of linear algebra is seldom a single call: operands are broadcast over batch axes, an option has another
name, a triangle is transposed. A dialect's text is compiled once per shapes and parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradfuzz.programs.language.ops import OPS, result_type
from gradfuzz.programs.language.syntax import Call, ParamValue, Program, walk
from gradfuzz.programs.language.types import Type

Shape = tuple[int, ...]
Params = Mapping[str, ParamValue]
Write = Callable[[str, Sequence[str], Sequence[Shape], Params], str]
"""(op, operand texts, their shapes, parameters but `part`) -> an expression; a tuple for several results."""
Compiled = Callable[[str, tuple[Shape, ...], tuple[tuple[str, ParamValue], ...]], Callable[..., Any]]


def compiling(write: Write, names: Mapping[str, Any]) -> Compiled:
    """The texts of `write` as functions of the operands; `names` are the globals that the texts read."""

    @functools.lru_cache(maxsize=1024)
    def compiled(
        op: str, shapes: tuple[Shape, ...], params: tuple[tuple[str, ParamValue], ...]
    ) -> Callable[..., Any]:
        operands = [f"x{k}" for k in range(len(shapes))]
        text = f"lambda {', '.join(operands)}: {write(op, operands, shapes, dict(params))}"
        function: Callable[..., Any] = eval(text, dict(names))  # noqa: S307 - our own text, of an op that has been checked
        return function

    return compiled


def _method(op: str) -> Callable[..., Any]:
    def call(self: LinalgMethods, *args: Any, **params: ParamValue) -> Any:
        return self.compiled(op, tuple([tuple(a.shape) for a in args]), tuple(params.items()))(*args)

    return call


class LinalgMethods:
    """The linear-algebra ops of a namespace, with all their results. A subclass defines `compiled`."""

    compiled: Compiled

    qr = _method("qr")
    lu = _method("lu")
    svd = _method("svd")
    svdvals = _method("svdvals")
    eig = _method("eig")
    eigvals = _method("eigvals")
    eigh = _method("eigh")
    eigvalsh = _method("eigvalsh")
    cholesky = _method("cholesky")
    solve = _method("solve")
    triangular_solve = _method("triangular_solve")
    inv = _method("inv")
    pinv = _method("pinv")
    lstsq = _method("lstsq")
    det = _method("det")
    slogdet = _method("slogdet")
    matrix_norm = _method("matrix_norm")
    vector_norm = _method("vector_norm")
    matrix_power = _method("matrix_power")
    expm = _method("expm")
    trace = _method("trace")
    diagonal = _method("diagonal")
    tril = _method("tril")
    triu = _method("triu")
    outer = _method("outer")
    kron = _method("kron")
    einsum = _method("einsum")


def is_linalg(op: str) -> bool:
    """Whether an op is written here."""
    return op in vars(LinalgMethods)


INTERNAL = frozenset({"cofactor", "divide_by_gaps"})
"""Ops that occur only in derivatives. No library has them."""


def missing_op(program: Program) -> str | None:
    """Why no library can run a program: it has an op that libraries lack; None where libraries have all."""
    found = next((node.op for node in walk(program) if isinstance(node, Call) and node.op in INTERNAL), None)
    return None if found is None else f"{found} is an op of derivatives; libraries have no such function"


def result_shapes(op: str, types: Sequence[Type], params: Params) -> list[Shape]:
    """The shapes of all results of an op; `params` without `part`."""
    places = [{"part": k} for k in range(len(OPS[op].parts))] or [{}]
    results = [result_type(op, tuple(types), {**params, **place}) for place in places]
    return [result.sizes for result in results]
