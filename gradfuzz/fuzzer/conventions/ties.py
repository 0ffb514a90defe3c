"""Counts a program's exact ties at a point, and lists the conventions it meets there.

The count decides whether a kink may be judged. Eigenvalues and singular values are computed, so they count as
equal where rounding may have parted them, and no slope can judge that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.fuzzer.questions.weighted import in_precision
from gradfuzz.oracles.base import Array, Point
from gradfuzz.programs.arithmetic.elementwise import composed, numpy_function
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import arguments_of, interpret
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.programs.language.program import Program

_MANY = 1000
"""The weight of a tie that no slope can judge."""

_Look = Callable[..., object]
"""Of the namespace, the result of an op, its operands and its parameters."""


def _watched(op: str, look: _Look) -> Any:
    """NumPy's op, whose result and operands `look` is shown."""

    def method(self: _TieNamespace, *operands: Any, **params: Any) -> Any:
        function = getattr(super(_TieNamespace, self), op, None) or numpy_function(op)
        result = function(*operands, **params)
        look(self, result, *operands, **params)
        return result

    return method


def _comparison(op: str) -> Any:
    """A comparison, which counts where two sides are equal; ints, such as a loop's counter and its end, do
    not count.
    """

    def look(self: _TieNamespace, _: Any, a: Any, b: Any) -> None:
        if any(np.asarray(side).dtype.kind not in "iub" for side in (a, b)):
            self.count_ties(np.equal(a, b), "threshold", _MANY)

    return _watched(op, look)


def _selection(op: str) -> Any:
    return _watched(op, lambda self, _, a, b: self.count_ties(np.equal(a, b), "maximum-tie"))


def _extreme(op: str, extreme: Any, situation: str, weight: int = 1) -> Any:
    """A reduction to an extreme entry, or to its place."""

    def look(self: _TieNamespace, _: Any, x: Any, *, axis: Any, keepdims: Any) -> None:
        best = extreme(x, axis=axis, keepdims=True)
        self.count_ties(np.equal(x, best).sum(axis=axis) > 1, situation, weight)

    return _watched(op, look)


def _look_at_cumulative_max(self: _TieNamespace, result: Any, x: Any, *, axis: Any) -> None:
    before, after = np.moveaxis(result, axis, 0)[:-1], np.moveaxis(x, axis, 0)[1:]
    self.count_ties(np.equal(before, after), "cumulative-max-tie")


def _look_at_pivots(self: _TieNamespace, result: Any, x: Any) -> None:
    ratios = np.abs(np.tril(result[1], -1))
    tied = ratios == 1.0
    if np.iscomplexobj(x):  # compared by |re| + |im|, which is up to sqrt(2) times the modulus
        tied = np.abs(np.log2(np.where(ratios, ratios, 0.25))) <= 0.5
    self.count_ties(tied, "pivot-tie", _MANY)


def _look_at_matrix_norm(self: _TieNamespace, _: Any, x: Any, *, ord: Any, keepdims: bool) -> None:
    if ord == "fro":
        self.count_ties(np.all(x == 0.0, axis=(-2, -1)), "norm-at-0")
    elif ord in (2, -2, "nuc"):
        self.count_meeting(self.singular_values(x), "spectral-norm", zero=True)
    elif x.size:
        lines = np.abs(np.swapaxes(x, -1, -2) if ord in (1, -1) else x)
        self.count_extreme(lines.sum(axis=-1), ord in (1, "inf"), (lines == 0.0).sum(axis=-1))


def _look_at_vector_norm(self: _TieNamespace, _: Any, x: Any, *, ord: Any, axis: Any, keepdims: bool) -> None:
    rows = np.abs(np.ravel(x)[np.newaxis] if axis is None else np.moveaxis(x, axis, -1))
    if ord in ("inf", "-inf") and rows.size:
        self.count_extreme(rows, ord == "inf", (rows == 0.0).astype(int))
    elif ord in (0, 1):
        self.count_ties(rows == 0.0, "abs-at-0" if ord else "count-of-nonzeros", 1 if ord else _MANY)
    elif ord not in ("inf", "-inf"):
        self.count_ties(np.all(rows == 0.0, axis=-1), "norm-at-0")


def _nearness(values: Any) -> Any:
    """What values along the last axis may differ by and be equal: the root of the roundoff of the largest."""
    return np.sqrt(np.finfo(values.dtype).eps) * np.abs(values).max(axis=-1, keepdims=True)


