"""Linear algebra that torch lacks, for the text of `linalg_source`; and what torch documents as ignored."""

from __future__ import annotations

from typing import Any

import torch

from gradfuzz.engine.modes.prune import prune
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call


def symmetric(x: Any) -> Any:
    return (x + x.mH) / 2


def kron_of_stacks(a: Any, b: Any) -> Any:
    """The Kronecker product of each matrix of `a` with each of `b`; the batch axes broadcast."""
    return torch.einsum("...ij,...kl->...ikjl", a, b).flatten(-4, -3).flatten(-2)


def ignored_vectors(program: Program) -> str | None:
    """Why torch has no gradient of a program that reads the vectors that torch's svd leaves undetermined.

    These are the vectors past its singular values. None where the program reads none.
    """
    if not any(
        isinstance(n, Call) and n.op == "svd" and ("full_matrices", True) in n.params for n in walk(program)
    ):
        return None
    for node in prune(lower(program)).walk():
        if isinstance(node, Equation) and node.op == "svd" and ("full_matrices", True) in node.params:
            m, n = node.inputs[0].type.sizes[-2:]
            if (m > n and ("part", 0) in node.params) or (n > m and ("part", 2) in node.params):
                return (
                    "torch documents that svd(full_matrices=True) ignores the gradients of the vectors past"
                    " the singular values"
                )
    return None


HELPERS = (symmetric, kron_of_stacks)
"""Functions that the text of `linalg_source` may call."""
