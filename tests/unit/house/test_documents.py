"""The documents and the code name the same things. That their code blocks run is in test_docs_code.py."""

from __future__ import annotations

import re
from pathlib import Path

from gradfuzz.fuzzer.results.finding import Class

JUDGING = Path(__file__).parents[3] / "docs" / "judging.md"
TROPHIES = JUDGING.with_name("trophies.md")


def test_every_class_of_numbers_is_explained() -> None:
    text = JUDGING.read_text(encoding="utf-8")
    for kind in Class:
        if kind.of_numbers:
            assert f"`{kind.value}`" in text


def test_the_scripts_of_trophies_exist() -> None:
    lines = re.findall(r"^- Scripts?: (.*)$", TROPHIES.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for line in lines for name in re.findall(r"`([a-z]+/[a-z0-9_]+\.(?:py|js|exs|cpp))`", line)}
    assert named
    assert {name for name in named if not (TROPHIES.parent / "findings" / name).is_file()} == set()


def test_the_table_of_trophies_counts_the_entries() -> None:
    text = TROPHIES.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\(#(.+?)\) \| (.+?) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", text, re.MULTILINE))
    counted = []
    for heading, section in sections.items():
        raising = [
            bool(re.search(r"^- (?:.*\s)?Raises\b", re.sub(r"\n +", " ", entry), re.MULTILINE))
            for entry in re.split(r"^\*\*\d+\. ", section, flags=re.MULTILINE)[1:]
        ]
        anchor = re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        counted.append((anchor, len(raising), len(raising) - sum(raising), sum(raising)))
    assert [
        (anchor, int(bugs), int(silent), int(raising)) for _, anchor, _, bugs, silent, raising in rows
    ] == counted
    total = re.findall(r"^\| together \| \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert total == [
        tuple(str(sum(numbers)) for numbers in zip(*((b, s, r) for _, b, s, r in counted), strict=True))
    ]
