r"""Makes foreign text inert: names, exception messages and scripts may hold anything.

An invisible character (a control or escape character, NUL, a mark that changes the direction of writing, a
lone surrogate) is written as its Python escape, as in `\x1b` or `\u202e`. An overlong line is cut, and says
by how much. The result is printable, can be encoded, and is legal in XML. Each format still escapes its own
special characters: Markdown here, the others in their libraries.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
from collections.abc import Mapping
from enum import Enum
from typing import TypeVar, cast

from gradfuzz.fuzzer.results import shown
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.programs.language.program import Program, to_text

_LONGEST_LINE = 2_000
"""The most characters of a line of words."""

_LONGEST_BLOCK_LINE, _LONGEST_BLOCK = 20_000, 400_000
"""The most characters of a line of code, which may hold a matrix, and of a whole script."""

_BLOCKS = frozenset({"script", "ports", "latest_program", "code", "drawn_code", "traceback"})
"""Fields that hold code, whose line breaks are kept; any other text becomes one line."""

_BREAK = re.compile(r" *(?:\r?\n|\t)[ \t\r\n]*")

T = TypeVar("T")


def line(text: str, longest: int = _LONGEST_LINE) -> str:
    """One line: breaks and tabs are blanks, invisible characters escaped, the end beyond `longest` is cut."""
    seen, more = text[:longest], len(text) - longest
    if not seen.isprintable():
        seen = "".join(map(_visible, _BREAK.sub(" ", seen)))
    return f"{seen}{_left_out(more)}" if more > 0 else seen


def block(text: str) -> str:
    """Lines of code: tabs become blanks, invisible characters their escapes; what is too long is cut."""
    whole, more = text[:_LONGEST_BLOCK], len(text) - _LONGEST_BLOCK
    lines = [line(row, _LONGEST_BLOCK_LINE) for row in whole.expandtabs(4).replace("\r\n", "\n").split("\n")]
    return "\n".join([*lines, _left_out(more)] if more > 0 else lines)


def program(of: Program) -> str:
    """The text of a program, inert."""
    params = tuple(dataclasses.replace(param, name=line(param.name)) for param in of.params)
    return block(to_text(dataclasses.replace(of, name=line(of.name), params=params)))


def source(finding: Finding) -> str:
    """The program of a finding, or the code of its call. The finding is inert already; its program is not."""
    return shown.source(finding, program)


def drawn_source(finding: Finding) -> str:
    """The same as it was drawn."""
    return shown.drawn_source(finding, program)


def inert(value: T) -> T:
    """An event, a finding, a review or other report data, with every text in it made inert.

    Programs are not changed: `source` and `program` print them.
    """
    return cast(T, _inert(value, blocks=False))


def _inert(value: object, *, blocks: bool) -> object:
    if isinstance(value, str):
        return block(value) if blocks else line(value)
    if value is None or isinstance(value, (float, int, Enum, Program)):
        return value
    if isinstance(value, (tuple, list)):
        items = [_inert(item, blocks=blocks) for item in value]
        return value if all(map(operator.is_, items, value)) else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes: dict[str, object] = {}
        for name in _field_names(type(value)):
            before = getattr(value, name)
            after = _inert(before, blocks=name in _BLOCKS)
            if after is not before:
                changes[name] = after
        return dataclasses.replace(value, **changes) if changes else value
    if isinstance(value, Mapping):
        return {_inert(key, blocks=False): _inert(item, blocks=blocks) for key, item in value.items()}
    return value


@functools.cache
def _field_names(of: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(of))


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _left_out(more: int) -> str:
    return f" ... ({more:,} more characters)"


# Markdown, as GitHub reads it -------------------------------------------------------------------------------


_SPECIAL = re.compile(
    r"[\\`*_\[\]<>&|~$]"  # code, emphasis, links, HTML and entities, tables, mathematics
    r"|(?<=\w):(?=//)|(?<=www)\."  # addresses that become links
    r"|^(?:[-+=:#>]|\d{1,9}(?=[.)]))"  # lists, headings, rules, quotations
)
_PING = re.compile(r"[@#](?=\w)|(?<=\b[gG][hH])-(?=\d)")


def markdown(text: str) -> str:
    """One line of words in Markdown, shown literally: no markup, HTML, links or mentions."""
    escaped = _SPECIAL.sub(lambda m: f"{m[0]}\\" if m[0].isdigit() else f"\\{m[0]}", line(text).strip())
    return _PING.sub(lambda m: f"{m[0]}&#8203;", escaped)


def code(text: str) -> str:
    """One line as code in Markdown, between more backticks than occur inside."""
    text = line(text)
    ticks = "`" * (_longest_run("`", text) + 1)
    pad = " " if not text.strip() or text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def code_cell(text: str) -> str:
    """`code` for a table, where a bar separates columns even in code."""
    return code(text).replace("|", "\\|")


def fenced(text: str, language: str = "") -> str:
    """Lines of code in Markdown, between fences longer than any inside."""
    text = block(text).strip("\n")
    fence = "`" * max(3, _longest_run("`", text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(character: str, text: str) -> int:
    return max((len(run) for run in re.findall(re.escape(character) + "+", text)), default=0)
