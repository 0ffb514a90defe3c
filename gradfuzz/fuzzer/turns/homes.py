"""Where the functions of a library are called: beside gradfuzz, or in the environment of a target."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gradfuzz.errors import MissingExtraError
from gradfuzz.oracles import registry
from gradfuzz.oracles.catalogues import CATALOGUES
from gradfuzz.oracles.foreign import launcher, lending, managed
from gradfuzz.oracles.target_name import TargetName

WORKER = "gradfuzz.fuzzer.turns.worker"
"""The module that calls functions in an environment."""


def home_of(target: str) -> str:
    """The target whose environment has the library; empty where it is beside gradfuzz, as a user's module and
    a library without a catalogue are.

    Raises `MissingExtraError` where it is neither there nor here.
    """
    name = TargetName.of(target)
    if name.library not in CATALOGUES or (not name.specifier and registry.beside(name.library) is not None):
        return ""
    environment = managed.find(name.base)
    if environment is None:
        reason = managed.not_installed(name.base)
        raise MissingExtraError(f"{name.base} calls its own functions, and {reason}")
    if lacks := lending.lacking(environment):
        why = f"its environment has Python {environment.packages['python']} and no {', '.join(lacks)}"
        what = f"{name.base} calls its own functions where gradfuzz runs, too: {why}"
        again = f"gradfuzz targets remove '{name.base}'; gradfuzz targets install '{name.base}'"
        advice = f"make it again ({again}), and read in {environment.folder}.log what may still be missing"
        raise MissingExtraError(
            f"{what}, and gradfuzz can lend its packages only to its own version of Python; {advice}"
        )
    return name.base


def command(library: str, home: str) -> list[str]:
    """What starts a worker for a library: the Python beside gradfuzz, or that in the environment of a target,
    with gradfuzz and what gradfuzz requires and the environment lacks.
    """
    if not home:
        return [sys.executable, "-m", WORKER, library]
    plan, environment = managed.plan(home), managed.find(home)
    words = plan.language.command(plan.folder, Path(launcher.__file__))
    lent = {} if environment is None else lending.lent(environment)
    return [*words, "--lend", json.dumps(lent), WORKER, library]
