"""The type checker: which names exist where, and the dtype and shape of everything.

Names follow Python's own rule, read pessimistically: a name may be read where every way that leads there has
assigned it. A name first assigned inside a `while` or `for` body is unknown after the loop (there may be no
trip); after a body-first loop it is known. A branch that ends with `break` or `continue` does not count where
the ways meet.

A name has one type throughout the program: the join of everything assigned to it. Shapes must be equal; an
int that meets a float becomes a float, and a float that meets a complex number complex; a bool never becomes
a number. Where a name's type is float, assigning an int to it converts.
"""

from __future__ import annotations

import functools
import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from gradfuzz.errors import ProgramTypeError
from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.programs.language.ops import ALIASES, OPS, result_type
from gradfuzz.programs.language.printer import expression_text, statement_text
from gradfuzz.programs.language.program import INNER, Program, walk
from gradfuzz.programs.language.recent import Recent
from gradfuzz.programs.language.types import BOOL, INT, Type, fail, promote

MAX_NESTING = 80
"""How deep statements and expressions may be nested, together. Everything that walks a program is recursive,
and Python's own parser stops at 100 indents and 200 brackets.
"""

MAX_ENTRIES = 1_000_000
"""The largest array a program may make: a program may come from a stranger."""

RESERVED = frozenset(
    {name for name in OPS if name not in FUNCTIONS or FUNCTIONS[name].reserved}
    | {"array", "bool", "float", "full", "inf", "int", "nan", "ones", "pi", "range", "slice", "zeros"}
).union(ALIASES)
"""Names that mean something in the text form and so cannot be variables, parameters or programs."""

_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Typed:
    """A program that has passed: the type of every name (parameters and loop counters included) and of the
    outputs.
    """

    program: Program
    variables: dict[str, Type]
    outputs: tuple[Type, ...]

    def type_of(self, expr: syntax.Expr) -> Type:
        """The type of an expression of this program."""
        return expression_type(expr, self.variables)


def typecheck(program: Program) -> Typed:
    """The types of `program`, or `ProgramTypeError` with the line and the reason.

    The line is the one in the text that the program was parsed from; for a program made otherwise the message
    quotes the statement.
    """
    return _typed.get(program)


def _checked(program: Program) -> Typed:
    if nesting(program) > MAX_NESTING:
        fail(f"the program is nested deeper than {MAX_NESTING} levels; use temporaries")
    check_name(program.name, "a program")
    types: dict[str, Type] = {}
    for param in program.params:
        check_name(param.name, "a parameter")
        if param.name in types:
            fail(f"the parameter {param.name} is there twice; give each its own name")
        _check_entries(param.type, param.name)
        types[param.name] = param.type
    if not program.body or not isinstance(program.body[-1], syntax.Return):
        fail(f"the program {program.name} does not end with return")
    _Names(program).check()
    _Types(program, types).settle()
    return Typed(program, types, tuple(_located(v, types, program.result) for v in program.result.values))


_typed = Recent(_checked, 1024)


def expression_type(expr: syntax.Expr, variables: Mapping[str, Type]) -> Type:
    """The type of `expr` where the names have the types `variables`; `ProgramTypeError` where it has none."""
    if isinstance(expr, syntax.Name):
        found = variables.get(expr.id)
        if found is None:
            fail(f"{expr.id} is not assigned before it is read", expr.line)
        return found
    if isinstance(expr, syntax.Const):
        _check_const(expr)
        return Type(expr.dtype)
    if isinstance(expr, syntax.ArrayConst):
        return _array_type(expr)
    types = tuple([expression_type(a, variables) for a in expr.args])
    try:
        if expr.params:
            result = result_type(expr.op, types, dict(expr.params))
            _check_params(expr, types)
        else:
            result = _plain_type(expr.op, types)
        if result.shape:
            _check_entries(result, expr.op)
    except ProgramTypeError as error:
        if error.line or not expr.line:
            raise
        raise ProgramTypeError(str(error), line=expr.line) from None
    return result