class _TieNamespace(NumpyNamespace):
    """Counts ties: one for each selection with several equal candidates, `_MANY` for each comparison of
    floats, which no slope can judge.

    `met` collects the names of the conventions (`table.CONVENTIONS`) whose situation the program meets.
    """

    def __init__(self, precision: Precision) -> None:
        super().__init__(precision)
        self.ties = 0
        self.met: set[str] = set()

    # What is counted

    def count_ties(self, equal: Any, situation: str, weight: int = 1) -> None:
        n = int(np.count_nonzero(equal))
        self.ties += weight * n
        if n:
            self.met.add(situation)

    def meet(self, where: Any, situation: str) -> None:
        self.count_ties(where, situation, 0)

    def count_meeting(self, values: Any, situation: str, *, zero: bool = False) -> None:
        """Values along the last axis that are equal, or 0 with `zero`, to within the root of the roundoff."""
        if values.size == 0:
            return
        near = _nearness(values)
        self.count_ties(np.abs(np.diff(values, axis=-1)) <= near, situation, _MANY)
        if zero:
            self.count_ties(np.abs(values) <= near, situation, _MANY)

    def count_close(self, values: Any) -> None:
        """The same for complex eigenvalues, which have no order."""
        if values.size:
            gaps = np.abs(values[..., :, np.newaxis] - values[..., np.newaxis, :])
            near = _nearness(values)[..., np.newaxis]
            self.count_ties(np.triu(gaps <= near, 1), "repeated-eigenvalue", _MANY)

    def meet_deficient(self, x: Any, situation: str, weight: int = 0) -> None:
        """Matrices of a batch that are singular up to rounding."""
        s = self.singular_values(x)
        if s.size:
            deficient = s[..., -1] <= np.sqrt(np.finfo(s.dtype).eps) * s[..., 0]
            self.count_ties(deficient, situation, weight)

    def singular_values(self, x: Any) -> Any:
        """Those that no op of the program computes."""
        return super().svdvals(x)

    def count_extreme(self, values: Any, greatest: bool, zeros: Any) -> None:
        """The values that equal the extreme one, and the absolute values at 0 in its sum."""
        best = (values.argmax if greatest else values.argmin)(axis=-1)[..., np.newaxis]
        equal = values == np.take_along_axis(values, best, axis=-1)
        np.put_along_axis(equal, best, False, axis=-1)
        self.count_ties(equal.any(axis=-1), "largest-of-a-norm")
        self.count_ties(np.ones(np.take_along_axis(zeros, best, axis=-1).sum()), "abs-at-0")

    def count_cut(self, x: Any) -> None:
        """Complex numbers on the negative real axis with 0, where a logarithm, root or power jumps."""
        if np.iscomplexobj(x):
            self.count_ties((np.imag(x) == 0.0) & (np.real(x) <= 0.0), "branch-cut", _MANY)

    def meet_domain(self, x: Any, end: float, at_end: str) -> None:
        """Real numbers at the end of a domain or beyond it."""
        if not np.iscomplexobj(x):
            self.meet(np.equal(x, end), at_end)
            self.meet(np.less(x, end), "beyond-the-domain")

    # Selections

    abs = _watched(
        "abs",
        lambda self, _, x: self.count_ties(
            np.equal(x, 0.0), "modulus-at-0" if np.iscomplexobj(x) else "abs-at-0"
        ),
    )
    maximum, minimum = map(_selection, ("maximum", "minimum"))
    amax, amin = _extreme("amax", np.max, "extreme-tie"), _extreme("amin", np.min, "extreme-tie")
    cumulative_max = _watched("cumulative_max", _look_at_cumulative_max)
    sort = _watched(
        "sort", lambda self, y, _, *, axis: self.count_ties(np.diff(y, axis=axis) == 0.0, "sort-tie")
    )

    def clip(self, x: Any, lower: Any, upper: Any) -> Any:
        raised = np.maximum(x, lower)
        self.count_ties(np.equal(x, lower), "clip-at-its-edge")
        self.count_ties(np.equal(raised, upper), "clip-at-its-edge")
        return np.minimum(raised, upper)

    # What jumps: indices, signs, branches

    argmax, argmin = (
        _extreme(op, extreme, "index-tie", _MANY) for op, extreme in (("argmax", np.max), ("argmin", np.min))
    )
    argsort = _watched(
        "argsort",
        lambda self, _, x, *, axis: self.count_ties(
            np.diff(np.sort(x, axis), axis=axis) == 0.0, "index-tie", _MANY
        ),
    )
    sign = _watched("sign", lambda self, _, x: self.count_ties(np.equal(x, 0.0), "sign-at-0", _MANY))
    less, less_equal, greater = map(_comparison, ("less", "less_equal", "greater"))
    greater_equal, equal, not_equal = map(_comparison, ("greater_equal", "equal", "not_equal"))

    # Elementwise functions, and the ends of domains

    def elementwise(self, row: Function) -> Any:
        if row.composition:
            return composed(self, row)
        function = super().elementwise(row)

        def met(*args: Any, **params: Any) -> Any:
            if row.step:
                x = args[0] + 0.5 if row.name == "round" else args[0]
                self.count_ties(np.equal(x, np.floor(x)), "threshold", _MANY)
            for end, beyond in zip(row.domain, (np.less, np.greater), strict=True):
                if np.isfinite(end) and not np.iscomplexobj(args[-1]):
                    self.meet(np.equal(args[-1], end), "end-of-domain")
                    self.meet(beyond(args[-1], end), "beyond-the-domain")
            return function(*args, **params)

        return met

    log, sqrt, pow = (
        _watched(
            op, lambda self, _, x, *others, op=op: (self.count_cut(x), self.meet_domain(x, 0.0, f"{op}-at-0"))
        )
        for op in ("log", "sqrt", "pow")
    )
    log1p = _watched("log1p", lambda self, _, x: self.meet_domain(x, -1.0, "log-at-0"))
    divide = _watched("divide", lambda self, _, a, b: self.meet(np.equal(b, 0.0), "division-by-0"))
    integer_pow = _watched(
        "integer_pow", lambda self, _, x, *, n: self.meet(np.equal(x, 0.0) & (n < 0), "division-by-0")
    )
    where = _watched(
        "where",
        lambda self, _, condition, a, b: self.meet(~np.isfinite(np.where(condition, b, a)), "dead-branch"),
    )

    # Linear algebra

    svd = _watched(
        "svd", lambda self, y, _, **how: self.count_meeting(y[1], "repeated-singular-value", zero=True)
    )
    svdvals = _watched(
        "svdvals", lambda self, s, _: self.count_meeting(s, "repeated-singular-value", zero=True)
    )
    eigh = _watched("eigh", lambda self, y, _: self.count_meeting(y[0], "repeated-eigenvalue"))
    eigvalsh = _watched("eigvalsh", lambda self, w, _: self.count_meeting(w, "repeated-eigenvalue"))
    eig = _watched("eig", lambda self, y, _: self.count_close(y[0]))
    eigvals = _watched("eigvals", lambda self, w, _: self.count_close(w))
    lu = _watched("lu", _look_at_pivots)
    qr = _watched("qr", lambda self, _, x, **how: self.meet_deficient(x, "rank-deficient"))
    inv, solve, slogdet = (
        _watched(op, lambda self, _, x, *others: self.meet_deficient(x, "singular-matrix"))
        for op in ("inv", "solve", "slogdet")
    )
    pinv = _watched("pinv", lambda self, _, x: self.meet_deficient(x, "rank-deficient", _MANY))
    cholesky = _watched(
        "cholesky", lambda self, y, _, **how: self.meet(~np.isfinite(y), "not-positive-definite")
    )
    matrix_norm = _watched("matrix_norm", _look_at_matrix_norm)
    vector_norm = _watched("vector_norm", _look_at_vector_norm)


