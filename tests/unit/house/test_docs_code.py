"""Every code block of the documents runs, and prints what the documents show."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.docs_code import NOT_RUN, ROOT, blocks, page_in, pages

PAGES = [page for page in pages() if blocks(page)]
SLOW = tuple(
    ROOT / "docs" / page for page in ("campaign.md", "tutorial.md", "howto/pytest.md", "howto/strategies.md")
)
"""Pages with sweeps, or with several sessions of pytest."""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """This gradfuzz and this Python for every command; no width of a terminal, and no settings of the person
    who runs the tests.
    """
    for name in list(os.environ):
        if name in ("COLUMNS", "PYTEST_ADDOPTS", "PYTEST_PLUGINS") or name.startswith(("GRADFUZZ_", "PIP_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    if not entry_points(group="pytest11", name="gradfuzz"):  # as if it were installed
        monkeypatch.setenv("PYTEST_PLUGINS", "gradfuzz.pytest_plugin")
    site = str(tmp_path_factory.mktemp("site"))  # where pip installs to, without the network
    monkeypatch.setenv("PYTHONPATH", site, prepend=os.pathsep)
    monkeypatch.syspath_prepend(site)
    for name, value in {"TARGET": site, "NO_INDEX": "1", "NO_DEPS": "1", "NO_BUILD_ISOLATION": "0"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    yield
    hypothesis.settings.load_profile("gradfuzz")  # that of these tests; a page may load another


def one(path: Path) -> Any:
    return pytest.param(
        path, id=str(path.relative_to(ROOT)), marks=[pytest.mark.slow] if path in SLOW else []
    )


@pytest.mark.parametrize("path", [one(path) for path in PAGES])
def test_the_blocks_of_a_page(path: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "examples" / "plugin")
    with page_in(path, tmp_path) as page:
        for block in blocks(path):
            page.run(block)


def test_most_blocks_run() -> None:
    every = [block for page in PAGES for block in blocks(page)]
    idle = [block for block in every if not block.runs]
    assert all(len(block.title) > len(NOT_RUN) + 10 for block in idle)
    assert len(idle) < len(every) / 4


def page(text: str, folder: Path) -> None:
    """Runs a page with this text."""
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    with page_in(path, folder) as opened:
        for block in blocks(path):
            opened.run(block)


RIGHT = {
    "namespace": "```python\nx = 2\n```\n\n```python\nassert x == 2\n```",
    "prompt": "```pycon\n>>> 1 + 1\n2\n```",
    "elided": "```pycon\n>>> print('a b c')\na ... c\n```",
    "error": (
        "```pycon\n>>> int('x')\nTraceback (most recent call last):\n    ...\nValueError: invalid literal for"
        " int() with base 10: 'x'\n```"
    ),
    "file": '```python title="a.py"\nprint(3)\n```\n\n```console\n$ python a.py\n3\n$ echo $?\n0\n```',
    "continued": (
        "```console\n$ gradfuzz check 'acc*x' --trips 1 --loop for \\\n    --only engine --format"
        " json\n...\n```"
    ),
    "quoted": '```python title="gradfuzz/errors.py"\nclass GradfuzzError(Exception):\n```',
    "not run": '```rust title="not run: there is no Rust here"\nfn main() {}\n```',
    "toml": "```toml\na = 1\n```",
}
WRONG = {
    "raises": ("```python\n1 / 0\n```", ZeroDivisionError, "division"),
    "other output": ("```pycon\n>>> 1 + 1\n3\n```", AssertionError, "Expected:\n    3\nGot:\n    2"),
    "other output of a command": ("```console\n$ echo 1\n2\n```", AssertionError, "page.md:1: \\$ echo 1"),
    "output that is not shown": ("```console\n$ echo 1\n```", AssertionError, "printed:\n1"),
    "other exit code": ("```console\n$ false\n$ echo $?\n0\n```", AssertionError, "printed:\n1"),
    "no language": ("```\nx\n```", AssertionError, "nothing runs a block without"),
    "language that nothing runs": ("```rust\nfn main() {}\n```", AssertionError, "nothing runs rust"),
    "no reason": ('```rust title="not run: "\n```', AssertionError, "does not say why"),
    "quoted lines that are gone": (
        '```python title="gradfuzz/errors.py"\nclass Gone:\n```',
        AssertionError,
        "no such lines",
    ),
    "file that is not used": (
        '```python title="a.py"\n```',
        AssertionError,
        "no command of page.md uses a.py",
    ),
    "no TOML": ("```toml\na\n```", ValueError, "Expected '='"),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_a_right_page_passes(text: str, tmp_path: Path) -> None:
    page(text, tmp_path)


@pytest.mark.parametrize(("text", "error", "match"), WRONG.values(), ids=WRONG)
def test_a_wrong_page_fails(text: str, error: type[Exception], match: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=match):
        page(text, tmp_path)
