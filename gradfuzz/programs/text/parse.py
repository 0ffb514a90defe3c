"""Text to programs. The text is read with Python's own grammar and never executed.

The text form is the one of `programs.syntax`; every construct of Python outside it is an error with its line.
Some notation is only shorthand: `a += e`; `v[1:]`, `v[-1]`, `m[0]` (completed from the array's shape); `a < b
< c`; `float(i)`; `zeros(shape)`, `ones(shape)`, `full(shape, value)`; `transpose(m)`; the names of
`ops.ALIASES`; `inf`, `nan`, `pi`.

Three rules decide where Python's notation could be read in two ways:

- `x ** n` with an int literal `n` is integer_pow; any other exponent makes it pow. `-0.5` is one constant.
- `while True:` that ends with `if condition: break` and has no `continue` of its own is the body-first loop,
  which goes on
  while `not condition`. (A `continue` would skip the test at the bottom, so with one it stays a `while`.)
- `and`, `or`, `not` are the ops logical_and, logical_or, logical_not: both sides are evaluated.
"""

from __future__ import annotations

import ast
import functools

from gradfuzz.errors import ProgramSyntaxError
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Param
from gradfuzz.programs.language.types import FLOAT, DType, Type
from gradfuzz.programs.text.reading import check, read, refuse, shallow, source, too_deep
from gradfuzz.programs.text.statements import Statements


def parse(text: str) -> Program:
    """The program that `text`, one `def`, writes.

    Raises `ProgramSyntaxError`, with the line and the reason, for text outside the language, and
    `ProgramTypeError` where a subscript does not fit its array. Other questions of type are left to
    `typecheck`.
    """
    definitions = [s for s in read(text).body if not _is_docstring(s)]
    for stmt in definitions:
        if not isinstance(stmt, ast.FunctionDef):
            refuse(stmt, f"`{source(stmt)}` outside the program; a text holds one `def` and nothing else")
    if len(definitions) != 1:
        line = definitions[1].lineno if definitions else 0
        refuse(line, f"{len(definitions)} programs in one text; give exactly one `def name(params):`")
    (node,) = definitions
    assert isinstance(node, ast.FunctionDef)
    try:
        return shallow(_definition(node))
    except RecursionError:
        raise too_deep() from None


_NO_TYPE = "is no type; a type is float, complex, int or bool, with sizes as in"


def parse_type(text: str) -> Type:
    """The type that an annotation writes: "float", "float[3]", "int", "bool[2, 3]"."""
    match read(text).body:
        case [ast.Expr(value)]:
            return _annotation(value)
    raise ProgramSyntaxError(f"{text!r} {_NO_TYPE} float[2, 3]")


# Definition -------------------------------------------------------------------------------------------------

_DTYPES: dict[str, DType] = {"float": "float", "complex": "complex", "int": "int", "bool": "bool"}


def _is_docstring(stmt: ast.stmt) -> bool:
    match stmt:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


def _definition(node: ast.FunctionDef) -> Program:
    a = node.args
    if node.decorator_list:
        refuse(node, "decorators are not in the language")
    if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs or a.defaults:
        refuse(node, "parameters are plain names: no defaults, no *, no /, no **")
    if node.returns is not None:
        refuse(node, "the program's result has no annotation: its type follows from the body")
    check(node.name, "a program", node)
    params: list[Param] = []
    for arg in a.args:
        check(arg.arg, "a parameter", arg)
        params.append(Param(arg.arg, FLOAT if arg.annotation is None else _annotation(arg.annotation)))
    body = node.body[1:] if _is_docstring(node.body[0]) else node.body
    last = body[-1] if body else node
    if not isinstance(last, ast.Return):
        refuse(last, "the last statement of a program is return")
    statements = Statements({p.name: p.type for p in params})
    return Program(node.name, tuple(params), (*statements.block(body[:-1]), statements.result(last)))


def _annotation(node: ast.expr) -> Type:
    """The type of a parameter, quoted or not."""
    quoted = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
    found = _written(node) if quoted is None else _quoted(quoted)
    if found is None:
        text = source(node) if quoted is None else source(node)[1:-1]
        refuse(node, f'`{text}` {_NO_TYPE} "float[2, 3]"')
    return found


@functools.lru_cache(maxsize=1024)
def _quoted(text: str) -> Type | None:
    match read(text).body:
        case [ast.Expr(value)]:
            return _written(value)
    return None


def _written(node: ast.expr) -> Type | None:
    match node:
        case ast.Name("float" | "complex" | "int" | "bool" as dtype):
            return Type(_DTYPES[dtype])
        case ast.Subscript(ast.Name("float" | "complex" | "int" | "bool" as dtype), place):
            entries = place.elts if isinstance(place, ast.Tuple) else [place]
            sizes = [e.value for e in entries if isinstance(e, ast.Constant) and type(e.value) is int]
            if len(sizes) == len(entries):
                return Type(_DTYPES[dtype], tuple(sizes))
    return None