@dataclass(frozen=True, slots=True)
class Ties:
    """The number of exact ties of a program at a point, and the names of the conventions it meets."""

    count: int
    conventions: frozenset[str]


def ties(program: Program, point: Point, precision: Precision) -> Ties:
    """A count of 1 means that a single selection (an abs, maximum, amax, norm, ...) makes the kink.

    A tie in a comparison counts as many: it is a branch, and a branch may jump. Raises what `interpret`
    raises.
    """
    namespace = _TieNamespace(precision)
    given = {p.name: np.asarray(point.inputs[p.name]) for p in program.params}
    interpret(program, arguments_of(in_precision(given, precision)), namespace)
    return Ties(namespace.ties, frozenset(namespace.met))


_EVALUATIONS = 1_000
"""A program is run so often to find the entries that move a tie."""


def entries_at_ties(
    program: Program, point: Point, precision: Precision, wrt: Sequence[str]
) -> Mapping[str, Array] | None:
    """Where an entry of an input in `wrt` moves a tie; None where that takes too long to find out. Raises
    what `interpret` raises.

    A block of entries that move at random, each by little, and leave all ties as they are, has no such entry.
    """
    here = ties(program, point, precision)
    given = {name: np.asarray(point.inputs[name]) for name in wrt}
    steps = {
        name: math.sqrt(FORMATS[precision].roundoff) * np.maximum(np.abs(x), 1.0) for name, x in given.items()
    }
    rng = np.random.default_rng(0)
    moves = {name: rng.uniform(1.0, 2.0, x.shape) * steps[name] for name, x in given.items()}
    found = {name: np.zeros(x.shape, np.bool_) for name, x in given.items()}
    blocks = [(name, np.arange(x.size)) for name, x in given.items() if x.size]
    for _ in range(_EVALUATIONS):
        if not blocks:
            return found
        name, block = blocks.pop()
        moved = np.array(given[name])
        moved.flat[block] += moves[name].flat[block].astype(moved.dtype)
        if ties(program, Point({**point.inputs, name: moved}), precision) == here:
            continue
        if len(block) == 1:
            found[name].flat[block] = True
        else:
            blocks += [(name, part) for part in np.array_split(block, 2)]
    return None
