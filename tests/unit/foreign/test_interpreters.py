"""The Pythons of a machine, and environments that have another one than gradfuzz."""

from __future__ import annotations

import os
import platform
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from packaging.version import Version

from gradfuzz.adapters.shipped import ADAPTERS, Adapter
from gradfuzz.errors import InstallError, MissingExtraError
from gradfuzz.fuzzer.turns import homes
from gradfuzz.oracles.foreign import lending, managed
from gradfuzz.oracles.foreign.installers import interpreters
from gradfuzz.oracles.foreign.installers import python as installer
from gradfuzz.oracles.foreign.installers.interpreters import SERIES, Interpreter
from gradfuzz.oracles.registry import resolve
from tests.toygrad_releases import ADAPTER, write_wheels

ROOT = Path(__file__).parents[3]


def fake_python(path: Path, *, prints: str = "", code: int = 0) -> Path:
    """A program that stands where a Python would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a Python but this one."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'two'}")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


# Which there are --------------------------------------------------------------------------------------------


def test_what_is_declared_is_what_is_looked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    of_python = "Programming Language :: Python :: 3."
    declared = [one for one in project["project"]["classifiers"] if one.startswith(of_python)]
    assert tuple(one.rpartition(" ")[2] for one in declared) == SERIES
    assert project["project"]["requires-python"] == f">={SERIES[0]}"
    assert project["tool"]["mypy"]["python_version"] == SERIES[0]
    assert project["tool"]["ruff"]["target-version"] == f"py{SERIES[0].replace('.', '')}"


def test_a_python_is_one_that_runs_and_makes_environments(machine: Path) -> None:
    assert interpreters.find("3.12") is None
    fake_python(machine / "one" / "python3.12", code=127)  # pyenv's stand-in, where another one is chosen
    fake_python(machine / "pyenv" / "versions" / "3.12" / "bin" / "python", prints="3.12.0")
    assert interpreters.find("3.12") is None, "a name that pyenv gives to no release"
    fake_python(machine / "pyenv" / "versions" / "3.12.9" / "bin" / "python", prints="3.12.9")
    newest = fake_python(machine / "pyenv" / "versions" / "3.12.10" / "bin" / "python", prints="3.12.10")
    assert interpreters.find("3.12") == Interpreter(str(newest), "3.12.10")
    fake_python(newest, prints="no module named ensurepip", code=1)
    assert interpreters.find("3.12") == Interpreter(str(newest).replace("3.12.10", "3.12.9"), "3.12.9")
    on_the_path = fake_python(machine / "two" / "python3.12", prints="3.12.3")
    assert interpreters.find("3.12") == Interpreter(str(on_the_path), "3.12.3")
    fake_python(on_the_path, prints="3.13.0")
    assert interpreters.find("3.12") is not None, "one of another series does not count"
    assert interpreters.find("3.13") is None


def test_this_python_is_found_by_its_own_words(machine: Path) -> None:
    this = interpreters.this()
    (machine / "one").mkdir()
    (machine / "one" / f"python{this.series}").symlink_to(sys.executable)
    found = interpreters.find(this.series)
    assert found is not None
    assert found.version == this.version == platform.python_version()


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("3.11.7", ["3.12", "3.13"]),
        ("3.12.1", ["3.13", "3.11"]),
        ("3.13.0", ["3.12", "3.11"]),
        ("3.14.2", ["3.13", "3.12", "3.11"]),
    ],
)
def test_the_nearest_newer_one_comes_first(
    own: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "this", lambda: Interpreter("own", own))
    monkeypatch.setattr(interpreters, "find", lambda wanted: Interpreter(wanted, f"{wanted}.1"))
    assert [one.path for one in interpreters.others()] == expected


# Which one an environment has -------------------------------------------------------------------------------

NEEDS_NEWER = (
    "ERROR: Ignored the following versions that require a different python version: 0.9 Requires-Python"
    " >=3.10; 1.0 Requires-Python >=3.13; 2.0 Requires-Python >=3.14; 3.0 Requires-Python"
    " >=2.7.*\n"
    "ERROR: Could not find a version that satisfies the requirement toygrad==1.0 (from versions: 0.1)\n"
    "ERROR: No matching distribution found for toygrad==1.0\n"
)
OF_A_FILE = "ERROR: Package 'toygrad' requires a different Python: 3.11.7 not in '>=3.13'\n"
UNREACHED = "NewConnectionError\nERROR: No matching distribution found for toygrad==1.0\n"
BROKEN = "ERROR: Failed building wheel for toygrad\n"


class Machine:
    """Runs what the installer runs: every Python but those in `has` says `refusal` in place of installing."""

    def __init__(self, has: Sequence[str], refusal: str = NEEDS_NEWER) -> None:
        self.has, self.refusal = has, refusal
        self.commands: list[Sequence[str]] = []

    def run(self, command: Sequence[str], log: Path, seconds: float | None = None) -> bool:
        self.commands.append(command)
        if "venv" in command:
            folder = Path(command[-1])
            (folder / "bin").mkdir(parents=True)
            (folder / "bin" / "python").touch()
            version = command[0] if command[0][0].isdigit() else interpreters.this().version
            (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {version}\n", encoding="utf-8")
            return True
        place = Path(command[0] if command[0] != sys.executable else command[4]).parents[1]
        series = interpreters.series(installer._python_version(place))
        with log.open("a", encoding="utf-8") as file:
            file.write("\n$ pip install\n" + ("done\n" if series in self.has else self.refusal))
        if series in self.has:
            info = place / "lib" / f"python{series}" / "site-packages" / "toygrad-1.0.dist-info"
            info.mkdir(parents=True, exist_ok=True)
            info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: toygrad\nVersion: 1.0\n")
        return series in self.has


def ask(monkeypatch: pytest.MonkeyPatch, has: Sequence[str], refusal: str = NEEDS_NEWER) -> Machine:
    """A machine with the Pythons 3.11.7, which is gradfuzz's, 3.12.1 and 3.13.0."""
    machine = Machine(has, refusal)
    monkeypatch.setattr(installer, "run", machine.run)
    monkeypatch.setattr(installer.shutil, "which", lambda name: None)
    monkeypatch.setattr(interpreters, "this", lambda: Interpreter(sys.executable, "3.11.7"))
    there = [Interpreter(version, version) for version in ("3.12.1", "3.13.0")]
    monkeypatch.setattr(interpreters, "others", lambda: iter(there))
    return machine


