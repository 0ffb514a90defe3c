"""Proofs about derivative rules as a page: one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.reports.common.proofs import facts, headline
from gradfuzz.reports.html.assets import environment


def render(proofs: Sequence[ProofRecord]) -> str:
    """The page as the text of a UTF-8 file."""
    template = environment().get_template("proofs.html.j2")
    return template.render(proofs=proofs, headline=headline, facts=facts)
