"""The script that shows a wrong answer without what found it."""

from __future__ import annotations

import importlib
from dataclasses import replace

from gradfuzz.fuzzer.finding import Case, Class
from gradfuzz.fuzzer.own_script import own_script
from gradfuzz.fuzzer.showcase import finding_point
from gradfuzz.fuzzer.specimen import Specimen
from gradfuzz.oracles.base import Oracle

__all__ = ["reproducer"]


def reproducer(specimen: Specimen, case: Case, target: Oracle) -> str:
    """A standalone script that asks `target` about `specimen` at the point of `case`, and exits with 1 while the answer is wrong.

    It needs the target's library, NumPy and mpmath; for the engine and its mutants gradfuzz itself. Empty for a target whose library writes none.
    """
    base = target.name.partition(":")[0]
    point = finding_point(case)
    question = specimen.question([] if target.together else [case.point.inputs])
    place = specimen.place if target.together else 0
    if base in ("engine", "mutant"):
        return own_script(question, target.name, place)
    try:
        module = importlib.import_module(f"gradfuzz.oracles.{base}")
    except ImportError:
        return ""
    if not hasattr(module, "script"):
        return ""
    if case.kind is Class.WRONG_PRIMAL:
        question = replace(question, modes=())
    text: str = module.script(question, place, target.name, point.expected, dict(case.allowed) or None)
    return text
