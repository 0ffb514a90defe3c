"""What mypy does not check: a list in pyproject.toml, and no comment in a file."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
MYPY: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
SCRIPTS = ROOT / "gradfuzz" / "adapters"
STUBS = sorted((ROOT / "stubs").glob("*.pyi"))

UNCHECKED = {
    f"gradfuzz.adapters.{name}"
    for name in (
        "fields",  # writes the kernels of Taichi and Quadrants as text
        "kernels",  # writes programs as text, case by case over JSON
        "warp_adapter",  # writes kernels of Warp as text, and its own have Warp's types
    )
}


def test_what_is_left_out_is_listed() -> None:
    left_out = [set(one["module"]) for one in MYPY["overrides"] if one.get("ignore_errors")]
    assert left_out == [UNCHECKED]
    for name in UNCHECKED:
        assert (ROOT / f"{name.replace('.', '/')}.py").is_file()


def test_no_file_is_left_out_by_a_comment() -> None:
    comment = re.compile(r"^#\s*(?:mypy|type):\s*ignore", re.MULTILINE)
    folders = ("gradfuzz", "tests", "benchmarks", "examples", "stubs")
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    ]
    assert [path for path in files if comment.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_a_stub_is_a_script_under_the_name_that_adapters_import(stub: Path) -> None:
    assert (SCRIPTS / f"{stub.stem}.py").is_file()
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module == f"gradfuzz.adapters.{stub.stem}"


def test_the_types_of_scripts_are_evaluated_by_mypy_alone() -> None:
    """They run in Python 3.8, which has no `list[int]` and no `int | None`."""
    for path in SCRIPTS.glob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        future = [n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
        assert [alias.name for n in future for alias in n.names] == ["annotations"], path.name
