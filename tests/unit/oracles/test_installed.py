"""Which libraries are installed beside gradfuzz, under whatever name their distribution has."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradfuzz.adapters.shipped import ADAPTERS, Adapter
from gradfuzz.oracles.registry import beside


def test_another_distribution_may_have_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tensorflow-cpu has the module of tensorflow."""
    monkeypatch.setitem(ADAPTERS, "flowing", Adapter("flowing_adapter.py", "flowing"))
    monkeypatch.setitem(ADAPTERS, "absent", Adapter("absent_adapter.py", "absent"))
    (tmp_path / "flowing").mkdir()
    (tmp_path / "flowing" / "__init__.py").write_text("raise AssertionError('it is not imported')")
    info = tmp_path / "flowing_cpu-2.21.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flowing-cpu\nVersion: 2.21\n")
    (info / "top_level.txt").write_text("flowing\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert (beside("flowing"), beside("absent")) == ("2.21", None)
