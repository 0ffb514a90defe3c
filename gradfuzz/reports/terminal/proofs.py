"""Proofs about derivative rules for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.proofs import facts, headline

_STYLES = {"wrong rule": "bold red", "wrong computation": "bold yellow", "right": "bold", "open": "bold dim"}


def render(proofs: Sequence[ProofRecord]) -> RenderableType:
    """Each proof with its three numbers; below a wrong rule the rule as Python, the wrong line marked."""
    parts: list[RenderableType] = []
    for proof in proofs:
        parts.append(Text(headline(proof), style=_STYLES[proof.outcome], overflow="fold"))
        parts += [Text(f"  {name:<11}{value}", overflow="fold") for name, value in facts(proof)]
        for line in proof.lines:
            style = "red" if line.marked else ""
            parts.append(Text(f"{'>' if line.marked else ' ':>3} {plain.line(line.text)}", style=style))
        parts.append(Text(""))
    return Group(*parts[:-1])
