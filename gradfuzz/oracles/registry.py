"""All oracles by name. `libraries.LIBRARIES` and entry points (`plugins`) add more."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import shlex
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

from gradfuzz import adapters
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.errors import MissingExtraError, PluginError, SilentTargetError, UnknownTargetError, listed
from gradfuzz.oracles import plugins
from gradfuzz.oracles.base import Oracle, Reference
from gradfuzz.oracles.foreign import launcher
from gradfuzz.oracles.libraries import LIBRARIES, SERVER
from gradfuzz.oracles.target_name import TargetName

if TYPE_CHECKING:
    from gradfuzz.oracles.plugins import Plugin


IN_PROCESS = "GRADFUZZ_IN_PROCESS"
"""The environment variable to ask libraries in this process: easier to debug, but a crash ends both."""


_TAKEN = frozenset({"arb", "cmd", "engine", "mpmath", "mutant", *LIBRARIES, *ADAPTERS})
"""Names that a plug-in must not have."""


_COMPILING = 300.0
"""Seconds that a library has for an answer, including compilation on a busy machine."""


@dataclass(frozen=True, slots=True)
class Available:
    """A row of `gradfuzz targets`."""

    name: str
    role: str
    version: str | None
    """None: not installed."""
    note: str
    environments: list[str] = field(default_factory=list)
    """Its installed environments, by the names that a sweep takes."""


def resolve(name: str, *, together: bool = False, supervised: bool = False) -> list[Oracle]:
    """The oracles that `name` stands for: all entry points of a library ("jax"), one of them ("jax:scan"),
    "engine", "mutant:NAME", "cmd:COMMAND", a plug-in.

    "engine" is the engine on one point at a time; `together` adds its entry points that answer all points in
    one call. With `supervised`, a Python library is asked in a process of its own, unless the environment
    variable GRADFUZZ_IN_PROCESS is set. Raises `UnknownTargetError` (with similar names), `MissingExtraError`
    and `PluginError`.
    """
    target = TargetName.of(name)
    library, way = target.library, target.way
    supervised = supervised and not os.environ.get(IN_PROCESS)
    if library == "engine":
        from gradfuzz.oracles.engine.batched import EngineVectorize, EngineVmap
        from gradfuzz.oracles.engine.oracle import EngineOracle

        own: list[Oracle] = [EngineOracle(), EngineVectorize(), EngineVmap()]
        if name == "engine":
            return own if together else own[:1]
        own = [o for o in own if o.name == name]
        if own:
            return own
    if library == "mutant":
        from gradfuzz.oracles.mutants.registry import mutant

        found = mutant(way)
        if found is not None:
            return [found]
    elif library == "cmd" and way:
        return _foreign(target)
    elif library in LIBRARIES or library in ADAPTERS:
        return _chosen(target, _elsewhere(target) or _ways(library, supervised=supervised))
    elif (plugin := plugged_in(library)) is not None:
        return _chosen(target, _plugged(plugin, target, supervised=supervised))
    raise unknown(name)


def unknown(name: str) -> UnknownTargetError:
    """The error of a name that no target has, with similar names."""
    close = difflib.get_close_matches(name, _similar(TargetName.of(name).library), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"the targets are {listed(names(), name)}"
    return UnknownTargetError(f"unknown target {name!r}: {hint}")


def is_known(library: str) -> bool:
    """Whether there is a target, a plug-in or a reference of that name, installed or not."""
    return library in _TAKEN or plugged_in(library) is not None


def _chosen(target: TargetName, ways: list[Oracle]) -> list[Oracle]:
    """All entry points of a library, or the one that is named."""
    if not target.way:
        return ways
    chosen = [o for o in ways if o.name == target.whole]
    if chosen:
        return chosen
    known = f"{target.library} has the ways {listed((o.name for o in ways), target.whole)}"
    raise UnknownTargetError(f"unknown target {target.whole!r}: {known}")


def names() -> list[str]:
    """Every name that `resolve` takes, except single entry points and systematic mutants."""
    from gradfuzz.oracles.mutants.registry import MUTANTS

    mutants = [f"mutant:{name}" for name in (*(m.id for m in MUTANTS), *(m.alias for m in MUTANTS))]
    return ["engine", *LIBRARIES, *ADAPTERS, *plug_ins(), *mutants]


def _similar(library: str) -> list[str]:
    """Known names that a misspelt one may stand for."""
    if library != "mutant":
        return names()
    from gradfuzz.oracles.mutants.systematic import systematic_names

    return [*names(), *(f"mutant:{name}" for name in systematic_names())]


def _foreign(target: TargetName) -> list[Oracle]:
    """The oracles of "cmd:COMMAND", or the one of "cmd:COMMAND#way". Starts the command, which lists them."""
    from gradfuzz.oracles.foreign.oracle import named_ways
    from gradfuzz.oracles.foreign.resource_limits import limits

    if target.entry:
        ways = named_ways(target.system, target.command, limits=limits())
        chosen = [o for o in ways if o.name == target.whole]
        if chosen:
            return chosen
    return named_ways(target.whole, target.way, limits=limits())


def _ways(library: str, *, supervised: bool) -> list[Oracle]:
    if library in ADAPTERS:
        return _adapter(library)
    if supervised and version_of(library) is not None:
        return _started(library, _guest(library))
    ways: list[Oracle] = ways_module(library).ways()
    return ways


def ways_module(library: str) -> ModuleType:
    """The module of a library of `LIBRARIES`, with `ways()`, `settle()` and `script(...)`."""
    return importlib.import_module(f"gradfuzz.oracles.{library}.ways")


def settle(library: str) -> None:
    """Makes a library of `LIBRARIES` compute on the device of this process. Called before it is imported."""
    if library in LIBRARIES:
        ways_module(library).settle()


def plug_ins() -> list[str]:
    """The names of usable plug-ins; loading them may still fail."""
    return list(dict.fromkeys(plugin.name for plugin in plugins.found(_TAKEN) if not plugin.problem))


def plugged_in(library: str) -> Plugin | None:
    """The plug-in of that name, usable or not; None where there is none, and for gradfuzz's own names."""
    if library in _TAKEN:
        return None
    return next((plugin for plugin in plugins.found(_TAKEN) if plugin.name == library), None)


