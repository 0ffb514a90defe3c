"""The catalogues of functions, by target: every function that a library offers, and what becomes of it.

A catalogue is made by the library itself, in the process of a target: a module beside its oracle or a script
beside its adapter, and a row of `CATALOGUES`. It runs in an empty folder and computes nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gradfuzz import adapters
from gradfuzz.adapters import catalogue as written
from gradfuzz.errors import MissingExtraError, TargetProcessError, UnsupportedError
from gradfuzz.oracles import registry
from gradfuzz.oracles.foreign import launcher
from gradfuzz.oracles.target_name import TargetName

CATALOGUES: dict[str, str] = {
    "jax": "gradfuzz.oracles.jax.catalogue",
    "torch": "gradfuzz.oracles.torch.catalogue",
    "autograd": "autograd_catalogue.py",
}
"""Library -> the module that writes its catalogue, or the script in `gradfuzz.adapters`."""

_SECONDS = 600.0
"""Until a catalogue is given up: a large library takes seconds, and minutes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every function that a library lists."""

    target: str
    version: str
    functions: list[written.Function]


def catalogue(target: str) -> Catalogue:
    """The catalogue of "torch", or of the release "torch==2.6.0" in its environment.

    Raises `UnknownTargetError` for an unknown target, `UnsupportedError` for one without a catalogue,
    `MissingExtraError` where the library is not installed, and `TargetProcessError` where its process fails.
    """
    name = TargetName.of(target)
    if name.library not in CATALOGUES:
        if not registry.is_known(name.library):
            raise registry.unknown(target)
        known = f"there are catalogues of {', '.join(CATALOGUES)}"
        how = 'docs/targets.md, "The functions of a library", says how to add one'
        raise UnsupportedError(f"there is no catalogue of the functions of {target!r}: {known}; {how}")
    if name.way:
        advice = f"ask for {name.base!r}, for a catalogue is that of the whole library"
        raise UnsupportedError(f"{target!r} is one way into a library; {advice}")
    python, version = _interpreter(name)
    return Catalogue(name.base, version, _made(name, [python, *_words(CATALOGUES[name.library])]))


def _interpreter(name: TargetName) -> tuple[str, str]:
    """The Python that has the library, and the version of the library."""
    version = None if name.specifier else registry.beside(name.library)
    if version is not None:
        return sys.executable, version
    from gradfuzz.oracles.foreign import managed

    environment = managed.find(name.base)
    if environment is not None:
        return managed.plan(name.base).words[0], environment.version
    managed.plan(name.base)  # says what is wrong with the name
    advice = f"install it with: gradfuzz targets install '{name.base}'"
    raise MissingExtraError(
        f"the catalogue of {name.base} is made by the library, which is missing; {advice}"
    )


def _words(maker: str) -> list[str]:
    is_script = maker.endswith(".py")
    return [str(adapters.path(maker))] if is_script else [launcher.__file__, maker]


def _made(name: TargetName, command: Sequence[str]) -> list[written.Function]:
    with tempfile.TemporaryDirectory(prefix="gradfuzz-catalogue-") as folder:
        place = Path(folder, "catalogue.json")
        work = Path(folder, "empty")
        work.mkdir()
        try:
            ended = subprocess.run(  # noqa: S603 - a script of gradfuzz, without a shell
                [*command, str(place)],
                cwd=work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            told = f"did not end within {_SECONDS:g} s"
            raise TargetProcessError("timeout", f"the catalogue of {name.base} {told}") from error
        stderr = ended.stderr.decode(errors="replace").strip()
        try:
            return written.read(place)
        except (OSError, ValueError, KeyError, TypeError) as error:
            last = stderr.rpartition("\n")[2] or f"exit code {ended.returncode}"
            told = f"the catalogue of {name.base} cannot be made: {last}"
            raise TargetProcessError("exit", told, stderr) from error
