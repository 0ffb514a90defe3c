"""`gradfuzz targets functions`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from gradfuzz.cli.output import answer
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.functions import FunctionSummary


def functions(name: str | None, form: str, store: Path) -> None:
    """Prints every function that the library `name` offers, what becomes of it, and what the sweeps in
    `store` asked of it.
    """
    from gradfuzz.adapters.catalogue import OUTCOMES
    from gradfuzz.oracles.catalogues import CATALOGUES, catalogue
    from gradfuzz.reports.machine import json as documents
    from gradfuzz.reports.terminal import functions as terminal

    if name is None:
        one_of = f"{', '.join(CATALOGUES)} have a catalogue"
        raise UsageError(
            f"targets functions needs a library, as in: gradfuzz targets functions torch; {one_of}"
        )
    found = catalogue(name)
    rows = [asdict(function) for function in found.functions]
    told = Counter(function.outcome for function in found.functions)
    counts = {outcome: told[outcome] for outcome in OUTCOMES}
    shown = found.target, found.version, rows, counts, _asked(found.target, found.version, store)
    answer(form, lambda: documents.functions_document(*shown), lambda: terminal.render(*shown))


def _asked(library: str, version: str, path: Path) -> Sequence[FunctionSummary]:
    """What the sweeps of this release's functions alone asked of them together; nothing without one."""
    from gradfuzz.fuzzer.results.functions import united
    from gradfuzz.fuzzer.store.runs import Store

    if not path.exists():
        return ()
    with Store(path) as store:
        return united(store.functions(library, version))
