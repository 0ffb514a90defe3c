"""A proof in words: the same in every report."""

from __future__ import annotations

from collections.abc import Iterator

from gradfuzz.fuzzer.results.proof import ProofRecord
from gradfuzz.reports.common import plain

_HEADLINES = {
    "right": "the rule is right: proved",
    "wrong rule": "the rule is wrong: proved",
    "wrong computation": "the rule is right, and the answer is not",
    "open": "nothing is proved",
}

_OUTER = {"rev": "reverse mode", "fwd": "forward mode"}
_INNER = {"rev": "reverse", "fwd": "forward"}


def derivative(modes: tuple[str, ...]) -> str:
    """What is proved, as "forward over reverse mode": the outermost first."""
    *inner, outer = modes
    if not inner:
        return _OUTER[outer]
    return f"{_INNER[outer]} over {' over '.join(_INNER[m] for m in reversed(inner))} mode"


def headline(proof: ProofRecord) -> str:
    """What follows from a proof, in one sentence."""
    return f"{plain.line(proof.function)}, {derivative(proof.modes)}: {_HEADLINES[proof.outcome]}"


def facts(proof: ProofRecord) -> Iterator[tuple[str, str]]:
    """Names and values: the three numbers, where they differ, and why."""
    if proof.derivative:
        yield "derivative", proof.derivative
    if proof.rule:
        yield "rule", proof.rule + (f", off by {proof.apart:.2g} of it" if proof.apart else "")
    if proof.answer is not None:
        is_off = proof.digits is not None and proof.outcome != "right"
        yield "answer", f"{proof.answer!r}" + (f", {proof.digits:.0f} digits are right" if is_off else "")
    if proof.step:
        yield "step", plain.line(f"{proof.step} ({proof.where})" if proof.where else proof.step)
    if proof.cause:
        yield "cause", plain.line(proof.cause)
    if proof.note:
        yield "reason" if proof.outcome == "open" else "note", plain.line(proof.note)


def text(proof: ProofRecord) -> str:
    """A proof as lines of text, a wrong rule below it."""
    lines = [headline(proof), *(f"  {name:<11}{value}" for name, value in facts(proof))]
    lines += [f"{'>' if line.marked else ' ':>3} {plain.line(line.text)}" for line in proof.lines]
    return "\n".join(lines)
