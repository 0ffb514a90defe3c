"""The report of a real sweep, written by the command, in Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shell import python

TARGETS = ("mutant:nx-1747", "mutant:swift-78264", "mutant:lu-batch", "jax", "torch")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of planted bugs, JAX and Torch, which leaves its report."""
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("sweep")
    path = folder / "gradfuzz-report.html"
    how = ["--family", "loops,linalg", "--max-examples", "16", "--no-store", "--report", f"html={path}"]
    done = python("-m", "gradfuzz", "sweep", *TARGETS, *how)
    assert done.returncode == 1, done.stderr
    return path


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_a_real_sweep(
    scheme: str, swept: Path, open_page: Callable[..., Any], violations: Callable[..., list[str]]
) -> None:
    opened = open_page(swept, color_scheme=scheme)
    page = opened.page
    assert "mutant:nx-1747" in page.locator("h1").inner_text()
    first = page.locator("article").first
    assert first.locator("svg.plot").count() >= 1
    assert "sys.exit(" in first.locator("pre[data-reproducer=python]").text_content()
    assert first.get_by_role("radio").count() >= 5
    assert violations(page) == []
    assert (opened.console, opened.requests) == ([], [])


@pytest.mark.slow
def test_it_is_complete_without_javascript(swept: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(swept, java_script_enabled=False).page
    assert page.locator("#table tbody tr").count() == page.locator("article").count() > 0
    assert page.get_by_role("button").count() == 0
    first = page.locator("article").first
    first.get_by_text("Issue text", exact=True).click()
    assert "## Expected and actual" in first.locator("pre[data-reproducer=issue]").text_content()
