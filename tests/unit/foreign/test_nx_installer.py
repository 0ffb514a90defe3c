"""Where Elixir and Nx come from: the path, debootstrap, Mix, a folder, or a sentence. Every program that an
installation starts is a script here; no network.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from gradfuzz.errors import InstallError, UsageError
from gradfuzz.oracles.foreign import managed
from gradfuzz.oracles.foreign.releases import releases
from gradfuzz.oracles.registry import resolve
from gradfuzz.oracles.target_name import TargetName
from tests.scripted_path import ScriptedPath

TOY = Path(managed.__file__).parents[2] / "adapters" / "toy_adapter.py"
ELIXIR = f"""\
[ "$1" = --version ] && {{ echo "Elixir RELEASE (compiled with Erlang/OTP 27)"; exit; }}
exec {shlex.quote(sys.executable)} {shlex.quote(str(TOY))}"""
COMPILES = """\
while [ "$1" != -o ]; do shift; done
case "$2" in */nx/ebin) : > "$2/Elixir.Nx.beam";; esac
echo "compiled: $*"
"""
MADISON = """\
 elixir | 1.18.3.dfsg-1 | http://mirror/debian stable/main amd64 Packages
 elixir | 1.14.0.dfsg-2 | http://mirror/debian oldstable/main amd64 Packages
 elixir | 1.19.1-1 | http://mirror/debian unstable/main amd64 Packages
