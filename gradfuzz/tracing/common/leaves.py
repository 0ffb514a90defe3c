"""Nested arguments and results, taken apart into leaves and put together again.

A leaf has a path, as people would write it: "x", "params['w']", "layers[0]". Dicts, lists, tuples and named
tuples nest; anything else is a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves_of(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, leaf) in the order of the tree; None is no leaf."""
    if tree is None:
        return
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves_of(value, f"{path}[{key!r}]")
    elif isinstance(tree, (list, tuple)):
        names = getattr(tree, "_fields", None)
        for k, value in enumerate(tree):
            yield from leaves_of(value, f"{path}.{names[k]}" if names else f"{path}[{k}]")
    else:
        yield path, tree


def with_leaves(tree: Any, leaves: Iterator[Any]) -> Any:
    """The tree with the next of `leaves` in place of each of its own."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {key: with_leaves(value, leaves) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        values = [with_leaves(value, leaves) for value in tree]
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    return next(leaves)
