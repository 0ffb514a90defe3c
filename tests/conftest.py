"""One seed for everything that is random in the tests, printed in the header; the fast tests run first; skips
are summed by reason at the end.
"""

from __future__ import annotations

import collections
import os
import re
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

SEED = int(os.environ.get("GRADFUZZ_TEST_SEED", "0"))
FOLDERS = ("unit", "browser", "property", "quality", "packaging")
"""One worker has all tests of the browser: they are not the last, lest the other one waits for it."""

hypothesis.settings.register_profile(
    "gradfuzz", derandomize=True, deadline=None, print_blob=True, database=None
)
hypothesis.settings.load_profile("gradfuzz")


def pytest_report_header() -> str:
    return f"seed: {SEED} (GRADFUZZ_TEST_SEED); Hypothesis draws the same examples in every run"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """The last line before pytest's own: what was skipped, summed by reason."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        reasons = collections.Counter(_reason(report.longrepr[2]) for report in skipped)
        told = "; ".join(f"{number} {reason}" for reason, number in reasons.most_common())
        terminalreporter.write_line(f"{len(skipped)} skipped: {told}")


def _reason(told: str) -> str:
    """The first line of a skip's reason; a library that is not there is named alike by every test."""
    line = told.removeprefix("Skipped: ").partition("\n")[0]
    return re.sub(r"^could not import '(.+)': No module named .*", r"\1 is not installed", line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent

    def place(item: pytest.Item) -> tuple[bool, int]:
        folder = item.path.relative_to(here).parts[0]
        return item.get_closest_marker("slow") is not None, FOLDERS.index(
            folder
        ) if folder in FOLDERS else len(FOLDERS)

    items.sort(key=place)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current directory is an empty folder, and nothing is set from outside."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("GRADFUZZ_") or name in ("COLUMNS", "LINES", "GITHUB_STEP_SUMMARY"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed for a test's own random numbers."""
    return SEED
