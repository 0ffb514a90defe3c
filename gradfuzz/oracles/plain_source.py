"""Functions of ours as the text that a standalone script shows."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

__all__ = ["plain_source"]


def plain_source(function: Callable[..., Any]) -> str:
    """The source of a function without types. None of its strings may hold a quote."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return ast.unparse(_Plain().visit(tree)).replace("'", '"') + "\n"


class _Plain(ast.NodeTransformer):
    """Drops annotations, and `strict=` of zip."""

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
