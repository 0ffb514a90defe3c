"""Each script of docs/findings has a report to file, with that script in it."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from benchmarks import trophies, trophy_texts
from benchmarks.trophies import Outcomes
from gradfuzz.reports.markdown.trackers import TRACKERS, YOURS

PAGE = """# PyTorch 2.13.0
CPU build.

**1. `sin`: wrong
in two lines.**
- (fwd, rev): true 1, got 0. Silent. Severity A: at ordinary inputs.
- Cause: `aten/sin.cpp`, `sin_backward`, by the mistake of entry 2.
- Script: `torch/one.py`. Reported: pytorch#12 (closed), #34. Related: jax#56, of cosines.
- Stands in 2.15.0.

**2. `cos` raises.**
- Raises ("no"). Severity D.
- Cause: same file.
- Same cause as entry 1.
- Scripts: `torch/one.py`, `torch/functions/two.py`.
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trophies.Page:
    (tmp_path / "torch" / "functions").mkdir(parents=True)
    (tmp_path / "torch" / "one.py").write_text('print("`" * 3)\n', encoding="utf-8")
    (tmp_path / "torch" / "functions" / "two.py").write_text("print(2)\n", encoding="utf-8")
    (tmp_path / "torch.md").write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(trophy_texts, "PAGES", tmp_path)
    monkeypatch.setattr(trophy_texts, "SCRIPTS", tmp_path)
    return trophies.read(tmp_path / "torch.md")


def test_an_entry_is_told_to_people_who_do_not_know_the_page(page: trophies.Page) -> None:
    first, second = trophy_texts.bugs(page)
    assert first.title == "`sin`: wrong in two lines"
    assert first.points == (
        "reverse over forward: true 1, got 0. Nothing is raised.",
        'Cause: `aten/sin.cpp`, `sin_backward`, by the mistake of "`cos` raises".',
    )
    assert first.reported == ("pytorch/pytorch#12", "pytorch/pytorch#34")
    assert first.related == "Related: jax-ml/jax#56, of cosines."
    assert second.points == (
        'Raises ("no").',
        "Cause: `aten/sin.cpp`.",
        'Same cause as "`sin`: wrong in two lines".',
    )
    assert (second.reported, second.related) == ((), "")


def test_a_report_has_the_form_of_the_tracker(page: trophies.Page) -> None:
    said = Outcomes("2.15.0", {"torch/one.py": {"2.13.0": 1, "2.15.0": 1}})
    text = trophy_texts.text(page, "torch/one.py", trophy_texts.bugs(page), said)
    first, rest = text.split("\n---\n")
    assert "This is reported as pytorch/pytorch#12, pytorch/pytorch#34: do not file it again." in first
    assert re.findall(r"^### (.*)$", rest, re.MULTILINE) == ["🐛 Describe the bug", "Versions"]
    assert 'print("`" * 3)' in rest
    assert f"PyTorch 2.15.0; Python, operating system: {YOURS}" in rest
    other = trophy_texts.text(page, "torch/functions/two.py", trophy_texts.bugs(page)[1:], said)
    assert "do not file it" not in other
    unknown = trophy_texts.text(page, "torch/one.py", trophy_texts.bugs(page), Outcomes("2.15.0"))
    assert f"PyTorch 2.13.0; Python, operating system: {YOURS}" in unknown


def test_a_report_of_what_is_mended_says_so_first(page: trophies.Page) -> None:
    codes = {"torch/one.py": {"2.13.0": 1, "2.15.0": 0}, "torch/functions/two.py": {"2.15.0": 1}}
    said = Outcomes("2.15.0", codes, {"torch/one.py": "pytorch#78"})
    first, second = trophy_texts.bugs(page)
    above = trophy_texts.text(page, "torch/one.py", [first], said).partition("\n---\n")[0]
    assert "**Right since 2.15.0 (pytorch#78): do not file it.**" in above
    assert "Right since" not in trophy_texts.text(page, "torch/functions/two.py", [second], said)


@functools.cache
def reports() -> dict[str, str]:
    return dict(trophy_texts.texts())


def test_every_script_has_its_report_and_the_script_in_it_is_the_script() -> None:
    scripts = {script for page in trophies.pages() for entry in page.entries for script in entry.scripts}
    assert set(reports()) == scripts
    for script, report in reports().items():
        path = trophies.SCRIPTS / script
        fences = re.findall(r"^(`{3,})\w+\n(.*?)\n\1$", report, re.MULTILINE | re.DOTALL)
        assert path.read_text(encoding="utf-8").strip("\n") in {text for _, text in fences}, script


def test_the_report_of_a_script_is_printed_and_all_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, report = next(iter(reports().items()))
    monkeypatch.setattr(trophy_texts, "ROOT", tmp_path)
    monkeypatch.setattr(trophy_texts, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(trophy_texts, "texts", lambda: [(script, report)])
    for name in (script, script.rpartition(".")[0], f"docs/findings/{script}"):
        monkeypatch.setattr("sys.argv", ["trophy_texts", name])
        assert trophy_texts.main() == 0
        assert capsys.readouterr().out == f"{report}\n"
    monkeypatch.setattr("sys.argv", ["trophy_texts"])
    assert trophy_texts.main() == 0
    assert capsys.readouterr().out == "1 reports are below reports\n"
    written = (tmp_path / "reports" / script).with_suffix(".md")
    assert written.read_text(encoding="utf-8") == report
    monkeypatch.setattr("sys.argv", ["trophy_texts", "torch/none_such"])
    with pytest.raises(SystemExit):
        trophy_texts.main()
    assert "no entry of docs/trophies names the script torch/none_such" in capsys.readouterr().err


def test_what_is_reported_says_so_first() -> None:
    """By hand: the entries that cite a report of theirs."""
    for page in trophies.pages():
        text = (trophies.PAGES / f"{page.name}.md").read_text(encoding="utf-8")
        for part in re.split(r"^\*\*(?=\d+\. )", text, flags=re.MULTILINE)[1:]:
            cited = re.search(r"\bReported(?: in part)?:\s+[\w/]+#(\d+)|in part: [\w/]+#(\d+)", part)
            if cited is None:
                continue
            for script in re.findall(
                rf"`({page.name}/[\w/]+\.(?:py|js|exs|cpp|swift))`", part.partition("- Script")[2]
            ):
                above = reports()[script].partition("\n---\n")[0]
                assert f"#{cited[1] or cited[2]}" in above, script
                assert "do not file it again" in above, script


@pytest.mark.parametrize("system", TRACKERS)
def test_a_form_asks_for_what_is_wrong(system: str) -> None:
    slots = [heading.slot for heading in TRACKERS[system].headings]
    assert slots.count("bug") == 1
    assert all(heading.answer for heading in TRACKERS[system].headings if heading.slot is None)
    assert {"versions", "version"} & set(slots)
