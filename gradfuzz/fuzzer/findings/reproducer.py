"""Scripts that show a wrong answer without gradfuzz: for its own library, for others, and as a test."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.fuzzer.findings.own_script import own_script
from gradfuzz.fuzzer.findings.representative import finding_point
from gradfuzz.fuzzer.findings.short_run import shows
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.results.failure import Failure, failure_of
from gradfuzz.fuzzer.results.finding import CheckResult, Class
from gradfuzz.oracles.base import Array, Oracle
from gradfuzz.oracles.dialect_table import DIALECTS, dialect
from gradfuzz.oracles.dialects import adapter_script
from gradfuzz.oracles.dialects.adapter_source import CutError
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.script_verdict import ENDING, as_pytest
from gradfuzz.oracles.emit.short import Measure, ShortInput
from gradfuzz.oracles.emit.short_forms import FORMS
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.oracles.libraries import LIBRARIES
from gradfuzz.oracles.registry import beside, plugged_in, settle, ways_module
from gradfuzz.oracles.target_name import TargetName

_OWN = ("engine", "mutant")
"""Targets that are asked through gradfuzz itself."""


def reproducer_input(candidate: Candidate, case: CheckResult, target: Oracle) -> ReproducerInput:
    """What the scripts show of the candidate at the point of `case`."""
    point, truth = finding_point(case), case.truth
    question = candidate.question([] if target.traits.batched else [case.point.inputs])
    if case.kind is Class.WRONG_PRIMAL or (case.kind in _MEASURES and _of_an_output(case)):
        question = replace(question, modes=())
    across: list[Mapping[str, Array]] | None = None
    if truth is not None and truth.kink and truth.left is not None and question.order == 1:
        across = [slopes.direction for slopes in truth.across]
    allowed, together = dict(case.allowed) or None, target.traits.batched
    place = candidate.place if together else 0
    return ReproducerInput(
        question, place, point.expected, point.bound, allowed, case.references, across, together
    )


def _of_an_output(case: CheckResult) -> bool:
    """Whether it is an output that has another shape than the program's, or another dtype than the
    question's.
    """
    outputs = zip(case.answer.values, case.question.weights, strict=False)
    dtype = np.dtype(case.question.precision)
    return any(w is not None and (np.shape(y), np.asarray(y).dtype) != (w.shape, dtype) for y, w in outputs)


def reproducer(candidate: Candidate, case: CheckResult, target: Oracle) -> str:
    """A standalone script that asks `target` about the candidate at a point; exits with 1 while wrong.

    It needs the target's library, NumPy and mpmath. For the engine, its mutants and plug-ins it needs
    gradfuzz, and for a rule that is wrong by less than numbers show. Empty for a target whose library has no
    script.
    """
    base = TargetName.of(target.name).library
    if base in _OWN or plugged_in(base) is not None or case.kind is Class.WRONG_RULE:
        question = candidate.question([] if target.traits.batched else [case.point.inputs])
        return own_script(question, target.name, candidate.place if target.traits.batched else 0)
    shown, dtypes = reproducer_input(candidate, case, target), case.kind is Class.WRONG_DTYPE
    if base in ADAPTERS:
        return _foreign(shown, target, dtypes)
    if base not in LIBRARIES:
        return ""
    name = TargetName.of(target.name).computing
    shows = shown.expected, shown.allowed, shown.across
    text: str = ways_module(base).script(shown.question, shown.place, name, *shows, dtypes=dtypes)
    return text


def _foreign(shown: ReproducerInput, target: Oracle, dtypes: bool) -> str:
    """The adapter's own script; else its source's calls; else the library's dialect; else gradfuzz asks."""
    name, program = TargetName.of(target.name), shown.question.program
    if isinstance(target, ForeignOracle):
        program = target.sent(program)
        text = target.script(shown.question)
        if text:
            return text
    version = f" {target.version}" if target.version else ""
    with contextlib.suppress(CutError, KeyError, NotImplementedError, SyntaxError, OSError):
        title = f"Wrong in {name.library}{version}, way {name.way or 'default'}."
        adapter = ADAPTERS[name.library]
        return adapter_script.script(shown, adapter, name.way, title, dtypes=dtypes, program=program)
    if name.library in DIALECTS and dialect(name.library).unsupported(shown) is None:
        return dialect(name.library).port(shown)
    return own_script(shown.question, target.name, shown.place)


