"""Separate environments for targets: "warp==1.19.0" is in `.gradfuzz/envs/warp-1.19.0` with its adapter.

So releases and systems with conflicting requirements can be tested side by side. An environment is made once,
by the first process that needs it, and then only used. Its marker is written last: an interrupted
installation has none, is removed and made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import os
import re
import shlex
import shutil
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from gradfuzz import adapters
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.errors import InstallError, UnknownTargetError, UsageError, listed
from gradfuzz.oracles.foreign import launcher
from gradfuzz.oracles.foreign.installers import LANGUAGES
from gradfuzz.oracles.foreign.installers.commands import start_once
from gradfuzz.oracles.foreign.installers.language import Language
from gradfuzz.oracles.libraries import LIBRARIES, SERVER
from gradfuzz.oracles.target_name import TargetName

VARIABLE = "GRADFUZZ_ENVS"
"""The environment variable with the folder of environments. Worker processes read it too."""

_MARKER = "gradfuzz.json"

_PACKAGE = Path(__file__).parents[2]

_UNDECLARED: dict[str, tuple[tuple[str, str], ...]] = {
    "autograd": (  # they read numpy.linalg.linalg; the older ones do not know the tuples that it returns
        ("<1.7", "numpy<2"),
        ("<1.6", "numpy<1.25"),
    ),
    "equinox": (  # they read names that jax.core has no more; the older ones fail with a JAX that is newer
        ("<0.11.11", "jax<0.4.34"),
        ("<0.11", "jax<0.4.14"),
        ("<0.11", "jaxlib<0.4.14"),
        ("<0.11", "numpy<2"),
        ("<0.11", "scipy<1.13"),
    ),
    "jax": (  # they are compiled for NumPy 1, read scipy.linalg.tril, and leave jaxlib to an extra
        ("<0.4.26", "numpy<2"),
        ("<0.4.26", "scipy<1.13"),
        ("<0.4.30", "jax[cpu]"),
    ),
    "mygrad": (("<2.3", "numpy<2"),),  # they read numpy.Inf
    "pytensor": (("<2.31", "scipy<1.17"),),  # they write into what scipy.linalg.solve returns
}
"""Undeclared requirements of releases: (which releases, requirement) by distribution. They count more than
what gradfuzz itself requires of the same package.
"""

_WORDS = {
    "===": "is",
    "==": "",
    "~=": "like",
    "!=": "not",
    "<=": "upto",
    ">=": "from",
    "<": "below",
    ">": "above",
}
"""Specifiers as they appear in names of folders."""


@dataclass(frozen=True, slots=True)
class EnvironmentPlan:
    """How an environment is made."""

    name: TargetName
    distribution: str
    language: Language
    requirements: tuple[str, ...]
    script: Path
    arguments: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return root() / _folder(self.name)

    @property
    def words(self) -> list[str]:
        return [*self.language.command(self.folder, self.script), *self.arguments]

    def command(self) -> str:
        """The command that starts the adapter in the environment."""
        return shlex.join(self.words)


class Environment(msgspec.Struct, frozen=True):
    """An existing environment, as its marker describes it."""

    target: str
    """The name without an entry point: "warp==1.19.0", or "warp" for the newest release at the time."""
    distribution: str
    version: str
    requirements: tuple[str, ...]
    installer: str
    seconds: float
    packages: dict[str, str] = {}
    """Its packages by name, where the language lists them, and "python" for its Python."""
    folder: str = ""

    def size(self) -> int:
        """Bytes on disk; hard links count once, as the installer may share files between environments."""
        seen: dict[int, int] = {}
        for file in Path(self.folder).rglob("*"):
            with contextlib.suppress(OSError):
                status = file.lstat()
                seen[status.st_ino] = status.st_blocks * 512
        return sum(seen.values())


# Places -----------------------------------------------------------------------------------------------------


def root() -> Path:
    """The folder of all environments."""
    return Path(os.environ.get(VARIABLE) or Path(".gradfuzz") / "envs").absolute()


def not_installed(name: str) -> str:
    """That a target is not installed, where it was looked for and what installs it: the end of a sentence."""
    advice = f"install it with: gradfuzz targets install '{name}'"
    return f"is installed neither beside gradfuzz nor in {root()}; {advice}"


@contextlib.contextmanager
def beside(store: Path) -> Iterator[None]:
    """Puts environments into the folder of `store` unless the variable is set, also for child processes."""
    if os.environ.get(VARIABLE):
        yield
        return
    os.environ[VARIABLE] = str((store.parent / "envs").absolute())
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)


def _folder(name: TargetName) -> str:
    """The name of an environment's folder, which needs no shell quotes."""
    parts = [name.library]
    for part in name.specifier.split(",") if name.specifier else []:
        sign = next((sign for sign in _WORDS if part.startswith(sign)), "")
        parts.append(_WORDS.get(sign, "") + part.removeprefix(sign))
    return re.sub(r"[^\w.+-]", "_", "-".join(parts))


