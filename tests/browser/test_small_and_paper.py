"""The HTML report in a narrow window, where tables are cards, and on paper, where a finding is a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report_data import finished

Open = Callable[..., Any]

LABELS = ("expected", "got", "ratio")
CLIPPED = """\
(cells => cells.filter(cell => {
  const box = cell.getBoundingClientRect();
  return box.width === 0 || box.left < 0 || box.right > innerWidth || cell.scrollWidth > cell.clientWidth + 1;
}).map(cell => cell.outerHTML))"""


def clipped(page: Any, cells: str) -> list[str]:
    """The cells that are not whole inside the window; there must be some cells."""
    assert page.locator(cells).count(), cells
    found: list[str] = page.evaluate(f"{CLIPPED}([...document.querySelectorAll({cells!r})])")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_numbers(scheme: str, report: Path, open_page: Open) -> None:
    size = {"width": 390, "height": 844}
    page = open_page(report, viewport=size, color_scheme=scheme, reduced_motion="reduce").page
    page.evaluate(
        "() => { const s = new CSSStyleSheet(); s.replaceSync('article { content-visibility: visible"
        " !important }'); document.adoptedStyleSheets = [s]; }"
    )
    for label in LABELS:
        assert clipped(page, f"article .cards td[data-label={label}]:not(:empty)") == []
        assert clipped(page, f"#table td[data-label={label}]:not(:empty)") == []
    assert clipped(page, "article .cards td[data-label=verdict]") == []
    assert clipped(page, "#table td[data-label=what]") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    rows = page.locator("article").first.locator(".cards tbody tr")
    first, second = (rows.nth(k).bounding_box() for k in (0, 1))
    assert second["y"] >= first["y"] + first["height"], "a card stands below the one before"
    content = "cell => getComputedStyle(cell, '::before').content"
    got = rows.first.locator("td[data-label=got]").evaluate(content)
    assert got == '"got"', "each number says what it is"


def test_a_wide_window_shows_a_table(report: Path, open_page: Open) -> None:
    page = open_page(report).page
    row = page.locator("article").first.locator(".cards tbody tr").first
    expected, got = (row.locator(f"td[data-label={name}]").bounding_box() for name in ("expected", "got"))
    assert expected["y"] == got["y"]


def pages(page: Any, path: Path) -> int:
    """How many pages Chromium prints."""
    page.pdf(path=str(path), format="A4")
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", path.read_bytes()))


@pytest.mark.parametrize("scripts", [True, False], ids=["with JavaScript", "without"])
def test_a_finding_is_a_page(scripts: bool, tmp_path: Path, saved: Open, open_page: Open) -> None:
    opened = {n: open_page(saved(finished(n)), java_script_enabled=scripts).page for n in (1, 6)}
    short = {n: pages(page, tmp_path / "short.pdf") for n, page in opened.items()}
    assert short[6] - short[1] in (5, 6), "one more finding, one more page; the list may need another"
    assert short[6] <= 8
    opened[6].get_by_label("print everything").check()
    assert pages(opened[6], tmp_path / "full.pdf") > 2 * short[6]


def test_the_page_of_a_finding_has_what_shows_it(report: Path, open_page: Open) -> None:
    page = open_page(report).page
    page.emulate_media(media="print")
    article = page.locator("article").first
    for part in ("h3", "pre[data-reproducer=short]", ".cards", ".facts"):
        assert article.locator(part).first.is_visible(), part
    assert not article.locator("pre[data-reproducer=python]").is_visible()
    assert not article.locator(".plots").is_visible()
