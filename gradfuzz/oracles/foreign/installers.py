"""Installs the libraries of a language into a folder, lists them, and starts a script with them.

`LANGUAGES` has a row for each language whose libraries gradfuzz can install.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gradfuzz import adapters
from gradfuzz.errors import InstallError, UsageError
from gradfuzz.oracles.foreign import process_registry

_OFFLINE = (
    *("NewConnectionError", "ConnectTimeout", "name resolution", "ProxyError", "ENOTFOUND", "EAI_AGAIN"),
    *("ECONNREFUSED", "(from versions: none)", "nxdomain", "failed_connect"),
    "Failed getting release file",
)
"""Output of an installer that did not reach its index contains one of these."""

_UNKNOWN = (
    *("No matching distribution", "no version of", "No matching version"),
    *("ETARGET", "E404", "match any versions"),
)
"""Output of an installer that found no such release contains one of these."""

_NAME_THEM = "name them: --versions 1.0,1.1,1.2"
_FORMS = "give a release, as in ==1.2.3, or a range, as in >=1.2,<2"

_QUOTED = 3
"""This many lines of a log are quoted in an error."""

_FIRST_START = 600.0
"""Seconds for the first start of an adapter."""

_ENDS = 150
"""This many characters of a long line are quoted at either end."""

_SHARES_PIP = Version("22.3")
"""From this release on pip can install into other environments, so these need no pip of their own."""


@dataclass(frozen=True, slots=True)
class Language:
    """The operations on the libraries of one language."""

    requirement: Callable[[str, str], str]
    """A distribution and its releases in the installer's notation."""
    install: Callable[[Path, Sequence[str], Path], str]
    """Installs requirements into a new folder, with a log. Returns the installer's name, or raises."""
    version: Callable[[Path, str], str | None]
    """The release of a distribution in a folder; None where none works."""
    packages: Callable[[Path], dict[str, str]]
    """All distributions in a folder, with their releases."""
    command: Callable[[Path, Path], list[str]]
    """The command that starts a script with a folder's libraries."""
    releases: Callable[[str], list[str]]
    """The releases of a distribution that can be installed here, oldest first; or raises `InstallError`."""
    folders: bool = False
    """Whether a folder with the library can be named in place of a release."""


# Python -----------------------------------------------------------------------------------------------------


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _install_python(folder: Path, requirements: Sequence[str], log: Path) -> str:
    """Uses uv if available; otherwise, or where uv fails (it reads no pip configuration), pip."""
    python, here = str(_python(folder)), sys.executable
    uv = shutil.which("uv")
    if uv is not None:
        made = _run([uv, "venv", "--python", here, str(folder)], log)
        if made and _run([uv, "pip", "install", "--python", python, *requirements], log):
            return "uv"
        _empty(folder)
    venv, pip = ["venv"], [python, "-m", "pip"]
    if _pip_is_here():
        venv, pip = ["venv", "--without-pip"], [here, "-m", "pip", "--python", python]
    made = _run([here, "-m", *venv, str(folder)], log)
    if made and _run([*pip, "install", "--no-compile", *requirements], log):
        return "pip"
    raise _failure(requirements, log)


def _pip_is_here() -> bool:
    found = importlib.util.find_spec("pip") is not None
    return found and Version(importlib.metadata.version("pip")) >= _SHARES_PIP


def _python_version(folder: Path, distribution: str) -> str | None:
    """Also None where the environment's interpreter is gone."""
    if not _python(folder).exists():
        return None
    found = next(iter(importlib.metadata.distributions(name=distribution, path=_places(folder))), None)
    return None if found is None else found.version


def _places(folder: Path) -> list[str]:
    return [str(place) for place in folder.glob("lib/python*/site-packages")]


def _python_packages(folder: Path) -> dict[str, str]:
    found = importlib.metadata.distributions(path=_places(folder))
    return dict(sorted({canonicalize_name(one.name): one.version for one in found}.items()))


def _python_releases(distribution: str) -> list[str]:
    if importlib.util.find_spec("pip") is None:
        raise InstallError(f"the releases of {distribution} cannot be listed without pip; {_NAME_THEM}")
    command = [sys.executable, "-m", "pip", "index", "versions", "--pre", distribution]
    return _listed(_output(command, distribution), "Available versions:")


# Node -------------------------------------------------------------------------------------------------------