@functools.lru_cache(maxsize=1 << 12)
def _plain_type(op: str, types: tuple[Type, ...]) -> Type:
    """The type of `op` without parameters."""
    return result_type(op, types, {})


def check_name(name: str, what: str) -> None:
    """`ProgramTypeError` where `name` cannot be the name of `what`: a plain ASCII Python name that means
    nothing else.
    """
    if name in RESERVED:
        fail(f"{name} cannot be the name of {what}: it already means something; choose another")
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name.startswith("__"):
        allowed = "letters a-z, digits and _, no Python keyword, no leading __"
        fail(f"{name!r} cannot be the name of {what}: use {allowed}")


def nesting(program: Program) -> int:
    """The depth of the deepest node; a statement of the program's own body has depth 1."""
    deepest = 0
    level: list[syntax.Node] = [*program.body]
    while level:
        deepest += 1
        level = [inner for node in level if (parts := INNER.get(type(node))) for inner in parts(node)]
    return deepest


# Values -----------------------------------------------------------------------------------------------------


def _check_const(const: syntax.Const) -> None:
    if const.dtype == "complex":
        fail(f"the complex constant {const.value}; a program writes complex(re, im)", const.line)
    if const.dtype == "int" and const.value not in _INT64:
        fail(f"the int {const.value} does not fit 64 bits; write it as a float", const.line)


