"""Oracles of other distributions: how they are found, what is said about those that are broken, and the
example package, installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gradfuzz.errors import PluginError, UnknownTargetError
from gradfuzz.oracles import registry
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.plugins import GROUP
from gradfuzz.oracles.registry import IN_PROCESS, available, names, resolve
from tests.shell import python

ROOT = Path(__file__).parents[3]

RIGHT = """
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles import Oracle

def ways():
    return [EngineOracle("{name}:one"), EngineOracle("{name}:two")]

def single():
    return EngineOracle("{name}")

def other_name():
    return [EngineOracle("engine")]

def twice():
    return [EngineOracle("{name}"), EngineOracle("{name}")]

def no_oracle():
    return ["{name}"]

def none():
    return []

def raising():
    raise RuntimeError("no licence\\nfor this machine")

class Own(EngineOracle):
    def __init__(self):
        super().__init__("{name}:own")

constant = 3
"""


class Installed:
    """A folder on the search path, into which distributions are put."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, distribution: str, entries: dict[str, str], **modules: str) -> None:
        info = self.folder / f"{distribution.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
        lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}\n")
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    return Installed(tmp_path)


def plug(installed: Installed, what: str, name: str = "plugged") -> None:
    installed.put("some-plugin", {name: f"plugged_module{what}"}, plugged_module=RIGHT.format(name=name))


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("", ["plugged:one", "plugged:two"]),
        (":ways", ["plugged:one", "plugged:two"]),
        (":single", ["plugged"]),
        (":Own", ["plugged:own"]),
    ],
)
def test_what_an_entry_point_may_point_to(installed: Installed, what: str, found: list[str]) -> None:
    plug(installed, what)
    assert [oracle.name for oracle in resolve("plugged")] == found
    assert [oracle.name for oracle in resolve(found[-1])] == found[-1:]
    assert "plugged" in names()
    assert [(row.role, row.version, row.note) for row in available() if row.name == "plugged"] == [
        ("target", "1.5", "plug-in of some-plugin")
    ]
    sys.modules.pop("plugged_module", None)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (":other_name", ["an oracle of the name 'engine'", "'plugged:WAY'"]),
        (":twice", ["two oracles of the name 'plugged'"]),
        (":no_oracle", ["gives a str ('plugged')", "no gradfuzz.oracles.Oracle"]),
        (":none", ["gives no oracle at all"]),
        (":raising", ["gives no oracles: RuntimeError: no licence;"]),
        (":constant", ["points to a int, which has no function ways()"]),
        (":missing", ["cannot be loaded: AttributeError"]),
        (".submodule", ["cannot be loaded: ModuleNotFoundError"]),
    ],
)
def test_what_is_wrong_with_a_plug_in_is_said(installed: Installed, what: str, words: list[str]) -> None:
    plug(installed, what)
    with pytest.raises(PluginError) as caught:
        resolve("plugged")
    for part in [f"the plug-in 'plugged' of some-plugin 1.5 (plugged_module{what})", *words, "uninstall"]:
        assert part in str(caught.value)
    assert [oracle.name for oracle in resolve("engine")] == ["engine"]
    sys.modules.pop("plugged_module", None)


def test_a_name_of_ours_is_refused_and_stays_ours(installed: Installed) -> None:
    installed.put(
        "usurper",
        {"engine": "usurper_module", "mutant": "usurper_module"},
        usurper_module="raise SystemExit(3)",
    )
    assert [oracle.name for oracle in resolve("engine")] == ["engine"]
    notes = {row.name: row.note for row in available() if "usurper" in row.note}
    assert (
        notes["engine"]
        == "plug-in of usurper, not used: gradfuzz has a target 'engine' of its own; the plug-in needs"
        " another name"
    )
    assert set(notes) == {"engine", "mutant"}


def test_a_name_that_two_have_is_nobodys(installed: Installed) -> None:
    installed.put("first", {"twin": "twin_module"}, twin_module="")
    installed.put("second", {"twin": "twin_module"})
    with pytest.raises(PluginError, match="second has a plug-in of this name, too; uninstall one of them"):
        resolve("twin")
    assert "twin" not in names()


@pytest.mark.parametrize("name", ["1st", "a b", "a:b", "ä/ö"])
def test_a_name_that_is_none_is_said(installed: Installed, name: str) -> None:
    installed.put("odd", {name: "odd_module"}, odd_module="")
    (note,) = [row.note for row in available() if "plug-in of odd" in row.note]
    assert note.startswith(
        f"plug-in of odd, not used: {name!r} is no name for a target: it begins with a letter"
    )
    assert name not in names()