def _plugged(plugin: Plugin, target: TargetName, *, supervised: bool) -> list[Oracle]:
    """The oracles of a plug-in. If supervised, its process reports what is wrong with it."""
    if target.specifier:
        told = f"{plugin.who} is asked in the one that is installed; name it {plugin.name}"
        raise UnknownTargetError(f"{target.base!r} names a release, and {told}")
    if not supervised or plugin.problem:
        return plugins.ways(plugin)
    try:
        return _started(plugin.name, _guest(plugin.name))
    except SilentTargetError as error:
        raise PluginError(f"{plugin.who} cannot be asked: {error}") from error


def _guest(library: str) -> str:
    """The command that serves this installation's oracles."""
    return shlex.join([sys.executable, launcher.__file__, SERVER, library])


def _elsewhere(target: TargetName) -> list[Oracle]:
    """The oracles of a target in its own environment.

    Used where the name says which releases, or where the library is not installed beside gradfuzz.
    """
    if not target.specifier and beside(target.library) is not None:
        return []
    from gradfuzz.oracles.foreign import managed

    if managed.find(target.base) is not None:
        return _started(target.base, managed.plan(target.base).command())
    if target.specifier:
        managed.plan(target.base)  # says what is wrong with the name
        advice = f"make it with: gradfuzz targets install '{target.base}'"
        raise MissingExtraError(f"{target.base} has no environment in {managed.root()}; {advice}")
    return []


def _adapter(library: str) -> list[Oracle]:
    adapter = ADAPTERS[library]
    if beside(library) is None:
        from gradfuzz.oracles.foreign import managed

        needed = f"needs the package {adapter.distribution}"
        looked = f"neither beside gradfuzz nor in {managed.root()}"
        raise MissingExtraError(f"the target {library} {needed}, which is {looked}; {_how(library)}")
    script = adapters.path(adapter.script)
    return _started(library, shlex.join([sys.executable, str(script)]))


