"""Proofs about derivative rules as a page: one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.proofs import facts, headline
from gradfuzz.reports.html.assets import asset, environment, hash_of


def render(proofs: Sequence[ProofRecord]) -> str:
    """The page as the text of a UTF-8 file."""
    style = asset("report.css")
    return (
        environment()
        .get_template("proofs.html.j2")
        .render(
            style=style,
            style_hash=hash_of(style),
            proofs=proofs,
            headline=headline,
            facts=facts,
            line=plain.line,
        )
    )
