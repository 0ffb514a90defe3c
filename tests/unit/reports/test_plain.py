"""Text of others is inert: nothing of it can be seen but characters, in every format."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.reports.common import plain
from tests.report_data import HOSTILE, LONG, finding, finished, review, spoiled, texts

ANYTHING = st.text(st.characters(), max_size=60) | st.text(
    "`|\\ \n<>&#*_[]()@:/w.1-\x1b\u202e\ud800", max_size=30
)
"""Also surrogates that stand alone."""


def is_seen(character: str) -> bool:
    """Neither a control character, nor a mark, nor something that cannot be encoded, nor a blank that is not
    U+0020.
    """
    return character == " " or unicodedata.category(character)[0] not in "CZ"


@given(ANYTHING)
def test_a_line_shows_only_what_can_be_seen(text: str) -> None:
    shown = plain.line(text)
    assert all(map(is_seen, shown))
    shown.encode("utf-8")


@given(ANYTHING)
def test_a_block_differs_by_its_breaks_only(text: str) -> None:
    shown = plain.block(text)
    assert all(map(is_seen, shown.replace("\n", "")))
    assert shown.count("\n") == text.count("\n")


@given(ANYTHING)
def test_what_is_inert_stays_as_it_is(text: str) -> None:
    once = plain.line(text)
    assert plain.line(once) == once
    assert plain.block(plain.block(text)) == plain.block(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x = 0.5, µ ± é 梯度", "x = 0.5, µ ± é 梯度"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\x00b", "a\\x00b"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("one\r\ntwo\n\n  three\tfour", "one two three four"),
        ("overwritten\rby", "overwritten\\rby"),
        ("no\u00a0break", "no\\xa0break"),
    ],
)
def test_what_cannot_be_seen_is_its_escape(text: str, shown: str) -> None:
    assert plain.line(text) == shown


def test_long_lines_are_cut_and_say_so() -> None:
    assert plain.line(LONG).endswith("x ... (998,000 more characters)")
    assert plain.block(f"short\n{LONG[:50_000]}\nend").splitlines()[1:] == [
        "x" * 20_000 + " ... (30,000 more characters)",
        "end",
    ]
    assert len(plain.block("line\n" * 1_000_000)) < 500_000


def test_nothing_in_a_sweep_is_left_out() -> None:
    sweep, told = finished(5, hostile=True), review(finished(5, hostile=True), hostile=True)
    for value in (plain.inert(sweep), plain.inert(told)):
        for text in texts(value):
            assert all(c == "\n" or is_seen(c) for c in text), text
    whole = plain.inert(sweep).findings[0]
    assert "\n" in whole.script, "code keeps its lines"
    assert set(whole.smallest.inputs) == set(whole.smallest.expected) == {whole.smallest.entry[0]}


def test_what_holds_no_strange_text_is_the_same() -> None:
    item = finding(4)
    inert = plain.inert(item)
    assert (inert.script, inert.note, inert.cause, inert.program) == (
        item.script,
        item.note,
        item.cause,
        item.program,
    )


def test_the_text_of_a_program_stands_on_its_own_lines() -> None:
    program = loop_program("acc*x", trips=3)
    assert plain.program(program) == str(program)
    assert len(plain.program(spoiled(program)).splitlines()) == len(str(program).splitlines())


# Markdown ---------------------------------------------------------------------------------------------------

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def words_of(markdown: str) -> str:
    """The text that a reader of Markdown sees, where all of it is one paragraph without any markup;
    zero-width spaces that part mentions dropped.
    """
    tokens = READER.parse(markdown)
    assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"], tokens
    (inline,) = [t for t in tokens if t.type == "inline"]
    assert inline.children is not None
    assert {child.type for child in inline.children} <= {"text", "text_special"}, inline.children
    return "".join(child.content for child in inline.children).replace("\u200b", "")


@given(ANYTHING)
def test_words_read_in_markdown_as_they_were_meant(text: str) -> None:
    meant = plain.line(text).strip()
    if meant:
        assert (
            words_of(plain.markdown(text)) == re.sub(" +", " ", meant)
            or words_of(plain.markdown(text)) == meant
        )


@given(ANYTHING)
def test_code_reads_in_markdown_as_it_was_meant(text: str) -> None:
    meant = plain.line(text)
    (inline,) = [t for t in READER.parse(f"a {plain.code(text)}") if t.type == "inline"]
    assert inline.children is not None
    (code,) = [child for child in inline.children if child.type == "code_inline"]
    assert code.content == meant or not meant.strip()


@given(ANYTHING, ANYTHING)
def test_a_table_keeps_its_columns(left: str, right: str) -> None:
    html = READER.render(
        f"| a | b | c |\n|---|---|---|\n| {plain.code_cell(left)} | {plain.markdown(right)} | end |\n"
    )
    assert html.count("<td>") == 3
    assert "<td>end</td>" in html


@given(ANYTHING)
def test_fences_hold(text: str) -> None:
    tokens = READER.parse(plain.fenced(f"x\n{text}\ny", "python") + "\n")
    assert [t.type for t in tokens] == ["fence"]
    assert tokens[0].content.rstrip("\n") == plain.block(f"x\n{text}\ny")


def test_hostile_words_do_nothing_in_markdown() -> None:
    shown = plain.markdown(HOSTILE)
    html = READER.render(shown)
    assert re.findall(r"<(?!/?p>)", html) == []
    assert "@octocat" not in shown
    assert "#1" not in shown
    assert re.search(r"(?<!\\):?//", shown.replace("\\://", "")) is None
