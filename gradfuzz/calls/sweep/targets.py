"""Whose functions a sweep can call: libraries, and modules of a user's own."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from gradfuzz.adapters.catalogue import Function
from gradfuzz.calls.libraries.library import LIBRARIES
from gradfuzz.calls.package import listed
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.fuzzer.sweep.config import SweepConfig, check_workers
from gradfuzz.oracles import registry
from gradfuzz.oracles.catalogues import catalogue
from gradfuzz.oracles.target_name import TargetName


def check(config: SweepConfig) -> None:
    """Raises `UsageError` for settings that make no sense."""
    check_workers(config)
    for target in config.targets:
        name = TargetName.of(target)
        if name.library not in LIBRARIES and (registry.is_known(name.library) or not _is_module(target)):
            able = f"{', '.join(LIBRARIES)}, and of your own modules, as mypackage.module"
            raise UsageError(f"the functions of {target!r} cannot be called; those of {able} can")
        if name.way:
            told = f"{target!r} is one way into a library; the family {FAMILY!r} is about all of it"
            raise UsageError(f"{told}: ask for {name.base!r}")
    usual = SweepConfig(config.targets)
    for flag, value, default in (
        ("--dtypes", config.precisions, usual.precisions),
        ("--orders", config.orders, usual.orders),
        ("--checks", config.checks, usual.checks),
    ):
        if value != default:
            why = "calls have all dtypes, and are asked in both modes up to second order"
            raise UsageError(f"{flag} is for programs; {why}: leave it away")
    if config.device != "cpu":
        raise UsageError(f"functions are called on the CPU only; leave --device {config.device} away")
    if config.max_examples < 1:
        raise UsageError(f"max_examples is {config.max_examples}; at least one call of a function is judged")
    if not config.targets:
        raise UsageError(f"a sweep of {FAMILY!r} needs a library of {', '.join(LIBRARIES)}")
    if config.families != (FAMILY,):
        others = ", ".join(family for family in config.families if family != FAMILY)
        raise UsageError(f"the family {FAMILY!r} is a sweep of its own; sweep {others} by another command")


def _is_module(name: str) -> bool:
    """Whether Python finds a module of this name, in the current folder too."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def functions(name: str) -> tuple[str, list[Function]]:
    """The version of a library or of a user's module, and its functions."""
    if TargetName.of(name).library not in LIBRARIES:
        return _version(name), listed(name)
    found = catalogue(name)
    return found.version, found.functions


def _version(module: str) -> str:
    """The version of the distribution of a module; empty where it has none."""
    try:
        return importlib.metadata.version(module.partition(".")[0])
    except importlib.metadata.PackageNotFoundError:
        return ""
