"""The terminal report and the lines of `concise`: nothing is lost where it is narrow, colourless or
hostile.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from rich.console import Console

from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepStarted
from gradfuzz.fuzzer.results.report_card import ProbeReport, ProbeTable
from gradfuzz.reports.common import numbers, pieces
from gradfuzz.reports.terminal import concise, live
from gradfuzz.reports.terminal import report as terminal
from gradfuzz.reports.terminal.block import finding as block
from gradfuzz.reports.terminal.block import page as block_page
from gradfuzz.reports.terminal.sheet import Sheet
from tests.report_data import HOSTILE, finding, finished, review, spoiled
from tests.shell import assert_kept, printed


def figures(text: str) -> Counter[str]:
    """What a page says, whatever its layout."""
    return Counter(re.sub(r"[^\w.+-]", "", text))


@pytest.mark.parametrize(
    ("expected", "got", "digits"),
    [
        (1.0, 1.002, 2),
        (1.0, -1.0, 0),
        (1e308, -1e308, 0),
        (0.0, 5e-324, 0),
        (np.inf, 1.0, 0),
        (1.0, np.nan, 0),
        (1.0, 1.0 + 2.0**-52, 15),
    ],
)
def test_right_digits_of_any_numbers(expected: float, got: float, digits: int) -> None:
    assert numbers.right_digits(expected, got) == digits


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("finding_100", lambda: printed(block(finding()), 100)),
        ("finding_60", lambda: printed(block(finding()), 60)),
        ("finding_40", lambda: printed(block(finding(4)), 40)),
        ("concise", lambda: concise.render(finished(12), review(finished(12)))),
        ("review_100", lambda: printed(terminal.sweep(finished(4), {}, review=review(finished(4))), 100)),
    ],
)
def test_what_people_see(name: str, text: Callable[[], str]) -> None:
    assert_kept(name, text())


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("number", [0, 4, 9])
def test_no_width_loses_a_figure(number: int, width: int) -> None:
    wide, narrow = printed(block(finding(number)), 2000), printed(block(finding(number)), width)
    assert max(map(len, narrow.splitlines())) <= width
    headings = Counter(
        "".join(("point", "input", "expected", "got", "ratio", "body", "at", "what", "changed to", "label"))
    )
    assert figures(wide) - figures(narrow) - headings == Counter(), narrow


def test_a_table_folds_words_before_it_breaks_them(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def cell() -> str:
        return " ".join(
            "".join(rng.choice(list("abcdef0123"), rng.integers(1, 25))) for _ in range(rng.integers(1, 5))
        )

    for _ in range(200):
        sheet = Sheet("point", "input", "expected", "", "got", numeric={"expected", "got"})
        for _ in range(rng.integers(1, 4)):
            sheet.add_row(*(cell() for _ in sheet.columns))
        shown = printed(sheet, int(rng.integers(30, 150)))
        words = {word for row in sheet.rows for text in row for word in str(text).split()}
        whole = set(shown.split())
        assert {word for word in words if len(word) <= 20} <= whole, shown


def test_a_table_may_be_empty() -> None:
    assert printed(Sheet("a", "b"), 40).splitlines() == ["a  b", "────"]
    blank = Sheet("a", "", "b", numeric={"b"})
    blank.add_row("", "", "1")
    assert printed(blank, 40).splitlines()[-1].strip() == "1"


def test_a_cell_is_no_markup() -> None:
    sheet = Sheet("[bold]x[/bold]", "value")
    sheet.add_row("[nan, 1]", ":smile: [red]r[/red]")
    shown = printed(sheet, 80)
    for text in ("[bold]x[/bold]", "[nan, 1]", ":smile: [red]r[/red]"):
        assert text in shown


@pytest.mark.parametrize("width", [40, 110])
def test_hostile_text_does_nothing_on_a_terminal(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False)
    pieces.show(
        console, terminal.sweep(finished(5, hostile=True), {}, review=review(finished(5), hostile=True))
    )
    shown = out.getvalue()
    assert all(character == "\n" or character.isprintable() for character in shown), (
        "no colours are asked for, so there is no escape"
    )
    shown.encode("utf-8")
    letters = re.sub(r"\s", "", shown)
    assert re.sub(r"\s", "", r"\x1b[31mred\x1b[0m") in letters
    assert "[bold]b[/bold]:smile:" in letters


def test_hostile_text_does_nothing_in_a_report_card() -> None:
    table = ProbeTable(
        "Near zero", ("x", "note", "label"), ((0.001, "a [red]b[/red]", "differs"),), ("Tried: 1 point.",)
    )
    card = spoiled(
        ProbeReport("jax", "0.10", "loops", (table,), ("1 of 1 rows differ.",), (), "gradfuzz probe jax")
    )
    row = {"name": "cmd:x" + HOSTILE, "version": None, "ways": ["a" + HOSTILE]}
    for page in (terminal.probe(card), terminal.targets([row])):
        shown = printed(page, 100)
        assert all(character == "\n" or character.isprintable() for character in shown)
        assert "[bold]b[/bold]:smile:" in re.sub(r"\s", "", shown)


def test_hostile_text_does_nothing_while_it_runs() -> None:
    sweep = finished(2, hostile=True)
    started = SweepStarted(7, (("engine", "0.1.0"),), ("loops",), 250, None, "gradfuzz sweep engine")
    progress = Progress(9.0, 16, 20, "judging", "def f(x):\n    return x\n", sweep.summaries)
    events = [spoiled(started), spoiled(progress), FindingFound(sweep.findings[0]), sweep]
    out = io.StringIO()
    console = Console(
        file=out, width=100, height=60, force_terminal=True, color_system=None, _environ={"TERM": "xterm"}
    )
    lines = io.StringIO()
    plain = Console(file=lines, width=100)
    with live.listener(console) as display, live.listener(plain) as heartbeat:
        for event in events:
            display.handle(event)
            heartbeat.handle(event)
        assert isinstance(display, live.Live)
        shown = printed(display._display(), 100)
    for text in (shown, lines.getvalue()):
        assert all(character == "\n" or character.isprintable() for character in text)
    assert "\x1b[31m" not in out.getvalue()
    assert "\x00" not in out.getvalue()
    assert "\u202e" not in out.getvalue()


def test_a_line_for_each_finding() -> None:
    lines = concise.render(finished(12), None).splitlines()
    assert len(lines) == 13
    assert (
        lines[0]
        == "GF-5fec for loop, reverse mode: wrong by a factor of 333,334 (mutant:nx-1747 0.1.0, float64); at"
        " x = 0.001 expected 3e-06, got 1.000001"
    )
    assert lines[10].endswith(" (flaky)")
    assert lines[12].startswith("12 findings in ")
    hostile = concise.render(finished(3, hostile=True), review(finished(3), hostile=True))
    assert len(hostile.splitlines()) == 4
    assert HOSTILE not in hostile


def test_the_report_as_a_file_has_no_colours() -> None:
    text = terminal.render(finished(2), None)
    assert "\x1b" not in text
    assert "Loop bodies" in text


def test_a_page_of_a_finding_is_short_and_says_what_is_wrong() -> None:
    shown = finding(ports={"short": "print('got', 1.0)\n"})
    page, full = printed(block_page(shown), 80), printed(block(shown, show_script=True), 80)
    assert len(page.splitlines()) <= 32
    for words in (shown.id, "expected", "clearest", "Behaves exactly like this bug", "print('got', 1.0)"):
        assert words in page
        assert words in full
    assert "Loop bodies" in full
    assert "Loop bodies" not in page
