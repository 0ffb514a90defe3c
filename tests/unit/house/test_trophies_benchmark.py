"""The pages of bugs are read, their scripts run, and what these say is recorded and told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import trophies, trophy_runs
from benchmarks.trophies import Outcomes
from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign import managed

PAGE = """# PyTorch 2.13.0
CPU build.

**1. `sin`: wrong
in two lines.**
- True 1, got 0. Silent. Severity A.
- Cause: not located.
- Scripts: `torch/one.py`,
  `torch/functions/two.py`. Related: `jax.lax`.
- Stands in 2.14.0; `torch/one.py` is right
  since 2.14.0.

**2. `cos` raises.**
- As entry 3 of JAX. Raises ("no"). Severity D: hardly.
- Same cause as entry 1.
- Script: `torch/three.py`.
"""
ONE, TWO, THREE = "torch/one.py", "torch/functions/two.py", "torch/three.py"


def read(folder: Path, text: str) -> trophies.Page:
    path = folder / "torch.md"
    path.write_text(text, encoding="utf-8")
    return trophies.read(path)


def test_a_page_is_read(tmp_path: Path) -> None:
    page = read(tmp_path, PAGE)
    assert (page.name, page.system, page.version) == ("torch", "PyTorch", "2.13.0")
    first, second = page.entries
    assert first == trophies.Entry(1, "`sin`: wrong in two lines.", False, "A", (ONE, TWO), False, False)
    assert (second.raises, second.severity, second.elsewhere, second.same_cause) == (True, "D", True, True)
    assert page.counted == [first]
    assert page.scripts == [ONE, TWO, THREE]


@pytest.mark.parametrize("wrong", ["", "Severity A. Severity B."])
def test_an_entry_has_one_severity(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="and not one"):
        read(tmp_path, PAGE.replace("Severity A.", wrong))


# Statuses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ({"2.13.0": 1, "2.15.0": 1}, {"2.13.0": 1, "2.15.0": 1}, "Stands in 2.15.0."),
        ({"2.13.0": 1, "2.15.0": 1}, {}, "Stands in 2.15.0."),
        ({"2.13.0": 1, "2.15.0": 0}, {"2.13.0": 1}, "Not run in 2.15.0."),
        ({}, {}, "Not run in 2.15.0."),
        (
            {"2.13.0": 1, "2.14.0": 0, "2.14.1": 0, "2.15.0": 0},
            {"2.13.0": 1, "2.14.0": 1, "2.14.1": 0, "2.15.0": 0},
            "Right since 2.14.1 (pytorch#1).",
        ),
        (  # it came back
            {"2.13.0": 1, "2.14.0": 0, "2.14.1": 1, "2.15.0": 0},
            {"2.15.0": 0},
            "Right since 2.15.0 (pytorch#1).",
        ),
        (
            {"2.9.0": 1, "2.10.0": 0, "2.15.0": 0},
            {"2.15.0": 1},
            "Stands in 2.15.0; `torch/one.py` is right since 2.10.0 (pytorch#1).",
        ),
    ],
)
def test_what_the_scripts_said_is_the_status(one: dict[str, int], two: dict[str, int], expected: str) -> None:
    said = Outcomes("2.15.0", {ONE: one, TWO: two}, {ONE: "pytorch#1"})
    assert trophies.status([ONE, TWO], said) == expected
    assert trophies.stands([ONE, TWO], said) == expected.startswith("Stands")


def test_statuses_are_written_into_a_page_once(tmp_path: Path) -> None:
    page = read(tmp_path, PAGE)
    said = Outcomes("2.15.0", {ONE: {"2.15.0": 1}, TWO: {"2.15.0": 1}, THREE: {"2.13.0": 1, "2.15.0": 0}})
    told = trophies.with_statuses(PAGE, page, said)
    expected = PAGE.replace("2.14.0; `torch/one.py` is right\n  since 2.14.0.", "2.15.0.")
    assert told == f"{expected}- Right since 2.15.0.\n"
    assert trophies.with_statuses(told, page, said) == told


def test_a_record_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trophies, "SCRIPTS", tmp_path)
    known = {
        "torch": Outcomes("2.15.0", {ONE: {"2.13.0": 1, "2.15.0": 0}}, {ONE: "pytorch#1"}),
        "jax": Outcomes("0.12.0.1"),
    }
    trophies.record(known)
    assert trophies.outcomes() == known


# The record that is here ------------------------------------------------------------------------------------


def test_statuses_and_numbers_are_up_to_date() -> None:
    """`python -m benchmarks.trophies` writes them anew."""
    assert [path.name for path, text in trophies.written() if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize("page", trophies.pages(), ids=lambda page: page.name)
def test_a_script_was_wrong_in_the_release_that_its_page_names(page: trophies.Page) -> None:
    said = trophies.outcomes()[page.name]
    assert {script for script in page.scripts if said.code(script, page.version) != trophies.WRONG} == set()
    assert set(said.mended) <= {s for s in said.scripts if said.code(s, said.newest) == trophies.RIGHT}
    assert set(said.scripts) == set(page.scripts)


# Running ----------------------------------------------------------------------------------------------------


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scripts, none of which has an environment."""
    (tmp_path / "jax").mkdir()
    monkeypatch.setattr(trophy_runs, "SCRIPTS", tmp_path)
    monkeypatch.setenv(managed.VARIABLE, str(tmp_path / "envs"))
    trophy_runs._environment.cache_clear()
    return tmp_path


