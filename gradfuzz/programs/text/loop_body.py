"""A bare loop body to a whole program: `acc*x` is enough to ask about a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from gradfuzz.errors import ProgramSyntaxError, ProgramTypeError
from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.printer import own_continue
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.typecheck import RESERVED, typecheck
from gradfuzz.programs.language.types import FLOAT, INT, Type, broadcast_shapes
from gradfuzz.programs.text.expressions import call
from gradfuzz.programs.text.reading import read, refuse, shallow, too_deep
from gradfuzz.programs.text.statements import Statements

_CARRY, _COUNTER = "acc", "i"


def loop_program(
    body: str,
    *,
    trips: int | str | None = 3,
    loop: Literal["for", "while", "repeat"] = "for",
    init: Mapping[str, float | str] | None = None,
    params: Mapping[str, Type] | None = None,
    condition: str | None = None,
    name: str = "f",
) -> Program:
    """A loop around a bare body: `loop_program("acc*x")` is `acc = 1.0`, `for i in range(3): acc = acc * x`,
    `return acc`.

    `body` is one expression, the next value of `acc`, or statements, the last of which may be such an
    expression. `acc` is returned. It starts as `init["acc"]`, else as 1.0, unless `params` has it. `i` is the
    trip's index where the body or the condition reads it. Every other name that is read before it is assigned
    is a parameter unless `init` has its first value; parameters are float scalars unless `params` says
    otherwise, and come in the order in which the body reads them. A value of `init` is a number, taken as a
    float, or the text of an expression. A carry that the body makes an array starts as one: its first value
    is broadcast.

    `trips` is a number or the name of an int parameter. With `condition`, a while or repeat loop goes on as
    long as that holds, and `trips` plays no part. The program type-checks; otherwise `ProgramSyntaxError` or
    `ProgramTypeError` is raised, with lines counted in `body`.
    """
    try:
        statements = _statements(body)
        test = None if condition is None else _expression(condition, "the condition")
        starts = {carry: _start(carry, value) for carry, value in (init or {}).items()}
        if _CARRY not in starts and _CARRY not in (params or {}):
            starts = {_CARRY: ast.Constant(1.0, lineno=0), **starts}
        types = _params(statements, test, starts, params or {}, loop)
        count = _count(trips, types, loop) if test is None else None
        counting = test is None or _COUNTER in _names(test) or any(_COUNTER in _names(s) for s in statements)
        initial, carries = _initial(starts, statements, types)
        converter = Statements({**types, **carries, _COUNTER: INT})
        block = converter.block(statements)
        again = None if test is None else converter.expression(test)
    except RecursionError:
        raise too_deep() from None
    loops = _loop(loop, block, count, again, counting)
    inputs = tuple(syntax.Param(n, t) for n, t in types.items())
    program = Program(name, inputs, (*initial, *loops, syntax.Return((syntax.Name(_CARRY),))))
    typecheck(shallow(program))
    return program


# Reading ----------------------------------------------------------------------------------------------------


def _statements(body: str) -> list[ast.stmt]:
    """The statements of the body; a closing bare expression is assigned to the carry."""
    statements: list[ast.stmt] = list(read(body).body)
    if not statements:
        refuse(0, f"the loop body is empty; write the next value of {_CARRY}, as in {_CARRY}*x")
    last = statements[-1]
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(_CARRY, ast.Store()), last)
        statements[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    if not any(_CARRY in _assigned(s) for s in statements):
        refuse(last, f"the body never assigns {_CARRY}, which is returned; end it with its next value")
    return statements


def _expression(text: str, what: str) -> ast.expr:
    """The expression that `text` is. Its lines count as nowhere: they are not lines of the body."""
    match read(text.strip()).body:
        case [ast.Expr(value)]:
            for node in ast.walk(value):
                if isinstance(node, ast.expr):
                    node.lineno = 0
            return value
    raise ProgramSyntaxError(f"{what} is {text!r}, which is not one expression")


def _start(carry: str, value: float | str) -> ast.expr:
    if isinstance(value, str):
        start = _expression(value, f"the first value of {carry}")
    else:
        start = ast.Constant(float(value), lineno=0)
    if carry == _CARRY and isinstance(start, ast.Constant) and type(start.value) is int:
        start.value = float(start.value)
    return start


def _occurrences(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """The names in `node` in the order of evaluation, each with whether it is read there."""
    if isinstance(node, ast.Name):
        yield node.id, isinstance(node.ctx, ast.Load)
        return
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.Assign):
        children = (node.value, *node.targets)
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield node.target.id, True
        children = (node.value, node.target)
    elif isinstance(node, ast.For):
        children = (node.iter, node.target, *node.body)
    elif isinstance(node, ast.Call):
        children = (*node.args, *(k.value for k in node.keywords))
    for child in children:
        yield from _occurrences(child)


def _names(node: ast.AST) -> set[str]:
    return {name for name, _ in _occurrences(node)}


def _assigned(stmt: ast.stmt) -> set[str]:
    """The names that `stmt` assigns, whole or an entry of."""
    found: set[str] = set()
    for node in ast.walk(stmt):
        if isinstance(node, (ast.Name, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            base = node.value if isinstance(node, ast.Subscript) else node
            found |= {base.id} if isinstance(base, ast.Name) else set()
    return found


# Parts of the program ---------------------------------------------------------------------------------------


def _params(
    statements: list[ast.stmt],
    test: ast.expr | None,
    starts: Mapping[str, ast.expr],
    given: Mapping[str, Type],
    loop: str,
) -> dict[str, Type]:
    """The parameters with their types: what is read before it is assigned and has no first value."""
    tests = [] if test is None else [test]
    looped = [*tests, *statements] if loop == "while" else [*statements, *tests]
    local = dict.fromkeys(starts)
    for taken in (starts, given, *map(_assigned, statements)):
        if _COUNTER in taken:
            refuse(0, f"{_COUNTER} is the index of the trip and is not assigned; use another name")
    free: set[str] = set()
    for node in (*starts.values(), *looped):
        for name, is_read in _occurrences(node):
            if is_read and name not in local:
                free.add(name)
            elif not is_read:
                local.setdefault(name)
    used = {name for node in looped for name in _names(node)}
    for carry in starts:
        if carry not in used and carry != _CARRY:
            refuse(0, f"the first value of {carry} is given, but the body does not use {carry}")
        if carry in given:
            refuse(0, f"{carry} is both a parameter and given a first value; keep one of the two")
    params = free - RESERVED - {_COUNTER} | given.keys()
    order = [name for node in (*statements, *tests, *starts.values()) for name, _ in _occurrences(node)]
    return {n: given.get(n, FLOAT) for n in dict.fromkeys([*order, *given]) if n in params}


def _count(trips: int | str | None, types: dict[str, Type], loop: str) -> syntax.Expr:
    """The trip count as an expression; a named one becomes an int parameter."""
    if isinstance(trips, str):
        if trips in (_CARRY, _COUNTER) or types.get(trips, INT) not in (INT, FLOAT):
            refuse(0, f"{trips} cannot be the trip count; name an int parameter, such as n")
        types[trips] = INT
        return syntax.Name(trips)
    if trips is None or trips < 0:
        refuse(0, f"{trips} trips; give a number >= 0, the name of an int parameter, or a condition")
    if trips == 0 and loop == "repeat":
        refuse(0, "0 trips of a body-first loop, which runs at least once; use a while or for loop")
    return syntax.Const(trips)


def _initial(
    starts: Mapping[str, ast.expr], statements: list[ast.stmt], types: Mapping[str, Type]
) -> tuple[list[syntax.Assign], dict[str, Type]]:
    """The assignments before the loop, and the types of the carries in it."""
    before = Statements(types)
    first: dict[str, syntax.Expr] = {}
    for carry, start in starts.items():
        first[carry] = before.expression(start)
        before.types[carry] = before.type_of(first[carry])
    carries = {carry: before.types[carry] for carry in starts}
    for _ in range(8):  # each round that changes something adds an axis or widens one
        inside = Statements({**types, **carries, _COUNTER: INT})
        grown = dict(carries)
        for node in walk(inside.block(statements)):
            if isinstance(node, syntax.Assign) and node.target in grown:
                grown[node.target] = _grown(grown[node.target], node.value, inside)
        if grown == carries:
            break
        carries = grown
    assigns: list[syntax.Assign] = []
    for carry, value in first.items():
        shape = carries[carry].shape
        if before.types[carry].shape != shape:
            value = call("broadcast_to", value, shape=shape)
        assigns.append(syntax.Assign(carry, value))
    return assigns, carries


def _grown(t: Type, value: syntax.Expr, converter: Statements) -> Type:
    """`t` with the shape that holds `value` as well; left alone where that is impossible, for `typecheck` to
    explain.
    """
    try:
        shape = broadcast_shapes(t.shape, converter.type_of(value).shape)
    except ProgramTypeError:
        return t
    return t if shape is None else Type(t.dtype, shape)


def _loop(
    form: str, body: syntax.Block, count: syntax.Expr | None, again: syntax.Expr | None, counting: bool
) -> list[syntax.Stmt]:
    """The loop, with its counter where it has one."""
    counter = syntax.Name(_COUNTER)
    if form == "for":
        if count is None:
            refuse(0, "a for loop has a trip count and no condition; choose loop 'while' or 'repeat'")
        return [syntax.For(_COUNTER, count, body)]
    skipping = own_continue(body)
    if counting:
        if skipping is not None and form == "while":
            refuse(skipping.line, "continue would skip the counter; choose loop 'for', or use if/else")
        body = (*body, syntax.Assign(_COUNTER, syntax.Call("add", (counter, syntax.Const(1)))))
    if again is None:
        assert count is not None, "without a condition there is a count"
        again = syntax.Call("less", (counter, count))
    looped: syntax.Stmt = syntax.While(again, body) if form == "while" else syntax.Repeat(body, again)
    return [syntax.Assign(_COUNTER, syntax.Const(0)), looped] if counting else [looped]
