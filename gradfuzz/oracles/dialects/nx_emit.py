"""Expressions in Nx's dialect inside a `defn`. Bools are u8, ints s64; a constant on its own has a type."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.dialects.numbers import decimal
from gradfuzz.oracles.dialects.nx_linalg_source import LACKS as LINALG_LACKS
from gradfuzz.oracles.dialects.nx_linalg_source import shape_text, spread, spread_stacks, write
from gradfuzz.oracles.emit.op_source import Params, Shape, is_linalg
from gradfuzz.oracles.emit.statements import ATOM, UNARY, Emitter, Piece, Pieces, Written, nested_list
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.ops import result_type
from gradfuzz.programs.language.syntax import ArrayConst, Const, ParamValue
from gradfuzz.programs.language.types import DType, Type, inexact
from gradfuzz.programs.language.windows import padding_of, strides_of

LACKS: Mapping[str, str] = {
    **dict.fromkeys(("complex", "conj", "imag", "real"), "complex numbers are not asked about in Nx"),
    **LINALG_LACKS,
}
_WORDS = (
    "after and case catch cond do else end false fn if import in nil not or rescue true unless when while"
)
_RESERVED = frozenset(_WORDS.split())
_TYPES = {"float64": ":f64", "float32": ":f32", "bfloat16": ":bf16", "float16": ":f16"}
_NAMES = {
    **{op: op for op in ("abs", "pow", "sign", "logical_and", "logical_or", "logical_not")},
    "maximum": "max",
    "minimum": "min",
    "where": "select",
}
_FUNCTIONS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf erfc exp expm1 floor log log1p rsqrt sin"
    " sinh sqrt tan tanh"
)
FUNCTIONS: Mapping[str, str] = {
    **{name: f"Nx.{name}" for name in _FUNCTIONS.split()},
    "erfinv": "Nx.erf_inv",
    "expit": "Nx.sigmoid",
}
"""The elementwise functions of Nx. Its `round` rounds halves away from zero."""
_REDUCTIONS = {
    **{op: op for op in ("all", "any", "logsumexp", "mean", "sum")},
    "amax": "reduce_max",
    "amin": "reduce_min",
    "prod": "product",
}
_ALONG_AXIS = {
    **{op: op for op in ("cumulative_max", "cumulative_sum", "sort")},
    "cumulative_prod": "cumulative_product",
}
"""Functions of a tensor and an axis."""


def axes_text(axes: Iterable[object]) -> str:
    return f"[{', '.join(map(str, axes))}]"


class NxEmitter(Emitter):
    """The operators of `Nx.Defn.Kernel` and the functions of Nx.

    `counters` are texts whose values are never negative: loop counters, remainders.
    """

    reserved = frozenset({"f", "objective"})
    functions = FUNCTIONS

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

    def apply(self, op: str, args: Pieces, params: Params, together: str | None = None) -> Piece:
        if op == "negative":  # which binds more tightly than a power
            return Piece(f"-{self.value(args[0]).at(ATOM)}", args[0].type, UNARY)
        if op in ("remainder", "matmul"):
            kind = result_type(op, tuple(a.type for a in args), params)
            if op == "matmul":
                return Piece(self._matmul(*map(self.floating, args)), kind)
            a, b = args
            text = self._remainder(a, b)
            self.counters |= {text} if isinstance(b.literal, int) and b.literal > 0 else set()
            return Piece(text, kind)
        piece = super().apply(op, args, params, together)
        if "part" in params:
            text = piece.text.rpartition("[")[0]
            return Piece(f"elem({text}, {params['part']})", piece.type)
        return replace(piece, host=False)

    def operands(self, op: str, args: Pieces, result: Type) -> tuple[Piece, Piece]:
        """Nx rounds a bare number to float32: a number that this changes becomes a constant.

        So does the first of two numbers.
        """
        a, b = [
            self.value(p) if isinstance(p.literal, float) and p.literal != float(np.float32(p.literal)) else p
            for p in args
        ]
        if a.literal is not None and b.literal is not None:
            a = self.converted(a, inexact([a.type.dtype])) if result.is_inexact else self.value(a)
        return super().operands(op, [a, b], result)

    @staticmethod
    def _remainder(a: Piece, b: Piece) -> str:
        """With the divisor's sign, as in Python."""
        return f"Nx.remainder(Nx.add(Nx.remainder({a.text}, {b.text}), {b.text}), {b.text})"

    def _matmul(self, a: Piece, b: Piece) -> str:
        x, y, p, q = a.text, b.text, a.type.sizes, b.type.sizes
        if len(q) <= 2 and (len(p) <= 2 or len(q) in (1, 2)):
            return f"Nx.dot({x}, {y})"
        if len(p) == 1:
            return f"Nx.dot({x}, [0], {y}, [{len(q) - 2}])"
        x, y = spread_stacks((x, y), (p, q))
        n = max(len(p), len(q)) - 2
        along = axes_text(range(n))
        return f"Nx.dot({x}, [{n + 1}], {along}, {y}, [{n}], {along})"

    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        args = [self.value(a) for a in args] if op in ("concat", "stack", "where") else args
        x, texts, shape, axis = args[0], [a.text for a in args], args[0].type.sizes, params.get("axis")
        if is_linalg(op):
            return write(op, [self.value(a).text for a in args], self.shapes(args), params)
        if op in _NAMES:
            return f"Nx.{_NAMES[op]}({', '.join(texts)})"
        if op in _REDUCTIONS:
            return self._reduction(op, x, params, result)
        if op in _ALONG_AXIS:
            return f"Nx.{_ALONG_AXIS[op]}({x.text}, axis: {axis})"
        match op:
            case "integer_pow":
                return f"Nx.pow({x.text}, {params['n']})"
            case "clip":
                return f"Nx.min(Nx.max({x.text}, {texts[1]}), {texts[2]})"
            case "softmax" | "log_softmax":
                text = f"Nx.subtract({x.text}, Nx.logsumexp({x.text}, axes: [{axis}], keep_axes: true))"
                return f"Nx.exp({text})" if op == "softmax" else text
            case "argmax" | "argmin" if axis is None and params["keepdims"]:
                return f"Nx.as_type(Nx.reshape(Nx.{op}({x.text}), {shape_text(result.sizes)}), :s64)"
            case "argmax" | "argmin":
                options = [x.text] if axis is None else [x.text, f"axis: {axis}"]
                options += ["keep_axis: true"] if params["keepdims"] else []
                return f"Nx.as_type(Nx.{op}({', '.join(options)}), :s64)"
            case "argsort":
                return f"Nx.as_type(Nx.argsort({x.text}, axis: {axis}, stable: true), :s64)"
            case "window_sum":
                window = params["window"]
                assert isinstance(window, tuple), "the type checker lets no other window through"
                return f"Nx.window_sum({x.text}, {shape_text(window)}, {_stepping(params, len(shape))})"
            case "conv":
                return f"Nx.conv({', '.join(texts)}, {_stepping(params, len(shape) - 2)})"
            case "astype" if result.dtype == "bool":
                return f"Nx.not_equal({x.text}, 0)"
            case "astype":
                return f"Nx.as_type({x.text}, {self.dtype(result.dtype)})"
            case "reshape" | "broadcast_to":
                return f"Nx.{op.removesuffix('_to')}({x.text}, {shape_text(result.sizes)})"
            case "permute_dims":
                axes = params["axes"]
                assert isinstance(axes, tuple), "the type checker lets no other axes through"
                return f"Nx.transpose({x.text}, axes: {axes_text(axes)})" if axes else x
            case "flip":
                return f"Nx.reverse({x.text}, axes: [{axis}])"
            case "concat" | "stack":
                function = "concatenate" if op == "concat" else op
                return f"Nx.{function}([{', '.join(texts)}], axis: {axis})"
            case "index":
                starts, sizes = self._region(params["pattern"], args[1:], shape)
                places = [
                    start if size is None else f"{start}..{int(start) + size - 1}//1"
                    for start, size in zip(starts, sizes, strict=True)
                ]
                return f"{x.at(ATOM)}[[{', '.join(places)}]]"
            case "index_update":
                starts, sizes = self._region(params["pattern"], args[2:], shape)
                region = shape_text([1 if size is None else size for size in sizes])
                value = f"Nx.reshape({self.value(args[1]).text}, {region})"
                return f"Nx.put_slice({x.text}, {axes_text(starts)}, {value})"
            case "take":
                return f"Nx.take({x.text}, {self.value(args[1]).text}, axis: {axis})"
            case "take_along_axis":
                return self._along(x, args[1], axis, result)
            case "scatter_add":
                return self._scattered(x, args[1], args[2], axis)
        raise AssertionError(f"no form of {op} in Nx; {op} belongs in LACKS")

    def _reduction(self, op: str, x: Piece, params: Params, result: Type) -> Written:
        axes = normalize_axes(params["axis"], x.type.rank, op)
        if not axes and op not in ("all", "any"):
            return replace(x, type=result)
        options = [f"axes: {axes_text(axes)}"] if len(axes) < x.type.rank or params["keepdims"] else []
        options += ["keep_axes: true"] if params["keepdims"] else []
        return f"Nx.{_REDUCTIONS[op]}({', '.join([x.text, *options])})"

    def _index(self, piece: Piece, size: int) -> str:
        """An index; a negative one is counted from the end, where Nx would clamp it."""
        if isinstance(piece.literal, int):
            return str(piece.literal % size)
        if piece.text in self.counters:
            return piece.text
        return f"Nx.select(Nx.less({piece.text}, 0), Nx.add({piece.text}, {size}), {piece.text})"

    def _region(
        self, pattern: ParamValue, indices: Pieces, shape: Shape
    ) -> tuple[list[str], list[int | None]]:
        """Where a slice starts along each axis, and its sizes; None: an axis that is dropped."""
        assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
        rest, starts, sizes = iter(indices), [], []
        for entry, size in zip(pattern, shape, strict=True):
            starts.append(self._index(next(rest), size) if entry == "at" else str(entry[1]))  # type: ignore[index]
            sizes.append(None if entry == "at" else entry[2] - entry[1])  # type: ignore[index, operator]
        return starts, sizes

    def _along(self, x: Piece, indices: Piece, axis: ParamValue, result: Type) -> str:
        """Spelled out because Nx broadcasts nothing here."""
        assert isinstance(axis, int), "the type checker lets no other axis through"
        axis %= result.rank
        wanted = result.sizes
        text = spread(x.text, x.type.sizes, (*wanted[:axis], x.type.sizes[axis], *wanted[axis + 1 :]))
        places = spread(indices.text, indices.type.sizes, wanted)
        return f"Nx.take_along_axis({text}, {places}, axis: {axis})"

    def _scattered(self, x: Piece, indices: Piece, updates: Piece, axis: ParamValue) -> str:
        """The axis comes first, and the indices form one column."""
        assert isinstance(axis, int), "the type checker lets no other axis through"
        axis %= x.type.rank
        places, rank = indices.type.rank, x.type.rank
        count = math.prod(indices.type.sizes)
        front = [axis, *(a for a in range(rank) if a != axis)]
        own = range(axis, axis + places)
        rows = [*own, *(a for a in range(updates.type.rank) if a not in own)]

        def moved(text: str, axes: Sequence[int]) -> str:
            return text if axis == 0 else f"Nx.transpose({text}, axes: {axes_text(axes)})"

        rest = [n for a, n in enumerate(x.type.sizes) if a != axis]
        added = f"Nx.reshape({moved(updates.text, rows)}, {shape_text([count, *rest])})"
        column = f"Nx.reshape({self.value(indices).text}, {shape_text([count, 1])})"
        result = f"Nx.indexed_add({moved(x.text, front)}, {column}, {added}, axes: [0])"
        return moved(result, [front.index(a) for a in range(rank)])


def _stepping(params: Params, count: int) -> str:
    """The options of a window along `count` axes."""
    strides, padding = strides_of(params["strides"], count), padding_of(params["padding"], count)
    return f"strides: {axes_text(strides)}, padding: {axes_text(map(shape_text, padding))}"
