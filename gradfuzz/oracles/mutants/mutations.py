"""Kinds of mistakes in a derivative rule, one function each.

A mutation takes a right rule, applied to one argument of one equation, and returns what a wrong rule would.
Where the mistake makes no sense, because two operands have different types, a matrix is not square or nothing
was broadcast, the rule stays right: so a mutant is wrong in its gradient and never in a shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.engine import broadcast_to, conj, permute_dims
from gradfuzz.engine import sum as total
from gradfuzz.engine.modes.inline import apply_rule
from gradfuzz.engine.rules.functions import flip, reshape, unbroadcast
from gradfuzz.engine.rules.jvp import JVP
from gradfuzz.engine.rules.linalg.matrices import transpose
from gradfuzz.engine.rules.value import Value
from gradfuzz.engine.rules.vjp import VJP
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.mutants.mutant import Need, recorded
from gradfuzz.programs.graphs.graph import Equation
from gradfuzz.programs.language.types import broadcast_shapes

Result = Value | None
"""None: zero."""

TABLES: Mapping[Mode, Mapping[str, Any]] = {"rev": VJP, "fwd": JVP}

PARTNERS = {"clip": {0: 1, 1: 2, 2: 1}, "where": {1: 2, 2: 1}}
"""The other operand, for ops with more than two operands."""

LIKE_SUM = ("mean", "prod", "amax", "amin", "logsumexp")
"""Reductions whose rule without its factor would be that of a sum."""

RIGHT_SIDES = ("solve", "triangular_solve")
"""Ops whose result is like the second operand: a rule may use the right side instead of the solution."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule applied to argument `k`: `seed` is the result's cotangent (rev) or its own tangent (fwd)."""

    mode: Mode
    node: Equation
    k: int
    seed: Value
    ans: Value
    args: tuple[Value, ...]

    @property
    def op(self) -> str:
        return self.node.op

    @property
    def argument(self) -> Value:
        return self.args[self.k]

    @property
    def like(self) -> Value:
        """The value with the rule's shape before broadcasting: the argument (rev) or the result (fwd)."""
        return self.argument if self.mode == "rev" else self.ans

    def right(self, op: str = "") -> Result:
        """The rule's result, or that of the rule of `op`; `replace` gives it other inputs."""
        given = self.seed, self.ans, *self.args
        return apply_rule(TABLES[self.mode], op or self.op, self.k, given, dict(self.node.params))

    def partner(self) -> int | None:
        """The other operand, if it has the same type."""
        if self.op in PARTNERS:
            other = PARTNERS[self.op][self.k]
        else:
            other = 1 - self.k if self.k < 2 and len(self.args) > 1 else self.k
        return other if other != self.k and self.args[other].type == self.argument.type else None

    def with_argument(self, k: int, new: Value) -> tuple[Value, ...]:
        """The arguments with `new` in place `k`."""
        return (*self.args[:k], new, *self.args[k + 1 :])


Function = Callable[[Applied], Result]


def _dropped(at: Applied) -> Result:
    return None


def _scaled(factor: float) -> Function:
    def wrong(at: Applied) -> Result:
        part = at.right()
        return None if part is None else recorded(part * factor)

    return wrong


def _unscaled(at: Applied) -> Result:
    if at.op in LIKE_SUM:
        return at.right("sum")
    source, goal = (at.argument, at.seed) if at.mode == "rev" else (at.seed, at.ans)
    if at.seed.type.dtype != at.like.type.dtype or broadcast_shapes(source.shape, goal.shape) != goal.shape:
        return at.right()
    return at.seed


def _swapped(at: Applied) -> Result:
    other = at.partner()
    if other is None:
        return at.right()
    args = list(at.args)
    args[at.k], args[other] = args[other], args[at.k]
    return replace(at, args=tuple(args)).right()


def _exchanged(at: Applied) -> Result:
    other = at.partner()
    return at.right() if other is None else replace(at, k=other).right()


def _at_result(at: Applied) -> Result:
    at_result = replace(at, args=at.with_argument(at.k, at.ans))
    return at_result.right() if at.ans.type == at.argument.type else at.right()


def _at_operand(at: Applied) -> Result:
    read = at.args[1 if at.op in RIGHT_SIDES else at.k]
    return replace(at, ans=read).right() if at.ans.type == read.type else at.right()


def _conjugated(at: Applied) -> Result:
    if not (at.seed.type.is_complex or at.like.type.is_complex):
        return at.right()
    part = replace(at, seed=recorded(conj(at.seed))).right()
    return None if part is None else recorded(conj(part))


