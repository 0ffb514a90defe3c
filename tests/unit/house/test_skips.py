"""The suite's last line before pytest's own sums the skips by reason, with a worker process, too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SKIPPED = """\
import pytest

@pytest.fixture
def browser():
    pytest.skip("there is no Chromium")

@pytest.mark.parametrize("k", range(3))
def test_in_a_browser(k, browser):
    pass

@pytest.mark.skipif(True, reason="elixir is not installed")
def test_marked():
    pass

def test_of_a_library():
    pytest.importorskip("no_such_library", exc_type=ImportError)

def test_passes():
    pass
"""
MODULE = 'import pytest\npytest.importorskip("no_such_library", exc_type=ImportError)\n'
SUMS = "6 skipped: 3 there is no Chromium; 2 no_such_library is not installed; 1 elixir is not installed"


@pytest.mark.parametrize("options", [(), ("-n", "1", "-rs")], ids=["one process", "a worker"])
def test_skips_are_summed_by_reason(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_some.py").write_text(SKIPPED)
    (tmp_path / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[-2] == SUMS
    assert re.fullmatch(r"=+ 1 passed, 6 skipped in .* =+", lines[-1])
