"""Libraries of Elixir, by Mix, or from a folder that has them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from gradfuzz import adapters
from gradfuzz.errors import InstallError, UsageError
from gradfuzz.oracles.foreign.installers.commands import (
    FORMS,
    failure,
    listed,
    output,
    remove,
    run,
    said,
)
from gradfuzz.oracles.foreign.installers.debian import (
    RELEASE,
    ROOT,
    SUITES,
    in_debian,
    lacks_chroots,
    make_chroot,
)
from gradfuzz.oracles.foreign.installers.language import Language

_WANTED = "requirement"
"""The file with an environment's requirement: Mix finds what it installed only by the same words."""
_MIX_PLACES = ("MIX_HOME", "home"), ("HEX_HOME", "hex"), ("MIX_INSTALL_DIR", "mix")

_LEAST_ELIXIR = Version("1.15")
"""The first release of Elixir that Nx 0.9 and later take."""

_CHROOT = "elixir"
"""The chroot that all environments share, a folder beside them."""

_SOURCES = {"telemetry": "src/*.erl", "complex": "lib/**/*.ex", "nx": "lib/**/*.ex"}
"""The libraries of a folder with sources of Nx, in the order in which they are compiled."""


def _requirement(distribution: str, specifier: str) -> str:
    """Elixir's versions have three parts, except after ~>. A folder stands as it is."""
    if "/" in specifier:
        return f"{distribution} {Path(specifier.removeprefix('==')).absolute()}"
    parts = []
    for part in filter(None, specifier.split(",")):
        sign, version = re.fullmatch(r"([=<>!~]+)\s*(.*)", part.strip()).groups()  # type: ignore[union-attr]  # as specifiers do
        if sign in ("===", "!=") or "*" in version:
            raise UsageError(f"Mix does not know {part!r}; {FORMS}")
        padded = version + ".0" * (2 - version.count("."))
        parts.append(f"~> {version}" if sign == "~=" else f"{sign} {padded}")
    return f"{distribution} {' and '.join(parts) or '>= 0.0.0'}"


def _inside(folder: Path) -> list[str]:
    """The start of a command that runs in the environment's chroot, where it has one."""
    return ["sh", str(adapters.path("chroot.sh")), str(folder)] if (folder / ROOT).exists() else []


def _mix(folder: Path) -> list[str]:
    """The start of a command: Mix keeps its files in the folder, and an adapter reads what to ask Mix for."""
    wanted = folder / _WANTED
    name, _, which = wanted.read_text(encoding="utf-8").partition(" ") if wanted.exists() else ("", "", "")
    places = [f"{variable}={folder / place}" for variable, place in _MIX_PLACES]
    return [*_inside(folder), "env", *places, *([f"{name.upper()}_VERSION={which}"] if name else [])]


def _install(folder: Path, requirements: Sequence[str], log: Path) -> str:
    wanted, *more = requirements
    if more:
        why = "an adapter in Elixir asks Mix for its library alone"
        raise InstallError(f"{' '.join(more)} cannot be installed: {why}")
    name, _, which = wanted.partition(" ")
    parts = _parts_of(Path(which), wanted) if which.startswith("/") else {}
    folder.mkdir(parents=True)
    _begin_elixir(folder, wanted, log)
    if parts:
        return _take_elixir(folder, parts, wanted, log)
    (folder / _WANTED).write_text(wanted, encoding="utf-8")
    for command in (
        ["mix", "local.hex", "--force", "--if-missing"],
        ["mix", "local.rebar", "--force", "--if-missing"],
        ["elixir", "-e", f'Mix.install([{{:{name}, System.fetch_env!("{name.upper()}_VERSION")}}])'],
    ):
        if not run([*_mix(folder), *command], log):
            raise failure([wanted], log)
    return "mix"


def _begin_elixir(folder: Path, wanted: str, log: Path) -> None:
    """Links an environment to a chroot with Debian's Elixir if the path has none that fits.

    The first environment makes it.
    """
    here = _elixir_here()
    if here is not None and here >= _LEAST_ELIXIR and shutil.which("mix") is not None:
        return
    told = "elixir and mix are not on the path" if here is None else f"elixir on the path is {here}"
    root = folder.parent / _CHROOT
    if not root.exists():
        lacking = lacks_chroots(f"put Elixir {_LEAST_ELIXIR} or later there (Debian's package elixir)")
        if lacking:
            raise InstallError(f"{wanted} cannot be installed: {told}; {lacking}")
        known = in_debian("elixir", wanted)
        suites = {suite for release, suite in known.items() if Version(release) >= _LEAST_ELIXIR}
        if not suites:
            why = f"{told}, and no suite of Debian has {_LEAST_ELIXIR} or later"
            raise InstallError(f"{wanted} cannot be installed: {why}")
        making = root.with_name(f"{_CHROOT}.{os.getpid()}")
        try:
            packages = "elixir,ca-certificates"
            make_chroot(making, min(suites, key=SUITES.index), packages, wanted, log)
            with contextlib.suppress(OSError):  # another process was faster
                making.rename(root)
        finally:
            remove(making)
    (folder / ROOT).symlink_to(root)


