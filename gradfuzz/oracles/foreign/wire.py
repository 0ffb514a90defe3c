"""Programs in messages: the JSON form of `programs.text.json_form`, with what readers would have to infer.

    program    {..., "variables": {NAME: type, ...}, "outputs": [type, ...]}
    loop       {..., "carries": [NAME, ...], "captures": [NAME, ...], "results": [NAME, ...]}
    if         {..., "assigns": [NAME, ...], "captures": [NAME, ...]}
    op         {"op": "sum", "args": [...], "params": {all of them}, "type": "float[3]"}

The body of a loop reads its captures and never assigns them. A carry is assigned in the body and read in the
next iteration, or after a loop without iterations. A result has no value before the loop, is assigned in the
body of a `repeat` and read after it. All other assigned names are local to an iteration. A branch assigns the
names that are read afterwards. The operands of an op have the dtype that it works in: where the program mixes
dtypes there is an explicit `astype`, and a literal has the dtype it is used as. The same holds for assigned
values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradfuzz.programs.language.ops import defaults_of, operand_dtypes, result_type
from gradfuzz.programs.language.program import Program, names_in, walk
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
    ParamValue,
    Repeat,
    Return,
    Stmt,
    While,
)
from gradfuzz.programs.language.typecheck import expression_type, typecheck
from gradfuzz.programs.language.types import DType, Type
from gradfuzz.programs.text.json_form import from_json, to_json, write_expression, write_param

Json = Any
Names = frozenset[str]
_NONE: Names = frozenset()


def to_wire(program: Program) -> dict[str, Json]:
    """The form of `program` that is sent to an adapter."""
    typed = typecheck(program)
    writer = _WireForm(typed.variables)
    return {
        **to_json(program),
        "body": writer.block(program.body, _NONE, _NONE, _NONE),
        "variables": {name: str(t) for name, t in typed.variables.items()},
        "outputs": [str(t) for t in typed.outputs],
    }


_ADDED = frozenset({"variables", "outputs", "carries", "captures", "results", "assigns", "type"})


def from_wire(form: Mapping[str, Json]) -> Program:
    """The program of such a form, with its conversions explicit. Raises `ProgramSyntaxError`."""
    return from_json(_plain(form))


def _plain(data: Json) -> Json:
    if isinstance(data, Mapping):
        return {
            name: value if name == "params" and "op" in data else _plain(value)
            for name, value in data.items()
            if name not in _ADDED
        }
    return [_plain(entry) for entry in data] if isinstance(data, list) else data


# Expressions ------------------------------------------------------------------------------------------------


class _WireForm:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self._variables = variables

    def type_of(self, expr: Expr) -> Type:
        return expression_type(expr, self._variables)

    def converted(self, expr: Expr, dtype: DType) -> Json:
        """`expr` as `dtype`, which is no smaller than its own."""
        own = self.type_of(expr)
        if own.dtype == dtype:
            return self.expression(expr)
        if isinstance(expr, Const) and dtype == "float":
            return write_expression(Const(float(expr.number)))
        if isinstance(expr, ArrayConst) and dtype == "float":
            entries = tuple(Const(float(v.number)) for v in expr.values)
            return self.expression(ArrayConst("float", expr.shape, entries))
        return _op("astype", [self.expression(expr)], {"dtype": dtype}, own.with_dtype(dtype))

    def expression(self, expr: Expr) -> Json:
        if not isinstance(expr, Call):
            return write_expression(expr)
        full, types = {**defaults_of(expr.op), **dict(expr.params)}, [self.type_of(a) for a in expr.args]
        result = result_type(expr.op, tuple(types), full)
        written = list(map(self.converted, expr.args, operand_dtypes(expr.op, types, result)))
        return _op(expr.op, written, full, result)

    # Statements

    def block(self, block: Block, after: Names, left: Names, again: Names) -> list[Json]:
        """The statements; the sets hold names read after them, after the loop, and in its next iteration."""
        written = []
        for statement in reversed(block):
            written.append(self.statement(statement, after, left, again))
            after = _before(statement, after, left, again)
        return written[::-1]

    def statement(self, statement: Stmt, after: Names, left: Names, again: Names) -> Json:
        match statement:
            case Assign(target, value):
                return {"assign": target, "value": self.converted(value, self._variables[target].dtype)}
            case While(condition, body) | Repeat(body, condition):
                head, tail = _edges(statement, after)
                inner = self.block(body, tail, after, tail)
                test = self.expression(condition)
                keys = (
                    {"while": test, "body": inner}
                    if isinstance(statement, While)
                    else {"repeat": inner, "while": test}
                )
                return {**keys, **_loop(body, head, after, (), condition)}
            case For(target, count, body):
                head, tail = _edges(statement, after)
                inner = self.block(body, tail, after, tail)
                told = _loop(body, head, after, (target,))
                return {"for": target, "count": self.expression(count), "body": inner, **told}
            case If(condition, then, orelse):
                inside = (*then, *orelse)
                before = _before(If(Const(True), then, orelse), after, left, again)
                return {
                    "if": self.expression(condition),
                    "then": self.block(then, after, left, again),
                    "else": self.block(orelse, after, left, again),
                    "assigns": sorted(_assigned(inside) & (after | left | again)),
                    "captures": sorted(before & names_in(inside)),
                }
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Return(values):
                return {"return": [self.expression(v) for v in values]}


def _loop(
    body: Block, head: Names, after: Names, own: Sequence[str], condition: Expr | None = None
) -> dict[str, list[str]]:
    assigned = _assigned(body)
    read = names_in(body) | (_NONE if condition is None else names_in(condition))
    inner = {s.target for s in walk(body) if isinstance(s, For)}
    return {
        "carries": sorted(assigned & head),
        "captures": sorted(read - assigned - inner - set(own)),
        "results": sorted((assigned & after) - head),
    }


def _op(op: str, args: list[Json], params: Mapping[str, ParamValue], result: Type) -> Json:
    written = {name: write_param(value) for name, value in params.items()}
    return {"op": op, "args": args, "params": written, "type": str(result)}


# What is read later -----------------------------------------------------------------------------------------


def _assigned(block: Block) -> Names:
    return frozenset(s.target for s in walk(block) if isinstance(s, Assign))


def _before_block(block: Iterable[Stmt], after: Names, left: Names, again: Names) -> Names:
    for statement in reversed(tuple(block)):
        after = _before(statement, after, left, again)
    return after


def _before(statement: Stmt, after: Names, left: Names, again: Names) -> Names:
    """The names whose values may be read from where `statement` begins."""
    match statement:
        case Assign(target, value):
            return (after - {target}) | names_in(value)
        case If(condition, then, orelse):
            ways = _before_block(then, after, left, again) | _before_block(orelse, after, left, again)
            return ways | names_in(condition)
        case While() | Repeat():
            return _edges(statement, after)[0]
        case For(_, count, _):
            return _edges(statement, after)[0] | names_in(count)
        case Break():
            return left
        case Continue():
            return again
        case Return(values):
            return frozenset().union(*(names_in(v) for v in values))


def _edges(loop: While | Repeat | For, after: Names) -> tuple[Names, Names]:
    """The names read from where a loop begins, and from where an iteration ends: the least fixed point."""
    head = _NONE
    while True:
        match loop:
            case While(condition, body):
                tail = head | after | names_in(condition)
                found = _before_block(body, tail, after, tail) | after | names_in(condition)
            case Repeat(body, condition):
                tail = head | after | names_in(condition)
                found = _before_block(body, tail, after, tail)
            case For(target, _, body):
                tail = head | after
                found = (_before_block(body, tail, after, tail) | after) - {target}
        if found == head:
            return head, tail
        head = found
