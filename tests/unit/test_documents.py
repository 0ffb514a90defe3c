"""What the documents show is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradfuzz.cli import CLEAN, main
from gradfuzz.fuzzer.finding import Class

JUDGING = Path(__file__).parents[2] / "docs" / "judging.md"
BLOCK = re.compile(r"```\n\$ gradfuzz (.*)\n((?:.*\n)*?)```\n")


@pytest.mark.parametrize(("command", "shown"), BLOCK.findall(JUDGING.read_text(encoding="utf-8")))
def test_the_examples_of_how_gradfuzz_judges(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == CLEAN
    assert result.stdout.rstrip("\n") == shown.rstrip("\n")


def test_every_class_of_numbers_is_explained() -> None:
    text = JUDGING.read_text(encoding="utf-8")
    for kind in Class:
        if kind.of_numbers:
            assert f"`{kind.value}`" in text
