"""The candidate with a smaller or larger batch: points answered in one call, or matrices in one array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradfuzz.errors import ProgramError
from gradfuzz.fuzzer.findings.survey import Tried, tried
from gradfuzz.fuzzer.questions.axes import without_axis
from gradfuzz.fuzzer.questions.candidate import Candidate
from gradfuzz.fuzzer.questions.loop_forms import ends
from gradfuzz.fuzzer.results.evidence import Aspect
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.fuzzer.shrinking.point_reductions import varying_inputs
from gradfuzz.fuzzer.verdict.labels import neighbours
from gradfuzz.oracles.base import Oracle
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call, Param
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.programs.language.types import Type

_SIZES = (1, 2, 3)
_MATRIX = 2


def batches(candidate: Candidate, smallest: CheckResult, target: Oracle) -> Iterator[Tried]:
    """The candidate in batches of one, two and three, and matrices unbatched. Nothing without a batch.

    `smallest` is the verdict on the candidate as it is.
    """
    if target.traits.batched:
        changed, own = _companies(candidate), len(candidate.others) + 1
    else:
        changed, own = _stacks(candidate)
    for name, other in changed.items():
        if name == _name(own):
            yield Tried(Aspect.BATCH, name, candidate, smallest)
        elif all(ends(replace(other.alone(), inputs=inputs)) for inputs in (other.inputs, *other.others)):
            yield tried(Aspect.BATCH, name, other, target)


def _name(size: int) -> str:
    return f"batch of {size}"


def _companies(candidate: Candidate) -> dict[str, Candidate]:
    """With fewer and more points: first the candidate's others, then neighbours that vary the same inputs."""
    company = [*candidate.others, *neighbours(candidate.inputs, varying_inputs(candidate) or candidate.wrt)]
    result = {}
    for size in sorted({*_SIZES, len(candidate.others) + 1}):
        others = tuple(company[: size - 1])
        result[_name(size)] = replace(candidate, others=others, place=min(candidate.place, len(others)))
    return result


def _stacks(candidate: Candidate) -> tuple[dict[str, Candidate], int]:
    """With fewer and more matrices along the first axis of the arrays of highest rank; and their number."""
    program = candidate.program
    rank = max((p.type.rank for p in program.params), default=0)
    sizes = {p.type.sizes[0] for p in program.params if p.type.rank == rank and rank}
    matrices = any(isinstance(node, Call) and OPS[node.op].kind == "linalg" for node in walk(program))
    if rank <= _MATRIX or len(sizes) != 1 or not matrices:
        return {}, 0
    (own,) = sizes
    programs = {"no batch axis": without_axis(program, rank, 0, aligned=True)}
    programs |= {_name(size): _with_first_axis(program, rank, size) for size in sorted({*_SIZES, own})}
    result = {}
    for name, changed in programs.items():
        try:
            result[name] = candidate.fitted(changed, typecheck(changed))
        except ProgramError:
            continue  # the size occurs elsewhere in the program too
    return result, own


def _with_first_axis(program: Program, rank: int, size: int) -> Program:
    params = tuple(
        Param(p.name, Type(p.type.dtype, (size, *p.type.sizes[1:]))) if p.type.rank == rank else p
        for p in program.params
    )
    return replace(program, params=params)
