"""Whose functions a sweep can call: libraries, and modules of a user's own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from gradfuzz.adapters.catalogue import Function
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling.judge import COMBINATIONS, Modes
from gradfuzz.fuzzer.calling.package import listed
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.fuzzer.sweep.config import SweepConfig, check_workers
from gradfuzz.libraries.library import CALLED
from gradfuzz.oracles import registry
from gradfuzz.oracles.catalogues import CATALOGUES, catalogue
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import FORMATS


def check(config: SweepConfig) -> None:
    """Raises `UsageError` for settings that make no sense."""
    check_workers(config)
    for target in config.targets:
        name = TargetName.of(target)
        if not can_be_called(target):
            able = f"one of {', '.join(CALLED)}, or a module that Python finds, as mypackage.module"
            raise UsageError(f"the functions of {target!r} cannot be called; give {able}")
        if name.way:
            told = f"{target!r} is one way into a library; the family {FAMILY!r} is about all of it"
            raise UsageError(f"{told}: ask for {name.base!r}")
    if not _asked(config):
        asked = f"orders={','.join(map(str, config.orders))} and checks={','.join(config.checks)}"
        raise UsageError(
            f"{asked} leave nothing to ask; functions are asked for vjp and jvp of the orders 1 and 2"
        )
    if not set(config.precisions) <= set(FORMATS):
        unknown = ", ".join(sorted(set(config.precisions) - set(FORMATS)))
        raise UsageError(f"unknown dtype {unknown!r}; the dtypes are {', '.join(FORMATS)}")
    if config.device != "cpu":
        raise UsageError(f"functions are called on the CPU only; leave out --device {config.device}")
    if config.max_examples < 1:
        raise UsageError(f"max_examples is {config.max_examples}; at least one call of a function is judged")
    if not config.targets:
        raise UsageError(f"a sweep of {FAMILY!r} needs a library of {', '.join(CALLED)}")


def can_be_called(target: str) -> bool:
    """Whether it is a library whose functions can be called, or a module of the user's own."""
    library = TargetName.of(target).library
    return library in CALLED or (not registry.is_known(library) and _is_module(target))


def _asked(config: SweepConfig) -> tuple[Modes, ...]:
    """The modes of the derivatives that are asked of a call."""
    steps = {"rev": "vjp", "fwd": "jvp"}
    return tuple(
        modes
        for modes in COMBINATIONS
        if len(modes) in config.orders and all(steps[mode] in config.checks for mode in modes)
    )


def modes_of(config: SweepConfig) -> tuple[Modes, ...]:
    """The same; () for all that there are."""
    asked = _asked(config)
    return () if asked == COMBINATIONS else asked


def dtypes_of(config: SweepConfig) -> tuple[str, ...]:
    """The dtypes of floats that calls have, real and complex; () for all, which is usual."""
    if set(config.precisions) == set(SweepConfig(()).precisions):
        return ()
    found = (name for precision in config.precisions for name in (precision, _COMPLEX.get(precision)))
    return tuple(name for name in found if name is not None)


_COMPLEX = {"float64": "complex128", "float32": "complex64"}


def _is_module(name: str) -> bool:
    """Whether Python finds a module of this name, in the current folder too."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def functions(name: str) -> tuple[str, list[Function]]:
    """The version of a library or of a user's module, and its functions. A library without a catalogue is
    read as a module.
    """
    if TargetName.of(name).library not in CATALOGUES:
        return registry.release_of(name.partition(".")[0]) or "", listed(name)
    found = catalogue(name)
    return found.version, found.functions
