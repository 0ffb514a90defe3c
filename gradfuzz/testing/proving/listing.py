"""A rule as Python, with the number that makes it wrong marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from gradfuzz.engine.compiling.compile import to_source
from gradfuzz.errors import GradfuzzError
from gradfuzz.programs.graphs.graph import Equation, Graph, Var
from gradfuzz.programs.graphs.raising import to_program
from gradfuzz.programs.language.printer import to_text
from gradfuzz.testing.proving.proof import Blame, Proof

_LONGEST = 400
"""Characters of a line: the constants of an array may be many."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a rule, and whether it is the one that is meant."""

    text: str
    marked: bool = False


def listing(blame: Blame) -> list[Line]:
    """The rule, line by line. Its arguments are the inputs, the weights and the lines of a proof."""
    rule, line = blame.rule, None if blame.cause is None else blame.cause.line
    if line is None:
        return [Line(_cut(text)) for text in _text(rule, frozenset()).splitlines()]
    node = rule.nodes[line]
    assert isinstance(node, Equation), "a place is an equation"
    marked = Var(node.output.type, "marked")
    again = _renamed(rule, node.output, marked)
    lines = _text(again, frozenset({marked})).splitlines()
    return [Line(_cut(text), text.lstrip().startswith("marked = ")) for text in lines]


def _renamed(rule: Graph, old: Var, new: Var) -> Graph:
    """The rule with one value under another name, which nodes of inner graphs do not read."""

    def read(atom: object) -> object:
        return new if atom is old else atom

    nodes = []
    for node in rule.nodes:
        changes = {}
        for field in dataclasses.fields(node):
            value = getattr(node, field.name)
            if value is old:
                changes[field.name] = new
            elif isinstance(value, tuple) and old in value:
                changes[field.name] = tuple(map(read, value))
        nodes.append(dataclasses.replace(node, **changes) if changes else node)
    outputs = tuple(map(read, rule.outputs))
    return dataclasses.replace(rule, nodes=tuple(nodes), outputs=outputs)  # type: ignore[arg-type]


def _text(rule: Graph, named: frozenset[Var]) -> str:
    try:
        return to_text(to_program(dataclasses.replace(rule, name="rule"), named))
    except GradfuzzError:  # loops that read stacks have no program
        return to_source(rule)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


# In words ---------------------------------------------------------------------------------------------------

_HEADLINES = {
    "right": "the rule is right: proved",
    "wrong rule": "the rule is wrong: proved",
    "wrong computation": "the rule is right, and the answer is not",
    "open": "nothing is proved",
}


def headline(proof: Proof) -> str:
    """What follows, in one sentence."""
    return _HEADLINES[proof.outcome]


def facts(proof: Proof) -> Iterator[tuple[str, str]]:
    """Names and values: the three numbers, where they differ, and why."""
    if proof.truth is not None:
        yield "derivative", proof.truth.text()
    if proof.rule is not None:
        apart = f", off by {proof.apart:.2g} of it" if proof.apart else ""
        yield "rule", proof.rule.text() + apart
    if proof.answer is not None:
        digits = proof.digits
        told = "" if digits is None or proof.outcome == "right" else f", {digits:.0f} digits are right"
        yield "answer", f"{proof.answer!r}{told}"
    blame = proof.blame
    if blame is not None and blame.step:
        yield "step", f"{blame.step} ({blame.where})" if blame.where else blame.step
    if blame is not None and blame.cause is not None:
        yield "cause", blame.cause.words
    if proof.reason:
        yield "note" if proof.outcome != "open" else "reason", proof.reason


def told(proof: Proof, function: str, check: str) -> str:
    """A proof as text, the wrong rule below it."""
    lines = [f"{function}, {check}: {headline(proof)}"]
    lines += [f"  {name:<11}{value}" for name, value in facts(proof)]
    if proof.outcome == "wrong rule" and proof.blame is not None:
        lines += [f"{'>' if line.marked else ' ':>3} {line.text}" for line in listing(proof.blame)]
    return "\n".join(lines)
