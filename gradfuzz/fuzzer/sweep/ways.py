"""The ways of the targets of a sweep, as a worker lists them."""

from __future__ import annotations

from dataclasses import dataclass

from gradfuzz.fuzzer.questions.target_programs import fits
from gradfuzz.fuzzer.sweep import memo as memos
from gradfuzz.oracles.base import Oracle
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.language.precision import Precision


@dataclass(frozen=True, slots=True)
class Way:
    """What a sweep has to know of an oracle."""

    name: str
    version: str
    slow: bool
    compiles: bool
    """Whether the programs of its questions are compiled, many at once: each shrinking takes long."""
    narrow: frozenset[str]
    """The families of which it refuses most of what is drawn for everybody."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The listing of ways as work."""

    targets: tuple[str, ...]
    families: tuple[str, ...]
    precisions: tuple[Precision, ...]
    orders: tuple[int, ...]
    together: bool
    """Whether a family is about batches, so that the ways that take them are asked, too."""


@dataclass(frozen=True, slots=True)
class Ways:
    """Its result: the ways of all targets, each once."""

    ways: tuple[Way, ...]


memos.KINDS[Listing] = memos.WorkKind("listing", Ways)


def listed(work: Listing) -> Ways:
    """The ways of the targets, whose processes this process has from now on."""
    oracles = [o for name in work.targets for o in resolve(name, together=work.together, supervised=True)]
    asked = work.precisions, work.orders

    def narrow(target: Oracle) -> frozenset[str]:
        return frozenset(family for family in work.families if not fits(target, family, *asked))

    found = {o.name: Way(o.name, o.version, o.traits.slow, o.traits.at_once > 1, narrow(o)) for o in oracles}
    return Ways(tuple(found.values()))
