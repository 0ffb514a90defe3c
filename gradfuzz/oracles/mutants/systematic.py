"""One planted bug per rule of the engine, operand and kind of mistake: `vjp.multiply.0.sign`,
`jvp.qr.r.half`, `vjp.solve.1.batch-summed`.

The third part is the operand whose rule is wrong; for ops with several results it may be a result, whose
cotangent or tangent is wrong. `_ON` lists the ops on which each mistake makes sense and can change a
gradient. Mistakes that are still invisible are in `EQUIVALENT`, with a proof. Mutants are made on request.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from gradfuzz.engine import conj
from gradfuzz.engine.modes.forward import ForwardMode, Tangent
from gradfuzz.engine.modes.reverse import Cotangent, ReverseMode, Tape
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.value import Value
from gradfuzz.engine.rules.vjp import VJP, VJP_SEVERAL
from gradfuzz.oracles.mutants.mutant import Mutant, recorded, row
from gradfuzz.oracles.mutants.mutations import MUTATIONS, Applied, after
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import OPS

_EVERYWHERE = ("dropped", "sign", "double", "half")

_UNDIFFERENTIATED = {
    "where": (0,),
    **dict.fromkeys(("take", "take_along_axis", "scatter_add", "copysign"), (1,)),
}
"""Operands that are no floats, or whose derivative is 0."""

_OPERANDS = {"concat": 2, "stack": 2, "einsum": 2, "cofactor": 2}
"""For ops with any number of operands, this many are distinguished; further ones count as the last."""

_RESULTS = {
    "qr": ("q", "r"),
    "lu": ("l", "u"),
    "svd": ("u", "s", "vh"),
    "eigh": ("w", "v"),
    "eig": ("w", "v"),
    "slogdet": ("sign", "logabsdet"),
}
"""The results with a derivative."""

_BINARY = ("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "clip", "where", "complex")
_SLOPES = ("integer_pow", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1")
_NORMALIZING = ("softmax", "log_softmax")
_SCANS = ("cumulative_sum", "cumulative_prod", "cumulative_max")
_REDUCTIONS = ("mean", "prod", "amax", "amin", "logsumexp")
_TWO_MATRICES = ("matmul", "kron", "solve", "triangular_solve", "lstsq")
_OF_MATRIX = (
    *("inv", "det", "slogdet", "qr", "lu", "svd", "svdvals", "eig", "eigvals", "pinv"),
    *("matrix_norm", "matrix_power", "expm"),
)
_OF_HERMITIAN = ("cholesky", "eigh", "eigvalsh")
_ENTRIES = ("trace", "diagonal", "tril", "triu")
_MATRIX = (*_TWO_MATRICES, *_OF_MATRIX, *_OF_HERMITIAN, *_ENTRIES)
_HOLOMORPHIC = (
    *("multiply", "divide", "pow", "integer_pow", "sin", "cos", "tan", "tanh", "exp", "log", "sqrt"),
    *("prod", "cumulative_prod", "matmul", "kron", "solve", "triangular_solve", "lstsq"),
    *("inv", "det", "slogdet", "qr", "lu", "svd", "eig", "eigvals", "pinv"),
    *("matrix_power", "expm", "cholesky", "eigh", "eigvalsh", "svdvals", "matrix_norm", "vector_norm"),
)
_PRODUCTS = ("matmul", "outer", "kron", "einsum", "solve", "triangular_solve")

_IN_BOTH: Mapping[str, Collection[str]] = {
    "unscaled": (
        *("multiply", "divide", "pow", "maximum", "minimum", "clip", "where", "abs", "conj"),
        *("flip", "sort", "tril", "triu", *_SLOPES, *_NORMALIZING, *_SCANS, *_REDUCTIONS),
    ),
    "swapped": ("multiply", "divide", "pow", "maximum", "minimum", "clip", *_PRODUCTS),
    "exchanged": ("divide", "pow", "clip", "where", "complex", "concat", "stack", *_PRODUCTS),
    "at-result": (
        *("integer_pow", "sin", "cos", "log", "log1p", "expm1", "abs"),
        *("cumulative_prod", "matrix_power", "expm"),
    ),
    "uninverted": ("permute_dims",),
    "batch-summed": _MATRIX,
    "batch-reversed": _MATRIX,
}
_READING_RESULTS = (
    *("tan", "tanh", "exp", "sqrt", *_NORMALIZING, "inv", "cholesky", "cumulative_max"),
    *("solve", "triangular_solve"),
)

_ON: Mapping[str, Mapping[str, Collection[str]]] = {
    "vjp": {
        **_IN_BOTH,
        "at-operand": ("divide", *_READING_RESULTS),
        "conjugated": (*_HOLOMORPHIC, "imag"),
        "first": (*_BINARY, "matmul", "broadcast_to", "take_along_axis"),
        "mean": (*_BINARY, *_TWO_MATRICES, "broadcast_to", "take_along_axis"),
        "transposed": (
            *("matmul", "kron", "solve", "triangular_solve", "lstsq", *_OF_MATRIX, *_ENTRIES, "permute_dims"),
            *("sum", *_REDUCTIONS, *_SCANS, *_NORMALIZING, "flip", "sort", "broadcast_to"),
        ),
    },
    "jvp": {
        **_IN_BOTH,
        "at-operand": _READING_RESULTS,
        "conjugated": (*_HOLOMORPHIC, "abs", "imag"),
        "transposed": (
            *("matmul", "kron", "solve", "triangular_solve", "lstsq", "inv", "pinv", "matrix_power", "expm"),
            *("cholesky", "qr", "lu", "svd", "eigh", "eig", "tril", "triu", "permute_dims"),
            *(*_SCANS, *_NORMALIZING, "flip", "sort"),
        ),
    },
}
"""By mode and mistake: the ops whose rules it changes."""

_ONLY: Mapping[tuple[str, str, str], Collection[str]] = {
    ("vjp", "divide", "at-operand"): ("1",),
    ("vjp", "solve", "at-operand"): ("0",),
    ("vjp", "triangular_solve", "at-operand"): ("0",),
    ("jvp", "solve", "at-operand"): ("0",),
    ("jvp", "triangular_solve", "at-operand"): ("0",),
    ("vjp", "take_along_axis", "first"): ("0",),
}
"""Mistakes that make sense for some operands only."""

_ORDERS = {("cofactor", "1"): 3}
"""The least order that applies the rule, where it is not 1 or 2: det has the cofactors as its gradient, their
directions come with the second derivative, and the third one differentiates those."""

_SYMMETRIC = "the slope by x is sign(x) sign(y), which stays the same when x and y are exchanged"
_CONSTANT = "the slope by x is 1, wherever x and y are"

EQUIVALENT: Mapping[str, str] = {
    f"{kind}.{op}.0.swapped": proof
    for kind in ("vjp", "jvp")
    for op, proof in (("copysign", _SYMMETRIC), ("fmod", _CONSTANT))
}
"""The mutants that are not asked, as their gradient is provably right. Name: why no program tells it from the
engine.
"""


# Names ------------------------------------------------------------------------------------------------------


def systematic(ops: Collection[str] | None = None) -> Iterator[Mutant]:
    """All of them, or those for the rules of `ops`, without equivalent ones; made one by one."""
    for name in systematic_names():
        if ops is None or name.split(".")[1] in ops:
            yield _row(name)


def find(name: str) -> Mutant | None:
    """The mutant of a name; None without one."""
    return _row(name) if name in systematic_names() else None


def systematic_names() -> tuple[str, ...]:
    """The names of all, equivalent ones left out. Makes none of them."""
    return _names(tuple(FUNCTIONS))


@functools.cache
def _names(functions: tuple[str, ...]) -> tuple[str, ...]:
    """The names where there are these elementwise functions."""
    return tuple(name for name in _all_names() if name not in EQUIVALENT)


def _all_names() -> Iterator[str]:
    for kind, tables in (("vjp", {**VJP, **VJP_SEVERAL}), ("jvp", JVP)):
        for op in tables:
            for place in (*_operands(op), *_RESULTS.get(op, ())):
                for mistake in _mistakes(kind, op, place):
                    yield f"{kind}.{op}.{place}.{mistake}"


def _operands(op: str) -> tuple[str, ...]:
    least, most = OPS[op].arity
    count = _OPERANDS.get(op, 1 if op == "index" else 2 if op == "index_update" else most or least)
    return tuple(str(k) for k in range(count) if k not in _UNDIFFERENTIATED.get(op, ()))


def _mistakes(kind: str, op: str, place: str) -> Iterator[str]:
    """The mistakes for an op's operand or result.

    A whole matrix is transposed, mixed or conjugated by operand; other mistakes of an op with several results
    are made by result.
    """
    several, result = op in _RESULTS, not place.isdigit()
    if op in FUNCTIONS and not FUNCTIONS[op].reserved:
        yield from (*_EVERYWHERE, *(("swapped", "exchanged") if len(FUNCTIONS[op].arguments) == 2 else ()))
        return
    for mistake in MUTATIONS:
        if mistake in _EVERYWHERE:
            makes_sense = result or not several
        else:
            only = _ONLY.get((kind, op, mistake), (place,))
            makes_sense = not result and place in only and op in _ON[kind].get(mistake, ())
        if makes_sense:
            yield mistake


@functools.cache
def _row(name: str) -> Mutant:
    kind, op, place, mistake = name.split(".")
    where = f"operand {place}" if place.isdigit() else f"result {place}"
    summary = f"{kind} of {op}, {where}: {MUTATIONS[mistake].words}"
    single, several = (_Back, _SeveralBack) if kind == "vjp" else (_Forth, _SeveralForth)
    base: Any = several if op in _RESULTS else single
    rules = type(base.__name__, (base,), {"op": op, "place": place, "mistake": mistake})
    bug = row(rules, name, name, "systematic", summary)
    return replace(bug, needs=MUTATIONS[mistake].needs, order=_ORDERS.get((op, place), 1))


# Rules ------------------------------------------------------------------------------------------------------


class _Planted:
    op: ClassVar[str]
    place: ClassVar[str]
    mistake: ClassVar[str]

    def at(self, op: str, k: int) -> bool:
        """Whether this is the wrong rule."""
        if op != self.op:
            return False
        return min(k, _OPERANDS[op] - 1) == int(self.place) if op in _OPERANDS else k == int(self.place)


class _Back(_Planted, ReverseMode):
    def rule(self, node: Equation, k: int, g: Value, ans: Value, args: Sequence[Value]) -> Cotangent:
        if not self.at(node.op, k):
            return super().rule(node, k, g, ans, args)
        return MUTATIONS[self.mistake].wrong(Applied("rev", node, k, g, ans, tuple(args)))


class _Forth(_Planted, ForwardMode):
    def rule(self, node: Equation, k: int, t: Tangent, ans: Value, args: Sequence[Value]) -> Tangent:
        if t is None or not self.at(node.op, k):
            return super().rule(node, k, t, ans, args)
        return MUTATIONS[self.mistake].wrong(Applied("fwd", node, k, t, ans, tuple(args)))


_FACTORS = {"dropped": 0.0, "sign": -1.0, "double": 2.0, "half": 0.5}


class _SeveralBack(_Planted, ReverseMode):
    """For ops with several results: the part from one result, or the whole cotangent of the operand."""

    def equation_of_several(self, node: Equation, gs: Sequence[Cotangent], tape: Tape) -> list[Cotangent]:
        if node.op != self.op:
            return super().equation_of_several(node, gs, tape)
        if not self.place.isdigit():
            k = OPS[node.op].parts.index(self.place)
            gs = [_times(g, _FACTORS[self.mistake]) if j == k else g for j, g in enumerate(gs)]
            return super().equation_of_several(node, gs, tape) if any(g is not None for g in gs) else [None]
        if self.mistake == "conjugated":
            turned = [None if g is None else recorded(conj(g)) for g in gs]
            parts = super().equation_of_several(node, turned, tape)
            return [None if p is None else recorded(conj(p)) for p in parts]
        args = [self.value(tape.read(a)) for a in node.inputs]
        parts = super().equation_of_several(node, gs, tape)
        return [after(self.mistake, p, args, like_argument=True) for p in parts]


class _SeveralForth(_Planted, ForwardMode):
    def rule(self, node: Equation, k: int, t: Tangent, ans: Value, args: Sequence[Value]) -> Tangent:
        part = OPS[node.op].parts[int(dict(node.params)["part"])] if node.op == self.op else ""  # type: ignore[arg-type]
        if t is None or not part or (not self.place.isdigit() and part != self.place):
            return super().rule(node, k, t, ans, args)
        return MUTATIONS[self.mistake].wrong(Applied("fwd", node, k, t, ans, tuple(args)))


def _times(g: Cotangent, factor: float) -> Cotangent:
    if g is None or factor == 0.0:
        return None
    return recorded(g * factor)
