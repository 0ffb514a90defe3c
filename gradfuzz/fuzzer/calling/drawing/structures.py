"""Structures: lists in lists, tuples with an array among their items, and records, drawn by their form."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradfuzz.fuzzer.results.call import Argument
from gradfuzz.fuzzer.results.views import Shape
from gradfuzz.strategies.drawing.dice import Dice, Odds

_LENGTHS = Odds((5, "rank"), (4, "inner"), (3, "1"), (3, "2"), (1, "0"))
"""The length of a list of lists: the rank of the arrays, that without two axes, or a small number."""

_NUMBERS = ("1.0", "2.0", "0.5", "-1.0", "1.5", "3.0")
_KEPT = 75
"""Percent of changes of a structure that change one part of it."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a structure is drawn from."""

    dice: Dice
    shape: Shape
    """That of the arrays of the call."""
    is_axes: bool
    """Whether its integers are axes."""
    lists: Callable[[bool], Iterator[Shape]]
    """Lists of integers to choose from; whether they are axes."""
    array: Callable[[], Argument]


def structure(form: str, of: Drawing) -> Argument:
    """A structure of the form that `Parameter.form` is."""
    found = _drawn(ast.parse(form, mode="eval").body, of)
    is_record = found.literal is not None and found.literal[0].isalpha()
    return Argument(literal=f"record:{found.literal}") if is_record else found


def _drawn(node: ast.expr, of: Drawing) -> Argument:
    dice = of.dice
    if isinstance(node, ast.Name):
        return of.array() if node.id == "array" else Argument(literal=_word(node.id, of))
    if isinstance(node, ast.Call):
        fields = [f"{k.arg}={_drawn(k.value, of).literal}" for k in node.keywords]
        return Argument(literal=f"{ast.unparse(node.func)}({', '.join(fields)})")
    assert isinstance(node, (ast.List, ast.Tuple)), "a form has words, lists, tuples and records"
    if isinstance(node, ast.Tuple):
        return _joined([_drawn(item, of) for item in node.elts])
    (item,) = node.elts
    if isinstance(item, ast.Name) and item.id == "int":
        return Argument(literal=repr(dice.pick([(), *dict.fromkeys(of.lists(of.is_axes))])))
    rank = len(of.shape)
    length = dice.weighted(_LENGTHS)
    count = {"rank": rank, "inner": max(0, rank - 2)}[length] if length.isalpha() else int(length)
    return _joined([_drawn(item, of) for _ in range(count)])


def _word(kind: str, of: Drawing) -> str:
    if kind == "bool":
        return of.dice.pick(("True", "False"))
    if kind == "float":
        return of.dice.pick(_NUMBERS)
    return str(of.dice.pick((-1, 0, 1, -2, 2) if of.is_axes else (0, 0, 1, 1, 2, -1)))


def _joined(items: list[Argument]) -> Argument:
    """A list of arguments, or a literal where all of them are literals."""
    texts = [item.literal for item in items if item.literal is not None]
    if len(texts) < len(items):
        return Argument(items=tuple(items))
    return Argument(literal=f"({', '.join(texts)}{',' * (len(texts) == 1)})")


def mixed(dice: Dice, old: str | None, new: str | None) -> str | None:
    """The new literal, or often the old one with one part as in the new one."""
    if old is None or new is None or not dice.chance(_KEPT):
        return new
    head = "record:" if new.startswith("record:") else ""
    try:
        trees = [ast.parse(text.removeprefix("record:"), mode="eval").body for text in (old, new)]
    except SyntaxError:
        return new
    return head + ast.unparse(_mixed(dice, *trees))


def _mixed(dice: Dice, old: ast.expr, new: ast.expr) -> ast.expr:
    if isinstance(old, ast.Call) and isinstance(new, ast.Call) and len(old.keywords) == len(new.keywords):
        k = dice.below(len(old.keywords))
        old.keywords[k].value = _mixed(dice, old.keywords[k].value, new.keywords[k].value)
        return old
    if isinstance(old, ast.Tuple) and isinstance(new, ast.Tuple) and len(old.elts) == len(new.elts) > 0:
        k = dice.below(len(old.elts))
        old.elts[k] = _mixed(dice, old.elts[k], new.elts[k])
        return old
    return new
