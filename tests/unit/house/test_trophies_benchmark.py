"""The pages of bugs are read, and their scripts run, as docs/findings/README.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import trophies

PAGE = """# PyTorch 2.13.0
CPU build.

**1. `sin`: wrong
in two lines.**
- True 1, got 0. Silent. Severity A.
- Cause: not located.
- Scripts: `torch/one.py`,
  `torch/functions/two.py`. Related: `jax.lax`.

**2. `cos` raises.**
- As entry 3 of JAX. Raises ("no"). Severity D: hardly.
- Script: `torch/three.py`.
"""


def read(folder: Path, text: str) -> trophies.Page:
    path = folder / "torch.md"
    path.write_text(text, encoding="utf-8")
    return trophies.read(path)


def test_a_page_is_read(tmp_path: Path) -> None:
    page = read(tmp_path, PAGE)
    assert (page.name, page.system, page.version) == ("torch", "PyTorch", "2.13.0")
    first, second = page.entries
    assert first == trophies.Entry(
        1, "`sin`: wrong in two lines.", False, "A", ("torch/one.py", "torch/functions/two.py"), False
    )
    assert (second.raises, second.severity, second.elsewhere) == (True, "D", True)
    assert page.counted == [first]


@pytest.mark.parametrize("wrong", ["", "Severity A. Severity B."])
def test_an_entry_has_one_severity(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="and not one"):
        read(tmp_path, PAGE.replace("Severity A.", wrong))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print('wrong'); raise SystemExit(1)", ("stands", "wrong")),
        ("print('right')", ("gone", "right")),
        ("raise SystemExit(125)", ("not asked", "")),
        ("import mpmath; raise SystemExit(3)", ("broken", "")),
    ],
)
def test_the_exit_code_of_a_script_says_what_became_of_the_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, expected: tuple[str, str]
) -> None:
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "script.py").write_text(body, encoding="utf-8")
    monkeypatch.setattr(trophies, "SCRIPTS", tmp_path)
    assert trophies.outcome("numpy/script.py") == expected


def test_a_library_that_is_nowhere_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nosuchlibrary").mkdir()
    (tmp_path / "nosuchlibrary" / "script.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(trophies, "SCRIPTS", tmp_path)
    monkeypatch.setenv("GRADFUZZ_ENVS", str(tmp_path))
    assert trophies.outcome("nosuchlibrary/script.py") == ("not asked", "what runs it is not installed")
