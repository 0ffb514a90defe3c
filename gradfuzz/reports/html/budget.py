"""How much of each finding fits: articles in full while the bytes last, then short ones, then lines of the table, then a count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["BYTES", "Fitted", "fit"]

BYTES = 4_600_000
"""Of rows and articles together, so that the whole file stays under 5 MB."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is shown, in the order of rank."""

    rows: tuple[Markup, ...]
    articles: tuple[Markup, ...]
    full: int
    short: int
    """How many of the articles are full, and how many short."""
    listed: int
    """How many findings have a row and no article."""
    unlisted: int
    """How many have neither."""


def fit(rows: Sequence[Markup], full: Callable[[int], Markup], short: Callable[[int], Markup], budget: int = BYTES) -> Fitted:
    """`full(k)` and `short(k)` make the articles of the k-th finding, and are asked only where there may be room."""
    there = list(_taken(rows, budget // 3))
    left = budget - sum(map(size, there))
    briefs = list(_taken((short(k) for k in range(len(there))), left))
    left -= sum(map(size, briefs))
    articles = list(briefs)
    whole = 0
    for k, brief in enumerate(briefs):
        text = full(k)
        if size(text) - size(brief) > left:
            break
        articles[k] = text
        left -= size(text) - size(brief)
        whole += 1
    return Fitted(tuple(there), tuple(articles), whole, len(articles) - whole, len(there) - len(articles), len(rows) - len(there))


def _taken(pieces: Iterator[Markup] | Sequence[Markup], budget: int) -> Iterator[Markup]:
    """Pieces from the first on, until one does not fit."""
    for piece in pieces:
        budget -= size(piece)
        if budget < 0:
            return
        yield piece


def size(text: str) -> int:
    """Its bytes in the file."""
    return len(text.encode())
