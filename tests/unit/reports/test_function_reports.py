"""Reports of a sweep that calls functions: findings by their code, the functions in figures and as a map."""

from __future__ import annotations

import dataclasses
import html
import io
import json
from collections.abc import Callable

import pytest
from rich.console import Console

from gradfuzz.fuzzer.results import codec
from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepFinished, SweepStarted, TargetSummary
from gradfuzz.fuzzer.results.finding import Cluster, Finding
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.proof import ProofRecord, RuleLine
from gradfuzz.reports.common import functions as figures
from gradfuzz.reports.common import words
from gradfuzz.reports.common.pieces import show
from gradfuzz.reports.formats import FORMATS
from gradfuzz.reports.html.functions import function_map
from gradfuzz.reports.machine import json as documents
from gradfuzz.reports.markdown.issue import issue
from gradfuzz.reports.terminal import live
from gradfuzz.reports.terminal import report as terminal
from gradfuzz.reports.terminal.block import finding as block
from tests.report_data import CODE, DRAWN_CODE, SOFTPLUS, call_finding, called, finished, functions, review
from tests.shell import assert_kept, printed
from tests.web_page import Page

SHORT = ("concise", "github")
"""Formats with a line for each finding."""

WITH_RECORDS = ("json", "sarif", "ndjson")
"""Formats that also hold the finding's record."""


def test_what_is_proved_of_rules_is_in_every_long_report() -> None:
    """Of eight derivatives six rules are right, one is wrong, and one stayed open."""
    sentence = "6 proved right (75.0 %), 1 proved wrong (12.5 %), 1 open."
    assert figures.coverage(functions()).proofs == f"8 derivative rules: {sentence}"
    for form in ("html", "markdown"):
        text = html.unescape(FORMATS[form].render(called(), None))
        assert sentence.split(",")[0] in text.replace("\\", "")
        assert "torch.linalg.det, jvp: off by 1e-13 of the derivative" in text.replace("\\", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("call_60", lambda: printed(block(call_finding()), 60)),
        ("functions_100", lambda: printed(terminal.sweep(called(), {}), 100)),
        ("functions_60", lambda: printed(terminal.sweep(called(), {}), 60)),
    ],
)
def test_what_people_see(name: str, text: Callable[[], str]) -> None:
    assert_kept(name, text())


# Findings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_is_shown_by_its_code_and_its_function(name: str) -> None:
    text = html.unescape(FORMATS[name].render(called(), None))
    assert f"{SOFTPLUS}, reverse mode" in text.replace("%2C", ",") or name in ("json", "ndjson")
    if name not in SHORT:
        assert all(line in text for line in CODE.splitlines())
    if name not in WITH_RECORDS:
        assert "stand_in" not in text


def test_the_html_has_the_drawn_call_beside_the_shrunk_one() -> None:
    text = html.unescape(FORMATS["html"].render(called(), None))
    assert "<h4>Call</h4>" in text
    assert all(line in text for line in DRAWN_CODE.splitlines())
    same = called(findings=(call_finding(drawn_code=None),))
    assert "As it was drawn" not in FORMATS["html"].render(same, None)
    assert "<h4>Program</h4>" in FORMATS["html"].render(finished(1), None)


def proof(count: int, marked: int) -> ProofRecord:
    """That a rule of so many lines is wrong, by the one at `marked`."""
    lines = tuple(RuleLine(f"t{k} = t{k - 1} < 1", k == marked) for k in range(count))
    return ProofRecord(SOFTPLUS, ("rev",), "wrong rule", lines=lines)


def test_the_html_shows_a_rule_that_is_proved_wrong() -> None:
    text = FORMATS["html"].render(called(findings=(call_finding(proof=proof(3, 1)),)), None)
    assert "<mark>t1 = t0 &lt; 1</mark>" in text
    assert "with the line marked that makes it wrong" in text
    assert "t2 = t1 &lt; 1" in text
    assert "<h4>The rule</h4>" not in FORMATS["html"].render(called(), None)


def test_of_a_long_rule_the_html_shows_what_stands_around_the_marked_line() -> None:
    text = FORMATS["html"].render(called(findings=(call_finding(proof=proof(500, 300)),)), None)
    assert "<mark>t300 = t299 &lt; 1</mark>" in text
    assert "# 270 lines before" in text
    assert "# 170 lines after" in text
    assert "t270 = " in text
    assert "t269 = t268" not in text


def test_a_record_keeps_what_is_proved_of_the_rule() -> None:
    found = call_finding(proof=proof(3, 1))
    assert codec.decode(Finding, codec.encode(Finding, found)).proof == found.proof


def test_a_document_has_the_code_where_it_would_have_the_program() -> None:
    (document,) = documents.sweep_document(called())["findings"]
    assert (document["program"], document["original"]) == (CODE, DRAWN_CODE)
    assert document["functions"] == [SOFTPLUS]
    (of_program,) = documents.sweep_document(finished(1))["findings"]
    assert of_program["program"].startswith("def f(x)")
    assert of_program["functions"] == []