def test_a_release_gets_the_first_python_that_it_exists_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = ask(monkeypatch, ["3.13"])
    assert installer._install(tmp_path / "env", ["toygrad==1.0"], tmp_path / "log") == "pip"
    made = [command[0] for command in machine.commands if "venv" in command]
    assert made == [sys.executable, "3.12.1", "3.13.0"]
    assert installer._packages(tmp_path / "env") == {"python": "3.13.0", "toygrad": "1.0"}


@pytest.mark.parametrize("refusal", [NEEDS_NEWER, OF_A_FILE])
def test_where_there_is_no_such_python_it_says_which(
    refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(monkeypatch, [], refusal)
    words = r"toygrad==1\.0 needs Python >=3\.13, and here gradfuzz found 3\.11\.7, 3\.12\.1, 3\.13\.0\. "
    with pytest.raises(InstallError, match=words + r"Install Python 3\.13, on the path as python3\.13 or"):
        installer._install(tmp_path / "env", ["toygrad==1.0"], tmp_path / "log")
    assert not (tmp_path / "env").exists()


def test_a_release_that_no_python_of_ours_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, [])
    for release, needs in (("2.0", ">=3.14"), ("3.0", ">=2.7.*")):
        words = re.escape(f"toygrad=={release} needs Python {needs}, ")
        with pytest.raises(
            InstallError, match=words + r".*runs on 3\.11, 3\.12, 3\.13: name another release\."
        ):
            installer._install(tmp_path / "env", [f"toygrad=={release}"], tmp_path / "log")
    with pytest.raises(InstallError, match="There is no such release for this interpreter and platform"):
        installer._install(tmp_path / "env", ["toygrad==9.0"], tmp_path / "log")


