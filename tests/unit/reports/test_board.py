"""The board: what it says of systems, releases and ops; its links, badges and feed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from click.testing import CliRunner

from gradfuzz.cli import main
from gradfuzz.fuzzer.results.events import FindingFound, SweepStarted
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.reports.board.collection import (
    FIXED,
    GONE,
    OPEN,
    RIGHT,
    UNASKED,
    WRONG,
    BoardRun,
    _asked,
    in_address,
)
from gradfuzz.reports.board.pages import site
from gradfuzz.reports.machine.ndjson import line
from tests.board_data import both, made, swept, wrong
from tests.report_data import called
from tests.web_page import Page


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
    (torch,) = made(("1", swept("1.0", wrong("1.0")))).systems
    state, times, found = torch.about("sin")
    assert (state, times, [known.finding.id for known in found]) == (WRONG, 9, ["GF-aaaa"])
    assert torch.about("cos") == (RIGHT, 40, [])
    assert torch.about("svd") == (UNASKED, 0, [])


def test_programs_are_counted_over_runs_and_once_for_all_ways() -> None:
    """An op that one way met in 40 programs and another in 7 was in 40; the run of another seed adds up."""
    run = swept("1.0")
    (eager,) = run.summaries
    other = dataclasses.replace(eager, name="torch:func", ops={"cos": 7, "exp": 1})
    ways, seed = dataclasses.replace(run, summaries=(eager, other)), dataclasses.replace(run, seed=8)
    (torch,) = made(("1", ways), ("2", seed)).systems
    assert torch.about("cos") == (RIGHT, 80, [])
    assert torch.about("exp") == (RIGHT, 1, [])
    assert torch.checks == 300


def test_a_seed_counts_once_however_often_it_was_run() -> None:
    """Another run of a seed asks about the same programs; the longer one asks about more."""
    short, long = swept("1.0", ops={"cos": 40, "exp": 1}), swept("1.0", ops={"cos": 60})
    (more,) = long.summaries
    longer = dataclasses.replace(long, summaries=(dataclasses.replace(more, checks=150),))
    other = dataclasses.replace(short, seed=8)
    for order in ((short, longer, short, other), (other, longer, short, short)):
        (torch,) = made(*((str(day), run) for day, run in enumerate(order))).systems
        assert torch.about("cos") == (RIGHT, 100, [])
        assert torch.about("exp") == (RIGHT, 2, [])
        assert torch.checks == 250
    (torch,) = made(("1", short), ("2", swept("2.0"))).systems
    assert torch.history("cos") == [("2.0", RIGHT, 40), ("1.0", RIGHT, 40)], "a release counts by itself"


def test_a_cell_has_its_count_and_is_pale_where_that_says_little() -> None:
    """`det` was in 2 programs, `cos` in 40, `tan` in 200; `sin` has a finding."""
    page = dict(site(made(("1", swept("1.0", wrong("1.0")))), "A board"))["index.html"]
    cells = re.findall(r'<td class="(state [^"]*)"[^>]*>(?:<a [^>]*>)?<span [^>]*>([^<]*)</span>', page)
    assert cells == [
        ("state nothing-wrong-found some", "✓ 40"),
        ("state nothing-wrong-found few", "2"),
        ("state wrong", "✗ 1"),
        ("state nothing-wrong-found many", "✓ 200"),
    ]
    assert '<span class="unseen">nothing wrong found in 2</span>' in page


def test_a_page_says_first_what_is_new() -> None:
    """The finding of the first night is known in the second."""
    old, new = wrong("1.0"), wrong("1.0", "c", culprits=("cos",))
    files = dict(site(made(("1", swept("1.0", old)), ("2", swept("1.0", old, new))), "A board"))
    for place in ("index.html", "systems/torch.html"):
        main = files[place].partition('<main id="main"')[2]
        assert re.findall(r"<(?:p|h\d)[^>]*>([^<]*)<", main)[0] == ("1 new, 1 known: 1 recorded before."), (
            place
        )


def test_a_function_that_gradfuzz_broke_off_counts_by_what_it_was_asked() -> None:
    """`torch.a` was asked in one turn and broken off in another, `torch.b` was broken off at once."""
    a = FunctionSummary("torch.a", "a(x)", "broken", "IndexError", asked={"rev": 2})
    finished = called(functions=(a, dataclasses.replace(a, name="torch.b", asked={})))
    ((*_, asked),) = _asked("torch", BoardRun("2026-03-01T12:00:00+00:00", finished))
    assert (asked.ops, asked.refused) == ({"torch.a": 2}, set())


def test_planted_bugs_are_shown_only_alone() -> None:
    mutant = swept("1.0", name="mutant:nx-1747")
    assert [s.name for s in made(("1", mutant)).systems] == ["mutant:nx-1747"]
    assert [s.name for s in made(("1", mutant), ("2", swept("1.0"))).systems] == ["torch"]


def test_what_each_release_is_known_to_do_with_an_op() -> None:
    old, new = swept("1.0", wrong("1.0")), swept("2.0", ops={"sin": 8})
    (torch,) = made(("1", old), ("2", new)).systems
    assert torch.history("sin") == [("2.0", RIGHT, 8), ("1.0", WRONG, 9)]
    assert torch.history("tan") == [("2.0", UNASKED, 0), ("1.0", RIGHT, 200)]
    page = dict(site(made(("1", old), ("2", new)), "A board"))["ops/sin.html"]
    row = r'</th><td>([\d.]+)</td><td class="state [\w-]+">.*?</span> ([\w ]+)</td><td class="n">(\d+)</td>'
    assert re.findall(row, page) == [("2.0", RIGHT, "8"), ("1.0", WRONG, "9")]


def test_a_finding_of_what_has_no_figures_is_on_the_board() -> None:
    """A sweep that was killed early knows its findings and no counts."""
    killed = dataclasses.replace(swept("1.0", wrong("1.0")), summaries=())
    (torch,) = made(("1", killed)).systems
    assert (torch.newest, torch.checks, len(torch.open)) == ("1.0", 0, 1)
    assert "systems/torch.html" in dict(site(made(("1", killed)), "A board"))
    unasked = dataclasses.replace(swept("1.0").summaries[0], checks=0)
    assert made(("1", dataclasses.replace(killed, findings=(), summaries=(unasked,)))).systems == []


# Addresses --------------------------------------------------------------------------------------------------


def test_an_address_is_that_of_one_text() -> None:
    texts = ("torch", "Torch", "cmd:a b", "cmd:a-b", "linalg.det", "<b>&", "<i>&", "cumulative_sum")
    made_ = [in_address(text) for text in texts]
    assert len(set(made_)) == len(texts)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", address) for address in made_)
    assert [a for a, text in zip(made_, texts, strict=True) if a == text] == [
        "torch",
        "linalg.det",
        "cumulative_sum",
    ]


def test_findings_that_share_an_id_have_pages_of_their_own() -> None:
    """An id is as short as it may be in one sweep; in another sweep another finding may have it."""
    one, two = (wrong("1.0", signature=f"aaaa{letter * 60}") for letter in "bc")
    files = dict(site(made(("1", swept("1.0", one)), ("2", swept("1.0", two))), "A board"))
    pages = {place for place in files if place.startswith("findings/")}
    assert pages == {f"findings/torch-gf-aaaa{letter * 8}.html" for letter in "bc"}
    alone = dict(site(made(("2", swept("1.0", two))), "A board"))
    assert {place for place in alone if place.startswith("findings/")} < pages, "an address stays"


def test_every_link_leads_to_a_file_of_the_site() -> None:
    files = dict(site(both(), "A board"))
    for place, text in files.items():
        if not place.endswith(".html"):
            continue
        opened = Page(text)
        for link in opened.values("href", "src"):
            if link.startswith(("data:", "https://")):
                continue
            path, _, anchor = link.partition("#")
            target = str(PurePosixPath(place).parent / path) if path else place
            parts: list[str] = []
            for part in target.split("/"):
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in files, f"{place}: {link}"
            assert not anchor or anchor in opened.values("id") or path, f"{place}: {link}"
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
        "https://example.org/board/findings/jax-gf-bbbbbbbbbbbb.html",
        "https://example.org/board/findings/torch-gf-aaaaaaaaaaaa.html",
    ]


def test_a_cell_says_the_family_check_and_dtype_of_each_finding() -> None:
    two = wrong("1.0", "b", modes=("rev", "fwd"), precision="float32", family="linalg")
    page = dict(site(made(("1", swept("1.0", wrong("1.0"), two))), "A board"))["index.html"]
    (kinds,) = re.findall(r'data-kinds="([^"]*)"', page)
    assert kinds == "linalg/order-2/float32 loops/vjp/float64"
    assert re.findall(r"<option[^>]*>(\w+)</option>", page.partition('id="family"')[2])[:3] == [
        "any",
        "linalg",
        "loops",
    ]


def test_the_search_knows_systems_ops_and_findings() -> None:
    text = dict(site(both(), "A board"))["assets/index.js"]
    found = json.loads(re.sub(r"^const INDEX = |;\n$", "", text))
    assert {entry["k"] for entry in found} == {"system", "op", "open"}
    assert {entry["p"] for entry in found} >= {
        "systems/torch.html",
        "ops/sin.html",
        "findings/torch-gf-aaaaaaaaaaaa.html",
    }


def test_the_command(tmp_path: Path) -> None:
    stream = tmp_path / "one.ndjson"
    stream.write_text(line(swept("1.0", wrong("1.0"))), encoding="utf-8")
    out = tmp_path / "site"
    done = CliRunner().invoke(main, ["board", str(stream), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1 system, 1 finding," in done.output
    assert (out / "index.html").is_file()
    done = CliRunner().invoke(main, ["board", str(stream), "--url", "nowhere"])
    assert done.exit_code == 2
    assert "is not a web address" in done.output


def test_a_sweep_that_was_killed_began_when_its_file_was_written(tmp_path: Path) -> None:
    """RFC 4287 wants a time in each entry."""
    stream, out = tmp_path / "killed.ndjson", tmp_path / "site"
    events = SweepStarted(0, (("torch:eager", "1.0"),), ("loops",), 1, None, ""), FindingFound(wrong("1.0"))
    stream.write_text("".join(map(line, events)), encoding="utf-8")
    os.utime(stream, (1.0e9, 1.0e9))
    done = CliRunner().invoke(main, ["board", str(stream), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1 system, 1 finding," in done.output
    feed = ElementTree.parse(out / "feed.xml")
    times = [node.text for node in feed.iter() if node.tag.endswith(("updated", "published"))]
    assert times == ["2001-09-09T01:46:40+00:00"] * 3
