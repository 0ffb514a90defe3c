"""The scripts of docs/findings, each in the release that its page names and in the newest one.

    python -m benchmarks.trophy_runs             # all of them
    python -m benchmarks.trophy_runs torch jax
    python -m benchmarks.trophy_runs --missing   # only what is not recorded

A release is asked where it is: beside gradfuzz, in an environment (`GRADFUZZ_ENVS` names the folder of
environments), or for C++ where pkg-config finds it; else an environment is made. A script *stands* (its
exit code is 1), is *right* (0), was *not asked* (125, or what it needs cannot be had) or is *broken* (any
other code). Where it is right in the newest release, releases between are bisected. What it said is recorded
in docs/findings/outcomes.toml; what could not be asked leaves the record as it was. The exit code is 1 where
a script is broken.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mpmath
from packaging.version import Version

from benchmarks.trophies import RIGHT, SCRIPTS, WRONG, Outcomes, Page, outcomes, pages, record
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.results.replayed import Status
from gradfuzz.fuzzer.sweep.bisecting import Said, bisect
from gradfuzz.oracles.foreign import managed
from gradfuzz.oracles.foreign.installers import LANGUAGES
from gradfuzz.oracles.foreign.installers.debian import in_debian
from gradfuzz.oracles.target_name import TargetName

SECONDS = 300
"""What a script may take."""

_MISSING = 125
_WORDS = {RIGHT: "right", WRONG: "stands", _MISSING: "not asked"}
_FLAGS = {"adolc": ["-ladolc"], "cppad": ["-DNDEBUG"]}
"""Of the libraries of C++. Without its checks of arguments CppAD is headers alone."""


class NotAskedError(Exception):
    """A release cannot be asked here; the text says why."""


@dataclass(frozen=True)
class Outcome:
    """What a script said in a release."""

    code: int
    line: str
    """The last line that it printed, or why it was not asked."""

    @property
    def word(self) -> str:
        return _WORDS.get(self.code, "broken")


# Running ----------------------------------------------------------------------------------------------------


def ask(script: str, release: str) -> Outcome:
    """What a script says in a release of its library."""
    try:
        run = _run(SCRIPTS / script, release)
    except NotAskedError as why:
        return Outcome(_MISSING, str(why))
    except subprocess.TimeoutExpired:
        return Outcome(-1, f"no end within {SECONDS} s")
    said = (run.stdout.strip() or run.stderr.strip()).splitlines()
    return Outcome(run.returncode, said[-1] if said else "")


def _run(script: Path, release: str) -> subprocess.CompletedProcess[str]:
    name = script.relative_to(SCRIPTS).parts[0]
    variables = dict(os.environ)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if script.suffix == ".cpp":
            command = [_compiled(script, release, folder)]
        elif script.suffix == ".py":
            command = [_python(name, release), str(script)]
            (folder / "mpmath").symlink_to(Path(mpmath.__file__).parent)  # environments lack it
            variables["PYTHONPATH"] = place
        else:
            command = _inside(script, _environment(name, release), variables)
        return subprocess.run(  # noqa: S603 - a script of docs/findings
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False
        )


def _python(name: str, release: str) -> str:
    """The interpreter that has a release."""
    try:
        here = importlib.metadata.version(managed.plan(name).distribution)
    except importlib.metadata.PackageNotFoundError:
        here = "0"
    if _same(here, release):
        return sys.executable
    return str(Path(_environment(name, release).folder) / "bin" / "python")


def _same(version: str, release: str) -> bool:
    """Without the build: 2.13.0+cpu is 2.13.0."""
    return Version(version).public == Version(release).public


@functools.cache
def _environment(name: str, release: str) -> managed.Environment:
    """The environment with a release, which is made where there is none."""
    for made in managed.everything():
        if TargetName.of(made.target).library == name and _same(made.version, release):
            return made
    try:
        return managed.install(f"{name}=={release}", lambda words: print(words, flush=True))[0]
    except GradfuzzError as error:
        raise NotAskedError(" ".join(str(error).split())) from error


def _inside(script: Path, made: managed.Environment, variables: dict[str, str]) -> list[str]:
    """The command for a copy of the script in an environment, whose chroot sees nothing outside of it."""
    folder = Path(made.folder)
    copy = folder / script.name
    shutil.copyfile(script, copy)
    compiled = sorted(folder.glob("mix/*/*/_build/*/lib"))
    if compiled:  # else a script of Elixir takes any release
        variables["ERL_LIBS"] = os.pathsep.join(map(str, compiled))
    return LANGUAGES[ADAPTERS[TargetName.of(made.target).library].language].command(folder, copy)


def _compiled(script: Path, release: str, folder: Path) -> str:
    """The program of a script in C++, with the release that pkg-config finds."""
    name, compiler, finder = script.parent.name, shutil.which("g++"), shutil.which("pkg-config")
    if compiler is None or finder is None:
        raise NotAskedError("g++ or pkg-config is not installed")
    here = _said([finder, "--modversion", name])
    if here != release:
        raise NotAskedError(f"pkg-config finds {f'{name} {here}' if here else f'no {name}'}")
    program = folder / name
    flags = _said([finder, "--cflags", name]).split()
    _said([compiler, *flags, str(script), "-o", str(program), *_FLAGS[name]])
    if not program.exists():
        raise NotAskedError("it cannot be compiled")
    return str(program)


def _said(command: list[str]) -> str:
    run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603
    return run.stdout.strip()


# Releases ---------------------------------------------------------------------------------------------------


def newest(name: str, known: str) -> str:
    """The newest release on the index; `known` where the index says less or nothing."""
    try:
        return max([known, *_releases(name)], key=Version)
    except GradfuzzError as error:
        print(f"{name}: taking {known} for the newest release: {error}", flush=True)
        return known


@functools.cache
def _releases(name: str) -> list[str]:
    if name in _FLAGS:
        debian = in_debian(f"lib{name}-dev", name)
        found = [re.sub(r"^(\d{4})\.(\d\d)\.(\d\d)\.", r"\1\2\3.", one) for one in debian]  # 2025.00.00.2
    else:
        wanted = managed.plan(name)
        found = wanted.language.releases(wanted.distribution)
    public = {Version(release).public for release in found if not Version(release).is_prerelease}
    return sorted(public, key=Version)


def between(name: str, first: str, last: str) -> list[str]:
    """The releases of the index from the one to the other, oldest first."""
    try:
        known = _releases(name)
    except GradfuzzError:
        known = []
    return sorted(
        {first, last, *(r for r in known if Version(first) < Version(r) < Version(last))}, key=Version
    )


# Asking -----------------------------------------------------------------------------------------------------


def asked(page: Page, said: Outcomes, *, missing: bool) -> Iterator[tuple[str, str, Outcome]]:
    """Each script with a release and what it said there; what it could say is recorded."""
    for script in page.scripts:
        codes = said.scripts.setdefault(script, {})

        def told(release: str, script: str = script, codes: dict[str, int] = codes) -> Outcome:
            outcome = ask(script, release)
            if outcome.code in (RIGHT, WRONG):
                codes[release] = outcome.code
            return outcome

        for release in dict.fromkeys((page.version, said.newest)):
            if not (missing and release in codes):
                yield script, release, told(release)
        if codes.get(page.version) == WRONG and codes.get(said.newest) == RIGHT:
            _bisect(page.name, codes, between(page.name, page.version, said.newest), told)


def _bisect(name: str, codes: dict[str, int], releases: list[str], told: Callable[[str], Outcome]) -> None:
    statuses = {RIGHT: Status.FIXED, WRONG: Status.FAILED}

    def say(release: str) -> Said:
        line = ""
        if release not in codes:
            line = told(release).line
        return Said(release, statuses.get(codes.get(release, _MISSING), Status.ERROR), line)

    print(f"           {bisect(releases, say).words}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Which bugs of docs/trophies still stand.")
    parser.add_argument("system", nargs="*", help="pages of docs/trophies, such as torch; all by default")
    parser.add_argument("--missing", action="store_true", help="ask only what is not recorded")
    arguments = parser.parse_args()
    every = {page.name: page for page in pages()}
    unknown = set(arguments.system) - set(every)
    if unknown:
        parser.error(f"there is no page of {', '.join(sorted(unknown))} in docs/trophies")
    counts: dict[str, Counter[str]] = {}
    for name in arguments.system or every:
        page = every[name]
        said = outcomes().get(name, Outcomes(page.version))
        said.newest = newest(name, said.newest)
        for script, release, outcome in asked(page, said, missing=arguments.missing):
            counts.setdefault(f"{page.system} {release}", Counter())[outcome.word] += 1
            note = f"  ({outcome.line})" if outcome.word in ("broken", "not asked") else ""
            print(f"{outcome.word:9}  {release:10}  {script}{note}", flush=True)
            record({**outcomes(), name: said})
        record({**outcomes(), name: said})
    words = ("stands", "right", "not asked", "broken")
    print(f"\n{'system':24}{''.join(f'{word:>11}' for word in words)}")
    for system, count in counts.items():
        print(f"{system:24}{''.join(f'{count[word]:>11}' for word in words)}")
    return int(any(count["broken"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
