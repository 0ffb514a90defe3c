"""Toolchains of Debian, each in a chroot that debootstrap makes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign.installers.commands import (
    failure,
    remove,
    run,
    said,
)

SUITES = ("oldstable", "stable", "testing", "unstable")
"""The suites of Debian in which a release is looked for."""

RELEASE, ROOT = "release", "root"
"""The file with the release of an environment's toolchain or library, and its chroot where it has one."""


def lacks_chroots(advice: str) -> str:
    """What to do where no chroot with a toolchain of Debian can be made here; empty where one can."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"{advice}, or run this as root on Debian, where debootstrap makes a chroot with it"
    if shutil.which("debootstrap") is None:
        return f"{advice}, or let debootstrap make a chroot with it: apt-get install debootstrap"
    return ""


def make_chroot(root: Path, suite: str, packages: str, wanted: str, log: Path) -> None:
    """Makes a chroot with packages of a suite."""
    what = ["--variant=minbase", f"--include={packages}", suite, str(root)]
    if not run([*_proxied(), "debootstrap", *what, _mirror(wanted)], log):
        raise failure([wanted], log)
    remove(root / "var" / "cache" / "apt" / "archives")


def _mirror(wanted: str) -> str:
    """The mirror of Debian in apt's own configuration."""
    told = said(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"])
    rows = [line.split() for line in told.splitlines()]
    found = next((row[1] for row in rows if len(row) == len(("label", "uri")) and row[0] == "Debian"), None)
    if found is None:
        why = "apt knows no mirror of Debian, where debootstrap finds a toolchain; run: apt-get update"
        raise InstallError(f"{wanted} cannot be installed: {why}")
    return found


def _proxied() -> list[str]:
    """The start of a command with apt's proxy, of which debootstrap does not know."""
    told = shlex.split(said(["apt-config", "shell", "http_proxy", "Acquire::http::Proxy"]))
    return ["env", *told] if told else []


def in_debian(package: str, wanted: str) -> dict[str, str]:
    """The suite of Debian by release of a package, as apt finds them, whatever suite this machine has."""
    with tempfile.TemporaryDirectory() as place:
        sources = Path(place) / "sources.list"
        (Path(place) / "lists" / "partial").mkdir(parents=True)
        mirror = _mirror(wanted)
        sources.write_text("".join(f"deb {mirror} {suite} main\n" for suite in SUITES), encoding="utf-8")
        own = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "-",
            "Dir::State::Lists": f"{place}/lists",
            "Dir::Cache": place,
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",
        }
        options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
        said(["apt-get", *options, "update"])
        rows = said(["apt-cache", *options, "madison", package]).splitlines()
    found: dict[str, str] = {}
    for row in rows:  # swiftlang | 6.0.3-2 | MIRROR stable/main amd64 Packages
        _, version, source = row.split("|")
        release, suite = re.split(r"-|\.dfsg", version.strip())[0], source.split()[1].partition("/")[0]
        found[release] = min(found.get(release, suite), suite, key=SUITES.index)
    return found
