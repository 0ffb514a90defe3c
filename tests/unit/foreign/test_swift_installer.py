"""Where a toolchain of Swift comes from: the path, debootstrap, or a sentence. Every program that an
installation starts is a script here; no network.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign import installers, managed
from gradfuzz.oracles.foreign.releases import releases
from gradfuzz.oracles.registry import resolve
from tests.scripted_path import ScriptedPath
from tests.swift_toolchain import REASON, VARIABLE

ROOT = Path(__file__).parents[3]
TOY = Path(managed.__file__).parents[2] / "adapters" / "toy_adapter.py"
COMPILES = f'printf "#!/bin/sh\\nexec {sys.executable} {TOY}\\n" > "$4"; chmod +x "$4"'
"""What swiftc does here with -O SCRIPT -o PROGRAM: the program is Python's toy."""
MADISON = """\
 swiftlang | 6.2.3-1+b1 | http://mirror/debian unstable/main amd64 Packages
 swiftlang | 6.0.3-2 | http://mirror/debian stable/main amd64 Packages
 swiftlang | 6.0.3-2 | http://mirror/debian testing/main amd64 Packages
"""


class Machine(ScriptedPath):
    programs = ("sh", "env", "cksum", "tr", "mv", "cp", "chmod", "mkdir", "cat")

    def has_swift(self, release: str) -> None:
        self.has(
            "swiftc",
            f'if [ "$1" = --version ]; then echo "Swift version {release} (x)"; exit; fi\n{COMPILES}',
        )

    def has_debian(self) -> None:
        """debootstrap makes a folder, and a chroot into it is a swiftc outside of it."""
        label = 'echo "Debian-Security http://security/debian/"; echo "Debian http://mirror/debian/"'
        self.has("apt-get", f'case "$*" in indextargets*) {label};; esac')
        self.has("apt-config", "echo \"http_proxy='http://proxy:3128'\"")
        self.has("apt-cache", f"cat <<'END'\n{MADISON}END")
        made = 'mkdir -p "$4/usr/bin" "$4/opt" "$4/tmp" "$4/var/cache/apt/archives/x"'
        self.has("debootstrap", f'{made}\n: > "$4/usr/bin/swiftc"\necho "$http_proxy; $*"')
        self.has("unshare", 'shift\nexec "$@"')
        self.has("mount", "exit 0")
        self.has("swiftc-inside", COMPILES)
        inside = 'root=$1\nshift 6\nprogram=$1; [ "$program" = swiftc ] || exec "$root$program"'
        self.has("chroot", f'{inside}\nexec swiftc-inside -O "$root$3" -o "$root$5"')


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_the_toolchain_on_the_path(machine: Machine) -> None:
    machine.has_swift("6.1.2")
    made, new = managed.install("swift==6.1.2")
    assert (made.version, made.installer, new) == ("6.1.2", "the path", True)
    assert [way.name for way in resolve("swift==6.1.2")] == ["swift==6.1.2"]
    assert len(list(Path(made.folder).glob("adapter-*"))) == 1
    machine.tools.joinpath("swiftc").unlink()
    assert managed.find("swift==6.1.2") is None


def test_a_chroot_where_the_path_has_another_release(machine: Machine) -> None:
    machine.has_swift("5.9")
    machine.has_debian()
    made, _ = managed.install("swift==6.0.3")
    assert (made.version, made.installer) == ("6.0.3", "debootstrap")
    log = Path(f"{made.folder}.log").read_text()
    told = f"--variant=minbase --include=swiftlang,g++ stable {made.folder}/root http://mirror/debian/"
    assert f"http://proxy:3128; {told}" in log
    assert [way.name for way in resolve("swift==6.0.3")] == ["swift==6.0.3"]
    assert not Path(made.folder, "root/var/cache/apt/archives").exists()
    assert releases("swift", "..") == ["5.9", "6.0.3", "6.2.3"]
    assert managed.install("swift>=6")[0].version == "6.2.3"


@pytest.mark.parametrize(
    ("has", "root", "words"),
    [
        ((), False, "swiftc is not on the path; put the toolchain of swift.org there, or run this as root"),
        (("swift",), False, r"swiftc on the path is 5\.9; put the toolchain of swift.org there, or run this"),
        ((), True, "or run this as root on Debian"),
        (("apt-get",), True, "or let debootstrap make a chroot with it: apt-get install debootstrap"),
        (("apt-get", "debootstrap"), True, "apt knows no mirror of Debian.*; run: apt-get update"),
        (("debian",), True, r"of Debian's suites stable has 6\.0\.3, unstable has 6\.2\.3"),
    ],
)
def test_what_to_do_otherwise(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, has: tuple[str, ...], root: bool, words: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    for name in has:
        if name == "swift":
            machine.has_swift("5.9")
        elif name == "debian":
            machine.has_debian()
        else:
            machine.has(name, "exit 0")
    with pytest.raises(InstallError, match=f"^swift==9 cannot be installed: .*{words}"):
        managed.install("swift==9")
    assert managed.find("swift==9") is None


def test_a_chroot_that_cannot_be_made(machine: Machine) -> None:
    machine.has_debian()
    machine.has("debootstrap", "echo 'E: Failed getting release file http://mirror/debian'; exit 1")
    with pytest.raises(InstallError, match=r"E: Failed getting release file .* No index of packages"):
        managed.install("swift==6.0.3")
    with pytest.raises(InstallError, match="a toolchain of Swift has no packages"):
        managed.install("swift==6.0.3", extra=("numpy",))
    assert not (managed.root() / "swift-6.0.3").exists()


def test_without_a_toolchain_nothing_is_listed(machine: Machine) -> None:
    with pytest.raises(InstallError, match="the releases of swift cannot be listed: put the toolchain"):
        installers.LANGUAGES["swift"].releases("swift")


@pytest.mark.parametrize("there", [False, True])
def test_tests_of_swift_are_skipped_where_there_is_none(there: bool, tmp_path: Path) -> None:
    """With that reason; with a toolchain none is, whatever comes of it: here the adapter is `false`."""
    hidden = {name: value for name, value in os.environ.items() if name != VARIABLE}
    swift = {VARIABLE: "false"} if there else {}
    tests = "tests/unit/foreign/test_swift_conversation.py"
    names = [f"{tests}::test_swift_{name}" for name in ("says_it_again", "returns_what_it_returned")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", *names],
        env={**hidden, **swift, "PATH": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (f"SKIPPED [1] {tests}" in done.stdout and REASON in done.stdout) is not there
    assert ("2 skipped" in done.stdout) is not there
    assert ("2 failed" in done.stdout) is there
