"""Programs as text: plain Python that a person would write.

`parse(to_text(p)) == p` for every well-typed program whose calls hold all their parameters (`programs.call`
makes such calls). The printer itself never fails: it also prints programs that do not type-check, for error
messages.

Brackets are minimal. `and`, `or`, `not` are printed in the conditions of statements, where everything is a
scalar; elsewhere their function forms are, so that the text also runs on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.types import FLOAT

_ANY, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(10)
"""Python's precedence, loosest first."""

_INFIX: dict[str, tuple[str, int, int, int]] = {
    "add": ("+", _SUM, _SUM, _PRODUCT),
    "subtract": ("-", _SUM, _SUM, _PRODUCT),
    "multiply": ("*", _PRODUCT, _PRODUCT, _UNARY),
    "divide": ("/", _PRODUCT, _PRODUCT, _UNARY),
    "remainder": ("%", _PRODUCT, _PRODUCT, _UNARY),
    "matmul": ("@", _PRODUCT, _PRODUCT, _UNARY),
    "pow": ("**", _POWER, _ATOM, _UNARY),
    "less": ("<", _COMPARISON, _SUM, _SUM),
    "less_equal": ("<=", _COMPARISON, _SUM, _SUM),
    "greater": (">", _COMPARISON, _SUM, _SUM),
    "greater_equal": (">=", _COMPARISON, _SUM, _SUM),
    "equal": ("==", _COMPARISON, _SUM, _SUM),
    "not_equal": ("!=", _COMPARISON, _SUM, _SUM),
}
"""Operator, its own precedence, and the least precedence its left and right operand may have without
brackets.
"""

_LOGIC: dict[str, tuple[str, int, int, int]] = {
    "logical_and": ("and", _AND, _AND, _NOT),
    "logical_or": ("or", _OR, _OR, _AND),
}

_POSITIONAL_PARAMS = ("shape", "axes", "dtype")


def function_text(name: str, params: Sequence[syntax.Param], body: syntax.Block) -> str:
    """A `def`, ending with a newline."""
    lines = [f"def {name}({', '.join(_param(p) for p in params)}):"]
    lines.extend(_block(body, "    "))
    return "\n".join(lines) + "\n"


def expression_text(expr: syntax.Expr) -> str:
    """An expression as it stands on the right of `=`."""
    return _expr(expr, _ANY)


def statement_text(stmt: syntax.Stmt) -> str:
    """The first line of a statement, for messages."""
    return next(_statement(stmt, ""))


def own_continue(body: syntax.Block) -> syntax.Continue | None:
    """The first `continue` that belongs to the loop with this body, not to a loop inside it."""
    return next((stmt for stmt in syntax.own_statements(body) if isinstance(stmt, syntax.Continue)), None)


# Statements -------------------------------------------------------------------------------------------------


def _param(param: syntax.Param) -> str:
    return param.name if param.type == FLOAT else f'{param.name}: "{param.type}"'


def _block(body: syntax.Block, indent: str) -> Iterator[str]:
    if not body:
        yield f"{indent}pass"
    for stmt in body:
        yield from _statement(stmt, indent)


def _statement(stmt: syntax.Stmt, indent: str) -> Iterator[str]:
    deeper = indent + "    "
    match stmt:
        case syntax.Assign(
            target, syntax.Call("index_update", (syntax.Name(base), value, *indices), (("pattern", pattern),))
        ) if base == target:
            place = _entries(pattern, indices, "{}:{}")
            if place is None:
                yield f"{indent}{target} = {_expr(stmt.value, _ANY)}"
            else:
                yield f"{indent}{target}[{', '.join(place) or '()'}] = {_expr(value, _ANY)}"
        case syntax.Assign(target, value):
            yield f"{indent}{target} = {_expr(value, _ANY)}"
        case syntax.While(condition, body):
            yield f"{indent}while {_while_condition(condition, body)}:"
            yield from _block(body, deeper)
        case syntax.Repeat(body, condition):
            yield f"{indent}while True:"
            if body:
                yield from _block(body, deeper)
            yield f"{deeper}if {_exit_condition(condition)}:"
            yield f"{deeper}    break"
        case syntax.For(target, count, body):
            yield f"{indent}for {target} in range({_expr(count, _ANY)}):"
            yield from _block(body, deeper)
        case syntax.If():
            yield from _branch(stmt, indent, "if")
        case syntax.Break():
            yield f"{indent}break"
        case syntax.Continue():
            yield f"{indent}continue"
        case syntax.Return(values):
            yield f"{indent}return {', '.join(_expr(v, _ANY) for v in values)}"


def _branch(stmt: syntax.If, indent: str, keyword: str) -> Iterator[str]:
    yield f"{indent}{keyword} {_expr(stmt.condition, _ANY, logic=True)}:"
    yield from _block(stmt.body, indent + "    ")
    if len(stmt.orelse) == 1 and isinstance(stmt.orelse[0], syntax.If):
        yield from _branch(stmt.orelse[0], indent, "elif")
    elif stmt.orelse:
        yield f"{indent}else:"
        yield from _block(stmt.orelse, indent + "    ")


