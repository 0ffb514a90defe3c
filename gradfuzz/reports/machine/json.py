"""The JSON documents: stable contracts; fields may be added and are never renamed.

check   {program, points: [{inputs, truth, answers}]}
sweep   {seed, programs, checks, seconds, rerun, complete, targets, findings, clusters, coverage, tested,
        conventions, environment, functions, shard, own_faults, review}
probe   {target, suite, tables: [{title, columns, rows}],
        cells: [{number, word, ways, op, use, column, by, text, references, script}]}
findings
        {findings: [{id, target, version, check, precision, family, class, functions, what, state, run,
                     since}]}
targets {targets: [{name, version, installed, ...}]}
targets conventions
        {conventions: [{name, ops, functions, why, nan, source,
                        examples: [{expression, at, slopes, answers, forward}]}]}

A float is a JSON number where JSON has it, otherwise one of the strings "NaN", "Infinity", "-Infinity",
"-0.0". A complex number, which a library may return, is {real, imag}. An array is nested lists. Values by
input are objects with the inputs' names. A ratio is null where the expected entry is zero. The `program` of a
finding, and the `original` as it was drawn, are texts of the program language; where a library's function was
called they are code in the library's language, and `functions` has the public names of what is wrong. A
finding also has the addresses of the reports that it is `reported` as, the entries of docs/trophies that it
is known as, `trophies`, and its `record` (`fuzzer.results.records`), from which it can be replayed. A sweep
that calls a library's functions has them all under `functions`, as `fuzzer.results.functions` records them. A
part of a sweep has under `shard` what `gradfuzz merge` takes. Where gradfuzz itself failed, a finding or the
sweep has `own_faults`: {doing, error, traceback}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from gradfuzz.fuzzer.results.codec import encode
from gradfuzz.fuzzer.results.events import Shard, SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.evidence import Evidence
from gradfuzz.fuzzer.results.finding import Cause, CheckResult, Cluster, Finding, FindingPoint
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.known_reports import entries_of, reports_of
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.results.records import to_document
from gradfuzz.fuzzer.results.report_card import ProbeReport
from gradfuzz.fuzzer.results.review import BaselineEntry, Review, Rule
from gradfuzz.fuzzer.results.shown import drawn_source, functions, source
from gradfuzz.oracles.base import Array, Truth
from gradfuzz.programs.language.precision import is_float
from gradfuzz.programs.text.json_form import encode_float
from gradfuzz.reports.common import words
from gradfuzz.reports.common.summary import group, total

Json = Any
"""What `json.dumps` takes."""


def dumps(document: Mapping[str, Json]) -> str:
    """One document as strict JSON: floats that JSON lacks are encoded before, invisible characters here."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return "\n".join(
        line if line.isprintable() else "".join(map(_visible, line)) for line in text.split("\n")
    )


def _visible(character: str) -> str:
    """The escape of a character in a JSON string; outside of strings everything is ASCII."""
    return character if character.isprintable() else json.dumps(character)[1:-1]


def check_document(
    program: str, cases: Sequence[tuple[str, CheckResult]], versions: Mapping[str, str]
) -> dict[str, Json]:
    """The answers to one program.

    `cases` are pairs (loop form or "", case) in any order; `versions` are those of the oracles.
    """
    return {"program": program, "points": [_checked_point(at, versions) for at in words.by_point(cases)]}


def render(finished: SweepFinished, review: Review | None) -> str:
    """The result of a sweep as text."""
    return dumps(sweep_document(finished, review)) + "\n"


def sweep_document(finished: SweepFinished, review: Review | None = None) -> dict[str, Json]:
    """The result of a sweep, complete or not."""
    return {
        **_taken(finished, "seed", "programs", "checks"),
        "seconds": round(finished.seconds, 3),
        **_taken(finished, "rerun", "complete", "interrupted"),
        "targets": [
            {
                "name": name,
                **_counts(ways),
                "ways": [{"name": way.name, "family": way.family, **_counts([way])} for way in ways],
            }
            for name, ways in group(finished.summaries).items()
        ],
        "findings": list(map(finding_document, finished.findings)),
        "clusters": [encode(Cluster, cluster) for cluster in finished.clusters],
        **_taken(finished, "coverage", "tested", "conventions", "environment"),
        "functions": [encode(FunctionSummary, function) for function in finished.functions],
        "shard": None if finished.shard is None else encode(Shard, finished.shard),
        "own_faults": [encode(OwnFault, fault) for fault in finished.own_faults],
        "review": None if review is None else _review(review),
    }


