"""Matrices of a block that are factored for more than one result, as by a system and its derivative.

The factors of a matrix serve its transpose, too. So does `factored` of
`gradfuzz.programs.arithmetic.factors_numpy`, which decides by the memory: sharing changes no number.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gradfuzz.programs.graphs.graph import Atom, Equation, Graph

_FACTORED = frozenset({"solve", "inv", "det", "slogdet", "cofactor"})
_BY_MINORS = 3
"""Up to this size `cofactor` is no matter of factors."""


class Shared(NamedTuple):
    """What an equation factors: a matrix or its transpose."""

    matrix: Atom
    transposed: bool


def shared_factors(graph: Graph) -> dict[Equation, Shared]:
    """The equations whose first operand is a matrix that another one factors as well."""
    found: dict[Equation, Shared] = {}
    makers: dict[Atom, Equation] = {}
    results: Counter[Atom] = Counter()
    counted: set[tuple[object, ...]] = set()
    for node in graph.nodes:
        if not isinstance(node, Equation):
            continue
        makers[node.output] = node
        if not _factors(node):
            continue
        found[node] = shared = _untransposed(node.inputs[0], makers)
        computation = (node.op, node.inputs)  # its results count once
        results[shared.matrix] += computation not in counted
        counted.add(computation)
    return {node: shared for node, shared in found.items() if results[shared.matrix] > 1}


def _factors(node: Equation) -> bool:
    if node.op == "cofactor":
        return len(node.inputs) == 1 and node.output.type.shape[-1] not in range(_BY_MINORS + 1)
    return node.op in _FACTORED


def _untransposed(matrix: Atom, makers: dict[Atom, Equation]) -> Shared:
    transposed = False
    while (node := makers.get(matrix)) is not None and _exchanges_last_axes(node):
        matrix, transposed = node.inputs[0], not transposed
    return Shared(matrix, transposed)


def _exchanges_last_axes(node: Equation) -> bool:
    rank = len(node.output.type.shape)
    axes = (*range(rank - 2), rank - 1, rank - 2)
    return node.op == "permute_dims" and rank > 1 and dict(node.params)["axes"] == axes
