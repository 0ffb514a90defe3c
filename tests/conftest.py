"""One seed for everything that is random in the tests, printed in the header; the fast tests run first."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

SEED = int(os.environ.get("GRADFUZZ_TEST_SEED", "0"))
FOLDERS = ("unit", "property", "quality", "packaging")

hypothesis.settings.register_profile(
    "gradfuzz", derandomize=True, deadline=None, print_blob=True, database=None
)
hypothesis.settings.load_profile("gradfuzz")


def pytest_report_header() -> str:
    return f"seed: {SEED} (GRADFUZZ_TEST_SEED); Hypothesis draws the same examples in every run"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent

    def place(item: pytest.Item) -> tuple[bool, int]:
        folder = item.path.relative_to(here).parts[0]
        return item.get_closest_marker("slow") is not None, FOLDERS.index(
            folder
        ) if folder in FOLDERS else len(FOLDERS)

    items.sort(key=place)


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed for a test's own random numbers."""
    return SEED
