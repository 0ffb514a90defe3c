"""A proof in words: the same in every report."""

from __future__ import annotations

from collections.abc import Iterator

from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.oracles.base import in_words
from gradfuzz.reports.common import plain

_HEADLINES = {
    "right": "the rule is right: proved",
    "wrong rule": "the rule is wrong: proved",
    "wrong computation": "the rule is right, and the answer is not",
    "open": "nothing is proved",
}
_STYLES = {"wrong rule": "bold red", "wrong computation": "bold yellow", "right": "bold", "open": "bold dim"}


def headline(proof: ProofRecord) -> str:
    """What follows from a proof, in one sentence."""
    return f"{plain.line(proof.function)}, {in_words(proof.modes)} mode: {_HEADLINES[proof.outcome]}"


def facts(proof: ProofRecord) -> Iterator[tuple[str, str]]:
    """Names and values: the three numbers, where they differ, and why."""
    if proof.derivative:
        yield "derivative", proof.derivative
    if proof.rule:
        yield "rule", proof.rule + (f", off by {proof.apart:.2g} of the derivative" if proof.apart else "")
    if proof.answer is not None:
        is_off = proof.digits is not None and proof.outcome != "right"
        yield "answer", f"{proof.answer!r}" + (f", {proof.digits:.0f} digits are right" if is_off else "")
    if proof.step:
        yield "step", plain.line(f"{proof.step} ({proof.where})" if proof.where else proof.step)
    if proof.cause:
        yield "cause", plain.line(proof.cause)
    if proof.note:
        yield "reason" if proof.outcome == "open" else "note", plain.line(proof.note)


def styled(proof: ProofRecord) -> Iterator[tuple[str, str]]:
    """A proof as lines of text, each with its style: its headline and facts; below a wrong rule the rule as
    Python, the wrong line marked.
    """
    yield headline(proof), _STYLES[proof.outcome]
    for name, value in facts(proof):
        yield f"  {name:<11}{value}", ""
    for line in proof.lines:
        yield f"{'>' if line.marked else ' ':>3} {plain.line(line.text)}", "red" if line.marked else ""


def text(proof: ProofRecord) -> str:
    """A proof as text without styles."""
    return "\n".join(line for line, _ in styled(proof))
