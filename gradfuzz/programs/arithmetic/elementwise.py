"""Elementwise functions in any arithmetic: expressions of a row evaluated by a namespace, and NumPy's own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.syntax import ArrayConst, Const, Expr, Name
from gradfuzz.programs.text.parse import parse


@functools.cache
def expression(text: str) -> Expr:
    """An expression of `x`, `y`, `ans` and `e`, as the rows of `language.functions` have them."""
    return parse(f"def f(x, y, ans, e):\n    return {text}\n").result.values[0]


def computed(expr: Expr, namespace: Any, values: Mapping[str, Any]) -> Any:
    """An expression by the methods of a namespace."""
    if isinstance(expr, Name):
        return values[expr.id]
    if isinstance(expr, Const):
        return namespace.constant(expr.value) if expr.dtype == "float" else expr.value
    assert not isinstance(expr, ArrayConst), "the expressions of rows have no arrays"
    method = getattr(namespace, expr.op)
    return method(*(computed(a, namespace, values) for a in expr.args), **dict(expr.params))


def composed(namespace: Any, row: Function) -> Callable[..., Any]:
    """A function as the composition that its row gives."""
    body = expression(row.composition)
    return lambda *args: computed(body, namespace, dict(zip(row.arguments, args, strict=True)))


@functools.cache
def numpy_function(name: str) -> Callable[..., Any]:
    """NumPy's or SciPy's function of floats, static parameters first."""
    row = FUNCTIONS[name]
    module, _, attribute = (row.numpy or f"numpy.{name}").rpartition(".")
    home = importlib.import_module(module)
    spellings = attribute, *row.names.get("ufunc", "").split()  # NumPy 1 has acosh as arccosh alone
    found = next((one for one in spellings if hasattr(home, one)), attribute)
    function: Callable[..., Any] = getattr(home, found)
    if not row.params:
        return function
    return lambda *args, **params: np.asarray(
        function(*(params[p] for p in row.params), *args), np.result_type(*args)
    )[()]
