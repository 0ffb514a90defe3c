"""Scalar programs in Swift, for its differentiable functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.braces import BraceEmitter
from gradfuzz.oracles.dialects.numbers import decimal
from gradfuzz.oracles.emit.op_source import Params
from gradfuzz.oracles.emit.statements import ATOM, OPERATORS, PRODUCT, SUM, Piece, Pieces, Written
from gradfuzz.programs.language.functions import FUNCTIONS as ELEMENTWISE
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import ArrayConst, Assign, ParamValue
from gradfuzz.programs.language.types import Type

FUNCTIONS = {op: op for op in ("cos", "exp", "expm1", "log", "log1p", "sin", "sqrt", "tan", "tanh")}
"""Elementwise functions of Foundation with a derivative in _Differentiation."""
_OWN = {"abs": "absolute", "maximum": "larger", "minimum": "smaller", "sign": "signOf"}
_IDENTITY = frozenset(
    {"amax", "amin", "broadcast_to", "index", "logsumexp", "mean", "permute_dims", "prod", "reshape", "sum"}
)
"""Ops that leave a scalar as it is."""
_OTHERS = (
    "negative remainder integer_pow pow clip where astype index_update logical_and logical_or logical_not"
)
_HANDLED = frozenset({*OPERATORS, *_OTHERS.split(), *_OWN, *_IDENTITY})
LACKS: Mapping[str, str] = {
    op: f"Swift has no differentiable function for {op}"
    for op in OPS
    if op not in _HANDLED and op not in ELEMENTWISE
}

HELPERS = {
    "absolute": "func absolute(_ x: REAL) -> REAL {\n  return x < 0 ? -x : x\n}\n",
    "larger": "func larger(_ a: REAL, _ b: REAL) -> REAL {\n  return a > b ? a : b\n}\n",
    "smaller": "func smaller(_ a: REAL, _ b: REAL) -> REAL {\n  return a < b ? a : b\n}\n",
    "signOf": "func signOf(_ x: REAL) -> REAL {\n  return x > 0 ? 1 : (x < 0 ? -1 : 0)\n}\n",
    "modulo": "func modulo(_ a: Int, _ b: Int) -> Int {\n  return (a % b + b) % b\n}\n",
}
"""Functions that emitted code may call, by name; REAL is the float type."""

_WORDS = (
    "Any Double Float Int as associatedtype case catch class default defer deinit do enum extension exit f"
    " fallthrough false fileprivate func got gradient guard import in init inout internal is let max min nil"
    " open operator outputs print private protocol public repeat rethrows rows self signum slopes static"
    " struct subscript super switch throw throws true try typealias var where wrong"
)


class SwiftEmitter(BraceEmitter):
    """Floats have the type `real`. With `weights` the function returns the sum of weight * output."""

    reserved = frozenset({*_WORDS.split(), *FUNCTIONS, "pow", *HELPERS})
    functions = FUNCTIONS
    repeat = "repeat"

    def __init__(self, precision: str, weights: Sequence[Array | None] = ()) -> None:
        super().__init__(precision)  # type: ignore[arg-type]
        self.real = "Double" if precision == "float64" else "Float"
        self.weights = weights

    def type_name(self, of: Type) -> str:
        """Swift's name of a type."""
        return {"float": self.real, "int": "Int", "bool": "Bool"}[of.dtype]

    def declaration(self, name: str, of: Type, value: str, *, once: bool) -> str:
        return f"{'let' if once else 'var'} {name}: {self.type_name(of)} = {value}"

    def initial(self, of: Type) -> str:
        return {"float": "0.0", "int": "0", "bool": "false"}[of.dtype]

    def counted(self, name: str, count: Piece) -> str:
        negative = isinstance(count.literal, int) and count.literal >= 0
        return f"for {name} in 0..<{count.at(ATOM) if negative else f'max({count.text}, 0)'}"

    def returned(self, values: list[Piece]) -> str:
        if not self.weights:
            texts = [v.text for v in values]
            return f"return {texts[0] if len(texts) == 1 else '(' + ', '.join(texts) + ')'}"
        pairs = [(float(w), v) for w, v in zip(self.weights, values, strict=True) if w is not None]
        terms = [v.at(SUM) if w == 1.0 else f"{decimal(w)} * {v.at(PRODUCT)}" for w, v in pairs]
        return f"return {' + '.join(terms)}"

    def parameters(self, program: Program) -> Iterator[str]:
        assigned = {node.target for node in walk(program) if isinstance(node, Assign)}
        names = [self.name(p.name) for p in program.params if p.name in assigned]
        return (f"  var {name} = {name}" for name in names)

    def constant(self, value: float | complex) -> str:
        assert isinstance(value, float), "complex programs are refused"
        return f"({decimal(value)})" if value < 0 else decimal(value)

    def array(self, array: ArrayConst) -> str:
        raise AssertionError("programs with arrays are refused")

    def operands(self, op: str, args: Pieces, result: Type) -> tuple[Piece, Piece]:
        """Swift converts number literals, but no variables."""
        a, b = args
        if a.type.is_float or b.type.is_float:
            a, b = [p if p.type.is_float or p.literal is not None else self.floating(p) for p in args]
        return super().operands(op, [a, b], result)

    def to_float(self, piece: Piece) -> str:
        return f"{self.real}({piece.text})" if piece.type.dtype == "int" else f"({piece.text} ? 1.0 : 0.0)"

    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        x, texts = args[0], [a.text for a in args]
        if op in _IDENTITY:
            return replace(x, type=result)
        if op == "astype" and result.is_float:
            return self.floating(x)
        plain = self.plain(op, args, result)
        if plain is not None:
            return plain
        if op == "integer_pow":
            return self._power(x, params["n"], result)
        if op == "sign" and not result.is_float:
            return f"{x.at(ATOM)}.signum()"
        names = _OWN if result.is_float else {"abs": "abs", "maximum": "max", "minimum": "min"}
        if op == "clip":
            return f"{names['minimum']}({names['maximum']}({x.text}, {texts[1]}), {texts[2]})"
        return f"{names.get(op, op)}({', '.join(texts)})"

    def _power(self, x: Piece, n: ParamValue, result: Type) -> Written:
        """A product where it is short, because the derivative of `pow` would be another one."""
        assert isinstance(n, int), "the type checker lets no other power through"
        if 2 <= n <= 4 and x.text.isidentifier():
            return Piece(" * ".join([x.text] * n), result, PRODUCT)
        return f"pow({x.text}, {decimal(float(n))})"
