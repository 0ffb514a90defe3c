"""What became of the functions of a library in a sweep that calls them: the same figures in every report."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradfuzz.fuzzer.results.functions import (
    ASKED,
    BROKEN,
    DIFFERENTIABLE,
    FAMILY,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    NOT_REACHED,
    OUTCOMES,
    REFUSED,
    FunctionSummary,
)
from gradfuzz.oracles.base import in_words
from gradfuzz.reports.common.numbers import count, sums

MODES = ("rev", "fwd", "rev rev", "rev fwd", "fwd rev", "fwd fwd")
"""The derivatives that each function is asked for, innermost mode first."""

MEANINGS: Mapping[str, str] = {
    ASKED: "its derivatives were asked for",
    REFUSED: "no call that was drawn was valid, or none has a derivative",
    BROKEN: "an error of gradfuzz itself: please report it",
    NOT_DIFFERENTIABLE: "by its documents, or by what it returns",
    LEFT_OUT: "gradfuzz does not call it; `gradfuzz targets functions` says why",
    NOT_REACHED: "the sweep ended before",
}

_MOST_REASONS = 12
"""The most reasons that are listed."""

_LONGEST = 70
"""The most characters of the library's words."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was asked of the functions of a library."""

    total: int
    outcomes: Mapping[str, int]
    """By outcome, all of them; they add up to `total`."""
    modes: tuple[tuple[str, ...], ...]
    """By derivative: its words, the functions that were asked, their share of those that may have one, the
    calls, and the functions without it.
    """
    calls: str
    """A sentence on the calls that were drawn ..."""
    answers: str
    """... and one on the answers."""
    inconclusive: tuple[tuple[int, str, str], ...]
    """(answers, their share of all answers, reason), the most frequent first."""
    refused: tuple[tuple[str, str], ...]
    """(function, the library's words) of those that were refused."""
    broken: tuple[tuple[str, str], ...]
    """(function, error of gradfuzz itself)."""
    proofs: str
    """A sentence on the rules that were taken as formulas; empty where none was."""
    open: tuple[tuple[int, str, str], ...]
    """(derivatives, their share, reason) of which nothing is proved, the most frequent first."""
    wrong_rules: tuple[str, ...]
    """What is proved wrong though the numbers agree."""


def coverage(functions: Sequence[FunctionSummary]) -> Coverage:
    """The figures of a sweep."""
    outcomes = Counter(one.outcome for one in functions)
    verdicts = sums(one.verdicts for one in functions)
    reasons = sums(one.inconclusive for one in functions)
    answers = sum(verdicts.values())
    proofs, still = sums(one.proofs for one in functions), sums(one.open for one in functions)
    total = sum(proofs.values())
    return Coverage(
        total=len(functions),
        outcomes={name: outcomes[name] for name in OUTCOMES},
        modes=tuple(_mode(mode, functions) for mode in modes(functions)),
        calls=_calls(functions),
        answers=_answers(verdicts, answers),
        inconclusive=tuple((n, share(n, answers), reason) for reason, n in reasons.most_common()),
        refused=tuple((one.name, short(one.why)) for one in functions if one.outcome == REFUSED),
        broken=tuple((one.name, short(one.why)) for one in functions if one.outcome == BROKEN),
        proofs=_proofs(proofs),
        open=tuple((n, share(n, total), reason) for reason, n in still.most_common(_MOST_REASONS)),
        wrong_rules=tuple(words for one in functions for words in one.wrong_rules),
    )


def modes(functions: Iterable[FunctionSummary]) -> tuple[str, ...]:
    """`MODES`, and any others that were asked for."""
    return tuple(dict.fromkeys((*MODES, *(mode for one in functions for mode in one.asked))))


def spoken(mode: str) -> str:
    """A derivative in words: "forward over reverse" of "rev fwd"; what is no derivative as it is."""
    parts = mode.split()
    return in_words(parts) if {*parts} <= {"rev", "fwd"} else mode


def noun(families: Iterable[str]) -> str:
    """What a sweep of these families draws: "call" or "program", which it is of no families, too."""
    return "call" if set(families) == {FAMILY} else "program"


def share(part: int, whole: int) -> str:
    """Per cent with one decimal: "2.9 %"."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def short(words: str, longest: int = _LONGEST) -> str:
    """The start of what a library says, whole words."""
    cut = textwrap.shorten(words, longest, placeholder=" ...")
    return cut if len(cut) > 4 or len(words) <= longest else f"{words[: longest - 3]}..."


# Pieces -----------------------------------------------------------------------------------------------------


def _mode(mode: str, functions: Sequence[FunctionSummary]) -> tuple[str, ...]:
    calls = [n for one in functions if (n := one.asked.get(mode, 0))]
    differentiable = sum(one.outcome in DIFFERENTIABLE for one in functions)
    lacking = sum(mode in one.lacks for one in functions)
    part = share(len(calls), differentiable)
    return spoken(mode), f"{len(calls):,}", part, f"{sum(calls):,}", f"{lacking:,}"


def _calls(functions: Sequence[FunctionSummary]) -> str:
    drawn, valid, judged = (sum(getattr(f, name) for f in functions) for name in ("drawn", "valid", "judged"))
    return f"{count(drawn, 'call')} drawn, {valid:,} valid ({share(valid, drawn)}), {judged:,} judged."


def _answers(verdicts: Mapping[str, int], total: int) -> str:
    told = ", ".join(f"{n:,} {verdict} ({share(n, total)})" for verdict, n in verdicts.items() if n)
    return f"{count(total, 'answer')}{f': {told}' if told else ''}."


def _proofs(outcomes: Mapping[str, int]) -> str:
    total = sum(outcomes.values())
    if not total:
        return ""
    right, wrong = outcomes.get("right", 0), outcomes.get("wrong rule", 0)
    return (
        f"{count(total, 'derivative rule')}: {right:,} proved right"
        f" ({share(right, total)}), {wrong:,} proved wrong ({share(wrong, total)}),"
        f" {outcomes.get('open', 0):,} open."
    )
