"""Proofs of the derivatives of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradfuzz.fuzzer.measuring.measure import chosen_modes, combinations
from gradfuzz.fuzzer.measuring.setting import Setting
from gradfuzz.fuzzer.measuring.subject import Subject, subject_of
from gradfuzz.fuzzer.proving.proof import Proof
from gradfuzz.fuzzer.proving.prove import proved
from gradfuzz.libraries.library import LibraryName
from gradfuzz.oracles.base import Mode

BOTH: tuple[Mode, ...] = ("rev", "fwd")


def prove_gradient(
    f: Callable[..., Any],
    /,
    *args: Any,
    wrt: Sequence[str | int] | str | int | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    framework: LibraryName | None = None,
    answer: bool = True,
) -> tuple[Proof, ...]:
    """Whether the derivative rules that a library would run for `f` are right, without a tolerance.

    The derivative that JAX or Torch would run at `args` is traced, and evaluated in balls, numbers with a
    proved bound. So is the true derivative, the Taylor series of `f`. Where the two cannot be one number, the
    rule is wrong: that is a proof. One number is compared: the derivative of a weighted sum of the outputs
    along a line, both fixed and random.

    One `Proof` for each sequence of `modes` ("rev", "fwd"; None means both) up to `order`. Its `outcome` is
    "right", "wrong rule", "wrong computation" (the rule is right, and the library's answer has lost digits
    that rounding does not explain) or "open", for a `reason`. `blame` says which step of `f` is wrong, where
    its rule is written, and which number makes it wrong. Without `answer` the library computes nothing.

    The arguments and `wrt` are those of `check_gradient`. `UsageError`: the question makes no sense.
    """
    chosen = chosen_modes(modes)
    subject = subject_of(f, args, wrt, None, framework)
    try:
        return proofs_of(subject, order, chosen, answer=answer)
    finally:
        subject.framework.tidy()


def proofs_of(
    subject: Subject, order: int, modes: Sequence[Mode], *, answer: bool = True, explain: bool = True
) -> tuple[Proof, ...]:
    """The proofs of all sequences of `modes` up to `order`, low orders first; see `proved`."""
    found: list[Proof] = []
    known: dict[int, Setting] = {}
    for steps in combinations(order, modes):
        # what stands on a wrong derivative says nothing new
        if not any(p.outcome == "wrong rule" and steps[: len(p.modes)] == p.modes for p in found):
            found.append(proved(subject, steps, answer=answer, explain=explain, known=known))
    return tuple(found)
