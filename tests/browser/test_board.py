"""The board in Chromium, from disk: silent, accessible, narrow, by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.reports.board.pages import site
from tests.board_data import both

Open = Callable[..., Any]

PAGES = ("index.html", "systems/torch.html", "ops/sin.html", "findings/torch-gf-aaaa.html")


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for place, text in site(both(), "A board"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return folder


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
    page.wait_for_url("**/findings/torch-gf-aaaa.html")


def test_the_filters_keep_what_fits(board: Path, open_page: Open) -> None:
    page = open_page(board / "index.html").page
    rows = page.locator(".board tbody tr:visible")
    before = rows.count()
    page.get_by_label("only rows with findings").check()
    assert 0 < rows.count() < before
    page.get_by_label("dtype").select_option("float16")
    assert rows.count() == 0


def test_without_javascript_all_is_there(board: Path, open_page: Open) -> None:
    page = open_page(board / "index.html", java_script_enabled=False).page
    assert page.get_by_role("link", name="torch").count() > 0
    assert page.locator(".tools:visible").count() == 0