def _while_condition(condition: syntax.Expr, body: syntax.Block) -> str:
    """`while True:` that ends in `if ...: break` would read as a Repeat; `not False` is the same constant and
    does not.
    """
    if condition == syntax.Const(True) and body and own_continue(body) is None:
        match body[-1]:
            case syntax.If(_, (syntax.Break(),), ()):
                return "not False"
    return _expr(condition, _ANY, logic=True)


def _exit_condition(condition: syntax.Expr) -> str:
    """The text of `not condition`; a single `not` cancels."""
    match condition:
        case syntax.Call("logical_not", (syntax.Call("logical_not") | syntax.Const(),)):
            return "not " + _expr(condition, _NOT, logic=True)
        case syntax.Call("logical_not", (inner,)):
            return _expr(inner, _ANY, logic=True)
    return f"not {_expr(condition, _NOT, logic=True)}"


# Expressions ------------------------------------------------------------------------------------------------


def _expr(expr: syntax.Expr, least: int, logic: bool = False) -> str:
    """The text of `expr`, in brackets where its precedence is below `least`."""
    if isinstance(expr, syntax.Name):
        return expr.id
    if isinstance(expr, syntax.Const):
        text = _const(expr)
        return f"({text})" if text[0] == "-" and least > _UNARY else text
    if isinstance(expr, syntax.ArrayConst):
        return _array(expr)
    op, args = expr.op, expr.args
    infix = _INFIX.get(op) or (_LOGIC.get(op) if logic else None)
    if infix is not None and len(args) == 2 and not expr.params and not _is_literal_power(op, args[1]):
        sign, own, left, right = infix
        inner = logic and op in _LOGIC
        text = f"{_expr(args[0], left, inner)} {sign} {_expr(args[1], right, inner)}"
    elif op == "negative" and len(args) == 1 and not isinstance(args[0], syntax.Const):
        own, text = _UNARY, f"-{_expr(args[0], _POWER)}"
    elif op == "logical_not" and logic and len(args) == 1 and not isinstance(args[0], syntax.Const):
        own, text = _NOT, f"not {_expr(args[0], _NOT, True)}"
    elif op == "integer_pow" and len(args) == 1 and len(expr.params) == 1:
        own, text = _POWER, f"{_expr(args[0], _ATOM)} ** {expr.params[0][1]}"
    else:
        return _call(expr)
    return f"({text})" if own < least else text


def _is_literal_power(op: str, exponent: syntax.Expr) -> bool:
    """`x ** 2` means integer_pow, so pow by an int constant keeps its function form."""
    return op == "pow" and isinstance(exponent, syntax.Const) and exponent.dtype == "int"


def _call(call: syntax.Call) -> str:
    op, args, params = call.op, call.args, dict(call.params)
    if op == "index" and args:
        entries = _entries(params.get("pattern"), args[1:], "{}:{}")
        if entries is not None:
            return f"{_expr(args[0], _ATOM)}[{', '.join(entries) or '()'}]"
    if op == "index_update" and len(args) > 1:
        entries = _entries(params.get("pattern"), args[2:], "slice({}, {})")
        if entries is not None:
            return f"index_update({', '.join([_expr(args[0], _ANY), _expr(args[1], _ANY), *entries])})"
    parts = [_expr(a, _ANY) for a in args]
    if op in ("concat", "stack"):
        parts = [f"[{', '.join(parts)}]"]
    row = OPS.get(op)
    defaults = dict(row.params) if row is not None else {}
    several = row is not None and bool(row.parts)
    if op == "einsum" and "subscripts" in params:
        parts.insert(0, repr(params.pop("subscripts")))
    for name, value in call.params:
        if name not in params or (several and name == "part"):
            continue
        if name in defaults and _same(value, defaults[name]):
            continue
        text = value if name == "dtype" and isinstance(value, str) else repr(value)
        parts.append(text if name in _POSITIONAL_PARAMS else f"{name}={text}")
    chosen = f"[{params['part']}]" if several and "part" in params else ""
    return f"{op}({', '.join(parts)}){chosen}"


def _same(value: syntax.ParamValue, default: object) -> bool:
    return type(value) is type(default) and value == default


def _entries(pattern: syntax.ParamValue, indices: Sequence[syntax.Expr], slices: str) -> list[str] | None:
    """One text per axis of an index pattern; None where the pattern does not fit the arguments."""
    if not isinstance(pattern, tuple) or sum(entry == "at" for entry in pattern) != len(indices):
        return None
    remaining = iter(indices)
    texts: list[str] = []
    for entry in pattern:
        match entry:
            case "at":
                texts.append(_expr(next(remaining), _ANY))
            case ("slice", start, stop):
                texts.append(slices.format(start, stop))
            case _:
                return None
    return texts


def _const(const: syntax.Const) -> str:
    value = const.value
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return repr(value)


def _array(array: syntax.ArrayConst) -> str:
    texts = [_const(v) for v in array.values]
    if not texts:
        shape = "" if array.shape == (0,) else f", shape={array.shape!r}"
        dtype = "" if array.dtype == "float" else f", dtype={array.dtype}"
        return f"array([]{shape}{dtype})"
    for size in reversed(array.shape):
        texts = [f"[{', '.join(texts[k : k + size])}]" for k in range(0, len(texts), max(size, 1))]
    return f"array({', '.join(texts)})"