def test_an_issue_is_about_the_function() -> None:
    text = issue(call_finding())
    assert text.replace("\\", "").startswith(f"# {SOFTPLUS}, reverse mode: wrong by a factor of 1.223 (torch")
    assert CODE.strip() in text
    assert "stand_in" not in text


def test_planted_bugs_of_programs_say_nothing_of_a_call() -> None:
    assert words.cause(call_finding()) == "What is known: right with the default of threshold."
    assert words.cause(call_finding(facts=())) == ""


def test_while_it_runs() -> None:
    file = io.StringIO()
    heartbeat = live.Heartbeat(Console(file=file, width=200, highlight=False))
    heartbeat.handle(SweepStarted(7, (("torch:functions", "2.13.0"),), ("functions",), 500, 60.0, "again"))
    heartbeat.handle(Progress(1.0, 40, 30, "calling", CODE))
    heartbeat.handle(FindingFound(call_finding()))
    told = file.getvalue()
    assert "up to 500 calls, at most 60 s" in told
    assert "a call it drew:\n    x = torch.tensor([1.25], dtype=torch.float64)\n" in told
    assert "40 calls, 30 checks" in told
    assert f"{SOFTPLUS}, reverse mode: wrong by a factor of 1.223" in told
    assert "program" not in told


@pytest.mark.parametrize("width", [80, 140])
def test_the_last_screen_of_a_sweep_is_one(width: int) -> None:
    """Sixty lines at most: fifteen findings of functions, five libraries with two families, two causes, and
    what became of earlier findings. No line is wider than the screen.
    """
    names = ("torch.nn.functional.scaled_dot_product_attention", "torch.linalg.det", "torch.special.psi")
    facts = (
        "right: vjp, jvp",
        "wrong: reverse over reverse, forward over reverse, reverse over forward, forward over forward",
        "the answer is 1.22331 times the derivative, also at other values",
        "the truth is the derivative of the function, traced as a program",
    )
    found = [
        call_finding(id=f"GF-{k:04x}", signature=f"{k:064x}", culprits=(names[k % 3],), facts=facts)
        for k in range(15)
    ]
    systems = ("torch:eager", "jax", "autograd", "tensorflow:adapter", "mlx:adapter")
    ways = [
        TargetSummary(name, "2.13.0", f, 12345, 99, 15) for name in systems for f in ("functions", "loops")
    ]
    causes = [Cluster("torch: the rule Softmax", tuple(f.id for f in found[k : k + 7])) for k in (0, 7)]
    end = called(findings=tuple(found), summaries=tuple(ways), clusters=tuple(causes))
    file = io.StringIO()
    plainly = Console(file=file, width=width, highlight=False, color_system=None)
    show(plainly, terminal.brief(end, {}, review=review(end)))
    lines = file.getvalue().splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= width
    assert all(f"GF-{k:04x}" in file.getvalue() for k in range(11)), "those that have a line"
    assert "  and 2 more: `gradfuzz findings` lists them" in lines


# Figures ----------------------------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_functions() -> None:
    """By hand from `report_data.functions`: of ten functions six may have a derivative."""
    found = figures.coverage(functions())
    assert found.total == sum(found.outcomes.values()) == 10
    assert list(found.outcomes.values()) == [3, 1, 1, 1, 3, 1]
    rows = {mode: figures for mode, *figures in found.modes}
    assert rows["reverse"] == ["3", "50.0 %", "25", "0"]
    assert rows["forward"] == ["2", "33.3 %", "15", "0"]
    assert rows["forward over forward"] == ["2", "33.3 %", "15", "1"]
    assert found.calls == "200 calls drawn, 120 valid (60.0 %), 100 judged."
    assert found.answers == ("100 answers: 92 agree (92.0 %), 5 disagree (5.0 %), 3 inconclusive (3.0 %).")
    ((n, share, reason),) = found.inconclusive
    assert (n, share, reason.split(",")[0]) == (3, "3.0 %", "the point lies on a kink or tie")
    assert [name for name, _ in found.refused] == ["torch.nn.functional.grid_sample"]
    assert found.broken == (("torch.cdist", "IndexError: list index out of range"),)


def test_nothing_is_divided_by_nothing() -> None:
    (one,) = (f for f in functions() if f.outcome == "not reached")
    found = figures.coverage([one])
    assert (found.calls, found.answers) == ("0 calls drawn, 0 valid (-), 0 judged.", "0 answers.")


def test_what_is_refused_is_listed_shortly_and_the_rest_is_counted() -> None:
    why = "ValueError: " + "very long words " * 40
    refused = tuple(FunctionSummary(f"torch.f{k}", f"f{k}()", "refused", why, drawn=9) for k in range(33))
    text = printed(terminal.sweep(called(functions=refused), {}), 120)
    lines = [line for line in text.splitlines() if "ValueError" in line]
    assert len(lines) == 20
    assert all(line.endswith(" ...") and len(line) < 100 for line in lines)
    assert "  and 13 more\n" in text


def test_the_short_tables_of_markdown() -> None:
    text = FORMATS["markdown"].render(called(), None)
    assert "| asked | 3 | its derivatives were asked for |" in text
    assert "| reverse | 3 | 50.0 % | 25 | 0 |" in text
    assert "Functions of the library" not in FORMATS["markdown"].render(finished(1), None)