def test_a_package_that_is_gone_is_seen_without_loading(installed: Installed) -> None:
    installed.put("leftover", {"gone": "gone_module:ways"})
    (note,) = [row.note for row in available() if row.name == "gone"]
    assert (
        note
        == "plug-in of leftover, not used: its package 'gone_module' is not there; install leftover again"
    )
    with pytest.raises(PluginError, match="install leftover again"):
        resolve("gone", supervised=True)


def test_a_plug_in_is_asked_in_its_own_process(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    plug(installed, "")
    ways = resolve("plugged", supervised=True)
    assert all(isinstance(way, ForeignOracle) for way in ways)
    assert [(way.name, way.version) for way in ways] == [
        (way.name, way.version) for way in resolve("plugged")
    ]
    monkeypatch.setenv(IN_PROCESS, "1")
    assert not any(isinstance(way, ForeignOracle) for way in resolve("plugged", supervised=True))
    for way in ways:
        way.close()
    sys.modules.pop("plugged_module", None)


def test_one_that_ends_the_process_that_loads_it_harms_nobody(installed: Installed) -> None:
    installed.put("deadly", {"deadly": "deadly_module"}, deadly_module="import os\nos._exit(7)\n")
    with pytest.raises(
        PluginError, match=r"the plug-in 'deadly' of deadly 1.5 \(deadly_module\) cannot be asked"
    ):
        resolve("deadly", supervised=True)


def test_a_release_cannot_be_named(installed: Installed) -> None:
    plug(installed, "")
    with pytest.raises(UnknownTargetError, match="is asked in the one that is installed; name it plugged"):
        resolve("plugged==1.5")
    with pytest.raises(UnknownTargetError, match="plugged has the ways plugged:one, plugged:two"):
        resolve("plugged:three")
    assert registry.plugged_in("torch") is None
    sys.modules.pop("plugged_module", None)


# The example ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed by pip into a folder of its own, beside a copy of its source."""
    home = tmp_path_factory.mktemp("plugin")
    shutil.copytree(
        ROOT / "examples" / "plugin", home / "source", ignore=shutil.ignore_patterns("__pycache__")
    )
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(home / "site"),
        str(home / "source"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return home


def run(example: Path, *command: str, exit_code: int = 0) -> str:
    how = {"cwd": example / "source", "path": (example / "site", ROOT), "exit_code": exit_code}
    return python("-m", *command, **how, GRADFUZZ_ENVS=str(example / "envs")).stdout


def test_the_example_is_listed_with_its_distribution_and_version(example: Path) -> None:
    (row,) = [
        row
        for row in json.loads(run(example, "gradfuzz", "targets", "--format", "json"))["targets"]
        if row["name"] == "tinytape"
    ]
    assert (row["version"], row["note"]) == ("0.1.0", "plug-in of gradfuzz-tinytape")


def test_the_example_is_asked_beside_others(example: Path) -> None:
    """d/dx of (x^2)^2 is 4 x^3: 0.5 at 0.5. The planted bug loses a factor of 2 at each of the two
    squares.
    """
    text = run(
        example,
        *(
            "gradfuzz",
            "check",
            "acc*acc",
            "--init",
            "acc=x",
            "--trips",
            "2",
            "--loop",
            "for",
            "--at",
            "x=0.5",
        ),
        *("--only", "engine", "--with", "tinytape", "--format", "json"),
        exit_code=1,
    )
    (point,) = json.loads(text)["points"]
    answers = {a["oracle"]: (a["verdict"], a["gradient"]["x"]) for a in point["answers"]}
    assert answers == {
        "engine": ("agree", 0.5),
        "tinytape:tape": ("agree", 0.5),
        "tinytape:merged": ("disagree", 0.125),
    }


@pytest.mark.slow
def test_a_short_sweep_finds_the_planted_bug(example: Path) -> None:
    options = [
        "--max-examples",
        "4",
        "--dtypes",
        "float64",
        "--orders",
        "1",
        "--checks",
        "vjp",
        "--jobs",
        "1",
        "--no-store",
    ]
    document = json.loads(
        run(example, "gradfuzz", "sweep", "tinytape", *options, "--format", "json", exit_code=1)
    )
    assert {finding["target"] for finding in document["findings"]} == {"tinytape:merged"}
    (finding,) = document["findings"]
    assert "x * x" in finding["program"]
    assert "'tinytape:merged'" in finding["script"]


def test_the_example_tests_itself_with_the_mark(example: Path) -> None:
    from importlib.metadata import entry_points

    loaded = [] if entry_points(group="pytest11", name="gradfuzz") else ["-p", "gradfuzz.pytest_plugin"]
    text = run(
        example,
        "pytest",
        *loaded,
        "-p",
        "no:cacheprovider",
        "-q",
        "-k",
        "stretched or planted or Sign or add",
    )
    assert "1 xfailed" in text
    assert "failed" not in text.replace("xfailed", "")
