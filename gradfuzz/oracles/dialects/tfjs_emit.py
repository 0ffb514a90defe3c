"""Programs in TensorFlow.js: loops and scalar ints and bools are JavaScript's, all else is tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.dialects.braces import BraceEmitter
from gradfuzz.oracles.emit.op_source import INTERNAL, LINALG, Params, Shape
from gradfuzz.oracles.emit.statements import (
    COMPARISON,
    INFIX,
    SUM,
    Piece,
    Pieces,
    Written,
    as_piece,
    nested_list,
)
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.ops import result_type
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue
from gradfuzz.programs.language.types import Type

LACKS: Mapping[str, str] = {
    "argsort": "TensorFlow.js has no argsort",
    "conv": "convolutions of TensorFlow.js lay out their axes otherwise",
    "cumulative_max": "TensorFlow.js has no cumulative maximum",
    "cumulative_prod": "TensorFlow.js has no derivative of a cumulative product",
    "scatter_add": "TensorFlow.js has no derivative of a scatter",
    "sort": "TensorFlow.js has no sort",
    "take_along_axis": "TensorFlow.js has no take_along_axis",
    "window_sum": "TensorFlow.js has no sums over windows",
    **dict.fromkeys((LINALG | INTERNAL) - {"outer", "tril", "triu"}, "TensorFlow.js has no derivative of it"),
    **dict.fromkeys(
        ("complex", "conj", "imag", "real"), "TensorFlow.js has no derivatives of complex numbers"
    ),
}

_DETACHED = """\
// The same numbers as a constant: TensorFlow.js looks for the derivative of a comparison, too.
function detached(t) {
  return tf.tensor(t.dataSync(), t.shape, t.dtype);
}
"""
_REPLACED = """\
// A copy of x with value at a place that starts at `starts` and has the sizes `sizes`.
function replaced(x, starts, sizes, value) {
  const around = x.shape.map((n, axis) => [starts[axis], n - starts[axis] - sizes[axis]]);
  const place = tf.pad(tf.ones(sizes), around);
  return tf.where(tf.greater(place, 0), tf.pad(tf.reshape(value, sizes), around), x);
}
"""
HELPERS = {
    "detached": _DETACHED,
    "modulo": "function modulo(a, b) {\n  return ((a % b) + b) % b;\n}\n",
    "read": "// The number that a tensor holds.\nfunction read(t) {\n  return t.dataSync()[0];\n}\n",
    "replaced": _REPLACED,
}
"""Functions that emitted code may call, by name."""

_WORDS = (
    "arguments await boolean const debugger default delete detached do double enum eval export extends f"
    " false function got instanceof interface let modulo new null outputs package private protected public"
    " read replaced require rows slopes static super switch tf this throw true try typeof undefined var void"
    " wrong"
)
_SHORT = {"subtract": "sub", "multiply": "mul", "divide": "div", "remainder": "mod", "outer": "outerProduct"}
_CAMEL = ("less_equal", "greater_equal", "not_equal", "logical_and", "logical_or", "logical_not")
_SAME = ("add", "maximum", "minimum", "less", "greater", "equal", "abs", "pow", "sign")
_NAMES = {
    **_SHORT,
    **{op: f"{op.partition('_')[0]}{op.partition('_')[2].title()}" for op in _CAMEL},
    **{op: op for op in _SAME},
}
_FUNCTIONS = (
    "acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp expm1 floor log log1p reciprocal relu round"
    " rsqrt sin sinh softplus sqrt square tan tanh"
)
FUNCTIONS: Mapping[str, str] = {**{name: f"tf.{name}" for name in _FUNCTIONS.split()}, "expit": "tf.sigmoid"}
"""The elementwise functions of TensorFlow.js."""
_REDUCTIONS = {
    **{op: op for op in ("all", "any", "mean", "prod", "sum")},
    "amax": "max",
    "amin": "min",
    "logsumexp": "logSumExp",
}


class TfjsEmitter(BraceEmitter):
    """Tensors are float32, int32 or bool."""

    reserved = frozenset(_WORDS.split())
    functions = FUNCTIONS
    end = ";"

    def test(self, condition: str) -> str:
        return f"({condition})"

    def declaration(self, name: str, of: Type, value: str, *, once: bool) -> str:
        return f"{'const' if once else 'let'} {name} = {value}"

    def initial(self, of: Type) -> str:
        return "null"

    def counted(self, name: str, count: Piece) -> str:
        if isinstance(count.literal, int):
            return f"for (let {name} = 0; {name} < {count.text}; {name}++)"
        return f"for (let {name} = 0, {name}_end = {count.text}; {name} < {name}_end; {name}++)"

    def returned(self, values: list[Piece]) -> str:
        return f"return [{', '.join(v.text for v in values)}]"

    def constant(self, value: float | complex) -> str:
        assert isinstance(value, float), "complex programs are refused"
        return f"tf.scalar({value!r})"

    def array(self, array: ArrayConst) -> str:
        texts = [self.literal(v).text for v in array.values]
        return f'tf.tensor({nested_list(texts, array.shape)}, {list(array.shape)}, "{_dtype(array.dtype)}")'

    def to_float(self, piece: Piece) -> str:
        if piece.host:
            return f"tf.scalar({f'({piece.text} ? 1 : 0)' if piece.type.dtype == 'bool' else piece.text})"
        return f'tf.cast({piece.text}, "float32")'

    def tensor(self, piece: Piece) -> Piece:
        """`piece` as a tensor of its dtype."""
        if piece.host:
            return Piece(f'tf.scalar({piece.text}, "{_dtype(piece.type.dtype)}")', piece.type)
        return self.value(piece)

    def operand(self, piece: Piece) -> str:
        return self.tensor(piece).text

    def apply(self, op: str, args: Pieces, params: Params, together: str | None = None) -> Piece:
        if op == "negative" and not args[0].host:
            return Piece(f"tf.neg({self.value(args[0]).text})", args[0].type)
        if op in INFIX and not all(a.host for a in args):
            kind = result_type(op, tuple(a.type for a in args), params)
            own = op in ("divide", "matmul") or any(a.type.is_float for a in args)
            a, b = [self.floating(p) if own else self.tensor(p) for p in args]
            text = self._matmul(a, b, kind) if op == "matmul" else f"tf.{_NAMES[op]}({a.text}, {b.text})"
            return self._read(text, kind)
        if op == "divide":
            a, b = map(self.floating, args)
            return Piece(f"tf.div({a.text}, {b.text})", a.type)
        if op in ("equal", "not_equal"):
            a, b = args
            sign = "===" if op == "equal" else "!=="
            return Piece(f"{a.at(SUM)} {sign} {b.at(SUM)}", Type("bool"), COMPARISON, host=True)
        return super().apply(op, args, params, together)

    def _read(self, written: Written, of: Type) -> Piece:
        """Int and bool scalars leave the tensors."""
        piece = as_piece(written, of)
        if not self.is_host(of):
            return piece
        text = f"read({piece.text})"
        return Piece(f"Boolean({text})" if of.dtype == "bool" else text, of, host=True)

    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        if all(self.is_host(a.type) for a in args) and self.is_host(result):
            return self.plain(op, args, result) or self._numbers(op, args, result)
        if op == "where" and args[0].host and not any(a.type.shape for a in args):
            condition, a, b = args
            return f"({condition.text} ? {self.value(a).text} : {self.value(b).text})"
        return self._read(self._on_tensors(op, args, params, result), result)

    def _numbers(self, op: str, args: Pieces, result: Type) -> Written:
        texts = [a.text for a in args]
        match op:
            case "abs" | "sign":
                return f"Math.{op}({texts[0]})"
            case "maximum" | "minimum":
                return f"Math.{op[:3]}({', '.join(texts)})"
            case "clip":
                return f"Math.min(Math.max({texts[0]}, {texts[1]}), {texts[2]})"
        return replace(args[0], type=result)

    def _on_tensors(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        first = {"index": 1, "index_update": 2, "take": 1}.get(op, len(args))
        args = [self.tensor(a) if k < first else a for k, a in enumerate(args)]
        x, texts, axis = args[0], [a.text for a in args], params.get("axis")
        if op in _NAMES:
            return f"tf.{_NAMES[op]}({', '.join(texts)})"
        if op in _REDUCTIONS:
            return self._reduction(op, x, params, result)
        match op:
            case "integer_pow" if params["n"] == 2:
                return f"tf.square({x.text})"
            case "integer_pow":
                return f"tf.pow({x.text}, tf.scalar({params['n']}))"
            case "clip":
                return f"tf.minimum(tf.maximum({x.text}, {texts[1]}), {texts[2]})"
            case "where":
                return f"tf.where({', '.join([self._detached(x), *texts[1:]])})"
            case "softmax" | "log_softmax":
                text = f"tf.sub({x.text}, tf.logSumExp({x.text}, {axis}, true))"
                return f"tf.exp({text})" if op == "softmax" else text
            case "argmax" | "argmin":
                given = f"tf.reshape({x.text}, [-1]), 0" if axis is None else f"{x.text}, {axis}"
                text = f"tf.arg{op[3:].title()}({given})"
                return self._reshaped(text, result.sizes) if params["keepdims"] else text
            case "cumulative_sum":
                return f"tf.cumsum({x.text}, {axis})"
            case "astype":
                return f'tf.cast({x.text}, "{_dtype(result.dtype)}")'
            case "reshape":
                return self._reshaped(x.text, result.sizes)
            case "broadcast_to":
                return f"tf.broadcastTo({x.text}, {list(result.sizes)})"
            case "permute_dims":
                axes = params["axes"]
                assert isinstance(axes, tuple), "the type checker lets no other axes through"
                return f"tf.transpose({x.text}, {list(axes)})" if axes else x
            case "flip":
                return f"tf.reverse({x.text}, {axis})"
            case "concat" | "stack":
                return f"tf.{op}([{', '.join(texts)}], {axis})"
            case "index":
                starts, sizes = self._region(params["pattern"], args[1:], x.type.sizes)
                return self._reshaped(f"tf.slice({x.text}, {starts}, {sizes})", result.sizes)
            case "index_update":
                starts, sizes = self._region(params["pattern"], args[2:], x.type.sizes)
                return f"replaced({x.text}, {starts}, {sizes}, {texts[1]})"
            case "take":
                return f"tf.gather({x.text}, {self._detached(args[1])}, {axis})"
            case "tril" | "triu":
                mask = getattr(np, op)(np.ones(x.type.sizes[-2:], int), params["k"])
                return f"tf.mul({x.text}, tf.tensor({mask.tolist()}))"
        raise AssertionError(f"no form of {op} in TensorFlow.js; {op} belongs in LACKS")

    @staticmethod
    def _reshaped(text: str, sizes: Shape) -> str:
        return f"tf.reshape({text}, {list(sizes)})"

    @staticmethod
    def _detached(piece: Piece) -> str:
        """A condition or index, from which no derivative flows."""
        constant = piece.host or piece.text.startswith(("tf.tensor(", "tf.scalar("))
        return piece.text if constant else f"detached({piece.text})"

    def _reduction(self, op: str, x: Piece, params: Params, result: Type) -> Written:
        axes = normalize_axes(params["axis"], x.type.rank, op)
        if not axes:
            return replace(x, type=result)
        keep = ", true" if params["keepdims"] else ""
        if op == "prod":  # one axis after the other, as its derivative supports only one
            text = x.text
            for axis in reversed(axes):
                text = f"tf.prod({text}, {axis}{keep})"
            return text
        whole = len(axes) == x.type.rank and not keep
        return f"tf.{_REDUCTIONS[op]}({x.text}{'' if whole else f', {list(axes)}{keep}'})"

    @staticmethod
    def _region(pattern: ParamValue, indices: Pieces, shape: Shape) -> tuple[str, str]:
        """Where a slice starts, and its sizes."""
        assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
        rest, starts, sizes = iter(indices), [], []
        for entry, size in zip(pattern, shape, strict=True):
            if entry == "at":
                index = next(rest)
                known = isinstance(index.literal, int)
                starts.append(str(index.literal % size) if known else f"modulo({index.text}, {size})")  # type: ignore[operator]
                sizes.append("1")
            else:
                assert isinstance(entry, tuple), "an entry is 'at' or a slice"
                starts.append(str(entry[1]))
                sizes.append(str(entry[2] - entry[1]))  # type: ignore[operator]
        return f"[{', '.join(starts)}]", f"[{', '.join(sizes)}]"

    def _matmul(self, a: Piece, b: Piece, result: Type) -> str:
        p, q = a.type.rank, b.type.rank
        if p <= 2 and q <= 2:
            return f"tf.dot({a.text}, {b.text})"
        rank = max(p, q)
        left = a.type.sizes if p > 1 else (1, *a.type.sizes)
        right = b.type.sizes if q > 1 else (*b.type.sizes, 1)
        texts = []
        for piece, shape in ((a, left), (b, right)):
            whole = (*[1] * (rank - len(shape)), *shape)
            texts.append(piece.text if whole == piece.type.sizes else self._reshaped(piece.text, whole))
        text = f"tf.matMul({', '.join(texts)})"
        return self._reshaped(text, result.sizes) if min(p, q) == 1 else text


def _dtype(of: str) -> str:
    return {"float": "float32", "int": "int32", "bool": "bool"}[of]
