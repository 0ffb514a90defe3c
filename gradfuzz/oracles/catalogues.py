"""The catalogues of functions, by target: every function that a library offers, and what becomes of it.

A catalogue is made by the library itself, in the process of a target: a module beside its oracle or a script
beside its adapter, and a row of `CATALOGUES`. It runs in an empty folder and computes nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradfuzz import adapters
from gradfuzz.adapters import catalogue as written
from gradfuzz.errors import MissingExtraError, TargetProcessError, UnsupportedError
from gradfuzz.oracles import registry
from gradfuzz.oracles.foreign import fault, launcher
from gradfuzz.oracles.target_name import TargetName

CATALOGUES: dict[str, str] = {
    "jax": "gradfuzz.oracles.jax.catalogue",
    "torch": "gradfuzz.oracles.torch.catalogue",
    "autograd": "autograd_catalogue.py",
    "tensorflow": "tensorflow_catalogue.py",
    "mlx": "mlx_catalogue.py",
    "paddle": "paddle_catalogue.py",
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
    command, version = _command(name)
    home = "" if command[0] == sys.executable else name.base

    def told(words: str) -> str:
        return fault.told(words, command, name.library, home)

    return Catalogue(name.base, version, made(f"the catalogue of {name.base}", command, told))


def _command(name: TargetName) -> tuple[list[str], str]:
    """What makes the catalogue where the library is installed, and the version of the library."""
    maker = CATALOGUES[name.library]
    is_script = maker.endswith(".py")
    script = adapters.path(maker) if is_script else Path(launcher.__file__)
    arguments = [] if is_script else [maker]
    version = None if name.specifier else registry.beside(name.library)
    if version is not None:
        return [sys.executable, str(script), *arguments], version
    from gradfuzz.oracles.foreign import managed

    plan = managed.plan(name.base)  # says what is wrong with the name
    environment = managed.find(name.base)
    if environment is None:
        reason = managed.not_installed(name.base)
        raise MissingExtraError(f"{name.base} itself makes its catalogue, and {reason}")
    return [*plan.language.command(plan.folder, script), *arguments], environment.version


def made(
    what: str, command: Sequence[str], told: Callable[[str], str], *, here: bool = False
) -> list[written.Function]:
    """The functions that a process writes into the file that is named last: `what`. It runs in an empty
    folder, or `here`. `TargetProcessError` where it writes none; `told` adds what to try.
    """
    with tempfile.TemporaryDirectory(prefix="gradfuzz-catalogue-") as folder:
        place = Path(folder, "catalogue.json")
        work = Path(folder, "empty")
        work.mkdir()
        try:
            ended = subprocess.run(  # noqa: S603 - a script of gradfuzz, without a shell
                [*command, str(place)],
                cwd=None if here else work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TargetProcessError("timeout", f"{what} is not there within {_SECONDS:g} s") from error
        stderr = ended.stderr.decode(errors="replace").strip()
        try:
            return written.read(place)
        except (OSError, ValueError, KeyError, TypeError) as error:
            from gradfuzz.oracles.foreign.worker import last_words

            last = last_words(stderr) or f": exit code {ended.returncode}"
            raise TargetProcessError("exit", told(f"{what} cannot be made{last}"), stderr) from error
