"""Targets by release: their names, the environments that are made for them, and in which release a finding
came or went. No network.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from packaging.requirements import Requirement
from packaging.version import Version

from gradfuzz.adapters.shipped import ADAPTERS, Adapter
from gradfuzz.cli import CLEAN, FINDINGS, INCOMPLETE, USAGE, main
from gradfuzz.errors import InstallError, MissingExtraError, UnknownTargetError, UsageError
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.fuzzer.results.records import from_document, load, to_document
from gradfuzz.fuzzer.sweep.bisecting import Bisection, Said, bisect
from gradfuzz.fuzzer.sweep.replaying import Status, replay
from gradfuzz.fuzzer.sweep.shrink_queues import ShrinkQueues
from gradfuzz.oracles import registry
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.foreign import installers, launcher, managed
from gradfuzz.oracles.foreign.installers.python import _pip_is_here
from gradfuzz.oracles.foreign.oracle import worker
from gradfuzz.oracles.foreign.releases import releases
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs import loop_program
from tests.toygrad_releases import ADAPTER, RELEASES, write_wheels

FINAL = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]
MUTANT = from_document(load(Path(__file__).parents[2] / "data" / "finding.json"), Finding, "one")
"""(x - 2)^2 by a loop of two products, at 0.5: its derivative is 2 (0.5 - 2) = -3."""


class Installer:
    """Unpacks a wheel in place of an installer, and remembers for what it was called."""

    def __init__(self, wheels: Path) -> None:
        self.wheels = wheels
        self.asked: list[tuple[str, ...]] = []
        self.before: Any = lambda folder: None

    def __call__(self, folder: Path, requirements: Sequence[str], log: Path) -> str:
        self.asked.append(tuple(requirements))
        self.before(folder)
        wanted = Requirement(requirements[0])
        fitting = sorted(wanted.specifier.filter(RELEASES), key=Version)
        if not fitting:
            raise InstallError(f"{requirements[0]} cannot be installed: there is no such release")
        venv.create(folder, with_pip=False, symlinks=True)
        (site,) = folder.glob("lib/python*/site-packages")
        with zipfile.ZipFile(self.wheels / f"toygrad-{fitting[-1]}-py3-none-any.whl") as wheel:
            wheel.extractall(site)
        log.write_text("unpacked\n")
        return "unzip"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    write_wheels(folder)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a target `toygrad`, and no environment of anybody's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(managed.VARIABLE, raising=False)
    monkeypatch.setitem(ADAPTERS, "toygrad", Adapter(str(ADAPTER), "toygrad"))
    return tmp_path


@pytest.fixture
def installer(here: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    fake = Installer(wheels)
    language = dataclasses.replace(
        installers.LANGUAGES["python"], install=fake, releases=lambda name: list(RELEASES)
    )
    monkeypatch.setitem(installers.LANGUAGES, "python", language)
    return fake


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def slope(target: str) -> float:
    """The derivative of x^3 at 0.5 by a loop of products, as the target says it: 0.75 where it is right."""
    (way,) = resolve(target)
    program = loop_program("acc*x", loop="for", trips=3)
    (answer,) = way.answer(
        plain_question(program, [Point({"x": np.asarray(0.5)})], "float64", ("x",), ("fwd",))
    )
    assert answer.status == "ok", answer.message
    return float(answer.gradient["x"])


# Names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("warp", ("warp", "", "")),
        ("warp:kernel", ("warp", "", "kernel")),
        ("warp==1.19.0", ("warp", "==1.19.0", "")),
        ("warp==1.19.0:kernel", ("warp", "==1.19.0", "kernel")),
        ("jax==0.9.0:scan:nojit", ("jax", "==0.9.0", "scan:nojit")),
        ("warp >= 1.2, < 2", ("warp", ">=1.2,<2", "")),
        ("torch==2.13.0+cpu:eager", ("torch", "==2.13.0+cpu", "eager")),
        ("mutant:vjp.multiply.0.sign", ("mutant", "", "vjp.multiply.0.sign")),
        ("cmd:python -c 'a==1:2'", ("cmd", "", "python -c 'a==1:2'")),
        ("", ("", "", "")),
        ("==1.0", ("==1.0", "", "")),
    ],
)
def test_the_parts_of_a_name(text: str, parts: tuple[str, str, str]) -> None:
    name = TargetName.of(text)
    assert (name.library, name.specifier, name.way) == parts
    assert name.whole == "".join(text.split()) or name.library == "cmd"


def test_one_release_or_several() -> None:
    versions = {
        text: TargetName.of(text).version for text in ("a==1.0", "a==1.*", "a===1.0", "a>=1", "a==1,<2", "a")
    }
    assert versions == {"a==1.0": "1.0"} | dict.fromkeys(("a==1.*", "a===1.0", "a>=1", "a==1,<2", "a"), "")
    assert TargetName.of("a>=1:w").at("2.0").whole == "a==2.0:w"
    assert TargetName.of("a==1:w").bare == "a:w"


def test_whose_bug_it_is_does_not_depend_on_the_release() -> None:
    one, other = (signature(dataclasses.replace(MUTANT, target=f"toygrad=={v}:dual")) for v in ("1.0", "1.3"))
    assert one == other == signature(dataclasses.replace(MUTANT, target="toygrad:dual"))


def test_releases_are_shrunk_in_queues_of_their_own() -> None:
    shrink_queues = ShrinkQueues()
    assert shrink_queues.queue("toygrad==1.0:dual") == ("toygrad==1.0", False)
    assert shrink_queues.queue("toygrad==1.3:dual") == ("toygrad==1.3", False)


def test_the_ways_of_a_command_share_a_queue_and_commands_do_not() -> None:
    shrink_queues = ShrinkQueues()
    ways = [shrink_queues.queue(f"cmd:python one/a.py#{way}") for way in ("fast", "slow")]
    assert ways == [("cmd:python one/a.py", False)] * 2
    assert shrink_queues.queue("cmd:python two/a.py#fast") == ("cmd:python two/a.py", False)


# Environments -----------------------------------------------------------------------------------------------


def test_releases_are_asked_side_by_side(installer: Installer) -> None:
    right, new = managed.install("toygrad==1.0")
    wrong, _ = managed.install("toygrad==1.3:dual")
    assert new
    assert (right.version, wrong.version) == ("1.0", "1.3")
    assert Path(right.folder) == Path.cwd() / ".gradfuzz" / "envs" / "toygrad-1.0"
    assert (Path(".gradfuzz") / ".gitignore").read_text() == "*\n"
    assert [(w.name, w.version) for w in resolve("toygrad==1.0")] == [("toygrad==1.0:dual", "1.0")]
    assert slope("toygrad==1.0:dual") == 0.75
    assert slope("toygrad==1.3:dual") != 0.75
    with pytest.raises(UnknownTargetError, match=r"toygrad has the ways toygrad==1\.3:dual"):
        resolve("toygrad==1.3:tape")


def test_what_is_there_is_not_made_again(installer: Installer) -> None:
    first, _ = managed.install("toygrad==1.0")
    assert managed.install("toygrad==1.0") == (first, False)
    assert first.packages == {"python": platform.python_version(), "toygrad": "1.0"}
    assert managed.everything() == [first]
    assert first.size() > 0
    changed, new = managed.install("toygrad==1.0", extra=("wheel<1",))
    assert new, "it was made for other requirements"
    assert changed.requirements == ("toygrad==1.0", "wheel<1")
    assert managed.missing(
        ["toygrad==1.0:dual", "toygrad", "engine", "toygrad==1.1", "toygrad==1.1:dual"]
    ) == ["toygrad==1.1"]
    assert managed.remove("toygrad==1.0") == changed
    assert managed.remove("toygrad==1.0") is None
    assert managed.everything() == []


def test_a_name_without_a_release_is_what_is_installed(installer: Installer) -> None:
    with pytest.raises(
        MissingExtraError, match="gradfuzz targets install toygrad, or beside gradfuzz: pip install toygrad"
    ):
        resolve("toygrad")
    with pytest.raises(MissingExtraError, match=r"gradfuzz targets install 'toygrad==1\.0'"):
        resolve("toygrad==1.0:dual")
    where = re.escape(str(Path("stores", "envs").absolute()))
    with managed.beside(Path("stores", "one.db")), pytest.raises(MissingExtraError, match=f"nor in {where};"):
        resolve("toygrad")
    made, _ = managed.install("toygrad")
    assert made.version == "1.5", "the newest that is final"
    assert [w.name for w in resolve("toygrad")] == ["toygrad:dual"]
    row = next(row for row in registry.available() if row.name == "toygrad")
    assert (row.version, row.note, row.environments) == ("1.5", "", ["toygrad"])


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), InstallError("no such release")]
)
def test_what_is_half_made_is_never_used(installer: Installer, error: BaseException) -> None:
    def interrupted(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "half").write_text("half")
        raise error

    installer.before = interrupted
    with pytest.raises(InstallError if isinstance(error, Exception) else KeyboardInterrupt):
        managed.install("toygrad==1.0")
    folder = managed.root() / "toygrad-1.0"
    assert not folder.exists()
    folder.mkdir()  # as a process leaves it that was killed
    (folder / "half").write_text("half")
    assert managed.find("toygrad==1.0") is None
    installer.before = lambda folder: None
    managed.install("toygrad==1.0")
    assert not (folder / "half").exists()
    assert managed.find("toygrad==1.0") is not None


def test_of_two_that_want_one_environment_one_makes_it(installer: Installer) -> None:
    installer.before = lambda folder: time.sleep(0.5)
    told: list[str] = []
    made: list[tuple[managed.Environment, bool]] = []
    threads = [
        threading.Thread(target=lambda: made.append(managed.install("toygrad==1.0", told.append)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(new for _, new in made) == [False, True]
    assert len(installer.asked) == 1
    assert sorted(text.split()[0] for text in told) == ["Installing", "Waiting"]


def test_an_interpreter_that_is_gone(installer: Installer) -> None:
    made, _ = managed.install("toygrad==1.0")
    (Path(made.folder) / "bin" / "python").unlink()
    assert managed.find("toygrad==1.0") is None
    assert managed.install("toygrad==1.0")[1]


def test_names_that_cannot_be_installed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, "elsewhere", Adapter("there.cbl", "there", language="cobol"))
    with pytest.raises(UnknownTargetError, match="nothing to install for 'engine==1'"):
        managed.plan("engine==1")
    with pytest.raises(UsageError, match="names no releases"):
        managed.plan("toygrad==")
    with pytest.raises(UsageError, match=r"asked in cobol.*the first lines of there\.cbl"):
        managed.plan("elsewhere")
    with pytest.raises(MissingExtraError, match="first lines of there"):
        resolve("elsewhere")


def test_the_names_of_folders(here: Path) -> None:
    names = (
        "toygrad",
        "toygrad==1.0",
        "toygrad>=1.0,<2",
        "toygrad~=1.1",
        "toygrad!=1.2",
        "toygrad==1!2.0+cpu",
    )
    folders = [managed.plan(name).folder.name for name in names]
    assert folders == [
        "toygrad",
        "toygrad-1.0",
        "toygrad-from1.0-below2",
        "toygrad-like1.1",
        "toygrad-not1.2",
        "toygrad-1_2.0+cpu",
    ]


def test_what_old_releases_do_not_say_they_require(here: Path) -> None:
    assert "numpy<2" in managed.plan("autograd==1.6.2").requirements
    assert "numpy<2" not in managed.plan("autograd==1.7.0").requirements
    assert "numpy<1.25" in managed.plan("autograd==1.5").requirements
    assert "numpy<1.25" not in managed.plan("autograd==1.6.2").requirements


def test_what_a_release_requires_counts_more_than_what_gradfuzz_does(here: Path) -> None:
    old = managed.plan("jax==0.4.13").requirements
    assert [r for r in old if Requirement(r).name == "numpy"] == ["numpy<2"]
    assert "jax[cpu]" in old
    new = managed.plan("jax==0.9.0").requirements
    assert [r for r in new if Requirement(r).name == "numpy"] != ["numpy<2"]
    assert "jax[cpu]" not in new


def test_where_environments_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert managed.root() == here / ".gradfuzz" / "envs"
    with managed.beside(Path("kept") / "store.sqlite"):
        assert managed.root() == here / "kept" / "envs"
    assert managed.VARIABLE not in os.environ
    monkeypatch.setenv(managed.VARIABLE, str(here / "elsewhere"))
    with managed.beside(Path("kept") / "store.sqlite"):
        assert managed.root() == here / "elsewhere"


def test_libraries_of_gradfuzz_come_with_what_gradfuzz_requires(here: Path) -> None:
    plan = managed.plan("jax==0.9.0:scan")
    assert plan.requirements[0] == "jax==0.9.0"
    assert any(r.startswith("msgspec") for r in plan.requirements)
    assert plan.command().endswith(f"{launcher.__file__} gradfuzz.oracles.server jax")


def test_a_guest_brings_gradfuzz_and_nothing_beside_it(tmp_path: Path) -> None:
    """The package is found where its script is, with a neighbour that it must not see."""
    package = Path(managed.__file__).parents[2]
    place = tmp_path / "site"
    place.mkdir()
    (place / "gradfuzz").symlink_to(package)
    (place / "neighbour.py").write_text("")
    code = (
        "import sys, runpy\nsys.argv[1:] = ['gradfuzz.oracles.server',"
        f" 'engine']\nrunpy.run_path({str(place / 'gradfuzz' / 'oracles' / 'foreign' / 'launcher.py')!r},"
        " run_name='__main__')\nimport gradfuzz, importlib.util\nprint(gradfuzz.__file__,"
        " importlib.util.find_spec('neighbour'), importlib.util.find_spec('kit'), file=sys.stderr)\n"
    )
    lines = '{"id": 1, "do": "hello", "protocol": 1}\n{"id": 2, "do": "bye"}\n'
    done = subprocess.run(
        [sys.executable, "-E", "-c", code],
        input=lines,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    hello, bye = map(json.loads, done.stdout.splitlines())
    assert hello["ok"]["name"] == "engine"
    assert bye == {"id": 2, "ok": {}}
    assert done.stderr.split() == [str(package / "__init__.py"), "None", "None"]


# Installers -------------------------------------------------------------------------------------------------


@pytest.fixture
def offline(here: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip sees the wheels, and nothing else; uv is there, and fails."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    tools = here / "tools"
    tools.mkdir()
    (tools / "uv").write_text("#!/bin/sh\necho no index is configured\nexit 2\n")
    (tools / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return here


@pytest.mark.slow
@pytest.mark.skipif(not _pip_is_here(), reason="pip is not installed beside gradfuzz")
def test_pip_installs_what_uv_cannot(offline: Path) -> None:
    made, _ = managed.install("toygrad==1.0")
    assert made.installer == "pip"
    assert slope("toygrad==1.0") == 0.75
    log = Path(f"{made.folder}.log").read_text()
    assert "no index is configured" in log
    assert "toygrad-1.0" in log
    with pytest.raises(
        InstallError,
        match=r"toygrad==9 cannot be installed: .*No matching distribution.* All that was said is in",
    ):
        managed.install("toygrad==9")
    assert not (managed.root() / "toygrad-9").exists()
    assert releases("toygrad", "1.1..1.3") == ["1.1", "1.2", "1.3"]


def test_an_installer_that_is_not_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, "toynode", Adapter("toy_adapter.js", "toynode", language="node"))
    monkeypatch.setenv("PATH", str(here))
    assert managed.plan("toynode==1.2.3").requirements == ("toynode@1.2.3",)
    assert managed.plan("toynode>=1,<2").requirements == ("toynode@>=1 <2",)
    with pytest.raises(InstallError, match="npm cannot be started"):
        managed.install("toynode==1.2.3")
    with pytest.raises(UsageError, match="npm does not know"):
        managed.plan("toynode~=1.2")


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_packages_of_node(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """npm is a script here that puts a package where npm puts it."""
    monkeypatch.setitem(ADAPTERS, "toynode", Adapter("toy_adapter.js", "@toys/node", language="node"))
    tools = here / "tools"
    tools.mkdir()
    (tools / "npm").write_text(
        '#!/bin/sh\nif [ "$1" = view ]; then echo \'["1.2.3", "1.10.0", "1.9.0", "2.0.0-alpha.1",'
        ' "latest"]\'; exit; fi\nmkdir -p "$3/node_modules/@toys/node"\necho \'{"version": "1.2.3"}\' >'
        ' "$3/node_modules/@toys/node/package.json"\n'
    )
    (tools / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    made, _ = managed.install("toynode==1.2.3")
    assert (made.version, made.installer) == ("1.2.3", "npm")
    assert (
        managed.plan("toynode==1.2.3").command().startswith(f"env NODE_PATH={made.folder}/node_modules node ")
    )
    assert releases("toynode", "..") == ["1.2.3", "1.9.0", "1.10.0"]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_packages_of_elixir(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """elixir and mix are scripts here: one locks what Mix.install is asked for where Mix does, and runs
    Python's toy in place of an adapter.
    """
    toy = Path(managed.__file__).parents[2] / "adapters" / "toy_adapter.py"
    monkeypatch.setitem(ADAPTERS, "toyelixir", Adapter("toy_adapter.exs", "toyelixir", language="elixir"))
    tools = here / "tools"
    tools.mkdir()
    (tools / "elixir").write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "Elixir 1.18.3"; exit; fi\n'
        f'if [ "$1" != -e ]; then [ "$TOYELIXIR_VERSION" = "== 1.2.0" ] && exec {sys.executable} {toy}; fi\n'
        'echo "$2 for $TOYELIXIR_VERSION"\n'
        'if [ "$TOYELIXIR_VERSION" = "== 9.0.0" ]; then echo "** (Mix) toyelixir == 9.0.0 doesn\'t match any'
        ' versions"; exit 1; fi\n'
        'mkdir -p "$MIX_INSTALL_DIR/elixir-1.14.0-erts-13.1/5eed"\n'
        'echo \'%{"toyelixir": {:hex, :toyelixir, "1.2.0", "abc", [:mix], [], "hexpm", "def"},\n  "complex":'
        ' {:hex, :complex, "0.6.0", "abc"}}\' '
        '> "$MIX_INSTALL_DIR/elixir-1.14.0-erts-13.1/5eed/mix.lock"\n'
    )
    (tools / "mix").write_text(
        '#!/bin/sh\nif [ "$1" = hex.info ]; then printf "A toy.\\n\\nReleases: 1.10.0, 1.9.0, 1.2.0, ...\\n";'
        ' fi\necho "$MIX_HOME: $*"\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    made, _ = managed.install("toyelixir==1.2")
    assert (made.version, made.installer, made.requirements) == ("1.2.0", "mix", ("toyelixir == 1.2.0",))
    assert made.packages == {"toyelixir": "1.2.0", "complex": "0.6.0"}
    log = Path(f"{made.folder}.log").read_text()
    assert f"{made.folder}/home: local.hex --force --if-missing" in log
    assert 'Mix.install([{:toyelixir, System.fetch_env!("TOYELIXIR_VERSION")}]) for == 1.2.0' in log
    assert [way.name for way in resolve("toyelixir==1.2")] == ["toyelixir==1.2"]
    assert slope("toyelixir==1.2") == 0.75
    assert releases("toyelixir", "..") == ["1.2.0", "1.9.0", "1.10.0"]
    with pytest.raises(
        InstallError,
        match=r"toyelixir == 9\.0\.0 cannot be installed: .*match any versions\. There is no such release",
    ):
        managed.install("toyelixir==9")
    with pytest.raises(
        InstallError, match="exla cannot be installed: an adapter in Elixir asks Mix for its library alone"
    ):
        managed.install("toyelixir", extra=("exla",))
    requirements = [managed.plan(f"toyelixir{which}").requirements[0] for which in ("", ">=0.9,<1", "~=0.9")]
    assert requirements == [f"toyelixir {which}" for which in (">= 0.0.0", ">= 0.9.0 and < 1.0.0", "~> 0.9")]
    for which in ("==1.*", "!=1.2.3"):
        with pytest.raises(UsageError, match="Mix does not know"):
            managed.plan(f"toyelixir{which}")
    monkeypatch.setenv("PATH", str(here))
    told = r"toyelixir >= 0\.0\.0 cannot be installed: elixir and mix are not on the path"
    with pytest.raises(InstallError, match=told):
        managed.install("toyelixir")


# Releases ---------------------------------------------------------------------------------------------------


def test_which_releases_are_meant(installer: Installer) -> None:
    assert releases("toygrad:dual", "1.1..1.4") == ["1.1", "1.2", "1.3", "1.4"]
    assert releases("toygrad", "1.3..") == ["1.3", "1.4", "1.5"]
    assert releases("toygrad", "..1.1") == ["1.0", "1.1"]
    assert releases("toygrad", "1.5..2.0rc1") == ["1.5", "2.0rc1"]
    assert releases("toygrad", "1.0.5..1.1.9") == ["1.1"], "the ends need not be releases"
    assert releases("toygrad", "1.10, 1.9,1.9") == ["1.9", "1.10"], "who names them needs no index"
    for text, words in (
        ("3..4", "is in 3..4; there are from 1.0 to 2.0rc1"),
        ("2..1", "later"),
        ("one", "no release"),
        (",", "names no"),
    ):
        with pytest.raises(UsageError, match=words):
            releases("toygrad", text)


# Bisection --------------------------------------------------------------------------------------------------


def searched(story: str) -> tuple[Bisection, list[str]]:
    """What comes of releases that are right (r), wrong (w), or cannot tell (?); and which were asked."""
    asked: list[str] = []
    what = {"r": Status.FIXED, "w": Status.FAILED, "?": Status.ERROR}

    def ask(version: str) -> Said:
        asked.append(version)
        return Said(version, what[story[int(version)]], "", {"beside": "1" if int(version) < 8 else "2"})

    result = bisect([str(k) for k in range(len(story))], ask)
    assert len(asked) == len(set(asked)), "each is asked once"
    return result, asked


@pytest.mark.parametrize(
    ("story", "words", "most"),
    [
        ("rrrrrwww", "It came in 5: 4 is right, 5 is wrong.", 5),
        ("wrrrrrrr", "It went in 1: 0 is wrong, 1 is right.", 5),
        ("rrr??www", "It came in 5 or one of 3, 4, which could not be judged: 2 is right, 5 is wrong.", 7),
        ("rw", "It came in 1: 0 is right, 1 is wrong.", 2),
        ("rrrrrrrr", "Nothing came or went: 0 and 7 are both right. So are 1, 3, 5 between them.", 5),
        ("www", "Nothing came or went: 0 and 2 are both wrong. So is 1 between them.", 3),
        ("rrwwwrr", "It came in 2: 1 is right, 2 is wrong. It went in 5: 4 is wrong, 5 is right.", 7),
        ("???rrw??", "It came in 5: 4 is right, 5 is wrong.", 8),
        ("????????", "No release could be judged.", 5),
        ("???w????", "3 is wrong, and no other release could be judged.", 8),
        ("w", "0 is wrong, and no other release could be judged.", 1),
        ("?", "No release could be judged.", 1),
        ("?w", "1 is wrong, and no other release could be judged.", 2),
    ],
)
def test_where_it_came_or_went(story: str, words: str, most: int) -> None:
    result, asked = searched(story)
    assert result.words == words
    assert len(asked) <= most
    assert [said.version for said in result.asked] == sorted(asked)


def test_few_of_many_releases_are_asked() -> None:
    result, asked = searched("r" * 700 + "w" * 300)
    assert (result.changes[0].before, result.changes[0].after) == ("699", "700")
    assert len(asked) <= 2 + 10, "the ends, and one for each halving of 1,000"


def test_what_else_differs_is_told() -> None:
    assert "other packages differ, too (beside 1 and 2)" in searched("r" * 8 + "w" * 8)[0].words
    assert "other packages" not in searched("rrrrw")[0].words


# Commands ---------------------------------------------------------------------------------------------------


def test_environments_by_command(installer: Installer) -> None:
    done = run("targets", "install", "toygrad==1.0", "toygrad==1.3")
    assert done.exit_code == CLEAN
    assert "Installing toygrad==1.0 into .gradfuzz/envs/toygrad-1.0" in done.stderr
    assert done.stdout.startswith("toygrad==1.0: toygrad 1.0 by unzip in ")
    assert f" MB, with Python {platform.python_version()}, " in done.stdout
    assert "was there already" in run("targets", "install", "toygrad==1.0").stdout
    assert "in environments of their own: toygrad==1.0, toygrad==1.3" in " ".join(
        run("targets").stdout.split()
    )
    rows = json.loads(run("targets", "--format", "json").stdout)["targets"]
    assert next(r for r in rows if r["name"] == "toygrad")["environments"] == ["toygrad==1.0", "toygrad==1.3"]
    bad = run("targets", "install", "toygrad==9", "toygrad==1.5", "--format", "json")
    assert bad.exit_code == INCOMPLETE, "the others are installed all the same"
    one, other = json.loads(bad.stdout)["environments"]
    assert "no such release" in one["error"]
    assert (other["version"], other["new"]) == ("1.5", True)
    assert other["python"] == platform.python_version()
    assert run("targets", "install").exit_code == USAGE
    assert run("targets", "install", "engine").exit_code == USAGE
    assert run("targets", "list", "toygrad").exit_code == USAGE
    assert run("targets", "remove", "toygrad==1.5").stdout.endswith("removed\n")
    assert run("targets", "remove", "toygrad==1.5").exit_code == USAGE
    more = run(
        "targets", "install", "toygrad==1.2", "--with", "mpmath", "--with", "wheel<1", "--format", "json"
    )
    assert json.loads(more.stdout)["environments"][0]["requirements"] == ["toygrad==1.2", "mpmath", "wheel<1"]
    assert managed.missing(["toygrad==1.2:dual"]) == [], "a sweep takes what has more than it needs"
    kept = run("targets", "install", "toygrad==1.0", "--store", "kept/store.sqlite")
    assert "kept/envs/toygrad-1.0" in kept.stdout


def test_a_bisection_by_command(installer: Installer) -> None:
    finding = dataclasses.replace(MUTANT, target="toygrad==1.4:dual", modes=("fwd",), check="jvp")
    Path("finding.json").write_text(json.dumps(to_document(finding)))
    done = run("bisect", "finding.json", "--versions", "1.0..1.5")
    assert done.exit_code == CLEAN, done.output
    text = " ".join(done.stdout.split())
    assert "It came in 1.3 or one of 1.2, which could not be judged: 1.1 is right, 1.3 is wrong." in text
    assert "It went in 1.5: 1.4 is wrong, 1.5 is right." in text
    assert "built for another planet" in text
    assert "toygrad 1.5 is right" in done.stderr
    assert worker(managed.plan("toygrad==1.5").command()).pid is None, "nothing is left running"
    wrong = run("bisect", "finding.json", "--versions", "1.0,1.3", "--format", "json")
    assert wrong.exit_code == FINDINGS
    document = json.loads(wrong.stdout)
    assert document["changes"] == [
        {"what": "came", "release": "1.3", "before": "1.0", "untold": [], "others": []}
    ]
    assert [(s["version"], s["status"]) for s in document["asked"]] == [("1.0", "FIXED"), ("1.3", "FAILED")]
    none = run("bisect", "finding.json", "--versions", "8,9", "--format", "json")
    assert none.exit_code == INCOMPLETE
    assert "no such release" in json.loads(none.stdout)["asked"][0]["message"]
    assert run("bisect", "finding.json", "--versions", "1.1,2.0rc1", "--discard").exit_code == CLEAN
    assert managed.find("toygrad==2.0rc1") is None
    assert managed.find("toygrad==1.1") is not None, "only what was made is discarded"


def test_a_recorded_finding_of_a_release_is_asked_again(installer: Installer) -> None:
    """In its environment, which says so where there is none, or where nothing answers in it."""

    def replayed(version: str) -> tuple[Status, str]:
        outcome = replay(
            dataclasses.replace(MUTANT, target=f"toygrad=={version}:dual", modes=("fwd",), check="jvp")
        )
        return outcome.status, outcome.message

    status, message = replayed("1.2")
    assert (status, message.endswith("gradfuzz targets install 'toygrad==1.2'")) == (Status.ERROR, True)
    for version in ("1.0", "1.2", "1.3"):
        managed.install(f"toygrad=={version}")
    assert replayed("1.0") == (Status.FIXED, "toygrad==1.0:dual 1.0 is right at each of its points")
    assert replayed("1.3")[0] is Status.FAILED
    status, message = replayed("1.2")
    assert (status, "built for another planet" in message) == (Status.ERROR, True)
    assert "built for another planet" in (managed.root() / "toygrad-1.2.log").read_text(), (
        "it was started once when it was made"
    )


def test_what_cannot_be_bisected(installer: Installer) -> None:
    Path("finding.json").write_text(json.dumps(to_document(MUTANT)))
    done = run("bisect", "finding.json", "--versions", "1.0..1.5")
    assert done.exit_code == USAGE
    assert "nothing to install for 'mutant'" in done.stderr
