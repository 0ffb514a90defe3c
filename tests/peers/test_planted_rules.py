"""Rules of autograd, broken one after the other: a sweep of its functions that does not know them finds them.

A sweep gives every function its turn, so that of the function with the broken rule decides. A function that
is wrong in the same mode as it is shipped cannot show another bug there, and is left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import autograd.numpy
import autograd.scipy.special
import numpy as np
import pytest
from autograd.core import primitive_jvps, primitive_vjps

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.turns.turn import Result, Turn, run
from gradfuzz.libraries.watching import function_of
from gradfuzz.oracles.catalogues import catalogue

pytestmark = pytest.mark.slow(reason="broken rules of sixty functions, a turn each: minutes")

RULES = 60
FOUND = 0.9

Change = Callable[[Any], Any]
CHANGES: dict[str, Change] = {
    "doubled": lambda g: 2.0 * g,
    "negated": lambda g: -g,
    "dropped": lambda g: 0.0 * g,
    "off by a thousandth": lambda g: 1.001 * g,
}


def broken(table: dict[Any, Any], primitive: Any, change: Change) -> Any:
    """The rule of a primitive with its result changed; the rule as it was."""
    before = table[primitive]
    if table is primitive_vjps:

        def rule(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
            pull = before(argnums, ans, args, kwargs)
            return lambda g: tuple(map(change, pull(g)))

    else:

        def rule(argnums: Any, tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
            return change(before(argnums, tangents, ans, args, kwargs))

    table[primitive] = rule
    return before


def functions() -> Iterator[tuple[Function, Any]]:
    """The functions of autograd with a rule of their own, each with its primitive."""
    for function in catalogue("autograd").functions:
        if function.outcome == DIFFERENTIABLE and function.why.startswith("a rule in"):
            yield function, function_of(function.names[0])


def asked(function: Function) -> Result:
    return run(Turn("autograd", function, seed=77, number=0, calls=6), lambda call: None)


def wrong(findings: tuple[Finding, ...], mode: str) -> bool:
    """Whether one of them is about the first derivative in this mode."""
    return any(finding.modes == (mode,) for finding in findings)


def test_broken_rules_are_found() -> None:
    rng = random.Random(4)
    chosen = list(functions())
    rng.shuffle(chosen)
    missed, tried = [], 0
    for function, primitive in chosen:
        if tried == RULES:
            break
        table = rng.choice([t for t in (primitive_vjps, primitive_jvps) if primitive in t])
        name = rng.choice(list(CHANGES))
        mode = "rev" if table is primitive_vjps else "fwd"
        clean = asked(function)
        if not clean.asked.get(mode) or wrong(clean.findings, mode):
            continue
        tried += 1
        before = broken(table, primitive, CHANGES[name])
        try:
            found = asked(function)
        finally:
            table[primitive] = before
        if not wrong(found.findings, mode):
            missed.append((function.names[0], mode, name, found.verdicts))
    assert tried == RULES
    assert len(missed) <= (1 - FOUND) * RULES, missed
    print(f"{tried - len(missed)} of {tried} found; missed: {missed}")


def test_the_rules_are_as_they_were() -> None:
    x = np.array([0.5, -1.0])
    gradient = autograd.elementwise_grad(lambda x: autograd.numpy.tanh(x) * autograd.scipy.special.erf(x))(x)
    slope = 1e-6
    f = lambda x: np.tanh(x) * autograd.scipy.special.erf(x)  # noqa: E731 - a line of a test
    assert gradient == pytest.approx((f(x + slope) - f(x - slope)) / (2 * slope), rel=1e-8)