"""


class Machine(ScriptedPath):
    programs = ("sh", "env", "mkdir", "cat", "dirname")

    def has_elixir(self, release: str) -> None:
        self.has("elixir", ELIXIR.replace("RELEASE", release))
        self.has("elixirc", COMPILES)
        self.has("erlc", COMPILES)
        self.has("mix", "exit 0")

    def has_debian(self) -> None:
        """debootstrap makes a folder, and a chroot into it runs the programs of the path but elixir."""
        self.has("apt-get", 'case "$*" in indextargets*) echo "Debian http://mirror/debian/";; esac')
        self.has("apt-config", "exit 0")
        self.has("apt-cache", f"cat <<'END'\n{MADISON}END")
        self.has("debootstrap", 'mkdir -p "$4/var/cache/apt/archives/x"\necho "$*"')
        self.has("unshare", 'shift\nexec "$@"')
        self.has("mount", 'echo "mount $*" >&2')
        inside = 'shift\nwhile case "$1" in env|-u|TMPDIR|*=*) true;; *) false;; esac; do shift; done\n'
        inside += f'case "$1" in elixir) exec {shlex.quote(sys.executable)} {shlex.quote(str(TOY))};; esac\n'
        self.has("chroot", inside + COMPILES)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def sources(place: Path) -> None:
    """What is read of the sources of Nx, Complex and Telemetry."""
    for name, version, file in (
        ("nx", "0.11.0", "lib/nx.ex"),
        ("complex", "0.6.0", "lib/complex.ex"),
        ("telemetry", "", "src/telemetry.erl"),
    ):
        (place / name / file).parent.mkdir(parents=True)
        (place / name / file).write_text("")
        (place / name / "mix.exs").write_text(f'  @version "{version}"\n' if version else "")


def compiled(place: Path, version: str) -> None:
    for name in ("nx", "complex", "telemetry"):
        ebin = place / "_build" / "dev" / "lib" / name / "ebin"
        ebin.mkdir(parents=True)
        (ebin / f"Elixir.{name.capitalize()}.beam").write_text("")
        (ebin / f"{name}.app").write_text(f'{{application,{name},[{{vsn,"{version}"}},{{modules,[]}}]}}.\n')


def test_a_compiled_folder(machine: Machine, tmp_path: Path) -> None:
    machine.has_elixir("1.18.3")
    compiled(tmp_path / "newest", "0.13.1")
    made, new = managed.install("nx==./newest")
    assert (made.version, made.installer, new) == ("0.13.1", "copy", True)
    assert made.requirements == (f"nx {tmp_path}/newest",)
    assert made.packages == dict.fromkeys(("complex", "nx", "telemetry"), "0.13.1")
    command = managed.plan("nx==./newest").words
    assert command.count("-pa") == 3
    assert f"{made.folder}/lib/nx/ebin" in command
    assert [way.name for way in resolve("nx==./newest")] == ["nx==./newest"]
    assert managed.install("nx==./newest") == (made, False)


def test_sources_are_compiled_with_those_beside_them(machine: Machine, tmp_path: Path) -> None:
    machine.has_elixir("1.18.3")
    sources(tmp_path / "all")
    (tmp_path / "all" / "nx").rename(tmp_path / "all" / "moved")
    (tmp_path / "all" / "before").mkdir()
    (tmp_path / "all" / "moved").rename(tmp_path / "all" / "before" / "nx")
    made, _ = managed.install("nx==all/before")
    assert (made.version, made.installer) == ("0.11.0", "elixirc")
    log = Path(f"{made.folder}.log").read_text()
    order = [line.split("/lib/")[1].partition("/")[0] for line in log.splitlines() if "compiled: -o" in line]
    assert order == ["telemetry", "complex", "nx"]
    assert not Path(made.folder, "source").exists()


@pytest.mark.parametrize("here", ["1.14.0", None])
def test_a_chroot_that_environments_share(machine: Machine, tmp_path: Path, here: str | None) -> None:
    """With the suite nearest to stable that has a release of Elixir which Nx takes."""
    if here is not None:
        machine.has_elixir(here)
    machine.has_debian()
    compiled(tmp_path / "old", "0.11.0")
    compiled(tmp_path / "new", "0.13.1")
    made, _ = managed.install("nx==./old")
    log = Path(f"{made.folder}.log").read_text()
    assert "--variant=minbase --include=elixir,ca-certificates stable" in log
    other, _ = managed.install("nx==./new")
    assert "debootstrap" not in Path(f"{other.folder}.log").read_text()
    assert (made.version, other.version) == ("0.11.0", "0.13.1")
    assert [one.target for one in managed.everything()] == ["nx==./new", "nx==./old"]
    assert [way.name for way in resolve("nx==./old")] == ["nx==./old"]
    shutil.rmtree(managed.root() / "elixir")
    assert managed.everything() == []


@pytest.mark.parametrize(
    ("has", "root", "words"),
    [
        (
            (),
            False,
            "elixir and mix are not on the path; put Elixir 1.15 or later there .*or run this as root",
        ),
        (("1.14.0",), False, r"elixir on the path is 1\.14\.0; put Elixir 1.15 or later there"),
        (("apt-get",), True, ".*or let debootstrap make a chroot with it: apt-get install debootstrap"),
    ],
)
def test_what_to_do_without_elixir(
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    has: tuple[str, ...],
    root: bool,
    words: str,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    for name in has:
        if name[0].isdigit():
            machine.has_elixir(name)
        else:
            machine.has(name, "exit 0")
    compiled(tmp_path / "nx", "0.13.1")
    for target in ("nx", "nx==./nx"):
        with pytest.raises(InstallError, match=f"^nx .* cannot be installed: {words}"):
            managed.install(target)
        assert managed.find(target) is None


def test_a_folder_without_nx(machine: Machine, tmp_path: Path) -> None:
    machine.has_elixir("1.18.3")
    sources(tmp_path / "some")
    shutil.rmtree(tmp_path / "some" / "telemetry")
    with pytest.raises(
        InstallError, match=r"neither folders `ebin` with a compiled Nx, nor .*: no telemetry"
    ):
        managed.install("nx==./some")
    with pytest.raises(UsageError, match="names no releases"):
        managed.plan("autograd==./some")


def test_folders_as_releases() -> None:
    assert TargetName.of("nx==./a-53:while") == TargetName("nx", "==./a-53", "while")
    assert TargetName.of("nx==./a-53:while").is_folder
    assert not TargetName.of("nx==0.9").is_folder
    assert str(TargetName.of("nx").at("../b").base) == "nx==../b"
    assert releases("nx", "./b,../a,./b") == ["./b", "../a"]