def _started(library: str, command: str) -> list[Oracle]:
    """The oracles of a library that gradfuzz supports itself, in the process that a command starts."""
    from gradfuzz.oracles.foreign.oracle import named_ways
    from gradfuzz.oracles.foreign.process import ResourceLimits
    from gradfuzz.oracles.foreign.resource_limits import limits

    return named_ways(library, command, ":", limits(ResourceLimits(request=_COMPILING)))


def beside(library: str) -> str | None:
    """The version of a library installed beside gradfuzz; None for another language's."""
    if library in ADAPTERS and ADAPTERS[library].language != "python":
        return None
    return version_of(ADAPTERS[library].distribution if library in ADAPTERS else library) or _provided(
        library
    )


def _how(library: str) -> str:
    """How to install a library that is missing."""
    adapter = ADAPTERS.get(library)
    if adapter is not None and adapter.language not in ("python", "node", "elixir", "swift"):
        return f"the first lines of {adapter.script} say how it is started"
    own = f"install it with: gradfuzz targets install {library}"
    if adapter is None:
        return f"{own}, or beside gradfuzz: pip install 'gradfuzz[{library}]'"
    packages = " ".join((adapter.distribution, *adapter.requires))
    return f"{own}, or beside gradfuzz: pip install {packages}" if adapter.language == "python" else own


@functools.cache
def _provided(module: str) -> str | None:
    """The version of another distribution that has a module, as tensorflow-cpu has tensorflow."""
    if importlib.util.find_spec(module) is None:
        return None
    others = importlib.metadata.packages_distributions().get(module, [])
    return importlib.metadata.version(others[0]) if others else None


def version_of(distribution: str) -> str | None:
    """The version of a distribution that is installed here."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def release_of(package: str) -> str | None:
    """The version of the distribution that has a package of this name, as dm-haiku has haiku."""
    found = version_of(package)
    if found is None:
        named = importlib.metadata.packages_distributions().get(package, ())
        found = next(map(version_of, named), None)
    return found


def references() -> dict[str, Reference]:
    """The references, the fast one first."""
    from gradfuzz.oracles.references.arb import ArbReference
    from gradfuzz.oracles.references.finite_differences import MpmathReference

    return {"arb": ArbReference(), "mpmath": MpmathReference()}


def available() -> list[Available]:
    """All targets, installed or not. Imports no library."""
    from gradfuzz.oracles.foreign.managed import everything
    from gradfuzz.oracles.mutants.registry import MUTANTS
    from gradfuzz.version import __version__

    differences = "central differences at two precisions and two steps"
    rows = [
        Available(
            "arb", "reference", version_of("python-flint"), "ball-arithmetic Taylor series: enclosures"
        ),
        Available("mpmath", "reference", version_of("mpmath"), differences),
        Available("engine", "peer", __version__, "gradfuzz's own autodiff"),
    ]
    made = everything()
    for library in (*LIBRARIES, *ADAPTERS):
        version = beside(library) or next((one.version for one in made if one.target == library), None)
        own = [one.target for one in made if TargetName.of(one.target).library == library]
        how = _how(library).removeprefix("install it with: ").partition(",")[0]
        note = "" if version or own else f"not installed: {how}"
        rows.append(Available(library, "target", version, note, own))
    rows += [Available(p.name, "target", p.version, _remark(p)) for p in plugins.found(_TAKEN)]
    for m in MUTANTS:
        note = f"{m.id}: {m.summary} ({m.reported})"
        rows.append(Available(f"mutant:{m.alias}", "mutant", __version__, note))
    return rows


def _remark(plugin: Plugin) -> str:
    return f"plug-in of {plugin.distribution}" + (f", not used: {plugin.problem}" if plugin.problem else "")


def installed() -> list[str]:
    """The targets that can be asked in this process. Plug-ins and adapters are asked only by name."""
    return ["engine", *(library for library in LIBRARIES if version_of(library))]