def _node_requirement(distribution: str, specifier: str) -> str:
    if "~=" in specifier or "!=" in specifier:
        raise UsageError(f"npm does not know {specifier!r}; {_FORMS}")
    return f"{distribution}@{specifier.removeprefix('==').replace(',', ' ')}" if specifier else distribution


def _install_node(folder: Path, requirements: Sequence[str], log: Path) -> str:
    folder.mkdir(parents=True)
    if not _run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *requirements], log):
        raise _failure(requirements, log)
    return "npm"


def _node_version(folder: Path, distribution: str) -> str | None:
    package = _node_json(folder, f"{distribution}/package.json")
    return None if package is None else str(package.get("version"))


def _node_packages(folder: Path) -> dict[str, str]:
    found = (_node_json(folder, ".package-lock.json") or {}).get("packages", {})
    return {place.removeprefix("node_modules/"): p.get("version", "") for place, p in found.items() if place}


def _node_json(folder: Path, name: str) -> dict[str, Any] | None:
    """What a file of the folder's modules contains; None where it cannot be read."""
    try:
        known: dict[str, Any] = json.loads((folder / "node_modules" / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known


def _node_command(folder: Path, script: Path) -> list[str]:
    return ["env", f"NODE_PATH={folder / 'node_modules'}", "node", str(script)]


def _node_releases(distribution: str) -> list[str]:
    told = json.loads(_output(["npm", "view", distribution, "versions", "--json"], distribution))
    return _sorted([told] if isinstance(told, str) else told)


# Debian -----------------------------------------------------------------------------------------------------

_SUITES = ("oldstable", "stable", "testing", "unstable")
"""The suites of Debian in which a release is looked for."""

_RELEASE, _ROOT = "release", "root"
"""The file with the release of an environment's toolchain or library, and its chroot where it has one."""


def _lacks_chroots(advice: str) -> str:
    """What to do where no chroot with a toolchain of Debian can be made here; empty where one can."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"{advice}, or run this as root on Debian, where debootstrap makes a chroot with it"
    if shutil.which("debootstrap") is None:
        return f"{advice}, or let debootstrap make a chroot with it: apt-get install debootstrap"
    return ""


def _make_chroot(root: Path, suite: str, packages: str, wanted: str, log: Path) -> None:
    """Makes a chroot with packages of a suite."""
    what = ["--variant=minbase", f"--include={packages}", suite, str(root)]
    if not _run([*_proxied(), "debootstrap", *what, _mirror(wanted)], log):
        raise _failure([wanted], log)
    _empty(root / "var" / "cache" / "apt" / "archives")


def _mirror(wanted: str) -> str:
    """The mirror of Debian in apt's own configuration."""
    told = _said(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"])
    rows = [line.split() for line in told.splitlines()]
    found = next((row[1] for row in rows if len(row) == len(("label", "uri")) and row[0] == "Debian"), None)
    if found is None:
        why = "apt knows no mirror of Debian, where debootstrap finds a toolchain; run: apt-get update"
        raise InstallError(f"{wanted} cannot be installed: {why}")
    return found


def _proxied() -> list[str]:
    """The start of a command with apt's proxy, of which debootstrap does not know."""
    told = shlex.split(_said(["apt-config", "shell", "http_proxy", "Acquire::http::Proxy"]))
    return ["env", *told] if told else []


def _in_debian(package: str, wanted: str) -> dict[str, str]:
    """The suite of Debian by release of a package, as apt finds them, whatever suite this machine has."""
    with tempfile.TemporaryDirectory() as place:
        sources = Path(place) / "sources.list"
        (Path(place) / "lists" / "partial").mkdir(parents=True)
        mirror = _mirror(wanted)
        sources.write_text("".join(f"deb {mirror} {suite} main\n" for suite in _SUITES), encoding="utf-8")
        own = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "-",
            "Dir::State::Lists": f"{place}/lists",
            "Dir::Cache": place,
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",
        }
        options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
        _said(["apt-get", *options, "update"])
        rows = _said(["apt-cache", *options, "madison", package]).splitlines()
    found: dict[str, str] = {}
    for row in rows:  # swiftlang | 6.0.3-2 | MIRROR stable/main amd64 Packages
        _, version, source = row.split("|")
        release, suite = re.split(r"-|\.dfsg", version.strip())[0], source.split()[1].partition("/")[0]
        found[release] = min(found.get(release, suite), suite, key=_SUITES.index)
    return found


# Elixir -----------------------------------------------------------------------------------------------------

_WANTED = "requirement"
"""The file with an environment's requirement: Mix finds what it installed only by the same words."""
_MIX_PLACES = ("MIX_HOME", "home"), ("HEX_HOME", "hex"), ("MIX_INSTALL_DIR", "mix")

_LEAST_ELIXIR = Version("1.15")
"""The first release of Elixir that Nx 0.9 and later take."""

_CHROOT = "elixir"
"""The chroot that all environments share, a folder beside them."""

_SOURCES = {"telemetry": "src/*.erl", "complex": "lib/**/*.ex", "nx": "lib/**/*.ex"}
"""The libraries of a folder with sources of Nx, in the order in which they are compiled."""


def _elixir_requirement(distribution: str, specifier: str) -> str:
    """Elixir's versions have three parts, except after ~>. A folder stands as it is."""
    if "/" in specifier:
        return f"{distribution} {Path(specifier.removeprefix('==')).absolute()}"
    parts = []
    for part in filter(None, specifier.split(",")):
        sign, version = re.fullmatch(r"([=<>!~]+)\s*(.*)", part.strip()).groups()  # type: ignore[union-attr]  # as specifiers do
        if sign in ("===", "!=") or "*" in version:
            raise UsageError(f"Mix does not know {part!r}; {_FORMS}")
        padded = version + ".0" * (2 - version.count("."))
        parts.append(f"~> {version}" if sign == "~=" else f"{sign} {padded}")
    return f"{distribution} {' and '.join(parts) or '>= 0.0.0'}"


def _inside(folder: Path) -> list[str]:
    """The start of a command that runs in the environment's chroot, where it has one."""
    return ["sh", str(adapters.path("chroot.sh")), str(folder)] if (folder / _ROOT).exists() else []


def _mix(folder: Path) -> list[str]:
    """The start of a command: Mix keeps its files in the folder, and an adapter reads what to ask Mix for."""
    wanted = folder / _WANTED
    name, _, which = wanted.read_text(encoding="utf-8").partition(" ") if wanted.exists() else ("", "", "")
    places = [f"{variable}={folder / place}" for variable, place in _MIX_PLACES]
    return [*_inside(folder), "env", *places, *([f"{name.upper()}_VERSION={which}"] if name else [])]


def _install_elixir(folder: Path, requirements: Sequence[str], log: Path) -> str:
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
        if not _run([*_mix(folder), *command], log):
            raise _failure([wanted], log)
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
        lacking = _lacks_chroots(f"put Elixir {_LEAST_ELIXIR} or later there (Debian's package elixir)")
        if lacking:
            raise InstallError(f"{wanted} cannot be installed: {told}; {lacking}")
        known = _in_debian("elixir", wanted)
        suites = {suite for release, suite in known.items() if Version(release) >= _LEAST_ELIXIR}
        if not suites:
            why = f"{told}, and no suite of Debian has {_LEAST_ELIXIR} or later"
            raise InstallError(f"{wanted} cannot be installed: {why}")
        making = root.with_name(f"{_CHROOT}.{os.getpid()}")
        try:
            packages = "elixir,ca-certificates"
            _make_chroot(making, min(suites, key=_SUITES.index), packages, wanted, log)
            with contextlib.suppress(OSError):  # another process was faster
                making.rename(root)
        finally:
            _empty(making)
    (folder / _ROOT).symlink_to(root)


def _elixir_here() -> Version | None:
    """The release of the elixir on the path."""
    found = shutil.which("elixir")
    told = None if found is None else re.search(r"Elixir (\d+\.\d+(\.\d+)?)", _said([found, "--version"]))
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
        if not _run([*_inside(folder), *compiler, "-o", str(ebin), *copies], log):
            raise _failure([wanted], log)
        version = _match(r'@version "([^"]+)"', part / "mix.exs") or "0"
        (ebin / f"{name}.app").write_text(f'{{application, {name}, [{{vsn, "{version}"}}]}}.\n', "utf-8")
    _empty(folder / "source")
    found = next(folder.glob("lib/*/ebin/Elixir.Nx.beam")).parent
    (folder / _RELEASE).write_text(_match(r'vsn, *"([^"]+)"', found / "nx.app") or "0", encoding="utf-8")
    return "elixirc" if compiles else "copy"


def _paths(folder: Path) -> list[str]:
    """The options of Elixir for the libraries that an environment has taken from a folder."""
    return [word for ebin in sorted(folder.glob("lib/*/ebin")) for word in ("-pa", str(ebin))]


def _match(pattern: str, file: Path) -> str:
    """The first group of a pattern in a file, empty where there is none."""
    found = re.search(pattern, file.read_text(encoding="utf-8")) if file.exists() else None
    return "" if found is None else found[1]


def _elixir_version(folder: Path, distribution: str) -> str | None:
    """None where its chroot is gone."""
    root, taken = folder / _ROOT, folder / _RELEASE
    if root.is_symlink() and not root.exists():
        return None
    if taken.exists():
        return taken.read_text(encoding="utf-8")
    return _elixir_packages(folder).get(distribution)


def _elixir_packages(folder: Path) -> dict[str, str]:
    """From the lock file that Mix writes, or the .app files of what was taken from a folder."""
    found: dict[str, str] = {}
    for lock in sorted(folder.glob("mix/*/*/mix.lock")):
        found.update(re.findall(r'"(\w+)": \{:hex, :\w+, "([^"]+)"', lock.read_text(encoding="utf-8")))
    for app in sorted(folder.glob("lib/*/ebin/*.app")):
        found[app.stem] = _match(r'vsn, *"([^"]+)"', app)
    return found


def _elixir_command(folder: Path, script: Path) -> list[str]:
    return [*_mix(folder), "elixir", *_paths(folder), str(script)]


def _elixir_releases(distribution: str) -> list[str]:
    """The releases that Hex lists, which are the latest."""
    return _listed(_output(["mix", "hex.info", distribution], distribution), "Releases:")


# Swift ------------------------------------------------------------------------------------------------------

_DEBIAN = "swiftlang"
"""Debian's package of Swift."""

_ADVICE = "put the toolchain of swift.org there"


def _install_swift(folder: Path, requirements: Sequence[str], log: Path) -> str:
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
        lacking = _lacks_chroots(_ADVICE)
        if lacking:
            raise InstallError(f"{wanted} cannot be installed: {told}; {lacking}")
        known = _in_debian(_DEBIAN, wanted)
        fitting = _sorted(fits.filter(known, prereleases=True))
        if not fitting:
            has = ", ".join(f"{known[one]} has {one}" for one in _sorted(known)) or "none has any"
            raise InstallError(f"{wanted} cannot be installed: {told}, and of Debian's suites {has}")
        release, installer, compilers = fitting[-1], "debootstrap", folder / _ROOT / "usr" / "bin"
        folder.mkdir(parents=True)
        _make_chroot(folder / _ROOT, known[release], f"{_DEBIAN},g++", wanted, log)
    (folder / "bin").symlink_to(compilers)
    (folder / _RELEASE).write_text(release, encoding="utf-8")
    if not _run(_swift_command(folder, adapters.path("swift_adapter.swift")), log):
        raise _failure([wanted], log)
    return installer


def _swift_here() -> tuple[Path, str] | None:
    """The folder of the swiftc on the path, and its release."""
    found = shutil.which("swiftc")
    if found is None:
        return None
    told = re.search(r"Swift version (\d[\w.]*)", _said([found, "--version"]))
    return None if told is None else (Path(found).parent, told[1])


def _swift_version(folder: Path, distribution: str) -> str | None:
    """None where swiftc is gone. In a chroot it is a link that leads somewhere only in there."""
    if not os.path.lexists(folder / "bin" / "swiftc"):
        return None
    return (folder / _RELEASE).read_text(encoding="utf-8")


def _swift_command(folder: Path, script: Path) -> list[str]:
    return ["sh", str(adapters.path("start.sh")), str(folder), str(script)]


def _swift_releases(distribution: str) -> list[str]:
    """Those of Debian's suites, and that on the path."""
    here = _swift_here()
    known = [] if here is None else [here[1]]
    lacking = _lacks_chroots(_ADVICE)
    if lacking and not known:
        raise InstallError(f"the releases of {distribution} cannot be listed: {lacking}; {_NAME_THEM}")
    return _sorted([*known, *([] if lacking else _in_debian(_DEBIAN, distribution))])


LANGUAGES: dict[str, Language] = {
    "python": Language(
        lambda distribution, specifier: f"{distribution}{specifier}",
        _install_python,
        _python_version,
        _python_packages,
        lambda folder, script: [str(_python(folder)), "-E", "-s", str(script)],
        _python_releases,
    ),
    "elixir": Language(
        _elixir_requirement,
        _install_elixir,
        _elixir_version,
        _elixir_packages,
        _elixir_command,
        _elixir_releases,
        folders=True,
    ),
    "swift": Language(
        lambda distribution, specifier: f"{distribution}{specifier}",
        _install_swift,
        _swift_version,
        lambda folder: {"swift": _swift_version(folder, "swift") or ""},
        _swift_command,
        _swift_releases,
    ),
    "node": Language(
        _node_requirement, _install_node, _node_version, _node_packages, _node_command, _node_releases
    ),
}
"""By the language names that adapters use."""


# Processes --------------------------------------------------------------------------------------------------


def start_once(command: Sequence[str], log: Path) -> None:
    """Starts an adapter that nobody talks to, so that Python compiles its imports.

    For a large library that takes longer than a sweep waits for a hello.
    """
    _run(command, log, _FIRST_START)


def _run(command: Sequence[str], log: Path, seconds: float | None = None) -> bool:
    """Whether a command succeeded. It is logged, and ends with this process or after `seconds`."""
    with log.open("ab") as file:
        file.write(f"$ {shlex.join(command)}\n".encode())
        file.flush()
        try:
            child = subprocess.Popen(  # noqa: S603 - an installer, without a shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            file.write(f"ERROR: {command[0]} cannot be started: {error.strerror}\n".encode())
            return False
        process_registry.begun(child.pid)
        try:
            return child.wait(seconds) == 0
        except BaseException as error:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return False
            raise
        finally:
            process_registry.ended(child.pid)


def _output(command: Sequence[str], distribution: str) -> str:
    """What a command that lists releases writes to stdout. `InstallError` where it fails."""
    failed = f"the releases of {distribution} cannot be listed"
    try:
        done = subprocess.run(  # noqa: S603 - a list of words of ours
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=_environment()
        )
    except OSError as error:
        why = f"{command[0]} cannot be started: {error.strerror}"
        raise InstallError(f"{failed}: {why}; {_NAME_THEM}") from error
    if done.returncode:
        raise InstallError(f"{failed}: {_told(done.stderr)}; {_NAME_THEM}")
    return done.stdout


def _said(command: Sequence[str]) -> str:
    """What a command writes to stdout, and nothing where it cannot be started."""
    try:
        return subprocess.run(  # noqa: S603 - a list of words of ours
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=_environment()
        ).stdout
    except OSError:
        return ""


def _listed(text: str, mark: str) -> list[str]:
    """The releases in the line that begins with `mark`."""
    told = next((line.partition(":")[2] for line in text.splitlines() if line.startswith(mark)), "")
    return _sorted(told.split(","))


def _environment() -> dict[str, str]:
    """This process's environment, without variables that make the installer see other packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PYTHONNOUSERSITE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def _empty(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


# Words ------------------------------------------------------------------------------------------------------


def _failure(requirements: Sequence[str], log: Path) -> InstallError:
    """The error from the last lines of the log, with advice."""
    text = log.read_text(encoding="utf-8", errors="replace").rpartition("\n$ ")[2]
    if any(sign in text for sign in _OFFLINE):
        why = "No index of packages was reached, or it has no such package"
        advice = f"{why}: is there a network, and does the installer's configuration name an index?"
    elif any(sign in text for sign in _UNKNOWN):
        advice = "There is no such release for this interpreter and platform; name another one."
    else:
        none = "A release that has no package for this interpreter and platform"
        advice = f"{none} cannot be had; another one may."
    failed = f"{' '.join(requirements)} cannot be installed"
    return InstallError(f"{failed}: {_told(text)}. {advice} All that was said is in {log}")


def _told(text: str) -> str:
    """The relevant lines of an installer's output, joined."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    errors = [
        line for line in lines if line.lower().startswith(("error:", "e: ", "npm error", "npm err!", "** ("))
    ]
    chosen = [re.sub(r"^error:\s*", "", line, flags=re.IGNORECASE) for line in errors or lines]
    return " | ".join(map(_short, dict.fromkeys(chosen[-_QUOTED:]))).rstrip(".") or "nothing was said"


def _short(line: str) -> str:
    """The line's start and end: lists of releases are long, and the newest are last."""
    return line if len(line) <= 2 * _ENDS else f"{line[:_ENDS]} ... {line[-_ENDS:]}"


def _sorted(versions: Iterable[str]) -> list[str]:
    """Sorted, oldest first; invalid versions are dropped."""
    found: dict[Version, str] = {}
    for text in versions:
        try:
            found[Version(text.strip())] = text.strip()
        except InvalidVersion:
            continue
    return [found[version] for version in sorted(found)]
