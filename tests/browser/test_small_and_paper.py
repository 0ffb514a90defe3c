"""The HTML report in windows of many widths: nothing is cut, in narrow ones tables are cards, an article is a
page, and on paper, too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.known_reports import reports_of
from tests.report_data import call_finding, finding, finished, functions, review

Open = Callable[..., Any]

LABELS = ("expected", "got", "ratio")
CLIPPED = """\
(cells => cells.filter(cell => {
  const box = cell.getBoundingClientRect();
  return box.width === 0 || box.left < 0 || box.right > innerWidth || cell.scrollWidth > cell.clientWidth + 1;
}).map(cell => cell.outerHTML))"""


ALL_OPEN = """\
() => {
  const style = new CSSStyleSheet();
  style.replaceSync("article { content-visibility: visible !important }");
  document.adoptedStyleSheets = [style];
  for (const one of document.querySelectorAll("details")) one.open = true;
}"""
CUT = """\
() => [...document.querySelectorAll(".scroll")]
  .filter(box => box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > innerWidth)
  .map(box => [box.ariaLabel ?? box.getAttribute("aria-labelledby"), box.scrollWidth - box.clientWidth])"""

LONG = "torch.nn.functional.adaptive_max_pool3d_with_indices"
FAMILIES = ("loops", "linalg", "tensor", "complex", "elementwise", "functions")


@pytest.fixture(scope="session")
def wide_report(saved: Any) -> Any:
    """All that makes a table wide: long names, long numbers, six families, a finding with three reports."""
    long = call_finding(
        call=Call("torch", LONG, ()),
        culprits=(LONG,),
        precision="bfloat16",
        modes=("fwd", "rev"),
        rules=("LinalgSolveExBackward0",),
    )
    assert len(reports_of(long)) == 3
    other = FunctionSummary(LONG, LONG, "asked", "", drawn=12_345, valid=12_345, findings=(long.id,))
    ways = [
        TargetSummary("torch:functions", "2.13.0+cpu.cxx11.abi", family, checks=123_456, disagree=1_234)
        for family in FAMILIES
    ]
    sweep = finished([long, *(finding(k) for k in range(8))], functions=(*functions(), other))
    sweep = dataclasses.replace(sweep, summaries=(*ways, *sweep.summaries))
    return saved(sweep, review(sweep))


@pytest.mark.parametrize("width", [390, 768, 970, 1024, 1280, 1600])
def test_no_column_is_cut(width: int, wide_report: Path, open_page: Open) -> None:
    page = open_page(wide_report, viewport={"width": width, "height": 900}).page
    page.evaluate(ALL_OPEN)
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=["wide", "phone"])
def test_a_page_of_a_finding_is_one_screen_before_its_evidence(
    size: tuple[int, int], report: Path, open_page: Open
) -> None:
    page = open_page(report, viewport={"width": size[0], "height": size[1]}).page
    page.evaluate(ALL_OPEN)
    height = "article => article.querySelector('.evidence').offsetTop - article.offsetTop"
    articles = page.locator("article")
    assert articles.count() == 11
    assert all(articles.nth(k).evaluate(height) <= size[1] for k in range(11))
    first = articles.first.bounding_box()
    numbers, code = (articles.first.locator(part).first.bounding_box() for part in (".lead", "pre"))
    assert first["y"] < numbers["y"] < code["y"] < first["y"] + size[1] / 2


def test_findings_come_before_the_map_which_folds_what_has_no_public_name(
    called_report: Path, open_page: Open
) -> None:
    page = open_page(called_report).page
    table, functions_ = (page.locator(part).bounding_box() for part in ("#table", "#functions"))
    assert table["y"] + table["height"] < 2 * 900, "in the first two windows"
    assert table["y"] < functions_["y"]
    own = page.locator("#own")
    assert own.bounding_box()["height"] < 40
    own.locator("summary").click()
    assert own.locator(".cell").first.is_visible()