def _make_root() -> None:
    """Makes the folder of environments; a .gitignore hides `.gradfuzz` from git, as the store does."""
    place = root()
    try:
        if place.parent.name == ".gradfuzz" and not place.parent.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            (place.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{error.strerror or error}; {VARIABLE} names another one"
        raise InstallError(f"the folder {place} cannot be made: {why}") from error


# Reading ----------------------------------------------------------------------------------------------------


def plan(target: str, extra: Sequence[str] = ()) -> EnvironmentPlan:
    """How the environment of a target would be made; `extra` are additional requirements.

    Raises `UnknownTargetError` for an unknown target, and `UsageError` for one without environments or an
    invalid specifier.
    """
    name = TargetName.of(target)
    if name.library not in (*LIBRARIES, *ADAPTERS):
        known = f"the targets with environments are {listed((*LIBRARIES, *ADAPTERS), target)}"
        raise UnknownTargetError(f"there is nothing to install for {target!r}; {known}")
    if not (name.is_folder and _takes_folders(name.library)):
        try:
            SpecifierSet(name.specifier)
        except InvalidSpecifier as error:
            advice = "write NAME==1.2.3, or quote NAME>=1.2,<2"
            raise UsageError(f"{name.specifier!r} in {target!r} names no releases; {advice}") from error
    arguments: tuple[str, ...] = ()
    if name.library in LIBRARIES:  # gradfuzz has their oracles itself, and runs in their environments too
        language, distribution = LANGUAGES["python"], name.library
        script, arguments, also = Path(launcher.__file__), (SERVER, name.library), own_requirements()
    else:
        adapter = ADAPTERS[name.library]
        found = LANGUAGES.get(adapter.language)
        if found is None:
            why = f"is asked in {adapter.language}, whose packages gradfuzz does not install"
            advice = "say what it needs and how it is started, as a target cmd:COMMAND"
            raise UsageError(f"{name.library} {why}: the first lines of {adapter.script} {advice}")
        language, distribution = found, adapter.distribution
        script, also = adapters.path(adapter.script), adapter.requires
    wanted = language.requirement(distribution, name.specifier)
    undeclared = _undeclared(distribution, name.version)
    settled = {Requirement(needs).name for needs in undeclared}
    own = [needs for needs in also if Requirement(needs).name not in settled]
    requirements = dict.fromkeys((wanted, *own, *undeclared, *extra))
    return EnvironmentPlan(name, distribution, language, tuple(requirements), script, arguments)


def _takes_folders(library: str) -> bool:
    language = LANGUAGES.get(ADAPTERS[library].language) if library in ADAPTERS else None
    return language is not None and language.folders


def _undeclared(distribution: str, version: str) -> list[str]:
    return [
        needs
        for which, needs in _UNDECLARED.get(distribution, ())
        if version and SpecifierSet(which).contains(version, prereleases=True)
    ]


def own_requirements() -> tuple[str, ...]:
    """The requirements of gradfuzz itself, without extras."""
    try:
        found = importlib.metadata.requires("gradfuzz") or []
    except importlib.metadata.PackageNotFoundError:  # a checkout that is not installed
        text = (_PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
        found = tomllib.loads(text)["project"]["dependencies"]
    wanted = map(Requirement, found)
    return tuple(str(r) for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""}))


def find(target: str) -> Environment | None:
    """The complete environment of a target, or None; the entry point in its name does not matter."""
    return _read(root() / _folder(TargetName.of(target)))


def everything() -> list[Environment]:
    """All environments, by name."""
    place = root()
    found = [_read(folder) for folder in sorted(place.iterdir())] if place.is_dir() else []
    return [one for one in found if one is not None]


