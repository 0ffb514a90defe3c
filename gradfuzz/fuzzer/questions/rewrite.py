"""Programs with one thing changed: the tree surgery of shrinking. Nothing here knows what a program means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import (
    Assign,
    Block,
    Call,
    Expr,
    For,
    If,
    Name,
    Repeat,
    Return,
    Stmt,
    While,
)

T = TypeVar("T")

ExprRewrite = Callable[[Expr], Iterable[Expr]]

_EXPRESSION = {Assign: "value", While: "condition", Repeat: "condition", If: "condition", For: "count"}
"""The field of each kind of statement that is an expression."""

_BLOCKS = {While: ("body",), Repeat: ("body",), For: ("body",), If: ("body", "orelse")}


def _changed(statement: Stmt, fields: Mapping[str, Any]) -> Stmt:
    return replace(statement, **fields) if fields else statement


def _inner(statement: Stmt) -> Iterator[tuple[str, Block]]:
    """The blocks inside a statement, by field."""
    for field in _BLOCKS.get(type(statement), ()):
        yield field, getattr(statement, field)


def _replaced(items: tuple[T, ...], edits: Callable[[T], Iterable[T]]) -> Iterator[tuple[T, ...]]:
    """Every tuple with one item replaced by one of its edits."""
    for k, item in enumerate(items):
        for changed in edits(item):
            yield (*items[:k], changed, *items[k + 1 :])


def block_edits(block: Block, rewrite: Callable[[Block], Iterable[Block]]) -> Iterator[Block]:
    """Every block made by applying `rewrite` to `block` or to one block inside it; outer ones first."""

    def inner(statement: Stmt) -> Iterator[Stmt]:
        for field, own in _inner(statement):
            for changed in block_edits(own, rewrite):
                yield _changed(statement, {field: changed})

    yield from rewrite(block)
    yield from _replaced(block, inner)


def expression_edits(block: Block, rewrite: ExprRewrite) -> Iterator[Block]:
    """Every block with one expression, at any depth, replaced by one from `rewrite`; outer ones first."""

    def edits(expr: Expr) -> Iterator[Expr]:
        return _expr_edits(expr, rewrite)

    def inner(statement: Stmt) -> Iterator[Stmt]:
        if isinstance(statement, Return):
            for values in _replaced(statement.values, edits):
                yield replace(statement, values=values)
        if expression := _EXPRESSION.get(type(statement)):
            for changed in edits(getattr(statement, expression)):
                yield _changed(statement, {expression: changed})
        for field, own in _inner(statement):
            for body in expression_edits(own, rewrite):
                yield _changed(statement, {field: body})

    return _replaced(block, inner)


def _expr_edits(expr: Expr, rewrite: ExprRewrite) -> Iterator[Expr]:
    yield from rewrite(expr)
    if isinstance(expr, Call):
        for args in _replaced(expr.args, lambda arg: _expr_edits(arg, rewrite)):
            yield replace(expr, args=args)


def map_expressions(block: Block, change: Callable[[Expr], Expr]) -> Block:
    """`block` with every expression replaced, innermost first; `change` may return its argument."""

    def expr(e: Expr) -> Expr:
        if isinstance(e, Call):
            e = replace(e, args=tuple(map(expr, e.args)))
        return change(e)

    def statement(s: Stmt) -> Stmt:
        if isinstance(s, Return):
            return replace(s, values=tuple(map(expr, s.values)))
        fields: dict[str, Any] = {}
        if field := _EXPRESSION.get(type(s)):
            fields[field] = expr(getattr(s, field))
        fields |= {field: map_expressions(own, change) for field, own in _inner(s)}
        return _changed(s, fields)

    return tuple(map(statement, block))


def substitute(block: Block, name: str, value: Expr) -> Block:
    """`block` with every reading of `name` replaced by `value`. Assignments to it stay."""
    return map_expressions(block, lambda e: value if isinstance(e, Name) and e.id == name else e)


def rename(program: Program, names: Mapping[str, str], name: str) -> Program:
    """`program` with other names, and `name` for itself. All names change at once, so they can be swapped."""

    def target(s: Stmt) -> Stmt:
        fields: dict[str, Any] = {field: tuple(map(target, own)) for field, own in _inner(s)}
        if isinstance(s, (Assign, For)):
            fields["target"] = names.get(s.target, s.target)
        return _changed(s, fields)

    body = map_expressions(program.body, lambda e: Name(names.get(e.id, e.id)) if isinstance(e, Name) else e)
    params = tuple(replace(p, name=names.get(p.name, p.name)) for p in program.params)
    return Program(name, params, tuple(map(target, body)))
