"""The title of a finding, the same in every report: what is wrong, how it was asked, how far off it is."""

from __future__ import annotations

import math
import re

from gradfuzz.fuzzer.results.failure import failure_of
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.trigger import OF_PARTS, Trigger
from gradfuzz.oracles.base import in_words
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.program import called
from gradfuzz.reports.common import plain
from gradfuzz.reports.common.numbers import apart, count, pair, ratio, right_digits

_MOST_OPS = 3
_LONGEST = 300

_MODULES = {
    "jnp": "jax.numpy",
    "lax": "jax.lax",
    "anp": "autograd.numpy",
    "special": "autograd.scipy.special",
}
"""The short names of modules in scripts."""

_ROOTS = frozenset({"torch", "jax", "autograd", "tf", "paddle", "mx", *_MODULES})


def title(finding: Finding) -> str:
    """As in "torch.linalg.det, forward over reverse: wrong by a factor of 0.34"."""
    return plain.line(f"{asked(finding)}: {claim(finding)}", _LONGEST)


def asked(finding: Finding) -> str:
    """The title without its numbers, the same in every run: "torch.linalg.det, forward over reverse"."""
    return plain.line(f"{subject(finding)}, {mode(finding)}", _LONGEST)


def heading(finding: Finding) -> str:
    """The title and whose it is: "torch.linalg.det, reverse: wrong sign (torch:func 2.13.0, float64)"."""
    return f"{title(finding)} ({versioned(finding.target, finding.version)}, {finding.precision})"


def versioned(name: str, version: str) -> str:
    """A name and its release, "torch:func 2.13.0"; the name alone where it has none, as a module may."""
    return f"{name} {version}".rstrip()


def subject(finding: Finding) -> str:
    """What is wrong: functions by the library's names where its script has them, ops by gradfuzz's, loops by
    their forms.
    """
    trigger = Trigger.of_finding(finding)
    ops = sorted(trigger.ops - OF_PARTS or trigger.ops)
    if ops:
        shown = [library_name(op, finding) for op in ops[:_MOST_OPS]]
        return f"{', '.join(shown)}{', ...' if len(ops) > _MOST_OPS else ''}"
    if trigger.loops:
        return f"{' and '.join(sorted(trigger.loops))} loop"
    comparisons = sorted(called(finding.program))  # what has no derivative may raise
    return ", ".join(comparisons[:_MOST_OPS]) or "identity"


def library_name(op: str, finding: Finding) -> str:
    """The name by which the finding's own script calls an op: "torch.linalg.det"; the op without one."""
    if "." in op:
        return op
    text = finding.ports.get("short") or finding.script
    of_library = TargetName.of(finding.target).library
    for found in re.finditer(rf"\b([a-z_]+(?:\.[a-z_]+)*)\.{re.escape(op)}\(", text):
        root, dot, rest = found[1].partition(".")
        whole = f"{_MODULES.get(root, root)}{dot}{rest}.{op}"
        if root in _ROOTS and whole.partition(".")[0] == of_library:
            return whole
    return op


def mode(finding: Finding) -> str:
    """What was asked: "value", "reverse mode", "forward over reverse"."""
    if finding.kind is Class.WRONG_PRIMAL or not finding.modes:
        return "value"
    return f"{in_words(finding.modes)}{' mode' if len(finding.modes) == 1 else ''}"


def claim(finding: Finding) -> str:
    """How it is wrong at the clearest point, in a few words."""
    point, kind = finding.clearest, finding.kind
    if kind is Class.ERROR:
        return str(failure_of(finding.note).value)
    if kind in (Class.WRONG_SHAPE, Class.WRONG_DTYPE):
        return str(kind.value).replace("_", " ")
    expected, got = pair(point.entry_expected, point.entry_got)
    instead = f"{got} instead of {expected}"
    times = point.ratio
    if times is None or not math.isfinite(times) or kind is Class.WRONG_PRIMAL:
        return instead
    match kind:
        case Class.SIGN_FLIP if ratio(times) == "-1":
            return "wrong sign"
        case Class.SIGN_FLIP:
            return f"wrong sign, and a factor of {ratio(abs(times))}"
        case Class.RATIO_BLOWUP | Class.WRONG_VALUE if times != 0.0:
            return f"wrong by a factor of {ratio(times)}"
        case Class.PRECISION if point.entry_expected:
            if point.entry_got == point.entry_expected:
                return instead
            digits = right_digits(point.entry_expected, point.entry_got)
            return f"{count(digits, 'digit')} {'is' if digits == 1 else 'are'} right"
        case Class.WRONG_RULE if point.entry_expected:
            share = apart(point.entry_expected, point.entry_got)
            return f"the rule is off by {share:.2g} of the derivative"
        case _:
            return instead
