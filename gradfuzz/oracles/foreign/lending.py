"""What gradfuzz lends to an environment that has a library and lacks what gradfuzz itself requires."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gradfuzz.oracles.foreign.installers import interpreters
from gradfuzz.oracles.foreign.managed import Environment, own_requirements


def lent(environment: Environment) -> dict[str, str]:
    """Package -> the folder in which it is. Nothing to another Python, which cannot import what is compiled
    for this one.
    """
    return places() if _same_python(environment) else {}


def lacking(environment: Environment) -> list[str]:
    """What gradfuzz requires, the environment has not, and cannot be lent."""
    if _same_python(environment):
        return []
    names = [canonicalize_name(Requirement(text).name) for text in own_requirements()]
    return [name for name in names if name not in environment.packages]


def _same_python(environment: Environment) -> bool:
    own = interpreters.this()
    return interpreters.series(environment.packages.get("python", own.version)) == own.series


@functools.cache
def places() -> dict[str, str]:
    """Package -> the folder in which it is: all that gradfuzz requires, and what that requires in turn."""
    wanted = _closure()
    found = {}
    for name, distributions in importlib.metadata.packages_distributions().items():
        spec = importlib.util.find_spec(name) if wanted & set(map(canonicalize_name, distributions)) else None
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin).parent
            found[name] = str(place.parent if spec.submodule_search_locations else place)
    return found


def _closure() -> set[str]:
    """The names of the distributions."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in own_requirements()]
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name in found:
            continue
        found.add(name)
        try:
            more = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # an optional one
            continue
        wanted = map(Requirement, more)
        waiting += [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found
