"""A proof as reports show it: with the rule as Python, and the number that makes it wrong marked."""

from __future__ import annotations

import dataclasses
from typing import Any

from gradfuzz.engine.compiling.compile import to_source
from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.proving.proof import Blame, Proof
from gradfuzz.fuzzer.results.proof import ProofRecord, RuleLine
from gradfuzz.programs.graphs.graph import Equation, Graph, Var
from gradfuzz.programs.graphs.raising import to_program
from gradfuzz.programs.language.program import to_text

_LONGEST = 400
"""Characters of a line: the constants of an array may be many."""


def listing(blame: Blame) -> list[RuleLine]:
    """The rule, line by line. Its arguments are the inputs, the weights and the lines of a proof."""
    rule, line = blame.rule, None if blame.cause is None else blame.cause.line
    if line is None:
        return [RuleLine(_cut(text)) for text in _text(rule, frozenset()).splitlines()]
    node = rule.nodes[line]
    assert isinstance(node, Equation), "a place is an equation"
    marked = Var(node.output.type, "marked")
    again = _renamed(rule, node.output, marked)
    lines = _text(again, frozenset({marked})).splitlines()
    return [RuleLine(_cut(text), text.lstrip().startswith("marked = ")) for text in lines]


def _renamed(rule: Graph, old: Var, new: Var) -> Graph:
    """The rule with one value under another name, which nodes of inner graphs do not read."""

    def read(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(new if one is old else one for one in value)
        return new if value is old else value

    nodes: list[Any] = []
    for node in rule.nodes:
        fields = {f.name: read(getattr(node, f.name)) for f in dataclasses.fields(node)}
        nodes.append(type(node)(**fields))
    return dataclasses.replace(rule, nodes=tuple(nodes), outputs=read(rule.outputs))


def _text(rule: Graph, named: frozenset[Var]) -> str:
    try:
        return to_text(to_program(dataclasses.replace(rule, name="rule"), named))
    except GradfuzzError:  # loops that read stacks have no program
        return to_source(rule)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def record_of(proof: Proof, function: str) -> ProofRecord:
    """A proof as reports show it."""
    blame = proof.blame
    return ProofRecord(
        function,
        proof.modes,
        proof.outcome,
        derivative="" if proof.truth is None else proof.truth.text(),
        rule="" if proof.rule is None else proof.rule.text(),
        apart=proof.apart,
        answer=proof.answer,
        digits=proof.digits,
        step="" if blame is None else blame.step,
        where="" if blame is None else blame.where,
        cause="" if blame is None or blame.cause is None else blame.cause.words,
        note=proof.reason,
        lines=tuple(listing(blame)) if blame is not None and proof.outcome == "wrong rule" else (),
    )
