"""`gradfuzz targets functions`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from gradfuzz.cli.output import answer
from gradfuzz.errors import UsageError


def functions(name: str | None, form: str) -> None:
    """Prints every function that the library `name` offers, and what becomes of it."""
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
    answer(
        form,
        lambda: documents.functions_document(found.target, found.version, rows, counts),
        lambda: terminal.render(found.target, found.version, rows, counts),
    )