def _first(at: Applied) -> Result:
    part = at.seed if at.op == "broadcast_to" else at.right()
    shape = at.argument.shape
    if part is None or part.shape == shape or 0 in part.shape:
        return at.right()
    extra = part.ndim - len(shape)
    grown = [n == 1 and part.shape[extra + k] != 1 for k, n in enumerate(shape)]
    first = (*[0] * extra, *(slice(0, 1) if is_grown else slice(None) for is_grown in grown))
    return recorded(part[first])


def _mean(at: Applied) -> Result:
    whole = at.seed if at.op == "broadcast_to" else at.right()
    shape = at.argument.shape
    if whole is None or 0 in whole.shape or 0 in at.seed.shape:
        return at.right()
    part = recorded(unbroadcast(whole, shape))
    share = math.prod(shape) / math.prod(whole.shape)
    has_summed = at.op in MATRIX_OPS and whole.shape == shape  # the rule itself
    if has_summed and min(part.ndim, at.seed.ndim) > 1:
        share = math.prod(shape[:-2]) / math.prod(at.seed.shape[:-2])
    return recorded(part * share) if share < 1.0 else part


MATRIX_OPS = ("matmul", "kron", "solve", "triangular_solve", "lstsq")
"""Ops of two matrices whose batch axes broadcast."""


def _uninverted(at: Applied) -> Result:
    """The entries are in another order, laid out in the right shape where axis lengths change."""
    axes: Any = dict(at.node.params)["axes"]
    order = axes if at.mode == "rev" else tuple(map(int, np.argsort(axes)))
    moved = recorded(permute_dims(at.seed, order))
    return moved if moved.shape == at.like.shape else recorded(reshape(moved, at.like.shape))


# What is done to a right result -----------------------------------------------------------------------------


def _transposed(part: Value, batch: int) -> Value:
    if part.ndim < 2 or part.shape[-1] != part.shape[-2]:
        return part
    return recorded(transpose(part))


def _batch_summed(part: Value, batch: int) -> Value:
    """Every instance gets the sum over all instances."""
    if not batch:
        return part
    return recorded(broadcast_to(total(part, axis=tuple(range(batch)), keepdims=True), part.shape))


def _batch_reversed(part: Value, batch: int) -> Value:
    return recorded(flip(part, axis=0)) if batch else part


_AFTER: dict[str, Callable[[Value, int], Value]] = {
    "transposed": _transposed,
    "batch-summed": _batch_summed,
    "batch-reversed": _batch_reversed,
}


def after(name: str, part: Result, args: Sequence[Value], *, like_argument: bool) -> Result:
    """Mutation `name` of a right result: a cotangent (`like_argument`) or a tangent of the value."""
    if part is None:
        return None
    batch = part.ndim - 2 if like_argument else max(a.ndim for a in args) - 2
    return _AFTER[name](part, min(part.ndim, max(0, batch)))


def _after(name: str) -> Function:
    return lambda at: after(name, at.right(), at.args, like_argument=at.mode == "rev")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A kind of mistake: the wrong rule, and its description."""

    wrong: Function
    words: str
    needs: Need = ""


MUTATIONS: dict[str, Mutation] = {
    "dropped": Mutation(_dropped, "the contribution is dropped"),
    "sign": Mutation(_scaled(-1.0), "the sign is flipped"),
    "double": Mutation(_scaled(2.0), "a factor of 2 too many"),
    "half": Mutation(_scaled(0.5), "a factor of 2 is missing"),
    "unscaled": Mutation(_unscaled, "passed on without its factor"),
    "swapped": Mutation(_swapped, "computed with the two operands exchanged"),
    "exchanged": Mutation(_exchanged, "the other operand's rule is taken"),
    "at-result": Mutation(_at_result, "the slope is taken at the result, not at the operand"),
    "at-operand": Mutation(_at_operand, "the slope is taken at the operand, not at the result"),
    "conjugated": Mutation(
        _conjugated, "the slope is conjugated where it should not be, or not where it should", "complex"
    ),
    "first": Mutation(_first, "broadcasting is undone by taking the first entry", "broadcast"),
    "mean": Mutation(_mean, "broadcasting is undone by a mean", "broadcast"),
    "uninverted": Mutation(_uninverted, "the permutation is taken for its inverse"),
    "transposed": Mutation(_after("transposed"), "the last two axes are exchanged", "square"),
    "batch-summed": Mutation(
        _after("batch-summed"), "every instance of the batch gets the sum over all", "batch"
    ),
    "batch-reversed": Mutation(
        _after("batch-reversed"), "the instances of the batch come in reverse order", "batch"
    ),
}
"""By name."""
