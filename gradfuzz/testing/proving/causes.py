"""Why a rule is wrong, as far as its constants tell."""

from __future__ import annotations

def cause_of(proof, function, rule, setting) -> str:
    return ""
