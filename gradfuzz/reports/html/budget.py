"""How much of each finding fits: articles in full while the bytes last, then short ones, then lines of the
table, then a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

BYTES = 3_400_000
"""Of rows and articles together. A browser opens so much in less than a second; the whole file stays far
below 5 MB.
"""

MOST = 500
"""Findings that have a row. A table is laid out as a whole, so its length is what an opening page
waits for.
"""


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


def fit(
    rows: Sequence[Markup],
    full: Callable[[int], Markup],
    short: Callable[[int], Markup],
    total: int,
    budget: int = BYTES,
) -> Fitted:
    """`full(k)` and `short(k)` make the articles of the k-th of `total` findings, and are asked only where
    there may be room.

    Full articles take what short ones of all findings would leave, and a third of what there is where that is
    more.
    """
    there = list(_taken(rows, budget // 4))
    left = budget - sum(map(_size, there))
    briefs = list(_taken(map(short, range(len(there))), left))
    spare = max(left - sum(map(_size, briefs)) if len(briefs) == len(there) else 0, left // 3)
    articles: list[Markup] = []
    for k in range(len(there)):
        text = full(k)
        spare -= _size(text) - (_size(briefs[k]) if k < len(briefs) else 0)
        if spare < 0:
            break
        articles.append(text)
    whole = len(articles)
    articles += _taken(briefs[whole:], left - sum(map(_size, articles)))
    return Fitted(
        tuple(there),
        tuple(articles),
        whole,
        len(articles) - whole,
        len(there) - len(articles),
        total - len(there),
    )


def _taken(pieces: Iterable[Markup], budget: int) -> Iterator[Markup]:
    """Pieces from the first on, until one does not fit."""
    for piece in pieces:
        budget -= _size(piece)
        if budget < 0:
            return
        yield piece


def _size(text: str) -> int:
    """Its bytes in the file."""
    return len(text.encode())
