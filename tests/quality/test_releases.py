"""Sweeps of several releases of one library, from its installation to the release in which a finding came."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradfuzz.fuzzer.store.runs import Store
from tests.toygrad_releases import ADAPTER, write_wheels

ROOT = Path(__file__).parents[2]


def gradfuzz(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradfuzz", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_two_releases_side_by_side_without_a_network(tmp_path: Path) -> None:
    """A library with a bug in one of them; worker processes know the target, too, as every interpreter that
    starts here does.
    """
    pytest.importorskip("pip")
    write_wheels(tmp_path)
    (tmp_path / "sitecustomize.py").write_text(
        "from gradfuzz.adapters.shipped import ADAPTERS, Adapter\nADAPTERS['toygrad'] ="
        f" Adapter({str(ADAPTER)!r}, 'toygrad')\n"
    )
    pip = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_OFFLINE": "1",
    }
    options = ("--max-examples", "8", "--checks", "jvp", "--orders", "1", "--jobs", "1")
    done = gradfuzz(tmp_path, "sweep", "toygrad==1.1", "toygrad==1.4", *options, **pip)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("Installing ") == 2
    with Store(tmp_path / ".gradfuzz" / "store.sqlite") as store:
        findings = [record.finding for record in store.recorded()]
    assert findings
    assert {finding.target for finding in findings} == {"toygrad==1.4:dual"}
    assert {finding.version for finding in findings} == {"1.4"}
    told = gradfuzz(tmp_path, "bisect", findings[0].id, "--versions", "1.0..1.5", "--format", "json", **pip)
    assert told.returncode == 0, told.stderr
    came, went = json.loads(told.stdout)["changes"]
    assert (came["what"], came["before"], came["release"], came["untold"]) == ("came", "1.1", "1.3", ["1.2"])
    assert (went["what"], went["release"]) == ("went", "1.5")
    fixed = gradfuzz(tmp_path, "sweep", "toygrad==1.5", *options, **pip)
    assert fixed.returncode == 0, fixed.stdout


@pytest.mark.slow
def test_releases_of_autograd(tmp_path: Path) -> None:
    """1.6.2 reads parts of NumPy that NumPy 2 has not: its environment has an older one, and the newest
    release's has not.
    """
    options = (
        "--max-examples",
        "4",
        "--checks",
        "vjp",
        "--orders",
        "1",
        "--dtypes",
        "float64",
        "--jobs",
        "1",
    )
    done = gradfuzz(tmp_path, "sweep", "autograd==1.6.2", "autograd==1.9.1", *options)
    if "was reached" in done.stderr:
        pytest.skip("there is no index of packages")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(gradfuzz(tmp_path, "targets", "--format", "json").stdout)["targets"]
    assert next(row for row in rows if row["name"] == "autograd")["environments"] == [
        "autograd==1.6.2",
        "autograd==1.9.1",
    ]
    markers = [
        json.loads((tmp_path / ".gradfuzz" / "envs" / f"autograd-{v}" / "gradfuzz.json").read_text())
        for v in ("1.6.2", "1.9.1")
    ]
    assert [marker["version"] for marker in markers] == ["1.6.2", "1.9.1"]
    assert [marker["packages"]["numpy"].partition(".")[0] for marker in markers] == ["1", "2"]
