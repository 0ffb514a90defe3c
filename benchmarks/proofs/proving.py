"""Proofs of drawn and of written calls, each function in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.proofs.rules import RULES, USED
from benchmarks.proofs.written import Written
from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.fuzzer.calling.drawing.draw import refused
from gradfuzz.fuzzer.calling.drawing.search import Search
from gradfuzz.fuzzer.calling.invocation import is_inside
from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.calling.proofs import subject_of_call
from gradfuzz.fuzzer.calling.repeated import excused_call
from gradfuzz.fuzzer.measuring.subject import Subject, subject_of
from gradfuzz.fuzzer.proving.prove import proved_at
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.libraries.detect import library_named
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.catalogues import catalogue
from gradfuzz.strategies.drawing.dice import Seeded

ENOUGH = 20
"""Points at which a rule is to be proved, in each mode."""

POINTS = 10
"""Points around each call."""

SECONDS = 60
"""What a function may take of a processor; of time, four times as much."""

_SEEDS = 6
"""So often a written call is drawn, until enough is known of it."""

_OUTSIDE = 40
"""So many calls in a row whose values are no finite numbers end a function."""

MODES: dict[str, tuple[tuple[Mode, ...], ...]] = {
    "jax": (("rev",), ("fwd",)),
    "torch": (("rev",), ("fwd",), ("rev", "rev")),
}

Record = dict[str, Any]
Job = tuple[str, Callable[[], Iterator[Record]]]
"""The name of a function, and what proves it."""


@dataclass
class Rule:
    """What is known of a rule: the modes that it has, the outcomes by mode, the functions with a wrong one,
    and the reasons of what is open.
    """

    modes: tuple[Mode, ...]
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def right(self, mode: str) -> int:
        """At how many points it is proved right."""
        return self.outcomes[mode]["right"]


def _record(library: str, name: str, subject: Subject, modes: tuple[Mode, ...]) -> Record:
    proofs = proved_at(subject, modes, POINTS)
    try:
        rules = USED[library](subject, modes)
    except Exception:  # noqa: BLE001 - a function without this derivative
        rules = set()
    return {
        "function": name,
        "mode": " ".join(modes),
        "rules": sorted(rules),
        "outcomes": Counter(proof.outcome for proof in proofs),
        "reasons": Counter(proof.reason[:80] for proof in proofs if proof.outcome == "open"),
    }


def of_drawn(library: str, function: Function, calls: int, seed: int) -> Iterator[Record]:
    """What is proved of some calls of a function. Those are left away whose values are no finite numbers."""
    search = Search(library, function, Seeded(f"{seed}/proofs/{function.signature}"), lambda call: None)
    known = asked = outside = 0
    for call in search.calls():
        if not is_inside(call):
            search.outside()
            outside += 1
            if outside == _OUTSIDE:
                return
            continue
        outside = 0
        asked += 1
        subject = subject_of_call(call)
        is_known = False
        for modes in MODES[library] if subject is not None else ():
            record = _record(library, call.function, subject, modes)
            is_known = is_known or any(outcome != "open" for outcome in record["outcomes"])
            if record["outcomes"]["wrong rule"] and _is_convention(call, modes):
                record["outcomes"]["convention"] = record["outcomes"].pop("wrong rule")
            yield record
        known += is_known
        if known == calls or asked == (4 if known else 1) * calls:
            return


def _is_convention(call: Call, modes: tuple[Mode, ...]) -> bool:
    """Whether the documents leave the derivative of a call open, so that an answer that is off would be none
    that is wrong.
    """
    verdicts = judged(call, (modes[-1:], modes)).verdicts
    cases = [replace(one.case, verdict=Verdict.DISAGREE) for one in verdicts]
    return any(excused_call(call, case).verdict is Verdict.CONVENTION for case in cases)


def of_written(library: str, call: Written, seed: int) -> Iterator[Record]:
    """What is proved of a written call, drawn until it is proved right at enough points in each mode."""
    right: Counter[str] = Counter()
    for turn in range(_SEEDS):
        arrays = [library_named(library).array(x) for x in call.arguments(_SEEDS * seed + turn)]
        subject = subject_of(call.function, arrays, None, None, library)
        for modes in MODES[library]:
            if right[" ".join(modes)] < ENOUGH:
                record = _record(library, call.name, subject, modes)
                right[record["mode"]] += record["outcomes"]["right"]
                yield record


def collected(library: str, calls: int, seed: int, only: Sequence[str] = ()) -> dict[str, Rule]:
    """What is known of each rule. `only`: of functions whose names have one of these words in them."""
    library_named(library).begin()
    rules = {name: Rule(modes) for name, modes in RULES[library]().items()}
    module = import_module(f"benchmarks.proofs.calls_{library}")
    getattr(module, "begin", lambda: None)()
    written = module.CALLS
    drawn = [f for f in catalogue(library).functions if f.outcome == DIFFERENTIABLE and refused(f) is None]
    jobs: list[Job] = [(one.name, partial(of_written, library, one, seed)) for one in written]
    jobs += [(one.names[0], partial(of_drawn, library, one, calls, seed)) for one in drawn]
    jobs = [job for job in jobs if not only or any(word in job[0] for word in only)]
    with tempfile.TemporaryDirectory(prefix="gradfuzz-proofs-") as folder:
        _import_what(partial(of_written, library, written[0], seed), Path(folder, "modules.json"))
        for number, (_, work) in enumerate(jobs):
            for record in _apart(work, Path(folder, f"{number}.jsonl")):
                add(rules, record)
            if number % 50 == 0:
                print(f"{library}: {number} of {len(jobs)} functions", file=sys.stderr, flush=True)
    return rules


def _import_what(work: Callable[[], Iterator[Record]], place: Path) -> None:
    """Imports what a piece of work imports: every process would do it anew. Nothing is computed here: the
    libraries start threads, and a process with threads cannot be forked.
    """
    child = os.fork()
    if child == 0:
        before = set(sys.modules)
        with contextlib.suppress(Exception):
            list(work())
        place.write_text(json.dumps(sorted(set(sys.modules) - before)))
        os._exit(0)
    os.waitpid(child, 0)
    for name in json.loads(place.read_text()) if place.exists() else []:
        with contextlib.suppress(Exception):
            import_module(name)


def _apart(work: Callable[[], Iterator[Record]], place: Path) -> list[Record]:
    """The records of a piece of work in a process of its own: it may take all its time, or take the process
    down. What it has written by then counts.
    """
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(4 * SECONDS)
        with place.open("w") as file:
            for record in work():
                file.write(json.dumps(record) + "\n")
                file.flush()
        os._exit(0)
    os.waitpid(child, 0)
    lines = place.read_text().splitlines(keepends=True) if place.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def add(rules: Mapping[str, Rule], record: Mapping[str, Any]) -> None:
    """A record counts for every rule that takes part."""
    for name in record["rules"]:
        if name in rules:
            rule = rules[name]
            rule.outcomes[record["mode"]].update(record["outcomes"])
            rule.reasons.update(record["reasons"])
            if "wrong rule" in record["outcomes"]:
                rule.wrong[record["function"]] += 1