def script(folder: Path, body: str) -> str:
    (folder / "jax" / "script.py").write_text(body, encoding="utf-8")
    return "jax/script.py"


@pytest.mark.parametrize(
    ("body", "code", "word", "line"),
    [
        ("print('wrong'); raise SystemExit(1)", 1, "stands", "wrong"),
        ("print('right')", 0, "right", "right"),
        ("print('no GPU'); raise SystemExit(125)", 125, "not asked", "no GPU"),
        ("import mpmath; raise SystemExit(3)", 3, "broken", ""),
    ],
)
def test_the_exit_code_of_a_script_says_what_became_of_the_bug(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, body: str, code: int, word: str, line: str
) -> None:
    monkeypatch.setattr(trophy_runs.importlib.metadata, "version", lambda name: "0.10.2+local")
    said = trophy_runs.ask(script(scripts, body), "0.10.2")
    assert (said.code, said.word, said.line) == (code, word, line)


def test_a_script_that_does_not_end_is_broken(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trophy_runs.importlib.metadata, "version", lambda name: "0.10.2")
    monkeypatch.setattr(trophy_runs, "SECONDS", 0.2)
    said = trophy_runs.ask(script(scripts, "import time; time.sleep(60)"), "0.10.2")
    assert (said.word, said.line) == ("broken", "no end within 0.2 s")