def probe_document(report: ProbeReport) -> dict[str, Json]:
    """A report card."""
    return {
        **_taken(report, "target", "version", "suite", "summary"),
        "tables": [_taken(table, "title", "columns", "rows", "notes") for table in report.tables],
        "cells": [{"number": number, **asdict(cell)} for number, cell in enumerate(report.cells, 1)],
        "rerun": report.rerun,
    }


def findings_document(rows: Iterable[tuple[Finding, str, int, str]]) -> dict[str, Json]:
    """Recorded findings, each with its state, its latest run, and the day on which it was first seen."""
    return {
        "findings": [
            {
                **_taken(finding, "id", "target", "version", "check", "precision", "family"),
                "class": finding.kind.value,
                "functions": list(functions(finding)),
                "what": words.in_short(finding),
                "state": state,
                "run": run,
                "since": since,
            }
            for finding, state, run, since in rows
        ]
    }


def targets_document(rows: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """The targets of this machine; one object per oracle."""
    return {"targets": [dict(row) for row in rows]}


def functions_document(
    target: str,
    version: str,
    rows: Sequence[Mapping[str, Json]],
    counts: Mapping[str, int],
    asked: Sequence[FunctionSummary] = (),
) -> dict[str, Json]:
    """The catalogue of a library; one object per function. The counts by outcome add up to all functions.
    "asked" has what the sweeps of this release asked of them.
    """
    whole = {"target": target, "version": version, "counts": dict(counts), "total": len(rows)}
    summaries = [encode(FunctionSummary, one) for one in asked]
    return {**whole, "functions": [_encoded(row) for row in rows], "asked": summaries}


def conventions_document(rows: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """The conventions table; one object per row. An answer that is an error is the string "raises"."""
    return {"conventions": [_encoded(row) for row in rows]}


def baseline_document(entries: Iterable[BaselineEntry], rules: Iterable[Rule] = ()) -> dict[str, Json]:
    """The entries of the baseline and its rules; one object each."""
    return {"baseline": list(map(_accepted, entries)), "rules": [encode(Rule, rule) for rule in rules]}


def _taken(value: object, *names: str) -> dict[str, Json]:
    """These fields of a dataclass."""
    return {name: _encoded(getattr(value, name)) for name in names}


def _encoded(value: Json) -> Json:
    """Mappings, sequences and floats as JSON data."""
    if isinstance(value, Mapping):
        return {key: _encoded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    return encode_float(value) if isinstance(value, float) else value


# Pieces -----------------------------------------------------------------------------------------------------


def _array(value: Array) -> Json:
    value = np.asarray(value)
    if value.ndim:
        return [_array(row) for row in value]
    if np.iscomplexobj(value):
        return {"real": _array(value.real), "imag": _array(value.imag)}
    return encode_float(float(value)) if is_float(value.dtype) else value.item()


def _arrays(values: Mapping[str, Array]) -> dict[str, Json]:
    return {name: _array(value) for name, value in values.items()}


def _outputs(values: Sequence[Array]) -> Json:
    """One output as itself, several as a list, none as null."""
    encoded = [_array(value) for value in values]
    return encoded[0] if len(encoded) == 1 else encoded or None


def _ratio(got: Array, expected: Array) -> Json:
    """The quotients entry by entry; None where there is none."""
    if got.shape != expected.shape:
        return None
    if got.ndim:
        return [_ratio(g, e) for g, e in zip(got, expected, strict=True)]
    return encode_float(float(got) / float(expected)) if expected != 0 and np.isrealobj(got) else None


def _ratios(got: Mapping[str, Array], expected: Mapping[str, Array]) -> dict[str, Json]:
    return {
        name: _ratio(np.asarray(got[name]), np.asarray(expected[name])) for name in got if name in expected
    }


def _truth(truth: Truth | None, references: Sequence[str]) -> Json:
    if truth is None:
        return None
    return {
        "value": _outputs(truth.values),
        "gradient": _arrays(truth.gradient),
        "bound": _arrays(truth.bounds),
        "references": list(references),
        "status": truth.status,
        "reason": truth.message or None,
    }


def _checked_point(at: Sequence[tuple[str, CheckResult]], versions: Mapping[str, str]) -> dict[str, Json]:
    case = words.told_best(at)
    return {
        "inputs": _arrays(case.point.inputs),
        "truth": _truth(case.truth, case.references),
        "answers": [_answer(loop, case, versions[case.oracle]) for loop, case in at],
    }


def _answer(loop: str, case: CheckResult, version: str) -> dict[str, Json]:
    truth = case.truth
    reason = case.message or (case.reason.value if case.reason else "") or case.answer.message
    return {
        "oracle": case.oracle,
        "version": version,
        "loop": loop or None,
        "modes": list(case.question.modes),
        "value": _outputs(case.answer.values),
        "gradient": _arrays(case.answer.gradient),
        "verdict": case.verdict.value,
        "class": case.kind.value if case.kind else None,
        "ratio": _ratios(case.answer.gradient, truth.gradient) if truth else {},
        "allowed": _arrays(case.allowed),
        "reason": reason or None,
        "conventions": list(case.conventions),
    }


def _counts(ways: Sequence[TargetSummary]) -> dict[str, Json]:
    document = encode(TargetSummary, total(ways))
    return {key: value for key, value in document.items() if key not in ("name", "family")}


def finding_document(finding: Finding) -> dict[str, Json]:
    """A finding of a sweep."""
    return {
        "id": finding.id,
        "signature": finding.signature or None,
        **_taken(finding, "target", "version", "check"),
        "class": finding.kind.value,
        **_taken(finding, "family", "precision", "modes", "wrt", "seen"),
        "program": source(finding),
        "original": drawn_source(finding),
        "functions": list(functions(finding)),
        "weights": [None if w is None else _array(w) for w in finding.weights],
        "directions": _arrays(finding.directions),
        **{name: _finding_point(getattr(finding, name)) for name in ("smallest", "clearest", "worst")},
        **_taken(finding, "references", "reproduced", "note"),
        "reported": [report.link for report in reports_of(finding)],
        "trophies": [entry.name for entry in entries_of(finding)],
        "cause": encode(Cause | None, finding.cause),
        "facts": list(finding.facts),
        "own_faults": [encode(OwnFault, fault) for fault in finding.own_faults],
        **_taken(finding, "script", "ports"),
        "evidence": _evidence(finding.evidence),
        "record": to_document(replace(finding, script="", ports={}, evidence=None)),
    }


def _review(review: Review) -> dict[str, Json]:
    return {
        **{name: list(map(_accepted, getattr(review, name))) for name in ("known", "expired", "stale")},
        "fixed": [_taken(finding, "id", "target", "version") for finding in review.fixed],
        "first_seen": dict(review.first_seen),
    }


def _accepted(entry: BaselineEntry) -> dict[str, Json]:
    document = encode(BaselineEntry, entry)
    del document["signature"]
    return {**document, "link": entry.link or None}


def _evidence(evidence: Evidence | None) -> Json:
    """As recorded, with entries as objects."""
    if evidence is None:
        return None
    document = encode(Evidence, evidence)
    if curve := evidence.curve:
        document["curve"] |= {"varied": _entry(*curve.varied), "entry": _entry(*curve.entry)}
    return document


def _entry(name: str, index: tuple[int, ...]) -> dict[str, Json]:
    return {"input": name, "index": list(index)}


def _finding_point(point: FindingPoint) -> dict[str, Json]:
    return {
        **{name: _arrays(getattr(point, name)) for name in ("inputs", "expected", "got")},
        "ratio": _ratios(point.got, point.expected),
        "bound": _arrays(point.bound),
        "entry": {
            **_entry(*point.entry),
            "expected": encode_float(point.entry_expected),
            "got": encode_float(point.entry_got),
            "ratio": None if point.ratio is None else encode_float(point.ratio),
            "error_over_allowed": encode_float(point.error_over_allowed),
        },
    }
