"""Toolchains of Swift: the one on the path, or Debian's."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

from gradfuzz import adapters
from gradfuzz.errors import InstallError
from gradfuzz.oracles.foreign.installers.commands import (
    NAME_THEM,
    failure,
    in_order,
    run,
    said,
)
from gradfuzz.oracles.foreign.installers.debian import (
    RELEASE,
    ROOT,
    in_debian,
    lacks_chroots,
    make_chroot,
)
from gradfuzz.oracles.foreign.installers.language import Language

_DEBIAN = "swiftlang"
"""Debian's package of Swift."""

_ADVICE = "put the toolchain of swift.org there"


def _install(folder: Path, requirements: Sequence[str], log: Path) -> str:
    """Uses the toolchain on the path if it is such a release; otherwise makes a chroot with Debian's."""
    wanted, *more = requirements
    if more:
        raise InstallError(f"{' '.join(more)} cannot be installed: a toolchain of Swift has no packages")
    fits = Requirement(wanted).specifier
    here = _swift_here()
    if here is not None and fits.contains(here[1], prereleases=True):
        release, installer, compilers = here[1], "the path", here[0]
        folder.mkdir(parents=True)
    else:
        told = "swiftc is not on the path" if here is None else f"swiftc on the path is {here[1]}"
        lacking = lacks_chroots(_ADVICE)
        if lacking:
            raise InstallError(f"{wanted} cannot be installed: {told}; {lacking}")
        known = in_debian(_DEBIAN, wanted)
        fitting = in_order(fits.filter(known, prereleases=True))
        if not fitting:
            has = ", ".join(f"{known[one]} has {one}" for one in in_order(known)) or "none has any"
            raise InstallError(f"{wanted} cannot be installed: {told}, and of Debian's suites {has}")
        release, installer, compilers = fitting[-1], "debootstrap", folder / ROOT / "usr" / "bin"
        folder.mkdir(parents=True)
        make_chroot(folder / ROOT, known[release], f"{_DEBIAN},g++", wanted, log)
    (folder / "bin").symlink_to(compilers)
    (folder / RELEASE).write_text(release, encoding="utf-8")
    if not run(_command(folder, adapters.path("swift_adapter.swift")), log):
        raise failure([wanted], log)
    return installer


def _swift_here() -> tuple[Path, str] | None:
    """The folder of the swiftc on the path, and its release."""
    found = shutil.which("swiftc")
    if found is None:
        return None
    told = re.search(r"Swift version (\d[\w.]*)", said([found, "--version"]))
    return None if told is None else (Path(found).parent, told[1])


def _version(folder: Path, distribution: str) -> str | None:
    """None where swiftc is gone. In a chroot it is a link that leads somewhere only in there."""
    if not os.path.lexists(folder / "bin" / "swiftc"):
        return None
    return (folder / RELEASE).read_text(encoding="utf-8")


def _command(folder: Path, script: Path) -> list[str]:
    return ["sh", str(adapters.path("start.sh")), str(folder), str(script)]


def _releases(distribution: str) -> list[str]:
    """Those of Debian's suites, and that on the path."""
    here = _swift_here()
    known = [] if here is None else [here[1]]
    lacking = lacks_chroots(_ADVICE)
    if lacking and not known:
        raise InstallError(f"the releases of {distribution} cannot be listed: {lacking}; {NAME_THEM}")
    return in_order([*known, *([] if lacking else in_debian(_DEBIAN, distribution))])


SWIFT = Language(
    lambda distribution, specifier: f"{distribution}{specifier}",
    _install,
    _version,
    lambda folder: {"swift": _version(folder, "swift") or ""},
    _command,
    _releases,
)
