"""The site of the documents builds without a warning, has every public name, and loads nothing from
elsewhere.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
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
    reports = ROOT / "docs" / "findings"  # texts for trackers, no pages
    for page in (ROOT / "docs").rglob("*.md"):
        if page.parent != reports and reports in page.parents:
            continue
        address = (
            page.relative_to(ROOT / "docs")
            .with_suffix(".html")
            .as_posix()
            .replace("README.html", "index.html")
        )
        assert f'href="{address}"' in text, page


@pytest.mark.slow
def test_each_release_has_documents_of_its_own(tmp_path: Path) -> None:
    """As `make docs-release` puts them on gh-pages, of two releases."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    shutil.copy(ROOT / "mkdocs.yml", clone)
    for key, value in (("user.name", "nobody"), ("user.email", "nobody@example.org")):
        subprocess.run(["git", "config", key, value], cwd=clone, check=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # mike looks for mkdocs there
    environment = {**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1", "DOCS_VERSIONS": "mike"}
    for version in ("0.1.0", "0.2.0"):
        command = ["mike", "deploy", "--update-aliases", version, "latest"]
        done = subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def shown(path: str) -> str:
        command = ["git", "show", f"gh-pages:{path}"]
        return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout

    there = {one["version"]: one["aliases"] for one in json.loads(shown("versions.json"))}
    assert there == {"0.2.0": ["latest"], "0.1.0": []}
    for version in there:
        assert '"provider": "mike"' in shown(f"{version}/index.html")
