"""A table that stays readable when too wide: the row's first cells move above it, or rows become lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

Cell = str | Text
"""A `str` is shown literally: brackets are no markup, colons no emoji."""

_SHORT = {
    "inconclusive": "inconcl.",
    "unsupported": "unsupp.",
    "convention": "conv.",
    "expected": "exp.",
    "second order": "2nd",
    "zero batch": "zero",
    "zero size": "zero",
    "broadcast": "bcast",
    "vectorized": "vect.",
    "float32": "f32",
    "complex": "cplx",
}
_SHORT_CELLS = {"inconclusive": "unsure", "unsupported": "none", "differs": "wrong", "agrees": "ok"}
_GAP = 2
_LONGEST = 24
"""A word of up to this many characters is never broken in a table."""


class Sheet:
    """Columns, rows of text, and lines above and below. Numbers are aligned right and never broken; other
    cells may fold.

    If the table is too wide, long words are replaced by their `_SHORT` forms. Then the first `heads` cells of
    each row move to a line of their own. If that does not help, the rows become lists of "column: value".
    """

    def __init__(
        self, *columns: str, numeric: Iterable[str] = (), title: str = "", caption: str = "", heads: int = 0
    ) -> None:
        self.columns = columns
        self.heads = heads
        self.numeric = frozenset(numeric)
        self.title = title
        self.caption = caption
        self.rows: list[Sequence[Cell]] = []

    def add_row(self, *cells: Cell) -> None:
        assert len(cells) == len(self.columns)
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title:
            yield Text(self.title, style="bold")
        shorter = (
            [_SHORT.get(column, column) for column in self.columns],
            [[_shortened(c) for c in row] for row in self.rows],
        )
        for names, rows in ((self.columns, self.rows), shorter):
            widths = self._least_widths(names, rows)
            if sum(widths) + _GAP * (len(widths) - 1) <= options.max_width:
                wide = self._widths(names, rows, widths, options.max_width)
                yield from self._table(console, names, rows, wide)
                break
        else:
            widths = widths[self.heads :]
            fits = sum(widths) + _GAP * len(widths) <= options.max_width
            yield from self._headed(*shorter, widths) if self.heads and fits else self._records()
        if self.caption:
            yield Text(self.caption, style="dim")

    def _whole(self, column: str) -> bool:
        """Whether a column's cells are never broken: numbers, and the bound beside them without a heading."""
        return column in self.numeric or not column

    def _least_widths(self, names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[int]:
        """The least width of each column that breaks no number or word."""
        widths = []
        for k, (name, column) in enumerate(zip(names, self.columns, strict=True)):
            cells = [name, *(str(row[k]) for row in rows)]
            if not self._whole(column):
                cells = [word[:_LONGEST] for cell in cells for word in cell.split()]
            widths.append(max(map(cell_len, cells), default=1))
        return widths

    def _widths(
        self, names: Sequence[str], rows: Sequence[Sequence[Cell]], least: Sequence[int], available: int
    ) -> list[int]:
        """The widths of the cells; if their sum exceeds `available`, the widest fold, none below `least`."""
        widths = [
            max([cell_len(name), *(cell_len(str(row[k])) for row in rows)]) for k, name in enumerate(names)
        ]
        for _ in range(sum(widths) + _GAP * (len(widths) - 1) - available):
            widest = max((k for k in range(len(widths)) if widths[k] > least[k]), key=lambda k: widths[k])
            widths[widest] -= 1
        return widths

    def _table(
        self, console: Console, names: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[int]
    ) -> Iterable[Text]:
        yield from self._row(console, names, widths, heading=True)
        yield Text("─" * (sum(widths) + _GAP * (len(widths) - 1)))
        for row in rows:
            yield from self._row(console, row, widths)

    def _row(
        self, console: Console, cells: Sequence[Cell], widths: Sequence[int], *, heading: bool = False
    ) -> Iterable[Text]:
        """The lines of a row. Cells wider than their column fold; a heading is aligned at the bottom."""
        columns = [_folded(console, _text(cell), width) for cell, width in zip(cells, widths, strict=True)]
        height = max(map(len, columns), default=0)
        if heading:
            columns = [[Text()] * (height - len(lines)) + lines for lines in columns]
        for k in range(height):
            line = Text(style="dim" if heading else "")
            for place, (name, lines, width) in enumerate(zip(self.columns, columns, widths, strict=True)):
                part = lines[k] if k < len(lines) else Text()
                blanks = " " * (width - part.cell_len)
                gap = " " * _GAP if place else ""
                pieces = (blanks, part) if name in self.numeric else (part, blanks)
                line.append(gap).append_text(Text.assemble(*pieces))
            line.rstrip()
            yield line

    def _headed(
        self, names: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[int]
    ) -> Iterable[Text]:
        """Two lines for a row: its first cells, then the others below."""

        def line(cells: Sequence[Cell], style: str = "") -> Text:
            padded = [
                Text.assemble(cell, " " * (width - cell_len(str(cell))))
                for cell, width in zip(cells, widths, strict=True)
            ]
            return Text(" " * _GAP, style=style).append_text(Text(" " * _GAP).join(padded))

        yield line(names[self.heads :], "dim")
        above: list[str] = []
        for row in rows:
            head = [str(cell) for cell in row[: self.heads]]
            same = self.heads > 1 and head[:-1] == above[:-1]
            yield Text(f"  {head[-1]}" if same else ": ".join(filter(None, head)), overflow="fold")
            yield line(row[self.heads :])
            above = head

    def _records(self) -> Iterable[Text]:
        for row in self.rows:
            for k, (column, cell) in enumerate(zip(self.columns, row, strict=True)):
                if str(cell):
                    line = Text("" if k == 0 else "  ", overflow="fold")
                    yield line.append(f"{column}: " if column else "").append_text(_text(cell))


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def _folded(console: Console, cell: Text, width: int) -> list[Text]:
    if cell.cell_len <= width and "\n" not in cell.plain:
        return [cell]
    return list(cell.wrap(console, width, overflow="fold"))


def _shortened(cell: Cell) -> Cell:
    text = str(cell)
    if text not in _SHORT_CELLS:
        return cell
    return Text(_SHORT_CELLS[text], style=cell.style) if isinstance(cell, Text) else _SHORT_CELLS[text]
