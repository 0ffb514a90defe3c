"""The site of the documents in Chromium: it asks for nothing elsewhere, says nothing, and finds what is
looked for.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.docs_site import built

pytestmark = pytest.mark.xdist_group("site in a browser")  # one worker builds it, once


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which the site is served."""
    handler = functools.partial(Quiet, directory=str(built(tmp_path_factory.mktemp("site"))))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_pages_ask_for_nothing_elsewhere_and_say_nothing(browser: Any, site: str) -> None:
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    said: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda message: said.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((f"{site}/", "data:")) else elsewhere.append(request.url)
        ),
    )
    for name in (
        "index",
        "tutorial",
        "howto/jax",
        "report",
        "targets",
        "reference/engine",
        "reference/cli",
        "comparators",
        "findings/index",
    ):
        page.goto(f"{site}/{name}.html", wait_until="networkidle")
        assert page.locator("h1").count() == 1
    assert (said, elsewhere) == ([], [])
    context.close()


def test_the_search_finds(browser: Any, site: str) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{site}/index.html", wait_until="networkidle")
    query = page.locator("[data-md-component=search-query]")
    for _ in range(300):  # a page that is quiet may not listen to keys yet
        page.keyboard.press("/")
        if query.evaluate("query => query === document.activeElement"):
            break
        page.wait_for_timeout(100)
    page.keyboard.type("custom_vjp")
    page.locator(".md-search-result__link").first.wait_for()
    assert "howto/jax.html" in page.locator(".md-search-result__link").first.get_attribute("href")
    context.close()


def test_what_is_copied_can_be_run(browser: Any, site: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{site}/tutorial.html", wait_until="networkidle")
    page.locator(".highlight", has_text="targets new toy").hover()
    page.locator(".highlight", has_text="targets new toy").locator("button").click()
    assert page.evaluate("navigator.clipboard.readText()").strip() == "gradfuzz targets new toy"
    context.close()
