"""Shapes by the dimensions of an annotation, as jaxtyping writes them: `Float[Array, "batch n"]`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from gradfuzz.fuzzer.results.views import Shape
from gradfuzz.strategies.drawing.dice import Dice, Odds

Lengths = dict[str, Shape]
"""The lengths of the named axes of a call; several where the name stands for any number of axes."""

_LENGTHS = Odds((14, 1), (42, 2), (34, 3), (8, 4), (2, 0))
_MORE = Odds((3, 1), (2, 0), (1, 2))
"""The axes for which `...` and `*batch` stand."""

_BROADCAST = 25
"""Percent of the axes that may be broadcast whose length is 1."""


def shape(dims: str, dice: Dice, lengths: Lengths) -> Shape:
    """A shape with these dimensions. A name that is not in `lengths` yet is drawn and added."""
    found: list[int] = []
    for text in dims.split():
        found += _axes(text, dice, lengths)
    return tuple(found)


def _axes(text: str, dice: Dice, lengths: Lengths) -> Shape:
    """The axes of one word: a number, a name, "_", "...", "*batch", "#n" (1, or n), "n+1", "n=3"."""
    text = text.rpartition("=")[2].replace("?", "")
    may_be_one, text = text.startswith("#"), text.removeprefix("#")
    if text in ("...", "*_") or (text.startswith("*") and text not in lengths):
        axes = tuple(dice.weighted(_LENGTHS) for _ in range(dice.weighted(_MORE)))
        if text.startswith("*") and text != "*_":
            lengths[text] = axes
    elif text.startswith("*"):
        axes = lengths[text]
    else:
        axes = (_length(text, dice, lengths),)
    if not may_be_one:
        return axes
    return tuple(1 if dice.chance(_BROADCAST) else n for n in axes)


def _length(text: str, dice: Dice, lengths: Lengths) -> int:
    drawn = dice.weighted(_LENGTHS)
    if text == "_":
        return drawn
    if text.isidentifier():
        (length,) = lengths.setdefault(text, (drawn,))
        return length
    try:
        tree = ast.parse(text, mode="eval").body
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                lengths.setdefault(node.id, (dice.weighted(_LENGTHS),))
        return max(0, _value(tree, lengths))
    except (SyntaxError, KeyError, ValueError, ZeroDivisionError):
        return drawn


_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def _value(node: ast.expr, lengths: Lengths) -> int:
    """The value of a sum or product of names and numbers; KeyError or ValueError for anything else."""
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, lengths), _value(node.right, lengths)
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Name):
        (length,) = lengths[node.id]
        return length
    return int(ast.literal_eval(node))
