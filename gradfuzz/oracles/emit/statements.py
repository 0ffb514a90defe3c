"""Programs and graphs as source code for other libraries, for standalone scripts and functional loops.

An `Emitter` knows how one library writes each op (a *dialect*). The common parts are here: precedence, infix
operators, conversions of int operands, and statements. Emitted code computes what the interpreter computes,
op by op, with constants rounded to the working precision first.
"""

from __future__ import annotations

import abc
import keyword
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gradfuzz.errors import ProgramSyntaxError
from gradfuzz.oracles.emit.op_source import Params
from gradfuzz.oracles.emit.several import JointResults
from gradfuzz.programs.arithmetic.elementwise import expression
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.ops import OPS, defaults_of, result_type
from gradfuzz.programs.language.precision import Precision, rounded
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import (
    ArrayConst,
    Assign,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Expr,
    For,
    If,
    Name,
    ParamValue,
    Repeat,
    Return,
    While,
)
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import DType, Type, inexact, promote

LOOSEST, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)
"""Python's precedence, loosest first."""

INFIX: dict[str, tuple[str, int, int, int]] = {
    "add": ("+", SUM, SUM, PRODUCT),
    "subtract": ("-", SUM, SUM, PRODUCT),
    "multiply": ("*", PRODUCT, PRODUCT, UNARY),
    "divide": ("/", PRODUCT, PRODUCT, UNARY),
    "remainder": ("%", PRODUCT, PRODUCT, UNARY),
    "matmul": ("@", PRODUCT, PRODUCT, UNARY),
    "less": ("<", COMPARISON, SUM, SUM),
    "less_equal": ("<=", COMPARISON, SUM, SUM),
    "greater": (">", COMPARISON, SUM, SUM),
    "greater_equal": (">=", COMPARISON, SUM, SUM),
    "equal": ("==", COMPARISON, SUM, SUM),
    "not_equal": ("!=", COMPARISON, SUM, SUM),
}
"""Operator, its precedence, and the lowest precedence of its left and right operand."""

OPERATORS = {op: row for op, row in INFIX.items() if op not in ("matmul", "remainder")}
"""The operators that nearly all languages have."""

_VALUES = {"index": (0, 1), "index_update": (0, 2), "where": (1, 3)}
"""The range of arguments that are values; the others are indices and conditions and are not converted."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of source: its text, how tightly it binds, and the type of its value.

    `literal` is the constant that the text spells, if it does. `host` says that the value may be a plain
    Python int or bool.
    """

    text: str
    type: Type
    precedence: int = ATOM
    literal: float | int | bool | complex | None = None
    host: bool = False

    def at(self, least: int) -> str:
        """The text, in brackets if it binds less tightly than `least`."""
        return self.text if self.precedence >= least else f"({self.text})"


Pieces = Sequence[Piece]
Written = str | Piece
"""What a dialect makes of an op: the text, or a piece where more is to be said than text and type."""


def as_piece(written: Written, of: Type) -> Piece:
    return written if isinstance(written, Piece) else Piece(written, of)


def with_defaults(op: str, params: Params) -> Params:
    """All parameters of an op."""
    return {**defaults_of(op), **dict(params)}


def number_text(value: float | int | bool | complex) -> str:
    """A Python expression for exactly this number."""
    if isinstance(value, complex):
        parts = value.real, value.imag
        plain = (
            all(math.isfinite(p) for p in parts)
            and math.copysign(1.0, parts[0]) > 0.0
            and (parts[0] != 0.0 or parts[1] > 0.0)
        )
        return repr(value) if plain else f"complex({number_text(parts[0])}, {number_text(parts[1])})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def nested_list(entries: Sequence[str], shape: tuple[int, ...]) -> str:
    """Row-major `entries` as a nested list of `shape` (a scalar: itself). Only the last axis may be empty."""
    if not shape:
        return entries[0]
    texts = list(entries)
    for size in reversed(shape):
        texts = [f"[{', '.join(texts[k : k + size])}]" for k in range(0, max(len(texts), 1), max(size, 1))]
    return texts[0]


def _kept(op: str, args: Pieces, result: Type) -> Piece | None:
    """The operand that an op returns as it is."""
    x = args[0]
    if op in ("index", "index_update") and not x.type.shape:
        return args[-1]
    return x if op == "astype" and x.type.dtype == result.dtype else None


