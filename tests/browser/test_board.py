"""The board in Chromium, from disk: silent, accessible, narrow, by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.reports.board.collection import Board
from gradfuzz.reports.board.pages import site
from tests.board_data import SYSTEMS, both, large, made, swept, wrong

Open = Callable[..., Any]

PAGES = ("index.html", "systems/torch.html", "ops/sin.html", "findings/torch-gf-aaaaaaaaaaaa.html")


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(both(), tmp_path_factory.mktemp("site"))


def written(board: Board, folder: Path) -> Path:
    """The folder, with the site in it."""
    for place, text in site(board, "A board"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def large_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand findings of twelve systems."""
    return written(large(1000), tmp_path_factory.mktemp("large"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, board: Path, open_page: Open, violations: Open) -> None:
    for place in PAGES:
        opened = open_page(board / place, color_scheme=scheme)
        assert opened.console == []
        assert all(url.startswith(board.as_uri()) for url in opened.requests)
        assert violations(opened.page) == []


def test_it_fits_a_narrow_window(board: Path, open_page: Open) -> None:
    for place in PAGES:
        page = open_page(board / place, viewport={"width": 390, "height": 800}).page
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_finding_is_found_by_keyboard(board: Path, open_page: Open) -> None:
    page = open_page(board / "ops" / "sin.html").page
    page.keyboard.press("/")
    page.keyboard.type("gf-aaaa")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/findings/torch-gf-aaaaaaaaaaaa.html")


def test_the_filters_keep_what_fits(board: Path, open_page: Open) -> None:
    page = open_page(board / "index.html").page
    rows = page.locator(".board tbody tr:visible")
    before = rows.count()
    page.get_by_label("only rows with findings").check()
    assert 0 < rows.count() < before
    page.get_by_label("Family").select_option("loops")
    assert rows.count() > 0
    page.get_by_label("dtype").select_option("float16")
    assert rows.count() == 0


def test_a_filter_asks_one_finding_for_all(tmp_path: Path, open_page: Open) -> None:
    """One finding is of vjp in float64, the other of second order in float32."""
    other = wrong("1.0", "b", modes=("rev", "fwd"), precision="float32")
    folder = written(made(("2026-01-01", swept("1.0", wrong("1.0"), other))), tmp_path)
    page = open_page(folder / "index.html").page
    marked = page.locator("td.wrong")
    for mode, dtype, number in (("vjp", "float64", 1), ("order-2", "float32", 1), ("vjp", "float32", 0)):
        page.get_by_label("Derivative").select_option(mode)
        page.get_by_label("dtype").select_option(dtype)
        assert marked.count() == number


def test_without_javascript_all_is_there(board: Path, open_page: Open) -> None:
    page = open_page(board / "index.html", java_script_enabled=False).page
    assert page.get_by_role("link", name="torch").count() > 0
    assert page.locator(".tools:visible").count() == 0


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_thousand_findings_of_twelve_systems(
    scheme: str, size: tuple[int, int], large_board: Path, open_page: Open
) -> None:
    """It is painted within three seconds, as the browser itself measures, and fits the window."""
    viewport = {"width": size[0], "height": size[1]}
    for place in ("index.html", "systems/torch.html", "ops/op_7.html"):
        opened = open_page(large_board / place, viewport=viewport, color_scheme=scheme)
        painted = opened.page.evaluate(PAINTED)
        assert 0 < painted < 3000, place
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert opened.console == []
    assert len(list((large_board / "findings").iterdir())) == 1000


PAINTED = """\
new Promise(resolve => {
  const look = () => {
    const found = performance.getEntriesByName("first-contentful-paint")[0];
    found ? resolve(found.startTime) : requestAnimationFrame(look);
  };
  look();
})"""


def test_axe_finds_nothing_in_a_large_one(large_board: Path, open_page: Open, violations: Open) -> None:
    assert violations(open_page(large_board / "index.html").page) == []


def test_the_printed_map_is_whole(large_board: Path, open_page: Open) -> None:
    """On A4 with margins of 1 cm, where nothing scrolls: 190 mm are 718 px of CSS."""
    page = open_page(large_board / "index.html", viewport={"width": 718, "height": 1000}).page
    page.emulate_media(media="print")
    cells = page.locator(".board tbody tr").last.locator("th, td")
    assert cells.count() == len(SYSTEMS) + 1
    boxes = [cells.nth(k).bounding_box() for k in range(cells.count())]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 718 for box in boxes)
    board = page.locator(".board")
    assert board.evaluate("box => box.scrollHeight <= box.clientHeight + 1"), "the map is cut"
    assert board.evaluate("box => getComputedStyle(box).overflowX") == "visible"
    assert not page.locator(".find").is_visible()
