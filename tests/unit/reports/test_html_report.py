"""The HTML report as text: well-formed, inert, within its budget, and with reproducers that can be
taken out.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from gradfuzz.fuzzer.results.events import TargetSummary
from gradfuzz.fuzzer.results.evidence import Curve, Evidence, Sample
from gradfuzz.fuzzer.results.finding import Class, FindingPoint
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.reports.common import headline
from gradfuzz.reports.html import render
from gradfuzz.reports.html.entries import entries
from gradfuzz.reports.html.figures import figures
from gradfuzz.reports.html.scales import power, symlog
from tests.report_data import HOSTILE, LONG, finding, finished, review, spoiled
from tests.shell import python
from tests.web_page import Page

SWEEP = finished(11)
TEXT = render(SWEEP, review(SWEEP))
HOSTILE_SWEEP = finished(11, hostile=True)
HOSTILE_TEXT = render(HOSTILE_SWEEP, review(HOSTILE_SWEEP, hostile=True))


# Structure --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TEXT, HOSTILE_TEXT], ids=["plain", "hostile"])
def test_ids_are_unique_and_links_lead_somewhere(text: str) -> None:
    page = Page(text)
    ids = [known["id"] for _, known in page.elements if "id" in known]
    assert len(ids) == len(set(ids))
    for _, known in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set(known.get(name, "").split()) <= set(ids), known
        if known.get("href", "").startswith("#"):
            assert known["href"][1:] in ids, known


def test_headings_go_down_one_level_at_a_time() -> None:
    levels = [int(tag[1]) for tag, _ in Page(TEXT).all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_every_table_has_a_caption_and_every_head_a_scope() -> None:
    page = Page(TEXT)
    assert len(page.all("table")) == len(page.all("caption")) > 10
    assert all(known["scope"] in ("col", "row") for _, known in page.all("th"))


def test_every_plot_has_a_title_and_a_description() -> None:
    plots = re.findall(r'<svg class="plot".*?</svg>', TEXT, re.DOTALL)
    assert len(plots) >= sum(item.evidence is not None for item in SWEEP.findings) > 5
    for plot in plots:
        assert plot.count("<title id=") == plot.count("<desc id=") == 1
        assert len(plot) < 6_000
        assert "style=" not in plot


def test_the_policy_allows_the_own_style_and_script_and_nothing_else() -> None:
    def hashed(tag: str) -> str:
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", TEXT, re.DOTALL)
        return f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"

    (policy,) = [
        known["content"]
        for _, known in Page(TEXT).all("meta")
        if known.get("http-equiv") == "Content-Security-Policy"
    ]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives == {
        "default-src": "'none'",
        "style-src": hashed("style"),
        "script-src": hashed("script"),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_order_of_the_page() -> None:
    names = "verdict matrix findings causes details not-counted tested environment"
    places = [TEXT.index(f'id="{name}"') for name in names.split()]
    assert places == sorted(places)


def test_the_page_begins_with_what_is_new() -> None:
    main = TEXT.partition('<main id="main"')[2]
    first, then = re.findall(r"<(p|h1)[^>]*>(.*?)</\1>", main, re.DOTALL)[:2]
    assert first == ("p", "9 new, 2 known: 1 accepted, 1 recorded before.")
    assert then[0] == "h1"
    assert 'class="news"' not in render(SWEEP, None)


def test_an_article_is_a_page_and_below_it_the_evidence() -> None:
    item = finding(0)
    article = render(finished([item]), None).partition("<article")[2]
    places = [
        article.index(part) for part in ("<h3", "returns 1.000001", "a few lines", "<h4>Cause", "evidence")
    ]
    assert places == sorted(places)
    assert article.index('class="evidence"') < article.index("<h4>Program") < article.index(">Points<")


def test_an_article_about_an_exception_opens_with_its_message() -> None:
    item = finding(0, kind=Class.ERROR, note="ValueError: no such axis. In every loop form.")
    article = render(finished([item]), None).partition("<article")[2]
    assert '<p class="lead">ValueError: no such axis. The library raises an exception.</p>' in article


def test_it_says_what_a_maintainer_needs() -> None:
    first = SWEEP.findings[0]
    for part in (
        "11 findings in ",
        "none in engine.",
        "7,379 of 7,500 checks were judged",
        f'<a href="#{first.id}">{first.id}</a>',
        "333,334×",
        "± 1e-22",
        "agrees by coincidence",
        "other sign",
        "Repeated 5 of 5 times",
        "Behaves exactly like this bug",
        "The baseline says: reported, not yet released",
        "abs at 0",
        "flaky",
        "gradfuzz sweep engine jax torch mutant:nx-1747 --seed 7",
        "python-flint",
        "Never drawn: swapped carries.",
    ):
        assert part in TEXT, part


@pytest.mark.parametrize(
    "changes",
    [
        {"findings": (), "clusters": ()},
        {
            "summaries": (),
            "findings": (),
            "clusters": (),
            "coverage": {},
            "tested": {},
            "environment": {},
            "conventions": {},
        },
        {"complete": False},
        {"complete": False, "interrupted": True},
    ],
)
def test_sweeps_without_findings_and_unfinished_ones(changes: dict[str, object]) -> None:
    sweep = dataclasses.replace(SWEEP, **changes)
    text = render(sweep, None)
    Page(text)
    assert ("Not complete." in text) is not sweep.complete
    assert ("Interrupted" in text) is sweep.interrupted
    assert ("Nothing wrong was found in" in text) is (not sweep.findings and bool(sweep.summaries))


@pytest.mark.parametrize("kind", list(Class))
def test_every_class_has_an_article(kind: Class) -> None:
    point = finding(0).smallest
    nothing = dataclasses.replace(
        point, got={}, entry_got=float("nan"), ratio=None, error_over_allowed=float("inf")
    )
    item = finding(0, kind=kind, note="ValueError: no", clearest=nothing if kind is Class.ERROR else point)
    text = render(finished([item]), None)
    Page(text)
    assert "ValueError: no" in text


# Words ------------------------------------------------------------------------------------------------------


def test_the_headline_counts_by_library() -> None:
    assert (
        headline.headline(finished(1))
        == "1 wrong derivative in mutant:nx-1747; none in engine and jax:while_loop."
    )
    assert headline.headline(finished(())) == "Nothing wrong was found in engine and jax:while_loop."
    assert headline.headline(finished([finding(1, kind=Class.ERROR)])).startswith("1 error in torch:eager;")
    assert headline.headline(finished([finding(0, kind=Class.WRONG_SHAPE)])).startswith(
        "1 finding in mutant:nx-1747;"
    )


def test_disagreements_that_nobody_looked_into_are_told() -> None:
    summaries = (TargetSummary("torch:eager", "2.13.0", "loops", checks=5, agree=4, disagree=1),)
    sweep = finished((), summaries=summaries, clusters=())
    assert headline.headline(sweep) == "Disagreements in torch:eager were not followed up."
    assert "1 check disagree" in render(sweep, None)
    assert "Nothing wrong" not in render(sweep, None)


def test_silence_is_no_agreement() -> None:
    assert "1,385 of 1,500 checks were judged" in headline.silence(finished(()))
    assert "which is not agreement" in headline.silence(finished(()))
    assert "nothing can be concluded" in headline.silence(finished((), summaries=()))


# Hostile text -----------------------------------------------------------------------------------------------


def test_hostile_text_is_inert_and_readable() -> None:
    page = Page(HOSTILE_TEXT)
    assert len(page.all("script")) == 1
    assert not page.all("img", "iframe", "object", "embed", "form", "base")
    for _, known in page.elements:
        assert not any(
            name.startswith("on") or name in ("style", "srcdoc", "formaction") for name in known
        ), known
        assert re.match(r"#|data:image/svg\+xml,|https://github\.com/|$", known.get("href", "")), known
    assert all(c.isprintable() or c in "\n\N{NO-BREAK SPACE}" for c in HOSTILE_TEXT)
    assert "\\x1b[31mred" in HOSTILE_TEXT
    assert "\\u202eoverride" in HOSTILE_TEXT
    assert "&lt;script&gt;alert(" in HOSTILE_TEXT


def test_lines_that_nobody_would_read_are_cut() -> None:
    item = spoiled(finding(0, evidence=None), lambda text: f"{text} {LONG}")
    text = render(finished([item]), None)
    Page(text)
    assert len(text) < 400_000
    assert "more characters" in text


def test_a_link_leads_to_the_web_or_is_text() -> None:
    sweep = finished(1)
    (entry,) = review(sweep).known
    for link, shown in (
        ("javascript:alert(1)", False),
        ("https://x.example/?a=1&b=\"'", False),
        ("https://x.example/1", True),
    ):
        told = dataclasses.replace(review(sweep), known=(dataclasses.replace(entry, link=link),))
        hrefs = [known.get("href", "") for _, known in Page(render(sweep, told)).elements]
        assert (link in hrefs) is shown or link.startswith("https")
        assert "javascript:alert(1)" not in hrefs


# Budget -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "full", "note"), [(130_000, True, "in short"), (20_000, False, "have no article below")]
)
def test_what_does_not_fit_is_left_out_and_said(budget: int, full: bool, note: str) -> None:
    text = render(SWEEP, None, budget=budget)
    page = Page(text)
    frame = len(render(SWEEP, None, budget=0).encode())
    assert len(text.encode()) - frame <= budget
    assert note in text
    assert "gradfuzz show" in text
    assert ('<svg class="plot"' in text) is full
    anchors = [known["id"] for _, known in page.all("article")]
    assert anchors == [item.id for item in SWEEP.findings][: len(anchors)], "the best ranked are told"


def test_findings_without_number_are_counted() -> None:
    text = render(finished(3_000, with_evidence=False), None)
    assert len(text.encode()) < 5_000_000
    assert "2500 more findings are left out" in text


# Reproducers ------------------------------------------------------------------------------------------------


def test_reproducers_come_out_as_they_went_in(tmp_path: Path) -> None:
    page = Page(TEXT)
    for item in SWEEP.findings:
        assert page.reproducers[item.id, "python"] == item.script
        for dialect, text in item.ports.items():
            assert page.reproducers[item.id, dialect] == text
    script = tmp_path / "reproducer.py"
    script.write_text(page.reproducers[SWEEP.findings[0].id, "python"], encoding="utf-8")
    done = python("-I", str(script))
    assert (done.returncode, done.stdout) == (1, "differs\n")


def test_a_script_with_markup_in_it_survives() -> None:
    script = "\n\nprint('<b>&amp;</b>', \"</pre></code>\")\n\n"
    page = Page(render(finished([finding(0, script=script)]), None))
    assert page.reproducers[finding(0).id, "python"] == script


# Plots ------------------------------------------------------------------------------------------------------


def test_a_symmetric_log_axis_has_zero_in_the_middle_and_decades_at_equal_steps() -> None:
    axis = symlog([-100.0, -0.01, 0.0, 0.01, 100.0], 0.0, 200.0)
    assert axis(0.0) == pytest.approx(100.0)
    assert axis(-3.0) == pytest.approx(200.0 - axis(3.0))
    assert axis(100.0) - axis(10.0) == pytest.approx(axis(10.0) - axis(1.0), rel=0.02)
    assert 0.0 in axis.ticks
    assert all(-100.0 <= tick <= 100.0 for tick in axis.ticks)


@pytest.mark.parametrize(
    "values",
    [[], [0.0], [1.0, 1.0], [5e-324, 1.7e308], [float("nan"), float("inf")], [-1.7e308, -1e-300], [1.0, 3.0]],
)
def test_every_range_has_an_axis(values: list[float]) -> None:
    axis = symlog(values, 0.0, 100.0)
    assert 0 < len(axis.ticks) <= 8
    assert all(0.0 <= axis(value) <= 100.0 for value in axis.ticks)


def test_ticks_are_named_as_people_write_them() -> None:
    assert " ".join(map(power, (0.0, 0.001, 100.0, 1e-6, -1e9, 2e-5))) == "0 0.001 100 10⁻⁶ −10⁹ 2e−05"


def test_odd_evidence_makes_no_broken_plot() -> None:
    nan, inf = float("nan"), float("inf")
    samples = tuple(
        Sample(*row)
        for row in (
            (-1.0, 1.0, 0.0, inf, 1e-16, Label.DIFFERS),
            (0.0, 0.0, 0.0, nan, 1e-16, Label.DIFFERS),
            (1.0, nan, nan, nan, nan, Label.INCONCLUSIVE),
            (2.0, 1e308, 0.0, -1e308, 0.0, Label.DIFFERS),
            (3.0, 1.0, 0.0, nan, nan, Label.CRASHED),
        )
    )
    ((caption, svg),) = figures(finding(0, evidence=Evidence(Curve(("x", ()), ("x", ()), samples))), "f")
    drawn = re.sub(r"<(title|desc).*?</\1>|<text.*?</text>", "", str(svg))
    assert not re.search(r"\b(nan|inf)\b", drawn)
    assert "not a finite number (2)" in caption


def test_the_grid_marks_the_wrong_entries() -> None:
    expected = np.zeros((2, 2, 3))
    got = expected.copy()
    got[1, 0, 2] = 1.0
    point = FindingPoint(
        inputs={"A": expected},
        expected={"A": expected, "b": np.zeros(2)},
        got={"A": got, "b": np.array([0.0, float("nan")])},
        bound={},
        entry=("A", (1, 0, 2)),
        entry_expected=0.0,
        entry_got=1.0,
        ratio=None,
        error_over_allowed=1e9,
        allowed={"A": np.full((2, 2, 3), 1e-9), "b": np.full(2, 1e-9)},
    )
    told = entries(point, "g")
    assert told is not None
    caption, svg = told
    assert "2 of 14 entries" in caption
    assert "2 of 14 entries: A[1, 0, 2], b[1]" in svg
    assert "<title>A[1, 0, 2]: expected 0, got 1, ratio -</title>" in svg
    assert entries(dataclasses.replace(point, allowed={}), "g") is None, "nobody knows what was allowed"


def test_a_large_grid_stays_small() -> None:
    point = dataclasses.replace(
        finding(0).smallest,
        expected={"A": np.zeros((16, 16))},
        got={"A": np.ones((16, 16))},
        allowed={"A": np.zeros((16, 16))},
    )
    told = entries(point, "g")
    assert told is not None
    assert len(told[1]) < 6_000
    assert HOSTILE not in told[1]
