"""What the machines of a cluster have. Where they do not agree, results would depend on who did what."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Mapping

from gradfuzz.errors import UsageError
from gradfuzz.oracles.foreign.worker import THREADS
from gradfuzz.oracles.registry import version_of
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.version import __version__

Facts = Mapping[str, str]
"""What decides results, by name: versions, and how many threads the linear algebra has."""

_REFERENCES = ("numpy", "mpmath", "python-flint", "hypothesis")

_WITH_PARTS = {"jax": ("jax", "jaxlib")}
"""Distributions of a library that are released on their own."""


def facts(systems: Collection[str]) -> dict[str, str]:
    """The facts of this machine. A distribution that is not installed has the version ""."""
    names = [*_REFERENCES]
    for system in sorted(systems):
        name = TargetName.of(system)
        if not name.specifier:
            names += _WITH_PARTS.get(name.library, (name.library,))
    versions = {"gradfuzz": __version__, "python": platform.python_version()}
    versions |= {name: version_of(name) or "" for name in names}
    return versions | {name: os.environ.get(name, value) for name, value in THREADS.items()}


def check(
    own: Facts, workers: Mapping[str, Facts], systems: Collection[str], offers: Mapping[str, Collection[str]]
) -> None:
    """Raises `UsageError`, with the name of a worker, where a worker's facts are not those of the others.

    What is gradfuzz's own has to be as it is here, in `own`. A system that workers offer, by their resources,
    concerns these alone; one that nobody offers concerns all. A library that no worker has is no difference:
    it may be a command, or built by gradfuzz itself.
    """
    offered = {system for offer in offers.values() for system in offer}
    for worker, found in workers.items():
        for name in ("gradfuzz", "python", *_REFERENCES):
            if found[name] != own[name]:
                _differ(worker, name, found[name], "here it is", own[name], "install the same there")
    for system in systems:
        concerned = [w for w in workers if system not in offered or system in offers[w]]
        library = TargetName.of(system).library
        for name in (*_WITH_PARTS.get(library, (library,)), *THREADS):
            _same(name, {worker: workers[worker].get(name, "") for worker in concerned}, system)


def _same(name: str, values: Mapping[str, str], system: str) -> None:
    (first, value), *others = values.items() if values else (("", ""),)
    for worker, other in others:
        if other != value:
            advice = f"install the same, or start the workers that serve it with --resources '{system}=1'"
            if name in THREADS:
                advice = f"set {name} to one number on all of them"
            _differ(worker, name, other, f"on {first} it is", value, advice)


def _differ(worker: str, name: str, found: str, where: str, other: str, advice: str) -> None:
    have = found or "not installed"
    raise UsageError(f"worker {worker}: {name} is {have}, and {where} {other or 'not installed'}; {advice}")