def _elixir_here() -> Version | None:
    """The release of the elixir on the path."""
    found = shutil.which("elixir")
    told = None if found is None else re.search(r"Elixir (\d+\.\d+(\.\d+)?)", said([found, "--version"]))
    return None if told is None else Version(told[1])


def _parts_of(place: Path, wanted: str) -> dict[str, Path]:
    """What is taken of a folder, by name: compiled folders `ebin` with Nx among them, or the sources of
    Nx with those of Complex and Telemetry in it or beside it.
    """
    compiled = {ebin.parent.name: ebin for ebin in sorted(place.rglob("ebin")) if any(ebin.glob("*.beam"))}
    if any((ebin / "Elixir.Nx.beam").exists() for ebin in compiled.values()):
        return compiled
    sources = {
        name: found
        for name, files in _SOURCES.items()
        for found in [next((p for p in (place / name, place.parent / name) if any(p.glob(files))), None)]
        if found is not None
    }
    if set(sources) != set(_SOURCES):
        lacks = ", ".join(name for name in _SOURCES if name not in sources)
        raise InstallError(
            f"{wanted} cannot be installed: the folder has neither folders `ebin` with a compiled Nx, nor the"
            f" sources of Nx with those of Complex and Telemetry in it or beside it: no {lacks}"
        )
    return sources


def _take_elixir(folder: Path, parts: dict[str, Path], wanted: str, log: Path) -> str:
    """Copies compiled folders, or compiles sources. Returns the installer's name."""
    compiles = all(part.name != "ebin" for part in parts.values())
    for name, part in parts.items():
        ebin = folder / "lib" / name / "ebin"
        if not compiles:
            shutil.copytree(part, ebin)
            continue
        source = folder / "source" / name
        files = [path for path in sorted(part.glob(_SOURCES[name])) if "tasks" not in path.parts]
        for path in [*files, *part.glob("src/*.hrl")]:
            (source / path.relative_to(part)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, source / path.relative_to(part))
        ebin.mkdir(parents=True)
        compiler = ["erlc"] if _SOURCES[name].endswith(".erl") else ["elixirc", *_paths(folder)]
        copies = [str(source / path.relative_to(part)) for path in files]
        if not run([*_inside(folder), *compiler, "-o", str(ebin), *copies], log):
            raise failure([wanted], log)
        version = _match(r'@version "([^"]+)"', part / "mix.exs") or "0"
        (ebin / f"{name}.app").write_text(f'{{application, {name}, [{{vsn, "{version}"}}]}}.\n', "utf-8")
    remove(folder / "source")
    found = next(folder.glob("lib/*/ebin/Elixir.Nx.beam")).parent
    (folder / RELEASE).write_text(_match(r'vsn, *"([^"]+)"', found / "nx.app") or "0", encoding="utf-8")
    return "elixirc" if compiles else "copy"


def _paths(folder: Path) -> list[str]:
    """The options of Elixir for the libraries that an environment has taken from a folder."""
    return [word for ebin in sorted(folder.glob("lib/*/ebin")) for word in ("-pa", str(ebin))]


def _match(pattern: str, file: Path) -> str:
    """The first group of a pattern in a file, empty where there is none."""
    found = re.search(pattern, file.read_text(encoding="utf-8")) if file.exists() else None
    return "" if found is None else found[1]


def _version(folder: Path, distribution: str) -> str | None:
    """None where its chroot is gone."""
    root, taken = folder / ROOT, folder / RELEASE
    if root.is_symlink() and not root.exists():
        return None
    if taken.exists():
        return taken.read_text(encoding="utf-8")
    return _packages(folder).get(distribution)


def _packages(folder: Path) -> dict[str, str]:
    """From the lock file that Mix writes, or the .app files of what was taken from a folder."""
    found: dict[str, str] = {}
    for lock in sorted(folder.glob("mix/*/*/mix.lock")):
        found.update(re.findall(r'"(\w+)": \{:hex, :\w+, "([^"]+)"', lock.read_text(encoding="utf-8")))
    for app in sorted(folder.glob("lib/*/ebin/*.app")):
        found[app.stem] = _match(r'vsn, *"([^"]+)"', app)
    return found


def _command(folder: Path, script: Path) -> list[str]:
    return [*_mix(folder), "elixir", *_paths(folder), str(script)]


def _releases(distribution: str) -> list[str]:
    """The releases that Hex lists, which are the latest."""
    return listed(output(["mix", "hex.info", distribution], distribution), "Releases:")


ELIXIR = Language(
    _requirement,
    _install,
    _version,
    _packages,
    _command,
    _releases,
    folders=True,
)
