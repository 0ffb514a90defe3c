"""The site of the documents builds without a warning, has every public name, and loads nothing from
elsewhere.
"""

from __future__ import annotations

import importlib
import re
import types
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs_site import ROOT, built

ROOMS = ("engine", "errors", "fuzzer", "oracles", "programs", "strategies", "testing")
ELSEWHERE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//|\s*(?!data:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
"""An address that leaves the site: one with a host, or with a scheme other than data."""

pytestmark = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


class Loads(HTMLParser):
    """What a page makes a browser load: not what it only links to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta" and given.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = given["content"]
        for name in ("src", "srcset", "data", "poster", "action", "xlink:href"):
            if name in given:
                self.addresses.append(given[name])
        if tag in ("link", "use", "image", "base") and given.get("rel") not in (
            "canonical",
            "next",
            "prev",
            "edit",
        ):
            self.addresses.append(given.get("href", ""))
        self.addresses += re.findall(r"url\(\s*[\"']?([^\"')]*)", given.get("style", ""))


@pytest.mark.slow
def test_the_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.addresses
        assert not [address for address in loads.addresses if ELSEWHERE.match(address)], page
        assert loads.policy.startswith("default-src 'self'"), page
        assert "http" not in loads.policy


@pytest.mark.slow
def test_the_styles_and_pictures_load_nothing_from_elsewhere(site: Path) -> None:
    for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"url\(\s*[\"']?([^\"')]*)", text) + re.findall(r"@import\s+[\"']([^\"']*)", text)
        loaded += re.findall(r"<(?:image|use)\b[^>]*href=[\"']([^\"']*)", text)
        assert not [address for address in loaded if ELSEWHERE.match(address)], path


@pytest.mark.parametrize(
    "address", ["https://example.org/a.js", "//example.org/a.js", " HTTP://example.org", "javascript:x"]
)
def test_an_address_elsewhere_is_one(address: str) -> None:
    assert ELSEWHERE.match(address)


@pytest.mark.parametrize("address", ["a.js", "../a/b.css", "/a.js", "#a", "data:image/png;base64,AA=="])
def test_an_address_here_is_none(address: str) -> None:
    assert not ELSEWHERE.match(address)


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(site: Path, room: str) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    module = importlib.import_module(f"gradfuzz.{room}")
    described = {found.rpartition(".")[2] for found in re.findall(r'<h[2-6] id="(gradfuzz\.[\w.]+)"', text)}
    submodules = {name for name in module.__all__ if isinstance(getattr(module, name), types.ModuleType)}
    assert set(module.__all__) - submodules <= described


@pytest.mark.slow
def test_every_command_is_in_the_reference(site: Path) -> None:
    from gradfuzz.cli import main

    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        assert f'id="gradfuzz-{name}"' in text
        for sub in getattr(command, "commands", ()):
            assert f'id="gradfuzz-{name}-{sub}"' in text


@pytest.mark.slow
def test_no_page_is_lost(site: Path) -> None:
    """Every page is in the navigation, so on every other page."""
    text = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        address = (
            page.relative_to(ROOT / "docs")
            .with_suffix(".html")
            .as_posix()
            .replace("README.html", "index.html")
        )
        assert f'href="{address}"' in text, page