def missing(targets: Iterable[str]) -> list[str]:
    """The targets that name releases and lack an environment, without entry points, each once."""
    named = dict.fromkeys(name.base for name in map(TargetName.of, targets) if name.specifier)
    made = {base: known.requirements if (known := find(base)) else () for base in named}
    return [base for base, has in made.items() if not set(plan(base).requirements) <= set(has)]


def _read(folder: Path) -> Environment | None:
    try:
        known = msgspec.json.decode((folder / _MARKER).read_bytes(), type=Environment)
    except (OSError, msgspec.DecodeError):
        return None
    library = TargetName.of(known.target).library
    language = ADAPTERS[library].language if library in ADAPTERS else "python"
    if language in LANGUAGES and LANGUAGES[language].version(folder, known.distribution) is None:
        return None
    return msgspec.structs.replace(known, folder=str(folder))


# Making -----------------------------------------------------------------------------------------------------


def _nobody(words: str) -> None:
    """Ignores messages."""


def install(
    target: str, tell: Callable[[str], None] = _nobody, extra: Sequence[str] = ()
) -> tuple[Environment, bool]:
    """The environment of a target, and whether it had to be made.

    `extra` are additional requirements; `tell` gets messages before slow steps. An environment with other
    requirements is made again. Raises `InstallError` where it cannot be made, and the errors of `plan`.
    """
    wanted = plan(target, extra)
    known = _fitting(wanted)
    if known is not None:
        return known, False
    _make_root()
    with _locked(wanted.folder, tell):
        known = _fitting(wanted)  # another process has made it in the meantime
        return (known, False) if known is not None else (_made(wanted, tell), True)


def _fitting(wanted: EnvironmentPlan) -> Environment | None:
    """The existing environment, if it was made for exactly these requirements."""
    known = find(wanted.name.base)
    return known if known is not None and set(wanted.requirements) == set(known.requirements) else None


def _made(wanted: EnvironmentPlan, tell: Callable[[str], None]) -> Environment:
    folder, log = wanted.folder, wanted.folder.with_name(f"{wanted.folder.name}.log")
    tell(f"Installing {wanted.requirements[0]} into {_shown(folder)}")
    begun = time.monotonic()
    try:
        log.unlink(missing_ok=True)
        _removed(folder)
        installer = wanted.language.install(folder, wanted.requirements, log)
        version = wanted.language.version(folder, wanted.distribution)
        if version is None:
            why = f"was installed, and is not there; what {installer} said is in {log}"
            raise InstallError(f"{wanted.requirements[0]} {why}")
        wanted.language.complete(folder, own_requirements(), log)
        start_once(wanted.words, log)
        about = wanted.name.base, wanted.distribution, version, wanted.requirements
        seconds, packages = round(time.monotonic() - begun, 1), wanted.language.packages(folder)
        made = Environment(*about, installer, seconds, packages)
        _mark(folder, made)
    except BaseException as error:
        _removed(folder)
        if not isinstance(error, OSError):
            raise
        why = f"{error.strerror or error}; {VARIABLE} names another folder"
        raise InstallError(f"{folder} cannot be written: {why}") from error
    return msgspec.structs.replace(made, folder=str(folder))


def _mark(folder: Path, made: Environment) -> None:
    """Writes the marker in one step."""
    passing = folder / f"{_MARKER}.new"
    passing.write_bytes(msgspec.json.format(msgspec.json.encode(made)))
    passing.replace(folder / _MARKER)


def remove(target: str) -> Environment | None:
    """Removes the environment of a target and returns it; None where there was none."""
    name = TargetName.of(target)
    folder = root() / _folder(name)
    known = find(name.base)
    if not folder.exists():
        return None
    with _locked(folder, _nobody):
        _removed(folder)
    folder.with_name(f"{folder.name}.log").unlink(missing_ok=True)
    return known


def _removed(folder: Path) -> None:
    """Removes the marker first: a half-removed environment does not count."""
    (folder / _MARKER).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Lets one process at a time make or remove an environment; the system unlocks for a dead one."""
    with folder.with_name(f"{folder.name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"Waiting for another process that installs into {_shown(folder)}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _shown(folder: Path) -> Path:
    """The shortest path of the folder from here."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
