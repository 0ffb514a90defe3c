"""Runs a short reproducer, and tells whether it shows what its finding says."""

from __future__ import annotations

import contextlib
import io
import math
import re
import warnings

from gradfuzz.fuzzer.results.finding import CheckResult, Class

_NEAR = 1e-3
"""What a library itself may differ by between two ways of one mode, in float32 and lower."""

_MOST_OF_IT = 0.25
"""The least part of the finding's error that a reproducer shows."""


def shows(text: str, case: CheckResult) -> bool:
    """Whether the reproducer prints the wrong number, shape or dtype of `case`, or raises its exception.

    It is run in this process, and needs the library here.
    """
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("ignore")
            exec(compile(text, "<short>", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own text
    except Exception as error:  # noqa: BLE001 - whatever a library raises
        return case.kind is Class.ERROR and case.message.startswith(type(error).__name__)
    if case.kind is Class.ERROR:
        return False
    told = re.search(r"^got +(.+)\nexpected +(.+)$", printed.getvalue(), re.MULTILINE)
    if told is None:
        return False
    if case.kind in (Class.WRONG_SHAPE, Class.WRONG_DTYPE):
        return told[1] != told[2]
    if case.got is None:
        return False
    got, expected = float(told[1]), float(told[2])
    if not math.isfinite(case.got):
        return not math.isfinite(got)
    is_near = abs(got - case.got) <= _NEAR * abs(case.got)
    return is_near and abs(got - expected) >= _MOST_OF_IT * abs(case.got - expected)
