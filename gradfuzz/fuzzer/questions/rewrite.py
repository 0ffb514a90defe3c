"""Programs with one thing changed: the tree surgery of shrinking. Nothing here knows what a program means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Call,
    Expr,
    For,
    If,
    Name,
    Program,
    Repeat,
    Return,
    Stmt,
    While,
)

ExprRewrite = Callable[[Expr], Iterable[Expr]]


def block_edits(block: Block, rewrite: Callable[[Block], Iterable[Block]]) -> Iterator[Block]:
    """Every block made by applying `rewrite` to `block` or to one block inside it; outer ones first."""
    yield from rewrite(block)
    for k, statement in enumerate(block):
        for changed in _inner_edits(statement, rewrite):
            yield (*block[:k], changed, *block[k + 1 :])


def _inner_edits(statement: Stmt, rewrite: Callable[[Block], Iterable[Block]]) -> Iterator[Stmt]:
    if isinstance(statement, (While, Repeat, For, If)):
        for body in block_edits(statement.body, rewrite):
            yield replace(statement, body=body)
    if isinstance(statement, If):
        for orelse in block_edits(statement.orelse, rewrite):
            yield replace(statement, orelse=orelse)


def expression_edits(block: Block, rewrite: ExprRewrite) -> Iterator[Block]:
    """Every block with one expression, at any depth, replaced by one from `rewrite`; outer ones first."""
    for k, statement in enumerate(block):
        for changed in _statement_edits(statement, rewrite):
            yield (*block[:k], changed, *block[k + 1 :])


def _statement_edits(statement: Stmt, rewrite: ExprRewrite) -> Iterator[Stmt]:
    if isinstance(statement, Assign):
        for value in _expr_edits(statement.value, rewrite):
            yield replace(statement, value=value)
    elif isinstance(statement, Return):
        for k, old in enumerate(statement.values):
            for value in _expr_edits(old, rewrite):
                yield replace(statement, values=(*statement.values[:k], value, *statement.values[k + 1 :]))
    elif isinstance(statement, (While, Repeat, If)):
        for condition in _expr_edits(statement.condition, rewrite):
            yield replace(statement, condition=condition)
    elif isinstance(statement, For):
        for count in _expr_edits(statement.count, rewrite):
            yield replace(statement, count=count)
    if isinstance(statement, (While, Repeat, For, If)):
        for body in expression_edits(statement.body, rewrite):
            yield replace(statement, body=body)
    if isinstance(statement, If):
        for orelse in expression_edits(statement.orelse, rewrite):
            yield replace(statement, orelse=orelse)


def _expr_edits(expr: Expr, rewrite: ExprRewrite) -> Iterator[Expr]:
    yield from rewrite(expr)
    if isinstance(expr, Call):
        for k, old in enumerate(expr.args):
            for arg in _expr_edits(old, rewrite):
                yield replace(expr, args=(*expr.args[:k], arg, *expr.args[k + 1 :]))


def map_expressions(block: Block, change: Callable[[Expr], Expr]) -> Block:
    """`block` with every expression replaced, innermost first; `change` may return its argument."""

    def expr(e: Expr) -> Expr:
        if isinstance(e, Call):
            e = replace(e, args=tuple(map(expr, e.args)))
        return change(e)

    def statement(s: Stmt) -> Stmt:
        match s:
            case Assign():
                return replace(s, value=expr(s.value))
            case Return():
                return replace(s, values=tuple(map(expr, s.values)))
            case For():
                return replace(s, count=expr(s.count), body=map_expressions(s.body, change))
            case If():
                orelse = map_expressions(s.orelse, change)
                return replace(
                    s, condition=expr(s.condition), body=map_expressions(s.body, change), orelse=orelse
                )
            case While() | Repeat():
                return replace(s, condition=expr(s.condition), body=map_expressions(s.body, change))
        return s

    return tuple(map(statement, block))


def substitute(block: Block, name: str, value: Expr) -> Block:
    """`block` with every reading of `name` replaced by `value`. Assignments to it stay."""
    return map_expressions(block, lambda e: value if isinstance(e, Name) and e.id == name else e)


def rename(program: Program, names: Mapping[str, str], name: str) -> Program:
    """`program` with other names, and `name` for itself. All names change at once, so they can be swapped."""

    def target(s: Stmt) -> Stmt:
        match s:
            case Assign():
                return replace(s, target=names.get(s.target, s.target))
            case For():
                return replace(s, target=names.get(s.target, s.target), body=tuple(map(target, s.body)))
            case If():
                return replace(s, body=tuple(map(target, s.body)), orelse=tuple(map(target, s.orelse)))
            case While() | Repeat():
                return replace(s, body=tuple(map(target, s.body)))
        return s

    body = map_expressions(program.body, lambda e: Name(names.get(e.id, e.id)) if isinstance(e, Name) else e)
    params = tuple(replace(p, name=names.get(p.name, p.name)) for p in program.params)
    return Program(name, params, tuple(map(target, body)))
