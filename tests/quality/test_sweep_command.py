"""`gradfuzz sweep` from end to end on a planted bug: exit code, reports, and scripts that show the bug on
their own.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from gradfuzz.cli import FINDINGS, main
from tests.shell import python

MUTANT = "mutant:nx-1747"


def test_findings_come_with_exit_code_1_reports_and_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [
        "sweep",
        MUTANT,
        "--max-examples",
        "2",
        "--orders",
        "1",
        "--checks",
        "vjp",
        "--dtypes",
        "float64",
        "--jobs",
        "1",
    ]
    reports = ["--report", "json=sweep.json", "--report", "sarif=sweep.sarif", "--report", "junit=sweep.xml"]
    result = CliRunner().invoke(main, [*arguments, *reports])
    assert result.exit_code == FINDINGS, result.output
    document = json.loads(Path("sweep.json").read_text())
    assert document["findings"]
    assert all(finding["evidence"]["curve"]["samples"] for finding in document["findings"])
    assert document["tested"]["order"] == {"1": document["programs"]}
    assert document["environment"]["started"].endswith("Z")
    assert document["rerun"].startswith(f"gradfuzz sweep {MUTANT} --seed 0 --max-examples 2")
    assert "Scripts that show the findings" in result.stderr
    results = json.loads(Path("sweep.sarif").read_text())["runs"][0]["results"]
    prints = [
        r["partialFingerprints"]["gradfuzzSignature/v2"]
        for r in results
        if r.get("baselineState") != "absent"
    ]
    assert prints == [finding["signature"] for finding in document["findings"]]
    assert len(ElementTree.parse("sweep.xml").findall("testsuite/testcase/failure")) == len(prints)
    for finding in document["findings"]:
        assert finding["id"] in result.stdout
        assert finding["signature"].startswith(finding["id"].removeprefix("GF-"))
        path = tmp_path / ".gradfuzz" / "scripts" / f"{finding['id']}.py"
        assert path.read_text() == finding["script"]
        python(path, exit_code=1)
