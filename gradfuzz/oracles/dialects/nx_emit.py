"""Expressions in Nx's dialect inside a `defn`. Bools are u8, ints s64; a constant on its own has a type."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.dialects.numbers import decimal
from gradfuzz.oracles.dialects.nx_linalg_source import LACKS as LINALG_LACKS
from gradfuzz.oracles.dialects.nx_linalg_source import write
from gradfuzz.oracles.emit.linalg_source import is_linalg
from gradfuzz.oracles.emit.statements import ATOM, UNARY, Emitter, Piece, nested_list
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.syntax import ArrayConst, Const, ParamValue
from gradfuzz.programs.language.types import DType, Type, inexact
from gradfuzz.programs.language.windows import padding_of, strides_of

LACKS: Mapping[str, str] = {
    "complex": "complex numbers are not asked about in Nx",
    "conj": "complex numbers are not asked about in Nx",
    "imag": "complex numbers are not asked about in Nx",
    "real": "complex numbers are not asked about in Nx",
    **LINALG_LACKS,
}
_RESERVED = frozenset(
    [
        "after",
        "and",
        "case",
        "catch",
        "cond",
        "do",
        "else",
        "end",
        "false",
        "fn",
        "if",
        "import",
        "in",
        "nil",
        "not",
        "or",
        "rescue",
        "true",
        "unless",
        "when",
        "while",
    ]
)
_TYPES = {"float64": ":f64", "float32": ":f32", "bfloat16": ":bf16", "float16": ":f16"}
_FUNCTIONS = {
    **{op: op for op in ("abs", "pow", "sign")},
    **{op: op for op in ("logical_and", "logical_or", "logical_not")},
    "maximum": "max",
    "minimum": "min",
    "where": "select",
}
FUNCTIONS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh"),
            *("erf", "erfc", "exp", "expm1", "floor", "log", "log1p", "rsqrt", "sin", "sinh", "sqrt"),
            *("tan", "tanh"),
        )
    },
    "erfinv": "erf_inv",
    "expit": "sigmoid",
}
"""The elementwise functions of Nx. Its `round` rounds halves away from zero."""
_REDUCTIONS = {
    **{op: op for op in ("all", "any", "logsumexp", "mean", "sum")},
    "amax": "reduce_max",
    "amin": "reduce_min",
    "prod": "product",
}
_SCANS = {
    "cumulative_max": "cumulative_max",
    "cumulative_prod": "cumulative_product",
    "cumulative_sum": "cumulative_sum",
}
_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}


def shape_text(shape: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, shape)) + "}"


def axes_text(axes: Sequence[int]) -> str:
    return f"[{', '.join(map(str, axes))}]"


class NxEmitter(Emitter):
    """The operators of `Nx.Defn.Kernel` and the functions of Nx.

    `counters` are texts whose values are never negative: loop counters, remainders.
    """

    reserved = frozenset({"f", "objective"})

    def __init__(self, precision: str) -> None:
        super().__init__(precision)  # type: ignore[arg-type]
        self.counters: set[str] = set()

    def dtype(self, of: DType) -> str:
        """Nx's name of a type."""
        return {"float": _TYPES[self.precision], "int": ":s64", "bool": ":u8", "complex": ":c64"}[of]

    def is_host(self, value: Type) -> bool:
        """Every value is a tensor."""
        return False

    def name(self, name: str) -> str:
        plain = name if re.fullmatch("[a-z][A-Za-z0-9_]*", name) else f"v{name}"
        assert not keyword.iskeyword(name), "the type checker lets no keyword through"
        return f"{plain}_" if plain in _RESERVED or plain in self.reserved else plain

    def literal(self, const: Const) -> Piece:
        piece = super().literal(const)
        if isinstance(piece.literal, bool):
            return replace(piece, text=str(int(piece.literal)), host=False)
        text = decimal(piece.literal) if isinstance(piece.literal, float) else piece.text
        return replace(piece, text=text, host=False)

    def constant(self, value: float | complex) -> str:
        assert isinstance(value, float), "complex programs are refused"
        return f"Nx.tensor({decimal(value)}, type: {self.dtype('float')})"

    def array(self, array: ArrayConst) -> str:
        texts = [self.literal(v).text for v in array.values]
        return f"Nx.tensor({nested_list(texts, array.shape)}, type: {self.dtype(array.dtype)})"

    def to_float(self, piece: Piece) -> str:
        return f"Nx.as_type({piece.text}, {self.dtype('float')})"

    def to_complex(self, piece: Piece) -> str:
        raise AssertionError("complex programs are refused")

    def value(self, piece: Piece) -> Piece:
        """Ints and bools also get a type, as a carry's type must stay."""
        if piece.literal is None:
            return piece
        if piece.type.dtype == "float":
            return super().value(piece)
        return Piece(f"Nx.tensor({piece.text}, type: {self.dtype(piece.type.dtype)})", piece.type)

    def apply(
        self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], together: str | None = None
    ) -> Piece:
        if op == "negative":  # which binds more tightly than a power
            return Piece(f"-{self.value(args[0]).at(ATOM)}", args[0].type, UNARY)
        if op in ("remainder", "matmul"):
            a, b = [self.floating(a) if op == "matmul" else a for a in args]
            kind = super().apply(op, args, params).type
            if op == "matmul":
                return Piece(self._matmul(a, b), kind)
            text = self._remainder(a, b)
            self.counters |= {text} if isinstance(b.literal, int) and b.literal > 0 else set()
            return Piece(text, kind)
        piece = super().apply(op, args, params, together)
        if "part" in params:
            text = piece.text.rpartition("[")[0]
            return Piece(f"elem({text}, {params['part']})", piece.type)
        return replace(piece, host=False)

    def operands(self, op: str, args: Sequence[Piece], result: Type) -> tuple[Piece, Piece]:
        """Nx rounds a bare number to float32: a number that this changes becomes a constant.

        So does the first of two numbers.
        """
        a, b = [
            self.value(p) if isinstance(p.literal, float) and p.literal != float(np.float32(p.literal)) else p
            for p in args
        ]
        if a.literal is not None and b.literal is not None:
            a = self.converted(a, inexact([a.type.dtype])) if result.is_inexact else self.value(a)
        return super().operands(op, [a, b], result) if op in _OPERATORS else (a, b)

    @staticmethod
    def _remainder(a: Piece, b: Piece) -> str:
        """With the divisor's sign, as in Python."""
        return f"Nx.remainder(Nx.add(Nx.remainder({a.text}, {b.text}), {b.text}), {b.text})"

    def elementwise(
        self, row: Function, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece | None:
        if row.name not in FUNCTIONS:
            return None
        return Piece(f"Nx.{FUNCTIONS[row.name]}({', '.join(a.text for a in args)})", result)

    def _matmul(self, a: Piece, b: Piece) -> str:
        x, y, p, q = a.text, b.text, a.type.sizes, b.type.sizes
        if len(q) <= 2 and (len(p) <= 2 or len(q) in (1, 2)):
            return f"Nx.dot({x}, {y})"
        if len(p) == 1:
            return f"Nx.dot({x}, [0], {y}, [{len(q) - 2}])"
        batch = np.broadcast_shapes(p[:-2], q[:-2])
        x = x if p[:-2] == batch else f"Nx.broadcast({x}, {shape_text((*batch, *p[-2:]))})"
        y = y if q[:-2] == batch else f"Nx.broadcast({y}, {shape_text((*batch, *q[-2:]))})"
        n, along = len(batch), axes_text(range(len(batch)))
        return f"Nx.dot({x}, [{n + 1}], {along}, {y}, [{n}], {along})"

    def call(self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type) -> Piece:
        args = [self.value(a) for a in args] if op in ("concat", "stack", "where") else args
        x, texts, shape, axis = args[0], [a.text for a in args], args[0].type.sizes, params.get("axis")
        if is_linalg(op):
            return self.linalg(write, op, [self.value(a) for a in args], params, result)
        if op in _FUNCTIONS:
            return Piece(f"Nx.{_FUNCTIONS[op]}({', '.join(texts)})", result)
        if op in _REDUCTIONS:
            return self._reduction(op, x, params, result)
        if op in _SCANS:
            return Piece(f"Nx.{_SCANS[op]}({x.text}, axis: {axis})", result)
        match op:
            case "integer_pow":
                return Piece(f"Nx.pow({x.text}, {params['n']})", result)
            case "clip":
                return Piece(f"Nx.min(Nx.max({x.text}, {texts[1]}), {texts[2]})", result)
            case "softmax" | "log_softmax":
                text = f"Nx.subtract({x.text}, Nx.logsumexp({x.text}, axes: [{axis}], keep_axes: true))"
                return Piece(f"Nx.exp({text})" if op == "softmax" else text, result)
            case "argmax" | "argmin":
                options = ([] if axis is None else [f"axis: {axis}"]) + (
                    ["keep_axis: true"] if params["keepdims"] else []
                )
                text = f"Nx.{op}({', '.join([x.text, *options])})"
                if axis is None and params["keepdims"]:
                    text = f"Nx.reshape(Nx.{op}({x.text}), {shape_text(result.sizes)})"
                return Piece(f"Nx.as_type({text}, :s64)", result)
            case "argsort":
                return Piece(f"Nx.as_type(Nx.argsort({x.text}, axis: {axis}, stable: true), :s64)", result)
            case "sort":
                return Piece(f"Nx.sort({x.text}, axis: {axis})", result)
            case "window_sum":
                strides, padding = (
                    strides_of(params["strides"], len(shape)),
                    padding_of(params["padding"], len(shape)),
                )
                window = params["window"]
                assert isinstance(window, tuple), "the type checker lets no other window through"
                options = [f"strides: {axes_text(strides)}", f"padding: {_pairs(padding)}"]
                return Piece(f"Nx.window_sum({x.text}, {shape_text(window)}, {', '.join(options)})", result)  # type: ignore[arg-type]
            case "conv":
                strides, padding = (
                    strides_of(params["strides"], len(shape) - 2),
                    padding_of(params["padding"], len(shape) - 2),
                )
                options = [f"strides: {axes_text(strides)}", f"padding: {_pairs(padding)}"]
                return Piece(f"Nx.conv({', '.join([*texts, *options])})", result)
            case "astype":
                return x if x.type.dtype == result.dtype else Piece(self._cast(x, result), result)
            case "reshape" | "broadcast_to":
                function = "reshape" if op == "reshape" else "broadcast"
                return Piece(f"Nx.{function}({x.text}, {shape_text(result.sizes)})", result)
            case "permute_dims":
                axes = params["axes"]
                assert isinstance(axes, tuple), "the type checker lets no other axes through"
                return Piece(f"Nx.transpose({x.text}, axes: {axes_text(axes)})", result) if axes else x  # type: ignore[arg-type]
            case "flip":
                return Piece(f"Nx.reverse({x.text}, axes: [{axis}])", result)
            case "concat" | "stack":
                return Piece(
                    f"Nx.{'concatenate' if op == 'concat' else op}([{', '.join(texts)}], axis: {axis})",
                    result,
                )
            case "index" if not shape:
                return x
            case "index":
                places = self._places(params["pattern"], args[1:], shape)
                return Piece(f"{x.at(ATOM)}[[{', '.join(places)}]]", result)
            case "index_update" if not shape:
                return args[1]
            case "index_update":
                return Piece(self._updated(x, args[1], params["pattern"], args[2:]), result)
            case "take":
                return Piece(f"Nx.take({x.text}, {self.value(args[1]).text}, axis: {axis})", result)
            case "take_along_axis":
                return Piece(self._along(x, args[1], axis, result), result)
            case "scatter_add":
                return Piece(self._scattered(x, args[1], args[2], axis), result)
        raise AssertionError(f"no form of {op} in Nx; {op} belongs in LACKS")

    def _cast(self, x: Piece, result: Type) -> str:
        if result.dtype == "bool":
            return f"Nx.not_equal({x.text}, 0)"
        return f"Nx.as_type({x.text}, {self.dtype(result.dtype)})"

    def _reduction(self, op: str, x: Piece, params: Mapping[str, ParamValue], result: Type) -> Piece:
        axes = normalize_axes(params["axis"], x.type.rank, op)
        if not axes and op not in ("all", "any"):
            return replace(x, type=result)
        options = [f"axes: {axes_text(axes)}"] if len(axes) < x.type.rank or params["keepdims"] else []
        options += ["keep_axes: true"] if params["keepdims"] else []
        return Piece(f"Nx.{_REDUCTIONS[op]}({', '.join([x.text, *options])})", result)

    def _index(self, piece: Piece, size: int) -> str:
        """An index; a negative one is counted from the end, where Nx would clamp it."""
        if isinstance(piece.literal, int):
            return str(piece.literal % size)
        if piece.text in self.counters:
            return piece.text
        return f"Nx.select(Nx.less({piece.text}, 0), Nx.add({piece.text}, {size}), {piece.text})"

    def _places(self, pattern: ParamValue, indices: Sequence[Piece], shape: Sequence[int]) -> list[str]:
        assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
        rest = iter(indices)
        return [
            self._index(next(rest), size) if entry == "at" else f"{entry[1]}..{entry[2] - 1}//1"  # type: ignore[index, operator]
            for entry, size in zip(pattern, shape, strict=True)
        ]

    def _updated(self, x: Piece, value: Piece, pattern: ParamValue, indices: Sequence[Piece]) -> str:
        assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
        rest, starts, region = iter(indices), [], []
        for entry, size in zip(pattern, x.type.sizes, strict=True):
            starts.append(self._index(next(rest), size) if entry == "at" else str(entry[1]))  # type: ignore[index]
            region.append(1 if entry == "at" else entry[2] - entry[1])  # type: ignore[index, operator]
        return (
            f"Nx.put_slice({x.text}, [{', '.join(starts)}], Nx.reshape({self.value(value).text},"
            f" {shape_text(region)}))"
        )

    def _along(self, x: Piece, indices: Piece, axis: ParamValue, result: Type) -> str:
        """Spelled out because Nx broadcasts nothing here."""
        assert isinstance(axis, int), "the type checker lets no other axis through"
        axis %= result.rank
        wanted = list(result.sizes)
        source = [*wanted[:axis], x.type.sizes[axis], *wanted[axis + 1 :]]
        text = x.text if list(x.type.sizes) == source else f"Nx.broadcast({x.text}, {shape_text(source)})"
        places = (
            indices.text
            if list(indices.type.sizes) == wanted
            else f"Nx.broadcast({indices.text}, {shape_text(wanted)})"
        )
        return f"Nx.take_along_axis({text}, {places}, axis: {axis})"

    def _scattered(self, x: Piece, indices: Piece, updates: Piece, axis: ParamValue) -> str:
        """The axis comes first, and the indices form one column."""
        assert isinstance(axis, int), "the type checker lets no other axis through"
        axis %= x.type.rank
        places, rank = indices.type.rank, x.type.rank
        count = math.prod(indices.type.sizes)
        front = [axis, *(a for a in range(rank) if a != axis)]
        back = [front.index(a) for a in range(rank)]
        rows = [
            *range(axis, axis + places),
            *(a for a in range(updates.type.rank) if not axis <= a < axis + places),
        ]
        text = x.text if axis == 0 else f"Nx.transpose({x.text}, axes: {axes_text(front)})"
        added = updates.text if axis == 0 else f"Nx.transpose({updates.text}, axes: {axes_text(rows)})"
        rest = [n for a, n in enumerate(x.type.sizes) if a != axis]
        added = f"Nx.reshape({added}, {shape_text([count, *rest])})"
        column = f"Nx.reshape({self.value(indices).text}, {shape_text([count, 1])})"
        result = f"Nx.indexed_add({text}, {column}, {added}, axes: [0])"
        return result if axis == 0 else f"Nx.transpose({result}, axes: {axes_text(back)})"


def _pairs(padding: Sequence[tuple[int, int]]) -> str:
    return f"[{', '.join(f'{{{before}, {after}}}' for before, after in padding)}]"
