"""The tests that a mark stands for, and the questions of each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gradfuzz.errors import did_you_mean, listed
from gradfuzz.fuzzer.questions.grids import GRIDS
from gradfuzz.fuzzer.questions.suites import SUITES, CanonicalCase, CanonicalTable
from gradfuzz.fuzzer.verdict.rows import groups
from gradfuzz.oracles.base import Mode, Question, check_name

CHECKS = ("vjp", "jvp", "second order")
"""Reverse mode, forward mode, and the second derivative in every combination of the two."""

_MODES: Mapping[str, tuple[tuple[Mode, ...], ...]] = {
    "vjp": (("rev",),),
    "jvp": (("fwd",),),
    "second order": (("rev", "rev"), ("fwd", "rev"), ("rev", "fwd"), ("fwd", "fwd")),
}


@dataclass(frozen=True, slots=True)
class SuiteCell:
    """One test: a target, and one check of one op of a suite."""

    target: str
    suite: str
    op: str
    check: str
    id: str

    @property
    def rerun(self) -> str:
        """The command that asks about the op, among others."""
        only = "" if self.suite in SUITES else f" --op {self.op}"
        return f"gradfuzz probe {self.target} --suite {self.suite}{only}"


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """A question and its place in the suite."""

    use: str
    """One use of the op."""
    situation: str
    """The column of a grid, or the precision."""
    question: Question


# Marks ------------------------------------------------------------------------------------------------------


def cells_of(marks: Sequence[pytest.Mark]) -> list[SuiteCell]:
    """The tests of several marks, each once. A mark that makes no sense fails as pytest does."""
    asked = list(dict.fromkeys(itertools.chain.from_iterable(map(_asked, marks))))
    several = [len({cell[k] for cell in asked}) > 1 for k in (0, 1)]  # targets, suites
    told = [k for k, part in enumerate((*several, True, True)) if part]
    return [SuiteCell(*cell, id="-".join(cell[k] for k in told)) for cell in asked]


def _asked(mark: pytest.Mark) -> Iterator[tuple[str, str, str, str]]:
    known = ("target", "suite", "checks", "ops")
    if mark.args:
        _fail(f"the mark gradfuzz takes {', '.join(known)} by name, and here is {mark.args[0]!r}")
    for name in mark.kwargs:
        _chosen("argument of the mark gradfuzz", name, known)
    if "target" not in mark.kwargs:
        _fail("the mark gradfuzz needs a target: @pytest.mark.gradfuzz(target='torch', suite='linalg')")
    checks = _listed(mark.kwargs, "checks") or CHECKS
    for check in checks:
        _chosen("check", check, CHECKS)
    suites = _listed(mark.kwargs, "suite") or ("loops",)
    for suite in suites:
        _chosen("suite", suite, (*SUITES, *GRIDS))
    wanted = _listed(mark.kwargs, "ops")
    known_ops = [name for suite in suites for names in _ops(suite).values() for name in names]
    for op in wanted or ():
        _chosen(f"op of the suite {' or '.join(suites)}", op, list(dict.fromkeys(known_ops)))
    for suite in suites:
        chosen = [op for op, names in _ops(suite).items() if wanted is None or set(names) & set(wanted)]
        asked = [(op, check) for op in chosen for check in checks if _has(suite, op, check)]
        for target in _listed(mark.kwargs, "target") or ():
            yield from ((target, suite, *what) for what in asked)


def _listed(given: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """One name or several; None where none is given."""
    value = given.get(name)
    if value is None:
        return None
    listed = (value,) if isinstance(value, str) else ()
    if isinstance(value, (list, tuple, set, frozenset)):
        listed = tuple(value)
    if not listed or not all(isinstance(one, str) for one in listed):
        _fail(f"{name}={value!r} of the mark gradfuzz: it is a name, or a list of names")
    return tuple(sorted(listed)) if isinstance(value, (set, frozenset)) else listed


def _chosen(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        close = did_you_mean(name, known).removeprefix("; ")
        hint = close or f"there is {listed(map(repr, known), repr(name))}"
        _fail(f"{name!r} is no {what}: {hint}")


def _fail(message: str) -> None:
    pytest.fail(message, pytrace=False)


# Suites -----------------------------------------------------------------------------------------------------


@functools.cache
def _ops(suite: str) -> Mapping[str, tuple[str, ...]]:
    """The ops of a suite, each with the names that select it."""
    if suite in GRIDS:
        return {op: (op,) for op in GRIDS[suite].ops()}
    found = {
        _loop(table, case): (table.title, str(case.cells[0]))
        for table in _tables(suite)
        for case in table.cases
    }
    return {op: (op, *also) for op, also in found.items()}


@functools.cache
def _tables(suite: str) -> tuple[CanonicalTable, ...]:
    return SUITES[suite]()


def _loop(table: CanonicalTable, case: CanonicalCase) -> str:
    """The name that takes the place of an op in a suite about loops."""
    return f"{table.title}: {case.cells[0]}"


def _has(suite: str, op: str, check: str) -> bool:
    """Whether a suite has this check of an op. For a grid that is known only after its rows are made."""
    return suite in GRIDS or bool(puts(suite, op, check))


@functools.lru_cache(maxsize=256)
def puts(suite: str, op: str, check: str) -> tuple[Put, ...]:
    """The questions of a test, grouped by use."""
    if suite in GRIDS:
        return tuple(
            Put(row.use, column, question)
            for row in _rows(suite, op)
            for column, questions in zip(GRIDS[suite].columns, row.cells, strict=True)
            for question in questions
            if (question.order == 2 if check == "second order" else check_name(question.modes) == check)
        )
    order = 2 if check == "second order" else 1
    in_table = [(table, case) for table in _tables(suite) for case in table.cases if case.order == order]
    cases = [case for table, case in in_table if _loop(table, case) == op]
    found = (group.here for modes in _MODES[check] for group in groups(cases, modes))
    return tuple(Put(op, question.precision, question) for question in found)


@functools.lru_cache(maxsize=16)
def _rows(suite: str, op: str) -> tuple[Any, ...]:
    return tuple(GRIDS[suite].about([op]))
