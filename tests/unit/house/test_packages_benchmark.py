"""The table of packages counts rightly, its plants are wrong as they say, and a small form of it runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.package_rows import PACKAGES
from benchmarks.packages import planted, records, text

PAGE = Path(__file__).parents[3] / "docs" / "packages.md"


def test_twenty_packages_are_asked() -> None:
    assert len(PACKAGES) == 20
    assert {framework for framework, _ in PACKAGES.values()} == {"jax", "torch"}


def test_a_package_has_ten_operations() -> None:
    pytest.importorskip("torch")
    rows = PACKAGES["torch.distributions"][1]()
    assert len(rows) == 10
    assert all(isinstance(a, np.ndarray) for _, *args in rows.values() for a in args)


@pytest.mark.parametrize("framework", ["jax", "torch"])
def test_a_plant_is_a_hundredth_too_large(framework: str) -> None:
    pytest.importorskip(framework)
    from gradfuzz.testing import measure_gradient

    measured = measure_gradient(
        planted(lambda x, y: x * y, framework), 3.0, 2.0, modes="rev", framework=framework
    )
    by_x, by_y = map(float, measured.got.values())
    assert by_x == pytest.approx(2.02)
    assert by_y == pytest.approx(3.0)


def test_a_row_is_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "set_default_dtype", lambda dtype: None)
    (found,) = records("torch.distributions", "Normal$|nothing")[:1]
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == found
    assert (found["verdict"], found["planted"], found["untraced"]) == ("agree", "disagree", "")
    assert found["other"]


def test_the_page_counts() -> None:
    right = {"package": "lineax", "row": "LU", "framework": "jax", "verdict": "agree", "method": "traced"}
    right |= {"untraced": "", "reason": "", "planted": "disagree", "seconds": 1.5, "other_seconds": 0.5}
    wrong = right | {
        "row": "QR",
        "verdict": "disagree",
        "untraced": "no op",
        "planted": "agree",
        "reason": "a|b",
    }
    page = text([right | {"other": True}, wrong | {"other": False}], {"lineax": "0.1", "flax": None})
    assert "- right verdict: 1 of 2 (50 %)" in page
    assert "- right by the traced function, so that the truth is proved: 1 of 2 (50 %)" in page
    assert "- planted mistake found: 1 of 2 (50 %); passed: 1 of 2 (50 %)" in page
    assert "| lineax 0.1 | 2 | 1 | 1 | 0 | 1 | 1 | 1 | 3 | 1 | 1 |" in page
    assert "| flax | not installed |" in page
    assert "| lineax: QR | disagree | a\\|b |" in page


def test_the_page_accuses_no_package() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "Made by `make packages`" in page
    assert page.count("\n| ") >= len(PACKAGES)
