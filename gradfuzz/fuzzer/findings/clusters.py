"""Groups findings that seem to have one root cause.

Findings that behave like the same planted bug form a cluster. Where several planted bugs fit, the one that
explains most of the library's findings names it. The other findings are grouped by symptom: errors by their
exception and its message without numbers, wrong numbers by the modes and by the ops that are left in the
shrunk program, or by the functions of a library that are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradfuzz.fuzzer.questions.loop_forms import Loop
from gradfuzz.fuzzer.results.finding import Class, Cluster, Finding, Likelihood
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.fuzzer.results.trigger import PLAIN
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import Call


def clusters(findings: Sequence[Finding]) -> tuple[Cluster, ...]:
    """Every finding in exactly one cluster; findings and clusters keep the order of `findings`."""
    owners = {finding.id: TargetName.of(finding.target).owner for finding in findings}
    labels = {finding.id: f"{owners[finding.id]}: {_symptom(finding)}" for finding in findings}
    for name in dict.fromkeys(owners.values()):
        labels |= _by_cause(name, [finding for finding in findings if owners[finding.id] == name])
    together: dict[str, list[str]] = {}
    for finding in findings:
        together.setdefault(labels[finding.id], []).append(finding.id)
    return tuple(Cluster(label, tuple(ids)) for label, ids in together.items())


def _by_cause(name: str, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """(id, label) of findings with a cause. Greedy: the mutant that explains most of the rest comes first."""
    left = [
        (finding, finding.cause, (finding.cause.mutant, *finding.cause.also))
        for finding in findings
        if finding.cause is not None and finding.cause.likelihood is not Likelihood.POSSIBLE
    ]
    while left:
        options = [mutant for _, _, mutants in left for mutant in mutants]
        best = max(dict.fromkeys(options), key=options.count)
        summaries = (cause.summary for _, cause, _ in left if cause.mutant == best)
        label = f"{name}: {next(summaries, f'like mutant:{best}')}"
        yield from ((finding.id, label) for finding, _, mutants in left if best in mutants)
        left = [row for row in left if best not in row[2]]


def _symptom(finding: Finding) -> str:
    if finding.kind is Class.ERROR:
        message = finding.note.split(". ")[0]
        return re.sub(r"[\d\[\](), ]+", " ", message).strip()[:80]
    if finding.kind is Class.WRONG_DTYPE:
        return f"another dtype than that of the input, {finding.check}"
    if named := functions(finding):
        return f"{', '.join(named)}, {finding.check}"
    nodes = list(walk(finding.program))
    ops = {node.op for node in nodes if isinstance(node, Call)}
    telling = sorted(ops - PLAIN) or sorted(ops)
    loop = ["loop"] if any(isinstance(node, Loop) for node in nodes) else []
    return f"{', '.join([*loop, *telling]) or 'identity'}, {finding.check}"