def test_the_document_has_the_records() -> None:
    document = json.loads(FORMATS["json"].render(called(), None))
    assert codec.decode(tuple[FunctionSummary, ...], document["functions"]) == functions()
    assert json.loads(FORMATS["json"].render(finished(1), None))["functions"] == []


def test_a_sweep_of_calls_speaks_of_calls() -> None:
    text = FORMATS["html"].render(called(), None)
    assert "<dt>calls</dt><dd>200</dd>" in text
    assert "no proof for calls that were not drawn" in text
    assert "<dt>programs</dt>" in FORMATS["html"].render(finished(1), None)


# The map ----------------------------------------------------------------------------------------------------


def test_every_function_has_a_cell_with_a_sign_and_a_text() -> None:
    page = Page(FORMATS["html"].render(called(), None))
    cells = {known["aria-label"].split(":")[0]: known for _, known in page.elements if "data-tip" in known}
    assert len(cells) == len(functions())
    styles = {name: known["class"].removeprefix("cell ") for name, known in cells.items()}
    assert styles == {
        SOFTPLUS: "found",
        "torch.linalg.det": "all",
        "torch.linalg.ldl_solve": "some",
        "torch.nn.functional.grid_sample": "refused",
        "torch.cdist": "broken",
        "torch.sign": "constant",
        "torch.save": "out",
        "torch.sinc": "later",
        "_copy_from(Tensor self) -> Tensor": "out",
        "_cdist(Tensor x1) -> Tensor": "out",
    }
    assert cells[SOFTPLUS]["href"] == f"#{call_finding().id}"
    assert all("href" not in known for name, known in cells.items() if name != SOFTPLUS)
    assert cells["torch.linalg.ldl_solve"]["data-tip"].splitlines() == [
        "torch.linalg.ldl_solve",
        "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B) -> Tensor",
        "asked for some of them",
        "20 calls drawn, 10 valid, 10 judged",
        "asked: reverse 10",
        "answers: agree 10",
        "no forward over forward: NotImplementedError: forward AD of it is not there",
    ]


def test_each_outcome_has_a_sign_of_its_own() -> None:
    kinds = [kind for kind, _ in function_map(functions()).kinds]
    assert len({kind.sign for kind in kinds}) == len({kind.style for kind in kinds}) == len(kinds) == 8
    assert [n for _, n in function_map(functions()).kinds] == [1, 1, 1, 1, 1, 1, 1, 3]


def test_the_cells_are_grouped_by_namespace_and_findings_come_first() -> None:
    found = function_map(functions())
    assert {name: len(cells) for name, _, cells in found.groups} == {
        "torch": 4,
        "torch.linalg": 2,
        "torch.nn.functional": 2,
    }
    assert found.own is not None
    assert found.own[0] == "2: 2 left out"
    assert found.groups[2][2][0].name == SOFTPLUS
    assert found.rows[0].name == SOFTPLUS
    assert {(outcome, len(names)) for outcome, _, names in found.others} == {
        ("not differentiable", 1),
        ("left out", 2),
        ("left out", 1),
    }


def test_findings_come_before_the_map_and_what_has_no_public_name_is_folded() -> None:
    text = FORMATS["html"].render(called(), None)
    places = [
        text.index(f'id="{name}"') for name in ("findings", "details", "functions", "own", "not-counted")
    ]
    assert places == sorted(places)
    told = "Functions that only the library itself calls, 2: 2 left out"
    assert f'<details id="own"><summary>{told}</summary>' in text
    named = FORMATS["html"].render(called(functions=functions()[:2]), None)
    assert 'id="own"' not in named
    text = FORMATS["markdown"].render(called(), None)
    assert text.index("## Findings") < text.index("## Functions of the library")


def test_a_cell_leads_only_to_an_article_that_is_there() -> None:
    gone = called(findings=())
    page = Page(FORMATS["html"].render(gone, None))
    assert all("href" not in known for _, known in page.elements if "data-tip" in known)


def test_a_sweep_of_programs_has_no_map() -> None:
    page = Page(FORMATS["html"].render(finished(2), None))
    assert not any(known.get("id") == "functions" for _, known in page.elements)


@pytest.mark.parametrize("sweep", [called(), called(hostile=True)], ids=["plain", "hostile"])
def test_the_page_is_whole(sweep: SweepFinished) -> None:
    text = FORMATS["html"].render(sweep, None)
    page = Page(text)
    ids = [known["id"] for _, known in page.elements if "id" in known]
    assert len(ids) == len(set(ids))
    assert len(page.all("table")) == len(page.all("caption"))
    assert not page.all("img", "iframe")
    assert len(page.all("script")) == 1


def test_a_large_library_leaves_room_for_findings_and_the_file_small() -> None:
    many = tuple(
        dataclasses.replace(functions()[k % 3], name=f"torch.f{k}", findings=()) for k in range(3_000)
    )
    text = FORMATS["html"].render(dataclasses.replace(finished(600), functions=many), None)
    assert len(text.encode()) < 5_000_000
    assert text.count("<article") > 20
