"""What a shell completes: targets, families, suites, planted bugs, ids of recorded findings.

A completion that goes wrong offers nothing: a shell has no place for its message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from gradfuzz.cli.shell import click
from gradfuzz.errors import GradfuzzError

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _offering(names: Callable[[click.Context, str], Iterable[str]]) -> Completer:
    """Completes what follows the last comma."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        try:
            found = dict.fromkeys(names(ctx, begun))
        except (GradfuzzError, OSError):
            return []
        return [f"{before}{comma}{name}" for name in found if name.startswith(begun)]

    return complete


def _targets(_ctx: click.Context, begun: str) -> Iterable[str]:
    from gradfuzz.oracles import registry

    return [name for name in registry.names() if begun.startswith("mutant") or not name.startswith("mutant")]


def _planted(_ctx: click.Context, _begun: str) -> Iterable[str]:
    from gradfuzz.oracles import registry

    return [name.removeprefix("mutant:") for name in registry.names() if name.startswith("mutant:")]


def _families(_ctx: click.Context, _begun: str) -> Iterable[str]:
    from gradfuzz.fuzzer.results.functions import FAMILY
    from gradfuzz.strategies.families import FAMILIES

    return [*FAMILIES, FAMILY]


def _suites(_ctx: click.Context, _begun: str) -> Iterable[str]:
    from gradfuzz.fuzzer.questions.grids import GRIDS
    from gradfuzz.fuzzer.questions.suites import SUITES
    from gradfuzz.fuzzer.results.functions import FAMILY

    return [*SUITES, *GRIDS, FAMILY]


def _ids(ctx: click.Context, begun: str) -> Iterable[str]:
    from gradfuzz.fuzzer.store.runs import DEFAULT, Store

    path = Path(ctx.params.get("store") or DEFAULT)
    if not path.exists():
        return []
    with Store(path) as store:
        ids = store.ids()
    return ids if begun.startswith("GF") or not begun else [id.removeprefix("GF-") for id in ids]


TARGETS, PLANTED, FAMILIES, SUITES, IDS = map(_offering, (_targets, _planted, _families, _suites, _ids))