def test_a_release_that_cannot_be_had_is_not_asked(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although a script here would say right in the release that is beside gradfuzz."""

    def install(target: str, tell: object) -> None:
        raise InstallError(f"{target} cannot be installed")

    monkeypatch.setattr(managed, "install", install)
    monkeypatch.setattr(trophy_runs.importlib.metadata, "version", lambda name: "0.10.2")
    said = trophy_runs.ask(script(scripts, ""), "0.11.0")
    assert (said.word, said.line) == ("not asked", "jax==0.11.0 cannot be installed")


def test_both_releases_are_asked_and_those_between_where_the_newest_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = ["0.10.2", "0.11.0", "0.11.1", "0.11.2", "0.12.0"]
    bugs = {"jax/stays.py": "9", "jax/goes.py": "0.11.1", "jax/broken.py": "0.11.0"}
    entries = tuple(
        trophies.Entry(k, name, False, "A", (name,), False, False) for k, name in enumerate(bugs, 1)
    )
    calls: list[tuple[str, str]] = []

    def ask(name: str, release: str) -> trophy_runs.Outcome:
        calls.append((name, release))
        if name == "jax/broken.py":
            return trophy_runs.Outcome(-11, "")
        return trophy_runs.Outcome(int(known.index(release) < [*known, "9"].index(bugs[name])), "")

    monkeypatch.setattr(trophy_runs, "ask", ask)
    monkeypatch.setattr(trophy_runs, "_releases", lambda name: [*known, "0.13.0"])
    page, said = trophies.Page("jax", "JAX", "0.10.2", entries), Outcomes("0.12.0")
    words = [told[2].word for told in trophy_runs.asked(page, said, missing=False)]
    assert words == ["stands", "stands", "stands", "right", "broken", "broken"]
    assert said.scripts["jax/stays.py"] == {"0.10.2": 1, "0.12.0": 1}
    assert said.scripts["jax/goes.py"] == {"0.10.2": 1, "0.11.0": 1, "0.11.1": 0, "0.12.0": 0}
    assert said.scripts["jax/broken.py"] == {}, "what cannot tell is not recorded"
    calls.clear()
    assert [told[0] for told in trophy_runs.asked(page, said, missing=True)] == ["jax/broken.py"] * 2
    assert {name for name, _ in calls} == {"jax/broken.py"}


def test_a_run_is_recorded_and_ends_with_1_where_a_script_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = trophies.Entry(1, "", False, "A", ("jax/goes.py",), False, False)
    monkeypatch.setattr(trophies, "SCRIPTS", tmp_path)
    monkeypatch.setattr(trophy_runs, "pages", lambda: [trophies.Page("jax", "JAX", "0.10.2", (entry,))])
    monkeypatch.setattr(trophy_runs, "_releases", lambda name: ["0.10.2", "0.11.0", "0.12.0"])
    monkeypatch.setattr("sys.argv", ["trophy_runs", "jax"])
    trophies.record({"jax": Outcomes("0.11.0", {}, {"jax/goes.py": "jax#1"})})
    codes = {"0.10.2": 1, "0.11.0": 0, "0.12.0": 0}
    monkeypatch.setattr(trophy_runs, "ask", lambda name, release: trophy_runs.Outcome(codes[release], ""))
    assert trophy_runs.main() == 0
    said = Outcomes("0.12.0", {"jax/goes.py": dict(codes)}, {"jax/goes.py": "jax#1"})
    assert trophies.outcomes() == {"jax": said}
    codes["0.12.0"] = 139
    assert trophy_runs.main() == 1
    assert trophies.outcomes() == {"jax": said}, "what cannot tell leaves the record as it was"
    assert "broken     0.12.0      jax/goes.py" in capsys.readouterr().out


def test_the_newest_release_is_the_last_one_of_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trophy_runs, "_releases", lambda name: ["0.9.0", "0.10.0"])
    assert trophy_runs.newest("jax", "0.9.0") == "0.10.0"
    assert trophy_runs.newest("jax", "0.12.0") == "0.12.0"

    def offline(name: str) -> list[str]:
        raise InstallError("no index")

    monkeypatch.setattr(trophy_runs, "_releases", offline)
    assert trophy_runs.newest("jax", "0.9.0") == "0.9.0"


@pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("pkg-config")), reason="g++ and pkg-config are not here"
)
def test_a_library_of_cpp_has_the_release_that_pkg_config_finds(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scripts / "cppad").mkdir()
    (scripts / "cppad" / "script.cpp").write_text("int main() { return 1; }\n", encoding="utf-8")
    (scripts / "cppad.pc").write_text("Name: cppad\nDescription: of a test\nVersion: 2.0\n", encoding="utf-8")
    monkeypatch.setenv("PKG_CONFIG_PATH", str(scripts))
    assert trophy_runs.ask("cppad/script.cpp", "2.0").word == "stands"
    said = trophy_runs.ask("cppad/script.cpp", "1.0")
    assert (said.word, said.line) == ("not asked", "pkg-config finds cppad 2.0")