class Emitter(abc.ABC):
    """Writes programs in one dialect.

    `reserved` are names that the emitted code uses itself: a variable with such a name gets an underscore.
    `infix` are the ops that are operators, `functions` the elementwise functions with their names in the
    dialect. `joint`: an op with several results returns them together.
    """

    reserved: frozenset[str] = frozenset()
    functions: Mapping[str, str] = {}
    infix: Mapping[str, tuple[str, int, int, int]] = INFIX
    joint = True

    def __init__(self, precision: Precision, *, bare: bool = True) -> None:
        self.precision = precision
        self.bare = bare
        self.variables: Mapping[str, Type] = {}
        self._several: JointResults | None = None

    # The dialect --------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def constant(self, value: float | complex) -> str:
        """A float or complex constant that must be a value of its own."""

    @abc.abstractmethod
    def array(self, array: ArrayConst) -> str:
        """A constant array."""

    @abc.abstractmethod
    def to_float(self, piece: Piece) -> str:
        """An int value as a float of the working precision."""

    @abc.abstractmethod
    def to_complex(self, piece: Piece) -> str:
        """A float value as a complex number of the working precision."""

    @abc.abstractmethod
    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        """An op without an infix form here. Int operands of float ops are already converted."""

    def is_host(self, value: Type) -> bool:
        """Whether a value of this type is a plain Python int or bool."""
        return not value.shape and not value.is_inexact

    # Expressions --------------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """`name` as an identifier that hides nothing the emitted code uses."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ProgramSyntaxError(f"{name!r} is not a name; use letters, digits and underscores")
        return f"{name}_" if name in self.reserved else name

    def literal(self, const: Const) -> Piece:
        """A constant, written as a plain number."""
        value = const.value
        if isinstance(value, complex):
            value = complex(rounded(value.real, self.precision), rounded(value.imag, self.precision))
        elif const.dtype == "float":
            value = rounded(value, self.precision)
        text, host = number_text(value), const.dtype in ("int", "bool")
        return Piece(text, Type(const.dtype), UNARY if text[0] == "-" else ATOM, value, host)

    def entries(self, array: ArrayConst) -> str:
        """The entries of a non-empty constant array, as a nested list."""
        return nested_list([self.literal(v).text for v in array.values], array.shape)

    @staticmethod
    def places(pattern: ParamValue, indices: Sequence[str], slices: str = "{}:{}") -> list[str]:
        """The texts between the brackets for an index pattern, one per axis."""
        assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
        rest = iter(indices)
        return [next(rest) if entry == "at" else slices.format(entry[1], entry[2]) for entry in pattern]  # type: ignore[index]

    def indexed(self, x: Piece, indices: Pieces, pattern: ParamValue, result: Type) -> Written:
        """`x[...]`."""
        return f"{x.at(ATOM)}[{', '.join(self.places(pattern, [i.text for i in indices]))}]"

    def place(self, pattern: ParamValue, indices: Pieces) -> str:
        """The text of an index as a value: a slice, an int or a tuple of these."""
        places = self.places(pattern, [i.text for i in indices], "slice({}, {})")
        return places[0] if len(places) == 1 else f"({', '.join(places)})"

    def value(self, piece: Piece) -> Piece:
        """`piece` as a value of its own: a float or complex literal becomes a constant of the dialect."""
        if piece.literal is not None and piece.type.is_inexact:
            return Piece(self.constant(piece.literal), piece.type)
        return piece

    @staticmethod
    def shapes(pieces: Sequence[Piece]) -> list[tuple[int, ...]]:
        return [p.type.sizes for p in pieces]

    def floating(self, piece: Piece) -> Piece:
        """`piece` as a float value."""
        if piece.type.dtype == "float":
            return self.value(piece)
        if piece.literal is not None:
            assert not isinstance(piece.literal, complex), "no complex number becomes a float"
            return Piece(self.constant(rounded(float(piece.literal), self.precision)), Type("float"))
        return Piece(self.to_float(piece), piece.type.with_dtype("float"))

    def converted(self, piece: Piece, dtype: DType) -> Piece:
        """`piece` as a value of a float or complex dtype no smaller than its own."""
        if dtype == "float":
            return self.floating(piece)
        if piece.type.is_complex:
            return self.value(piece)
        if piece.literal is not None:
            return Piece(self.constant(complex(rounded(piece.literal.real, self.precision))), Type("complex"))
        return Piece(self.to_complex(self.floating(piece)), piece.type.with_dtype("complex"))

    def expression(self, expr: Expr) -> Piece:
        """The source of an expression."""
        match expr:
            case Const():
                return self.literal(expr)
            case ArrayConst(dtype, shape):
                return Piece(self.array(expr), Type(dtype, shape))
            case Name(id=name):
                variable = self.variables[name]
                return Piece(self.name(name), variable, host=self.is_host(variable))
            case Call(op, args):
                params, pieces, together = dict(expr.params), [self.expression(a) for a in args], None
                if self._several and self.joint:
                    together = self._several.name(expr, lambda: self.several(op, pieces, params))
                return self.apply(op, pieces, params, together)

    def several(self, op: str, args: Pieces, params: Params) -> str:
        """The source of all results of `op`, which has several, as a tuple."""
        full = with_defaults(op, params)
        result = result_type(op, tuple(a.type for a in args), {**full, "part": 0})
        dtype = inexact([a.type.dtype for a in args])
        others = {n: v for n, v in full.items() if n != "part"}
        return as_piece(self.call(op, [self.converted(a, dtype) for a in args], others, result), result).text

    def apply(self, op: str, args: Pieces, params: Params, together: str | None = None) -> Piece:
        """The source of `op` on `args`. `together` is the name of all results of an op, where it has one."""
        full = with_defaults(op, params)
        result = result_type(op, tuple(a.type for a in args), full)
        if OPS[op].parts:
            return Piece(f"{together or self.several(op, args, full)}[{full['part']}]", result)
        if op == "negative":
            return Piece(f"-{self.value(args[0]).at(POWER)}", result, UNARY, host=self.is_host(result))
        if op in self.infix:
            sign, own, left, right = self.infix[op]
            a, b = self.operands(op, args, result)
            host = a.host and b.host and self.is_host(result)
            return Piece(f"{a.at(left)} {sign} {b.at(right)}", result, own, host=host)
        values = set(range(*_VALUES.get(op, (0, len(args))))) - set(OPS[op].indices)
        dtype = inexact([a.type.dtype for k, a in enumerate(args) if k in values])

        def ready(a: Piece) -> Piece:
            return self.converted(a, dtype) if result.is_inexact else self.value(a)

        prepared = [ready(a) if k in values else a for k, a in enumerate(args)]
        row = FUNCTIONS.get(op)
        written = self.elementwise(row, prepared, full, result) if row else None
        if row and (written is not None or row.composition):
            return self.composed(row, prepared) if written is None else as_piece(written, result)
        kept = _kept(op, prepared, result)
        piece = as_piece(self.call(op, prepared, full, result) if kept is None else kept, result)
        return replace(piece, host=piece.host or self.is_host(result))

    def elementwise(self, row: Function, args: Pieces, params: Params, result: Type) -> Written | None:
        """A function by its name in the dialect; None where the dialect has no such function."""
        if row.name not in self.functions:
            return None
        operands = [*map(str, params.values()), *(self.operand(a) for a in args)]
        return f"{self.functions[row.name]}({', '.join(operands)})"

    def operand(self, piece: Piece) -> str:
        """The argument of an elementwise function."""
        return piece.text

    def composed(self, row: Function, args: Pieces) -> Piece:
        """A function as its composition."""
        return self._of_pieces(expression(row.composition), dict(zip(row.arguments, args, strict=True)))

    def _of_pieces(self, expr: Expr, names: Mapping[str, Piece]) -> Piece:
        if isinstance(expr, Name):
            return names[expr.id]
        if isinstance(expr, Call):
            return self.apply(expr.op, [self._of_pieces(a, names) for a in expr.args], dict(expr.params))
        return self.expression(expr)

    def operands(self, op: str, args: Pieces, result: Type) -> tuple[Piece, Piece]:
        """Both operands of an infix operator. A number beside a float or complex value stays a number, which
        the library converts.

        If `bare` is False, it becomes a constant of the dialect there too.
        """
        a, b = args
        dtype = promote([a.type.dtype, b.type.dtype, result.dtype if result.is_inexact else "bool"])
        if dtype in ("int", "bool"):
            return a, b
        if not self.bare or op == "matmul":
            return self.converted(a, dtype), self.converted(b, dtype)
        if any(p.type.dtype == dtype and p.literal is None for p in (a, b)):
            return a, b
        if a.literal is None:
            return self.converted(a, dtype), b if b.literal is not None else self.converted(b, dtype)
        return a, self.converted(b, dtype)

    # Statements ---------------------------------------------------------------------------------------------

    def begin(self, program: Program) -> None:
        """Reads a program, whose statements are written next."""
        self.variables = typecheck(program).variables
        self._several = JointResults(program, {*map(self.name, self.variables), *self.reserved})

    def function(self, program: Program, name: str) -> str:
        """The program as a Python function `name`; it returns the output, or a tuple of several."""
        self.begin(program)
        lines = [f"def {name}({', '.join(self.name(p.name) for p in program.params)}):"]
        lines.extend(self.block(program.body, self.step))
        return "\n".join(lines) + "\n"

    def assigned(self, target: str, value: Expr) -> str:
        """The source of a value as its variable has it."""
        piece = self.expression(value)
        of = self.variables[target]
        return (self.converted(piece, of.dtype) if of.is_inexact else self.value(piece)).text

    def _decision(self, expr: Expr) -> Piece:
        """The source of a condition or count, which may be evaluated elsewhere than before the next line."""
        assert self._several is not None, "statements belong to a function"
        self._several.closed = True
        piece = self.expression(expr)
        self._several.closed = False
        return piece

    brackets = (":", "")
    """The begin and the end of a block."""
    empty = "pass"
    """What a block without statements has."""
    end = ""
    """The end of a statement."""
    repeat = "while True"
    """The words before a block that is tested after it."""
    step = "    "

    def test(self, condition: str) -> str:
        """A condition after `while` and `if`."""
        return condition

    def counted(self, name: str, count: Piece) -> str:
        """The head of a counting loop."""
        return f"for {name} in range({count.text})"

    def returned(self, values: list[Piece]) -> str:
        """The statement that returns the outputs."""
        return f"return {', '.join(v.text for v in values)}"

    def repeated(self, condition: Piece, indent: str) -> Iterator[str]:
        """The end of a loop that goes on under a condition."""
        yield f"{indent}{self.step}if not {condition.at(NOT)}:"
        yield f"{indent}{self.step}    break"

    def block(self, body: Block, indent: str) -> Iterator[str]:
        """The statements of a block."""
        assert self._several is not None, "statements belong to a function"
        self._several.forget()
        if not body and self.empty:
            yield f"{indent}{self.empty}"
        for stmt in body:
            match stmt:
                case Assign(target, value):
                    text = self.assigned(target, value)
                    yield from (f"{indent}{line}" for line in self._several.lines())
                    yield f"{indent}{self.name(target)} = {text}{self.end}"
                    self._several.assigned(target)
                case While(condition, inner):
                    yield from self._nested(f"while {self._tested(condition)}", inner, indent)
                case Repeat(inner, condition):
                    yield f"{indent}{self.repeat}{self.brackets[0]}"
                    yield from self.block(inner, indent + self.step)
                    yield from self.repeated(self._decision(condition), indent)
                case For(target, count, inner):
                    head = self.counted(self.name(target), self._decision(count))
                    yield from self._nested(head, inner, indent)
                case If(condition, inner, orelse):
                    yield from self._nested(f"if {self._tested(condition)}", inner, indent, orelse)
                case Break():
                    yield f"{indent}break{self.end}"
                case Continue():
                    yield f"{indent}continue{self.end}"
                case Return(values):
                    text = self.returned([self.value(self.expression(v)) for v in values])
                    yield from (f"{indent}{line}" for line in self._several.lines())
                    yield f"{indent}{text}{self.end}"
        self._several.forget()

    def _tested(self, condition: Expr) -> str:
        return self.test(self._decision(condition).text)

    def _nested(self, head: str, body: Block, indent: str, orelse: Block = ()) -> Iterator[str]:
        begin, end = self.brackets
        yield f"{indent}{head}{begin}"
        yield from self.block(body, indent + self.step)
        if orelse:
            yield f"{indent}{f'{end} else'.strip()}{begin}"
            yield from self.block(orelse, indent + self.step)
        if end:
            yield f"{indent}{end}"
