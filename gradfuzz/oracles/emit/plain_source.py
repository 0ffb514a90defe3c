"""gradfuzz's own functions as text for a standalone script, also without their libraries installed."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def plain_source(function: Callable[..., Any]) -> str:
    """The source of a function without types. Its strings must not contain quotes."""
    return _plain(ast.parse(textwrap.dedent(inspect.getsource(function))))


def plain_source_in(module: str, *names: str) -> dict[str, str]:
    """The same for functions of a module, by name. The module is read, not imported."""
    found = _functions(module)
    return {name: found[name] for name in names}


@functools.cache
def _functions(module: str) -> dict[str, str]:
    spec = importlib.util.find_spec(module)
    assert spec is not None, f"{module} is a module of ours"
    assert spec.origin is not None, f"{module} has a file"
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return {node.name: _plain(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


def untyped(tree: ast.Module) -> ast.Module:
    """An adapter without annotations, in place. What is decorated and a named tuple keep them: whatever reads
    them may make something of them.
    """
    _Untyped().visit(tree)
    return tree


def called(source: str, functions: Mapping[str, str]) -> list[str]:
    """The sources of the functions that `source` calls, directly and indirectly."""
    wanted: list[str] = []
    while True:
        nodes = [node for text in (source, *wanted) for node in ast.walk(ast.parse(text))]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        found = [text for name, text in functions.items() if name in names]
        if found == wanted:
            return found
        wanted = found


def _plain(tree: ast.AST) -> str:
    return ast.unparse(_Plain().visit(tree)).replace("'", '"') + "\n"


class _Plain(ast.NodeTransformer):
    """Drops annotations and `strict=` of zip."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [k for k in node.keywords if k.arg != "strict"]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None, "a bare annotation says nothing in a script"
        return ast.copy_location(ast.Assign([node.target], node.value), node)


class _Untyped(_Plain):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if node.decorator_list else super().visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        of_fields = any(ast.unparse(base).endswith("NamedTuple") for base in node.bases)
        return node if node.decorator_list or of_fields else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return node if node.value is None else super().visit_AnnAssign(node)
