"""Whoever has the HTML file alone can run its reproducer: it is taken out, and run where there is only the
target's library.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from gradfuzz.reports.html import render
from tests.report_data import finding, finished
from tests.web_page import Page

ROOT = Path(__file__).parents[2]


def taken_out(script: str, tmp_path: Path) -> Path:
    """`script` as a finding's reproducer, through the report, as a file far from gradfuzz. It is the text of
    `<pre data-reproducer="python">`, as docs/report.md says.
    """
    report = tmp_path / "gradfuzz-report.html"
    report.write_text(render(finished([finding(0, script=script)]), None), encoding="utf-8")
    path = tmp_path / "reproducer.py"
    page = Page(report.read_text(encoding="utf-8"))
    path.write_text(page.reproducers[finding(0).id, "python"], encoding="utf-8")
    return path


def run(python: str | Path, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k != "VIRTUAL_ENV"}
    return subprocess.run(
        [str(python), "-I", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=path.parent,
        env=environment,
    )


def test_a_reproducer_from_the_report_shows_the_bug(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run(
        sys.executable,
        taken_out((ROOT / "docs/findings/torch/matrix_norm_inf.py").read_text(encoding="utf-8"), tmp_path),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "expected" in done.stdout


@pytest.mark.slow
def test_a_reproducer_needs_the_target_library_only(tmp_path: Path) -> None:
    """jax_det_singular is a real finding in a released JAX; the environment has JAX, NumPy (which it needs)
    and mpmath, and no gradfuzz.
    """
    jax = pytest.importorskip("jax")
    path = taken_out((ROOT / "docs/findings/jax/det_singular.py").read_text(encoding="utf-8"), tmp_path)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"jax=={jax.__version__}",
        "mpmath<1.4",
    ]
    subprocess.run(list(map(str, install)), check=True, cwd=tmp_path)
    assert run(python, path).returncode == 1
    nothing = tmp_path / "nothing.py"
    nothing.write_text("import gradfuzz", encoding="utf-8")
    assert "ModuleNotFoundError" in run(python, nothing).stderr