@pytest.mark.parametrize(
    ("refusal", "words"), [(UNREACHED, "is there a network"), (BROKEN, "building wheel")]
)
def test_other_troubles_are_not_taken_for_a_wrong_python(
    refusal: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = ask(monkeypatch, ["3.12"], refusal)
    with pytest.raises(InstallError, match=words):
        installer._install(tmp_path / "env", ["toygrad==1.0"], tmp_path / "log")
    assert [command[0] for command in machine.commands if "venv" in command] == [sys.executable]


def test_the_releases_are_those_of_any_python(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, [])
    monkeypatch.setattr(installer, "output", lambda command, name: "Available versions: 1.1, 1.0\n")
    by_series = {"3.12": "Available versions: 1.2, 1.1, 1.0\n", "3.13": ""}
    monkeypatch.setattr(installer, "said", lambda command: by_series[command[-2]])
    assert installer._releases("toygrad") == ["1.0", "1.1", "1.2"]


# What it is lent --------------------------------------------------------------------------------------------


def test_another_python_is_lent_nothing_and_gets_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = ask(monkeypatch, ["3.11", "3.12"])
    for version, asked in (("3.11.7", []), ("3.12.1", ["scipy>=1.15"])):
        folder, log = tmp_path / version, tmp_path / f"{version}.log"
        machine.commands.clear()
        installer._made(Interpreter(version, version), folder, ["toygrad==1.0"], log)
        installer._complete(folder, ["toygrad>=0.5", "scipy>=1.15"], log)
        extra = [command for command in machine.commands if "--constraint" in command]
        assert [command[command.index("--constraint") + 2 :] for command in extra] == (
            [asked] if asked else []
        )
    assert (tmp_path / "3.12.1" / "kept.txt").read_text() == "toygrad==1.0\n"


ENVIRONMENT = managed.Environment("mlx==1.0", "mlx", "1.0", ("mlx==1.0",), "pip", 1.0, folder="envs/mlx-1.0")


def test_what_is_lent_depends_on_the_python(monkeypatch: pytest.MonkeyPatch) -> None:
    own = platform.python_version()
    same, other = (replace(ENVIRONMENT, packages={"python": version}) for version in (own, "3.9.1"))
    assert lending.lent(same) == lending.lent(ENVIRONMENT) == lending.places()
    assert lending.lent(other) == {}
    assert lending.lacking(same) == lending.lacking(ENVIRONMENT) == []
    assert {"numpy", "python-flint", "msgspec"} <= set(lending.lacking(other))
    monkeypatch.setattr(managed, "find", lambda name: other)
    with pytest.raises(
        MissingExtraError, match=r"Python 3\.9\.1 and no .*python-flint.*lend its packages only.*; make it"
    ):
        homes.home_of("mlx==1.0")
    monkeypatch.setattr(managed, "find", lambda name: same)
    assert homes.home_of("mlx==1.0") == "mlx==1.0"


# For real ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_release_is_asked_in_the_python_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = next(interpreters.others(), interpreters.this())
    if Version(newer.version) <= Version(platform.python_version()):
        pytest.skip("there is no newer Python here")
    write_wheels(tmp_path / "wheels", python=f">={newer.series}")
    for name, value in {
        "NO_INDEX": "1",
        "FIND_LINKS": str(tmp_path / "wheels"),
        "CONFIG_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setitem(ADAPTERS, "toygrad", Adapter(str(ADAPTER), "toygrad"))
    monkeypatch.setenv(managed.VARIABLE, str(tmp_path / "envs"))
    made, _ = managed.install("toygrad==1.0")
    assert made.packages["python"] == newer.version
    assert [(way.name, way.version) for way in resolve("toygrad==1.0")] == [("toygrad==1.0:dual", "1.0")]
