"""Checks of an adapter's optional requests: several questions at once, and refusals in advance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.base import Mode, Question
from gradfuzz.oracles.foreign.comparing import Failed, question, same_answers
from gradfuzz.oracles.foreign.oracle import ForeignOracle
from gradfuzz.programs.text.parse import parse

_TEXTS = ("def f(x):\n    return x\n", "def f(x):\n    return x * x\n", "def f(x):\n    return sin(x)\n")
_MODES: tuple[tuple[Mode, ...], ...] = ((), ("rev",), ("fwd",), ("rev", "rev"))


def _asked(oracle: ForeignOracle) -> list[Question]:
    """Questions that an entry point may or may not support."""
    points = [{"x": np.asarray(0.25)}, {"x": np.asarray(-1.5)}]
    precision = oracle.way.dtypes[0]
    return [question(parse(text), points, modes, precision=precision) for text in _TEXTS for modes in _MODES]


def several_at_once(oracles: Sequence[ForeignOracle]) -> str:
    """Many questions in one request get the same answers as one by one."""
    bulk = [oracle for oracle in oracles if oracle.traits.supports_many]
    for oracle in bulk:
        asked = [q for q in _asked(oracle) if oracle.supports(q) is None]
        for alone, together in zip(map(oracle.answer, asked), oracle.answer_all(asked), strict=True):
            for a, b in zip(alone, together, strict=True):
                if a.status != b.status:
                    told = f"{a.status} alone, and {b.status} among several: {b.message or a.message}"
                    raise Failed(f"{oracle.name}: {told}")
                same_answers(a, b, f"{oracle.name}, asked among several")
    if not bulk:
        return "it is asked one question at a time"
    return f"the same answers by {', '.join(o.name for o in bulk)}"


def refused_beforehand(oracles: Sequence[ForeignOracle]) -> str:
    """What is not refused in advance is not unsupported when asked."""
    count = 0
    for oracle in oracles:
        for q in _asked(oracle):
            if oracle.supports(q) is not None:
                count += 1
                continue
            late = next((a for a in oracle.answer(q) if a.status == "unsupported"), None)
            if late is not None and oracle.knows:
                words = "supports a question beforehand, and not when it is asked"
                raise Failed(f"{oracle.name} {words}: {late.message}")
    return f"{count} questions refused"