def _check_entries(t: Type, what: str) -> None:
    sizes = [n for n in t.shape if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    if len(sizes) != t.rank:
        fail(f"{what} has the shape {t.shape}; sizes are ints >= 0")
    if max(math.prod(sizes), *sizes, 0) > MAX_ENTRIES:
        fail(f"{what} makes {t}, an array of more than {MAX_ENTRIES:,} entries; that is the limit")


def _array_type(array: syntax.ArrayConst) -> Type:
    result = Type(array.dtype, array.shape)
    try:
        _check_entries(result, "an array constant")
        if len(array.values) != math.prod(array.shape):
            fail(f"an array constant of shape {array.shape} has {len(array.values)} entries")
        for value in array.values:
            dtype = value.dtype
            if dtype != "float":
                _check_const(value)
            if dtype != array.dtype:
                fail(f"an array constant of dtype {array.dtype} has the entry {value.value!r}")
    except ProgramTypeError as error:
        raise (error if error.line else ProgramTypeError(str(error), line=array.line)) from None
    return result


def _check_params(call: syntax.Call, types: tuple[Type, ...]) -> None:
    """What the op table's rules leave open: the form of `params`, and constant indices."""
    names = [name for name, _ in call.params]
    if names != sorted(set(names)):
        fail(f"{call.op} has the parameters {', '.join(names)}: each once, sorted by name")
    params = dict(call.params)
    if not isinstance(params.get("keepdims", False), bool):
        fail(f"{call.op} with keepdims={params['keepdims']!r}; it is True or False")
    n = params.get("n", 0)
    if call.op == "integer_pow" and n not in _INT64:
        fail(f"integer_pow with n={n}: the exponent does not fit 64 bits")
    axes = params.get("axes")
    if isinstance(axes, tuple) and any(type(a) is not int for a in axes):
        fail(f"{call.op} with axes={axes!r}; axes are ints")
    pattern = params.get("pattern")
    if isinstance(pattern, tuple):
        if any(type(n) is not int for entry in pattern if isinstance(entry, tuple) for n in entry[1:]):
            fail(f"{call.op} with {pattern!r}: slice bounds are ints")
        indices = iter(call.args[1:] if call.op == "index" else call.args[2:])
        for axis, entry in enumerate(pattern):
            index = next(indices) if entry == "at" else None
            size = types[0].shape[axis]
            if isinstance(index, syntax.Const) and size is not None and not 0 <= index.number < size:
                outside = f"index {index.value} is outside axis {axis} of {types[0]}"
                fail(f"{outside}; it goes from 0 to {size - 1}")


def _located(expr: syntax.Expr, types: Mapping[str, Type], stmt: syntax.Stmt) -> Type:
    """`expression_type`, with an error that says where."""
    try:
        return expression_type(expr, types)
    except ProgramTypeError as error:
        if error.line:
            raise
        _fail(str(error), stmt)


def _fail(message: str, stmt: syntax.Stmt, line: int = 0) -> NoReturn:
    line = line or stmt.line
    fail(message if line else f"{message} (in `{statement_text(stmt)}`)", line)


# Names and ways ---------------------------------------------------------------------------------------------

_Known = frozenset[str] | None
"""The names that every way to a place has assigned; None where no way leads there."""


def _meet(ways: list[_Known]) -> _Known:
    reached = [w for w in ways if w is not None]
    return frozenset.intersection(*reached) if reached else None


@dataclass(slots=True)
class _Loop:
    """The innermost loop: its kind, and what is known at each of its breaks."""

    kind: Literal["while", "repeat", "for"]
    breaks: list[_Known] = field(default_factory=list)


_SKIPPED = "continue in a body-first loop would skip its condition; use if/else, or a `while` or `for` loop"


class _Names:
    """Definite assignment, loop counters, and where break, continue and return may stand."""

    def __init__(self, program: Program) -> None:
        self.program = program
        nodes = list(walk(program))
        self.everywhere = {p.name for p in program.params}
        self.everywhere |= {n.target for n in nodes if isinstance(n, syntax.Assign)}
        self.counters = {n.target for n in nodes if isinstance(n, syntax.For)}
        self.active: list[str] = []

    def check(self) -> None:
        self.block(self.program.body, frozenset(p.name for p in self.program.params), None)

    def block(self, body: syntax.Block, known: _Known, loop: _Loop | None) -> _Known:
        for stmt in body:
            if known is None:
                _fail("this can never run: every way here ends with break or continue; remove it", stmt)
            known = self.statement(stmt, known, loop)
        return known

    def statement(self, stmt: syntax.Stmt, known: frozenset[str], loop: _Loop | None) -> _Known:
        match stmt:
            case syntax.Assign(target, value):
                self.reads(value, known, stmt)
                self.assignable(target, stmt)
                return known | {target}
            case syntax.If(condition, body, orelse):
                self.reads(condition, known, stmt)
                return _meet([self.block(body, known, loop), self.block(orelse, known, loop)])
            case syntax.While(condition, body):
                self.reads(condition, known, stmt)
                self.block(body, known, _Loop("while"))
                return known
            case syntax.For(target, count, body):
                self.reads(count, known, stmt)
                self.countable(target, stmt)
                self.active.append(target)
                self.block(body, known | {target}, _Loop("for"))
                self.active.pop()
                return known
            case syntax.Repeat(body, condition):
                inner = _Loop("repeat")
                after = self.block(body, known, inner)
                if after is None:
                    _fail("the condition of this body-first loop is never reached; write it as `while`", stmt)
                self.reads(condition, after, stmt)
                return _meet([after, *inner.breaks])
            case syntax.Break():
                if loop is None:
                    _fail("break outside a loop", stmt)
                loop.breaks.append(known)
                return None
            case syntax.Continue():
                if loop is None:
                    _fail("continue outside a loop", stmt)
                if loop.kind == "repeat":
                    _fail(_SKIPPED, stmt)
                return None
            case syntax.Return(values):
                if stmt is not self.program.body[-1]:
                    _fail("return is the last statement of the program and stands nowhere else", stmt)
                if not values:
                    _fail("return without a value; return at least one", stmt)
                for value in values:
                    self.reads(value, known, stmt)
                return known

    def reads(self, expr: syntax.Expr, known: frozenset[str], stmt: syntax.Stmt) -> None:
        if isinstance(expr, syntax.Call):
            for arg in expr.args:
                self.reads(arg, known, stmt)
        elif isinstance(expr, syntax.Name) and expr.id not in known:
            if expr.id in self.counters:
                _fail(f"{expr.id} is a loop counter and lives only in its loop", stmt, expr.line)
            elif expr.id in self.everywhere:
                why = "may be read before it is assigned; assign it on every way that leads here"
                _fail(f"{expr.id} {why}", stmt, expr.line)
            _fail(f"{expr.id} is not defined; make it a parameter or assign it first", stmt, expr.line)

    def assignable(self, target: str, stmt: syntax.Stmt) -> None:
        if target in self.active:
            _fail(f"{target} is the loop counter and cannot be assigned in its loop", stmt)
        if target in self.counters:
            _fail(f"{target} is also a loop counter; give the variable another name", stmt)
        self.named(target, "a variable", stmt)

    def countable(self, target: str, stmt: syntax.Stmt) -> None:
        if target in self.active:
            _fail(f"{target} is already the counter of an outer loop; use another name", stmt)
        if any(target == p.name for p in self.program.params):
            _fail(f"the loop counter {target} is also a parameter; give it another name", stmt)
        self.named(target, "a loop counter", stmt)

    def named(self, name: str, what: str, stmt: syntax.Stmt) -> None:
        try:
            check_name(name, what)
        except ProgramTypeError as error:
            _fail(str(error), stmt)


# Types ------------------------------------------------------------------------------------------------------


class _Types:
    """The join of the types assigned to each name, found by going over the program until nothing changes."""

    def __init__(self, program: Program, types: dict[str, Type]) -> None:
        self.program = program
        self.types = types
        self.params = {p.name for p in program.params}
        self.changed = False

    def settle(self) -> None:
        """Ends after at most two rounds per name and one more: a name's dtype changes from int to float, and
        to complex.
        """
        self.changed = True
        while self.changed:
            self.changed = False
            self.block(self.program.body)

    def block(self, body: syntax.Block) -> None:
        for stmt in body:
            match stmt:
                case syntax.Assign(target, value):
                    self.assign(target, _located(value, self.types, stmt), stmt)
                case syntax.If(condition, inner, orelse):
                    self.decision(condition, stmt)
                    self.block(inner)
                    self.block(orelse)
                case syntax.While(condition, inner):
                    self.decision(condition, stmt)
                    self.block(inner)
                case syntax.Repeat(inner, condition):
                    self.block(inner)
                    self.decision(condition, stmt)
                case syntax.For(target, count, inner):
                    t = _located(count, self.types, stmt)
                    if t != INT:
                        _fail(f"range takes an int, not {expression_text(count)}, which is {t}", stmt)
                    self.types[target] = INT
                    self.block(inner)

    def decision(self, condition: syntax.Expr, stmt: syntax.Stmt) -> None:
        t = _located(condition, self.types, stmt)
        if t != BOOL:
            text = expression_text(condition)
            _fail(f"a condition is a bool, not {text}, which is {t}; compare it with something", stmt)

    def assign(self, target: str, new: Type, stmt: syntax.Stmt) -> None:
        old = self.types.setdefault(target, new)
        if old == new:
            return
        changed = f"{target} is {old} and cannot become {new}"
        if old.shape != new.shape:
            _fail(f"{changed}: a name has one shape; start it with broadcast_to", stmt)
        if "bool" in (old.dtype, new.dtype):
            _fail(f"{changed}: a bool is no number; use where, or another name", stmt)
        joined = promote((old.dtype, new.dtype))
        if joined != old.dtype:
            if target in self.params:
                _fail(f"{target} is an {old} parameter and cannot become {new}; use another name", stmt)
            self.types[target] = old.with_dtype(joined)
            self.changed = True
