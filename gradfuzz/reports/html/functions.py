"""The map of a library's functions: a cell for each, grouped by namespace, and the same as tables.

A cell has a colour, a sign and a text, so that no colour is needed to read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.functions import (
    ASKED,
    BROKEN,
    DIFFERENTIABLE,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    NOT_REACHED,
    REFUSED,
    FunctionSummary,
)
from gradfuzz.reports.common.functions import MODES, Coverage, coverage, modes, short, spoken
from gradfuzz.reports.common.numbers import count


@dataclass(frozen=True, slots=True)
class MapKind:
    """What became of a function: the name of a style, a sign, and words."""

    style: str
    sign: str
    words: str


_FOUND = MapKind("found", "✕", "with a finding")
_ALL = MapKind("all", "✓", f"asked for all {len(MODES)} derivatives")
_SOME = MapKind("some", "◐", "asked for some of them")
_OTHERS = {
    REFUSED: MapKind("refused", "!", "refused by the library"),
    BROKEN: MapKind("broken", "#", "broken off by an error of gradfuzz"),
    NOT_REACHED: MapKind("later", "?", NOT_REACHED),
    NOT_DIFFERENTIABLE: MapKind("constant", "–", NOT_DIFFERENTIABLE),
    LEFT_OUT: MapKind("out", "·", LEFT_OUT),
}
_KINDS = (_FOUND, _ALL, _SOME, *_OTHERS.values())
"""In the order of the cells of a group."""

_SIGNATURE, _WORDS = 240, 160
"""The most characters of these in the text of a cell."""

_MARKUP = 160
"""The bytes of a cell besides its texts, about."""


@dataclass(frozen=True, slots=True)
class MapFunction:
    """A function: its cell on the map, and its row in the table of those that may have a derivative."""

    name: str
    kind: MapKind
    findings: tuple[str, ...]
    text: str
    """Lines: name, signature, what became of it, counts, the library's words."""
    counts: tuple[str, ...]
    """Calls drawn, valid and judged, by mode, and answers that agree, disagree and are inconclusive."""
    words: str


MapGroup = tuple[str, str, tuple[MapFunction, ...]]
"""A namespace, how many of its functions are of each kind, and these functions."""


@dataclass(frozen=True, slots=True)
class Map:
    """All that the page says of the functions."""

    coverage: Coverage
    kinds: tuple[tuple[MapKind, int], ...]
    groups: tuple[MapGroup, ...]
    own: tuple[str, tuple[MapFunction, ...]] | None
    """How many functions without a public name are of each kind, and these functions."""
    columns: tuple[str, ...]
    rows: tuple[MapFunction, ...]
    others: tuple[tuple[str, str, tuple[str, ...]], ...]
    """(outcome, why, names) of the functions that were not to be asked."""

    @property
    def size(self) -> int:
        """About the bytes of it on the page."""
        groups = (*(group for _, _, group in self.groups), self.own[1] if self.own else ())
        cells = (cell for group in groups for cell in group)
        told = sum(_MARKUP + len(cell.name.encode()) + len(cell.text.encode()) for cell in cells)
        return told + sum(_MARKUP + len(str(row.counts)) + len(row.words.encode()) for row in self.rows)


_ANSWERS = ("agree", "disagree", "inconclusive")


def function_map(functions: Sequence[FunctionSummary]) -> Map:
    """The view of the functions of a sweep, whose texts are inert."""
    all_modes = modes(functions)
    groups: dict[str, list[MapFunction]] = {}
    rows: list[MapFunction] = []
    for one in functions:
        view = _function(one, all_modes)
        groups.setdefault(_namespace(one.name), []).append(view)
        rows += [view] if one.outcome in DIFFERENTIABLE else []
    own = groups.pop("", [])
    kinds = Counter(_kind(one) for one in functions)
    return Map(
        coverage=coverage(functions),
        kinds=tuple((kind, kinds[kind]) for kind in _KINDS),
        groups=tuple((name, *_group(cells)) for name, cells in sorted(groups.items())),
        own=_group(own) if own else None,
        columns=("drawn", "valid", "judged", *map(spoken, all_modes), *_ANSWERS),
        rows=tuple(sorted(rows, key=_order)),
        others=tuple(_others(functions)),
    )


# Pieces -----------------------------------------------------------------------------------------------------


def _kind(of: FunctionSummary) -> MapKind:
    if of.findings:
        return _FOUND
    if of.outcome == ASKED:
        return _ALL if all(of.asked.get(mode) for mode in MODES) else _SOME
    return _OTHERS[of.outcome]


def _order(of: MapFunction) -> tuple[int, str]:
    return _KINDS.index(of.kind), of.name


def _namespace(name: str) -> str:
    """As in "torch.nn", of "torch.nn.relu"; of a schema, which is no public name, ""."""
    return "" if "(" in name else name.rpartition(".")[0]


def _group(cells: Sequence[MapFunction]) -> tuple[str, tuple[MapFunction, ...]]:
    kinds = Counter(cell.kind for cell in cells)
    told = ", ".join(f"{kinds[kind]:,} {kind.words}" for kind in _KINDS if kinds[kind])
    return f"{len(cells):,}: {told}", tuple(sorted(cells, key=_order))


def _function(of: FunctionSummary, all_modes: Sequence[str]) -> MapFunction:
    name, kind, why = short(of.name, _SIGNATURE), _kind(of), short(of.why, _WORDS)
    signature = [short(of.signature, _SIGNATURE)] if of.signature != of.name else []
    lacks = [f"no {spoken(mode)}: {short(words, _WORDS)}" for mode, words in of.lacks.items()]
    found = f" ({', '.join(of.findings)})" if of.findings else ""
    became = f"{kind.words}{found}{f': {why}' if why else ''}"
    asked = (f"{of.asked.get(mode, 0):,}" if mode not in of.lacks else "none" for mode in all_modes)
    answers = (f"{of.verdicts.get(name, 0):,}" for name in _ANSWERS)
    calls = (f"{n:,}" for n in (of.drawn, of.valid, of.judged))
    return MapFunction(
        name=name,
        kind=kind,
        findings=of.findings,
        text="\n".join([name, *signature, became, *_counted(of), *lacks]),
        counts=(*calls, *asked, *answers),
        words="; ".join(filter(None, (why, *lacks))),
    )


def _counted(of: FunctionSummary) -> Iterator[str]:
    """Lines of counts; none of a function of which no call was drawn."""
    if of.drawn:
        yield f"{count(of.drawn, 'call')} drawn, {of.valid:,} valid, {of.judged:,} judged"
    if asked := _told(of.asked):
        yield f"asked: {asked}"
    if verdicts := _told(of.verdicts):
        yield f"answers: {verdicts}"


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{spoken(name)} {n:,}" for name, n in counts.items() if n)


def _others(functions: Sequence[FunctionSummary]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The functions that were not to be asked, by their reasons, the most frequent first."""
    for outcome in (NOT_DIFFERENTIABLE, LEFT_OUT):
        names: dict[str, list[str]] = {}
        for one in functions:
            if one.outcome == outcome:
                names.setdefault(one.why, []).append(short(one.name, _SIGNATURE))
        for why, of in sorted(names.items(), key=lambda item: -len(item[1])):
            yield outcome, why, tuple(of)
