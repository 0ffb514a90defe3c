"""The board: what it says of systems, releases and ops; its links, badges and feed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from click.testing import CliRunner

from gradfuzz.cli import main
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.board.collected import FIXED, GONE, OPEN, RIGHT, UNASKED, WRONG
from gradfuzz.reports.board.pages import site
from gradfuzz.reports.machine.ndjson import line
from tests.board_data import both, made, swept, wrong


def test_releases_are_counted_as_people_count() -> None:
    versions = ("1.9.0", "1.10.0", "1.10.0rc1", "main at a53bbaed", "1.10.0.post1")
    (torch,) = made(*((f"2026-01-0{k}", swept(version)) for k, version in enumerate(versions, 1))).systems
    assert list(torch.releases) == ["1.10.0.post1", "1.10.0", "1.10.0rc1", "1.9.0", "main at a53bbaed"]


def test_the_state_of_a_finding_is_that_of_the_newest_release() -> None:
    old, new = swept("1.0", wrong("1.0")), swept("2.0", wrong("2.0"))
    clean = swept("2.0")
    cases = {OPEN: [("1", old), ("2", new)], GONE: [("1", old), ("2", clean)]}
    for state, runs in cases.items():
        (torch,) = made(*runs).systems
        (known,) = torch.findings
        assert known.state == state
        assert known.releases["1.0"] == WRONG
    review = Review(fixed=(wrong("1.0"),))
    (torch,) = made(("1", old), ("2", clean, review)).systems
    (known,) = torch.findings
    assert (known.state, known.releases) == (FIXED, {"2.0": FIXED, "1.0": WRONG})
    assert torch.open == []


def test_what_is_known_of_an_op() -> None:
    (torch,) = made(("1", swept("1.0", wrong("1.0"), never=("tan",)))).systems
    assert torch.about("sin")[0] == WRONG
    assert [known.finding.id for known in torch.about("sin")[1]] == ["GF-aaaa"]
    assert torch.about("cos") == (RIGHT, [])
    assert torch.about("tan") == (UNASKED, [])
    assert torch.about("svd") == (UNASKED, [])


def test_planted_bugs_are_shown_only_alone() -> None:
    mutant = swept("1.0", name="mutant:nx-1747")
    assert [s.name for s in made(("1", mutant)).systems] == ["mutant:nx-1747"]
    assert [s.name for s in made(("1", mutant), ("2", swept("1.0"))).systems] == ["torch"]


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.found += [value for name in ("href", "src") if (value := told.get(name))]
        self.ids.add(told.get("id") or "")


def test_every_link_leads_to_a_file_of_the_site() -> None:
    files = dict(site(both(), "A board"))
    for place, text in files.items():
        if not place.endswith(".html"):
            continue
        links = Links()
        links.feed(text)
        for link in links.found:
            if link.startswith(("data:", "https://")):
                continue
            path, _, anchor = link.partition("#")
            target = str(PurePosixPath(place).parent / path) if path else place
            parts: list[str] = []
            for part in target.split("/"):
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in files, f"{place}: {link}"
            assert not anchor or anchor in links.ids or path, f"{place}: {link}"
        assert "<b>&" not in text, "names are text"


def test_badges_and_feed() -> None:
    files = dict(site(both(), "A board", "https://example.org/board/"))
    badge = ElementTree.fromstring(files["badges/torch.svg"])
    assert badge.get("aria-label") == "gradfuzz, torch 1.0: 1 open"
    assert json.loads(files["badges/jax.json"])["message"] == "1 open"
    feed = ElementTree.fromstring(files["feed.xml"])
    space = {"a": "http://www.w3.org/2005/Atom"}
    ids = [entry.findtext("a:id", "", space) for entry in feed.iterfind("a:entry", space)]
    assert ids == [f"urn:gradfuzz:{'b' * 64}", f"urn:gradfuzz:{'a' * 64}"], "the newest first"
    links = [entry.find("a:link", space) for entry in feed.iterfind("a:entry", space)]
    assert [link.get("href") for link in links if link is not None] == [
        "https://example.org/board/findings/jax-gf-bbbb.html",
        "https://example.org/board/findings/torch-gf-aaaa.html",
    ]


def test_the_search_knows_systems_ops_and_findings() -> None:
    text = dict(site(both(), "A board"))["assets/index.js"]
    found = json.loads(re.sub(r"^const INDEX = |;\n$", "", text))
    assert {entry["k"] for entry in found} == {"system", "op", "open"}
    assert {entry["p"] for entry in found} >= {
        "systems/torch.html",
        "ops/sin.html",
        "findings/torch-gf-aaaa.html",
    }


def test_the_command(tmp_path: Path) -> None:
    stream = tmp_path / "one.ndjson"
    stream.write_text(line(swept("1.0", wrong("1.0"))), encoding="utf-8")
    out = tmp_path / "site"
    done = CliRunner().invoke(main, ["board", str(stream), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1 systems, 1 findings" in done.output
    assert (out / "index.html").is_file()
    done = CliRunner().invoke(main, ["board", str(stream), "--url", "nowhere"])
    assert done.exit_code == 2
    assert "is no address of the web" in done.output
