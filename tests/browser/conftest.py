"""One Chromium for the session, pages that keep what they said and asked for, and reports to open."""

from __future__ import annotations

import dataclasses
import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.html import render
from tests.report_data import called, finding, finished, review

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = (
    *("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
)
"""For root in a container, and no request of the browser's own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here is of the browser, and on one worker."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield chromium
        chromium.close()


WIDTHS = (375, 768, 1440)
_ALL_OF_IT = "article { content-visibility: visible !important }"
"""So that axe looks at what lies below the window, too."""


def violations(page: Any) -> list[str]:
    """What axe finds wrong, at every width. In the dark it looks at the widest page, which shows the most:
    a scheme changes colours, and no places.
    """
    if importlib.util.find_spec("axe_playwright_python") is None:
        pytest.skip("axe-playwright-python is not installed")
    from axe_playwright_python import base

    page.evaluate((Path(base.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    page.evaluate(
        "css => { const s = new CSSStyleSheet(); s.replaceSync(css); document.adoptedStyleSheets = [s]; }",
        _ALL_OF_IT,
    )
    told = []
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for width in WIDTHS[-1:] if dark else WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
        assert len(result["passes"]) > 20, "axe has looked at the page"
        told += [
            f"{width} px, {rule['id']}: {node['html'][:200]}"
            for rule in result["violations"]
            for node in rule["nodes"]
        ]
    return told


@pytest.fixture(name="violations")
def _violations() -> Any:
    return violations


@dataclass
class Opened:
    """A page, and what it said and asked for besides itself."""

    page: Any
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """`open_page(path, fragment, **context)` opens a file as a person does, from disk."""
    contexts: list[Any] = []

    def opened(path: Path, fragment: str = "", **options: Any) -> Opened:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(60_000)
        made = Opened(context.new_page())
        made.page.on("console", lambda message: made.console.append(message.text))
        made.page.on("pageerror", lambda error: made.console.append(str(error)))
        made.page.on("request", lambda request: made.requests.append(request.url))
        made.page.goto(path.as_uri() + fragment)
        assert made.requests.pop(0) == path.as_uri()
        made.requests = [url for url in made.requests if not url.startswith("data:image/svg+xml,")]
        return made

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`saved(sweep, review)` is the file of its report."""

    def write(sweep: SweepFinished, told: Review | None = None) -> Path:
        path = tmp_path_factory.mktemp("report") / "report.html"
        path.write_text(render(sweep, told), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def report(saved: Any) -> Any:
    """Ten findings of all classes, with everything that a report can show."""
    return saved(finished(11), review(finished(11)))


@pytest.fixture(scope="session")
def short_report(saved: Any) -> Any:
    """Two findings: a flaky one of a loop, and one of matrices with a grid of entries; whoever looks at every
    element has less to do.
    """
    grid = finding(4)
    point = dataclasses.replace(
        grid.clearest, allowed={name: 1e-9 + 0 * bound for name, bound in grid.clearest.bound.items()}
    )
    sweep = finished([finding(0, reproduced=(3, 5)), dataclasses.replace(grid, clearest=point)])
    return saved(sweep, review(sweep))


@pytest.fixture(scope="session")
def called_report(saved: Any) -> Any:
    """A sweep that calls functions, with their map."""
    return saved(called())


@pytest.fixture(scope="session")
def hostile(saved: Any) -> Any:
    """The same with hostile text in every place."""
    sweep = finished(11, hostile=True)
    return saved(sweep, review(sweep, hostile=True))