SHORT: Mapping[str, str] = {
    **dict.fromkeys(FORMS, "gradfuzz.oracles.dialects.adapter_short"),
    "jax": "gradfuzz.oracles.jax.short",
    "torch": "gradfuzz.oracles.torch.short",
}
"""Library -> the module of its short reproducers."""


def short(candidate: Candidate, case: CheckResult, target: Oracle) -> str:
    """About ten lines of the target's own library that print the number that it returns and the right one.

    They need the library alone. Empty for a target that has no such form, for points that are answered
    together, for a rule that is wrong by less than its numbers show, and where the lines, run here, show
    something else. The lines are not run where the library is not beside gradfuzz, or ends its process.
    """
    library = TargetName.of(target.name).library
    if library not in SHORT or target.traits.batched or case.kind is Class.WRONG_RULE:
        return ""
    shown = reproducer_input(candidate, case, target)
    question = shown.question
    if isinstance(target, ForeignOracle):
        question = replace(question, program=target.sent(question.program))
    elif dialect(library).unsupported(shown) is not None:
        return ""
    point, measure = finding_point(case), _MEASURES.get(case.kind, "number")
    entry = point.entry if measure == "number" else (_malformed(case, point.got), point.entry[1])
    found = ShortInput(
        question,
        shown.inputs,
        entry,
        point.entry_expected,
        measure,
        kink=shown.across is not None,
        raises=case.kind is Class.ERROR,
        target=f"{target.name} {target.version}",
    )
    if measure == "number" and not found.raises and not math.isfinite(found.expected):
        return ""
    asked = [found, replace(found, detached=True)] if case.kind is Class.MISSING else [found]
    name = TargetName.of(target.name).computing
    module = importlib.import_module(SHORT[library])
    written = [module.short(one, name) for one in asked]
    texts: list[str] = [text for text in dict.fromkeys(written) if text]
    if not texts or not _can_run(library, target, case):
        return texts[-1] if texts else ""
    settle(library)
    return next((text for text in texts if shows(text, case)), "")


def _can_run(library: str, target: Oracle, case: CheckResult) -> bool:
    """Whether the release of the target is the one beside gradfuzz, and the process outlives the question."""
    here = (beside(library) or "").partition("+")[0]
    return here == target.version and failure_of(case.message) is Failure.EXCEPTION


_MEASURES: Mapping[Class | None, Measure] = {Class.WRONG_SHAPE: "shape", Class.WRONG_DTYPE: "dtype"}


def _malformed(case: CheckResult, got: Mapping[str, Array]) -> str:
    """The name of the first answer that has another shape or dtype than it should."""
    for name in got:
        right = case.point.inputs.get(name)
        if right is None or got[name].shape != right.shape or got[name].dtype != right.dtype:
            return name
    return case.question.wrt[0]


def ports(
    candidate: Candidate, case: CheckResult, target: Oracle, script: str, signature: str
) -> dict[str, str]:
    """The same question in every other dialect that can express it, and `script`, the target's own, as a test
    named after the finding.

    A dialect whose script fails for an unforeseen reason is left out, so that the finding is not lost.
    """
    found: dict[str, str] = {}
    shown = reproducer_input(candidate, case, target)
    for name in DIALECTS:
        if name == TargetName.of(target.name).library:
            continue
        try:
            module = dialect(name)
            if module.unsupported(shown) is None:
                found[name] = module.port(shown)
        except Exception:  # noqa: BLE001, S112 - a finding is worth more than one of its scripts
            continue
    with contextlib.suppress(Exception):  # for the same reason
        if text := short(candidate, case, target):
            found["short"] = text
    if script.endswith(ENDING):
        found["pytest"] = as_pytest(script, f"test_gf_{signature[:8]}")
    return found
