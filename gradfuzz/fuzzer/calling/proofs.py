"""Proofs of the rules of a library's functions, by drawn calls."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.errors import UnsupportedError, UsageError, did_you_mean
from gradfuzz.fuzzer.calling.drawing.draw import refused
from gradfuzz.fuzzer.calling.drawing.search import Search
from gradfuzz.fuzzer.calling.invocation import asked, called, is_inside, quiet, values_of
from gradfuzz.fuzzer.measuring.subject import Subject, subject_of
from gradfuzz.fuzzer.proving.gradient import BOTH, proofs_of
from gradfuzz.fuzzer.proving.listing import record_of
from gradfuzz.fuzzer.proving.proof import Proof
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.proof import Outcome, ProofRecord
from gradfuzz.libraries.detect import library_named
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.catalogues import catalogue
from gradfuzz.strategies.drawing.dice import Seeded

PROVING = ("torch", "jax")
"""The libraries whose derivatives are traced."""

_GRAVEST: tuple[Outcome, ...] = ("wrong rule", "wrong computation", "right", "open")

_TRIED = 4
"""So many times as many calls are looked at as are wanted: of some nothing is known."""


def proofs_of_function(
    name: str, count: int, *, seed: int = 0, order: int = 1, modes: Sequence[Mode] | None = None
) -> list[ProofRecord]:
    """Proofs of a function by its public name, "torch.logcumsumexp": for each derivative the gravest of those
    of `count` calls, and a note on the others. Calls whose values are no finite numbers do not count.

    `UsageError` where there is no such function, `UnsupportedError` where it has no derivative.
    """
    function = _function(name)
    library = name.partition(".")[0]
    search = Search(library, function, Seeded(f"{seed}/prove/{function.signature}"), lambda call: None)
    found: dict[tuple[Mode, ...], list[Proof]] = {}
    known = 0
    for call in itertools.islice(search.calls(), _TRIED * count):
        if not is_inside(call):
            search.outside()
            continue
        proofs = proofs_of_call(call, order, modes)
        for proof in proofs:
            found.setdefault(proof.modes, []).append(proof)
        known += any(proof.outcome != "open" for proof in proofs)
        if known == count:
            break
    if not found:
        words = next(iter(search.raised), "no call that was drawn is valid")
        raise UnsupportedError(f"{name}: nothing was asked: {words}")
    return [_gravest(name, proofs) for proofs in found.values()]


def _gravest(name: str, proofs: Sequence[Proof]) -> ProofRecord:
    record = record_of(min(proofs, key=lambda proof: _GRAVEST.index(proof.outcome)), name)
    if len(proofs) == 1:
        return record
    counts = Counter(proof.outcome for proof in proofs)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _GRAVEST if counts[outcome])
    return replace(
        record, note="; ".join(filter(None, (record.note, f"{len(proofs)} calls were asked: {told}")))
    )


def proofs_of_call(
    call: Call,
    order: int = 1,
    modes: Sequence[Mode] | None = None,
    *,
    answer: bool = True,
    explain: bool = True,
) -> tuple[Proof, ...]:
    """The proofs about a call with what stands around it; none where the library does not take it."""
    with quiet():
        subject = subject_of_call(call)
        if subject is None:
            return ()
        return proofs_of(subject, order, modes or BOTH, answer=answer, explain=explain)


def subject_of_call(call: Call) -> Subject | None:
    """A call as a function of its differentiated arrays, of the results that the library differentiates;
    None where it has no derivative.
    """
    library = library_named(call.library)
    try:
        arrays = [library.constant(value) for value in values_of(call)]
        followed = library.followed(called(replace(call, results=()), library), arrays)
        if followed == ():
            return None
        call = replace(call, results=followed or ())
        return subject_of(asked(call, library), arrays, None, None, library.name)
    except Exception:  # noqa: BLE001 - whatever a library raises about a call
        return None


def _function(name: str) -> Function:
    library = name.partition(".")[0]
    if library not in PROVING or name == library:
        several = " and ".join(PROVING)
        raise UsageError(
            f"{name!r} is not a function of {several}, whose derivatives are traced; name one, as"
            " torch.logcumsumexp, or a function of your own as MODULE:FUNC"
        )
    functions = catalogue(library).functions
    words = ""
    for function in functions:
        if name in function.names:
            if function.outcome == DIFFERENTIABLE and refused(function) is None:
                return function
            words = words or refused(function) or function.why
    if words:
        raise UnsupportedError(f"{name}: {words}")
    names = [one for function in functions for one in function.names]
    raise UsageError(f"{library} lists no function {name!r}{did_you_mean(name, names)}")
