"""The pictures of the HTML report in docs/report.md: a real sweep of planted bugs, opened in Chromium and
photographed; and of the board in docs/board.md, where `make board` has made one.

    python -m benchmarks.html_pictures

The sweep is small and has a fixed seed. Needs Chromium, playwright (extra dev) and Pillow (extra bench);
pictures have a palette, so that they stay small.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.pictures import swept
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.reports.html import render

FOLDER = Path("docs/pictures")
BOARD = Path("build/board/site")
CONFIG = SweepConfig(
    targets=("mutant:nx-1747", "mutant:swift-78264", "mutant:lu-batch"),
    families=("loops", "linalg"),
    max_examples=40,
    jobs=1,
)
_COLOURS = 48
_ARTICLE = 1760
"""So much of an article is shown, in pixels: all but its reproducers."""
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        raise SystemExit("html_pictures: there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def of_report(browser: Browser, report: Path) -> Iterator[tuple[str, bytes]]:
    """(name, PNG) of the head of the report and of its first article, light and dark, and of the head on a
    telephone.
    """
    for scheme in SCHEMES:
        page = opened(browser, report, scheme, 1240)
        yield f"report-{scheme}", page.screenshot()
        yield f"article-{scheme}", _article(page)
        page.context.close()
    yield "report-narrow", on_telephone(browser, report, "light")


def of_board(browser: Browser, site: Path) -> Iterator[tuple[str, bytes]]:
    """(name, PNG) of the first page of a board, and of a system's page on a telephone."""
    yield "board-light", opened(browser, site / "index.html", "light", 1900).screenshot()
    yield "board-narrow", on_telephone(browser, site / "systems" / "torch.html", "dark")


def opened(browser: Browser, path: Path, scheme: Scheme, height: int) -> Page:
    """A page in a wide window."""
    page = browser.new_context(viewport={"width": 1200, "height": height}, color_scheme=scheme).new_page()
    page.goto(path.resolve().as_uri())
    return page


def on_telephone(browser: Browser, path: Path, scheme: Scheme) -> bytes:
    """The PNG of a page in a narrow window."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme=scheme, device_scale_factor=1.5
    )
    page = context.new_page()
    page.goto(path.resolve().as_uri())
    return page.screenshot()


def _article(page: Page) -> bytes:
    article = page.locator("article").first
    article.scroll_into_view_if_needed()
    page.evaluate("document.activeElement.blur()")
    box = article.bounding_box()
    assert box is not None, "it is there"
    down = page.evaluate("scrollY")
    height = min(box["height"], _ARTICLE)
    return page.screenshot(
        full_page=True, clip={"x": 0, "y": box["y"] + down, "width": 1200, "height": height}
    )


def small(png: bytes) -> bytes:
    """The same picture with a palette."""
    out = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Sweeps, writes the report, and photographs it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=FOLDER)
    parser.add_argument("--report", type=Path, help="a report that is there already, instead of a sweep")
    parser.add_argument("--board", type=Path, default=BOARD, help="the site of a board, if it is there")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = arguments.report or Path(folder) / "gradfuzz-report.html"
        if arguments.report is None:
            report.write_text(render(swept(CONFIG), Review()), encoding="utf-8")
        with chromium() as browser:
            board = of_board(browser, arguments.board) if arguments.board.exists() else ()
            for name, png in itertools.chain(of_report(browser, report), board):
                path = arguments.to / f"{name}.png"
                path.write_bytes(small(png))
                print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
