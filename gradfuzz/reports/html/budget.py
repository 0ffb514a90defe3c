"""How much of each finding fits: full articles while the budget lasts, short ones, table rows, a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

BYTES = 3_400_000
"""Bytes of rows and articles. A browser opens this much in a second; the file stays far below 5 MB."""

MOST = 500
"""The most findings with a row. A browser lays out a table as a whole, so its length delays the page."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The shown rows and articles, in the order of rank."""

    rows: tuple[Markup, ...]
    articles: tuple[Markup, ...]
    full: int
    short: int
    """The numbers of full and of short articles."""
    listed: int
    """The number of findings with a row and no article."""
    unlisted: int
    """The number of findings with neither."""


def fit(
    rows: Sequence[Markup],
    full: Callable[[int], Markup],
    short: Callable[[int], Markup],
    total: int,
    budget: int = BYTES,
) -> Fitted:
    """Fits rows and articles into `budget` bytes.

    `full(k)` and `short(k)` make the articles of the k-th of `total` findings, and are called only where it
    may fit. Full articles get the bytes that short articles of all findings would leave, at least a third.
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
    listed, unlisted = len(there) - len(articles), total - len(there)
    return Fitted(tuple(there), tuple(articles), whole, len(articles) - whole, listed, unlisted)


def _taken(pieces: Iterable[Markup], budget: int) -> Iterator[Markup]:
    """The first pieces, until one does not fit."""
    for piece in pieces:
        budget -= _size(piece)
        if budget < 0:
            return
        yield piece


def _size(text: str) -> int:
    """The size in bytes in the file."""
    return len(text.encode())
