"""CasADi. Programs are graphs of SX (scalars) or MX (matrices). Ints are known before a graph is built, so
loops are unrolled, or `mapaccum`.

Reverse mode is `gradient` (or `jacobian`), forward mode `jtimes`; higher orders nest them. There is no while
loop: a loop that tests a float is unrolled to a bound, and `if_else` selects each iteration, as it does
branches. That also computes what is not selected; if something there is not finite, there is no answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import kit
import numpy as np

MOST_TRIPS = 10_000
"""The most iterations of a loop with a known condition."""
BOUND = 16
"""The unrolled iterations of a loop with its condition in the graph."""


def checked(shape: Sequence[int]) -> kit.Shape:
    """`shape`, if CasADi has such a matrix."""
    if len(shape) > 2:
        raise kit.Unsupported("CasADi has matrices, and no arrays of more axes")
    if 0 in shape:
        raise kit.Unsupported("CasADi's empty matrices are sparse, and no arrays without entries")
    return tuple(shape)


class Tensor:
    """A CasADi matrix as an array of at most two axes; one axis is a column."""

    def __init__(self, matrix: Any, shape: Sequence[int], dtype: str = "float64", exact: Any = None) -> None:
        self.matrix, self.shape, self.dtype = matrix, checked(shape), dtype
        self.exact = exact  # ints that no op has changed: CasADi's numbers are doubles

    def known(self) -> float | None:
        """The value of a scalar that depends on no input, else None."""
        m = self.matrix
        return float(m) if m.is_constant() else None


def axes_of(axis: Any, rank: int) -> set[int]:
    named = axis if isinstance(axis, tuple) else (axis,)
    return set(range(rank)) if axis is None else {a % rank for a in named}


def spread(x: Any, shape: kit.Shape) -> Any:
    """`x` as a matrix of this shape. CasADi repeats scalars itself."""
    if x.shape in ((), shape):
        return x.matrix
    rows, columns = (shape[0], 1) if len(shape) == 1 else shape
    m = x.matrix if len(x.shape) == 2 or len(shape) == 1 else x.matrix.T
    return ca.repmat(m, rows // m.shape[0], columns // m.shape[1])


def each(function: Callable[..., Any], dtype: str | None = None) -> Callable[..., Any]:
    """A function of entries as an op, with operands repeated to a common shape."""

    def call(*operands: Any) -> Any:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        return Tensor(function(*(spread(x, shape) for x in operands)), shape, dtype or operands[-1].dtype)

    return call


def remainder(a: Any, b: Any) -> Any:
    return a - b * ca.floor(a / b)


def reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of all entries, or of each column, reducing a matrix to a row."""

    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = axes_of(axis, len(x.shape))
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes)
        if len(axes) == len(x.shape):
            return Tensor(function(ca.vec(x.matrix)), shape, x.dtype)
        m = function(x.matrix) if axes == {0} else function(x.matrix.T)
        return Tensor(m if keepdims and axes == {0} else m.T, shape, x.dtype)

    return call


def over_all(function: Callable[..., Any], why: str) -> Callable[..., Any]:
    """A function that reduces all entries only."""

    def call(x: Any, axis: Any = None, keepdims: bool = False, **params: Any) -> Any:
        if axes_of(axis, len(x.shape)) != set(range(len(x.shape))):
            raise kit.Unsupported(why)
        return Tensor(function(ca.vec(x.matrix), **params), (1,) * len(x.shape) if keepdims else (), x.dtype)

    return call


def mean(x: Any, axis: Any, keepdims: bool) -> Any:
    total = reducing(ca.sum1)(x, axis, keepdims)
    return Tensor(total.matrix / math.prod(x.shape[a] for a in axes_of(axis, len(x.shape))), total.shape)


def norm(m: Any, ord: Any) -> Any:
    norms = {1: ca.norm_1, 2: ca.norm_2, "inf": ca.norm_inf}
    if ord not in norms:
        raise kit.Unsupported(f"CasADi has no norm {ord}")
    return norms[ord](m)


def matrix_norm(x: Any, ord: Any, keepdims: bool) -> Any:
    if ord != "fro":
        raise kit.Unsupported("CasADi's norms of matrices but for norm_fro are those of their entries")
    return Tensor(ca.norm_fro(x.matrix), (1, 1) if keepdims else ())


def matmul(a: Any, b: Any) -> Any:
    left = a.matrix.T if len(a.shape) == 1 else a.matrix
    m = ca.mtimes(left, b.matrix)
    return Tensor(m.T if len(a.shape) == 1 and len(b.shape) == 2 else m, (*a.shape[:-1], *b.shape[1:]))


def of_matrix(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a square matrix to one of its shape, or of the matrix's symmetric part."""
    return lambda x: Tensor(function(x.matrix), x.shape)


def cholesky(x: Any, upper: bool) -> Any:
    if not isinstance(x.matrix, ca.SX):
        raise kit.Unsupported("chol is for SX")
    root = ca.chol((x.matrix + x.matrix.T) / 2)
    return Tensor(root if upper else root.T, x.shape)


def qr(x: Any, mode: str, part: int) -> Any:
    m, n = x.shape
    if not isinstance(x.matrix, ca.SX):
        raise kit.Unsupported("qr is for SX")
    if m < n or (mode == "complete" and m > n):
        raise kit.Unsupported(
            "qr is by Gram and Schmidt: of columns that are independent, and no more of them"
        )
    return Tensor(ca.qr(x.matrix)[part], (m, n) if part == 0 else (n, n))


def reshape(x: Any, shape: kit.Shape) -> Any:
    rows, columns = (*checked(shape), 1, 1)[:2]
    return Tensor(ca.reshape(x.matrix.T, columns, rows).T, shape, x.dtype)


def concat(*arrays: Any, axis: int) -> Any:
    axis %= len(arrays[0].shape)
    shape = list(arrays[0].shape)
    shape[axis] = sum(a.shape[axis] for a in arrays)
    return Tensor((ca.horzcat if axis else ca.vertcat)(*(a.matrix for a in arrays)), shape, arrays[0].dtype)


def stack(*arrays: Any, axis: int) -> Any:
    inner = arrays[0].shape
    axis %= len(inner) + 1
    shape = (*inner[:axis], len(arrays), *inner[axis:])
    matrices = [a.matrix for a in arrays]
    if not inner:
        m = ca.vertcat(*matrices)
    else:
        m = ca.horzcat(*matrices) if axis else ca.vertcat(*(a.T for a in matrices))
    return Tensor(m, shape, arrays[0].dtype)


def keys_of(pattern: Sequence[Any], indices: Any) -> Any:
    rest = iter(indices)
    keys: list[Any] = []
    for entry in pattern:
        if entry != "at":
            keys.append(slice(entry[1], entry[2]))
            continue
        index = next(rest)
        number = index.known()
        if number is None and isinstance(index.matrix, ca.SX):
            raise kit.Unsupported("an SX has no indices that are expressions")
        keys.append(index.matrix if number is None else int(number))
    return keys


def index(x: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    if not pattern:
        return x
    keys = keys_of(pattern, indices)
    shape = tuple(e[2] - e[1] for e in pattern if e != "at")
    m = x.matrix[tuple(keys)] if len(keys) == 2 else x.matrix[keys[0]]
    return Tensor(m.T if len(keys) == 2 and pattern[0] == "at" and len(shape) == 1 else m, shape, x.dtype)


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    if not pattern:
        return value
    keys = keys_of(pattern, indices)
    if 0 in value.shape:
        return x
    m = type(x.matrix)(x.matrix)
    new = value.matrix.T if len(keys) == 2 and pattern[0] == "at" and value.shape else value.matrix
    m[tuple(keys) if len(keys) == 2 else keys[0]] = new
    return Tensor(m, x.shape, x.dtype)


def triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, k: int) -> Any:
        outside = {ca.tril: -1, ca.triu: 1}[function]
        if k not in (0, outside):
            raise kit.Unsupported("CasADi's triangles have the main diagonal, or not")
        return Tensor(ca.densify(function(x.matrix, k == 0)), x.shape, x.dtype)

    return call


def main_diagonal(function: Callable[..., Any], shape: Callable[[Any], kit.Shape]) -> Callable[..., Any]:
    def call(x: Any, offset: int) -> Any:
        if offset or x.shape[0] != x.shape[1]:
            raise kit.Unsupported("CasADi has the main diagonal of square matrices only")
        return Tensor(function(x.matrix), shape(x))

    return call


def flip(x: Any, axis: int) -> Any:
    if axis % len(x.shape):
        return Tensor(x.matrix[:, ::-1], x.shape, x.dtype)
    return Tensor(x.matrix[::-1, :], x.shape, x.dtype)


SAME = "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log sqrt log1p expm1 erf"
SAME += " floor ceil"
ENTRIES = {"add": ca.plus, "subtract": ca.minus, "multiply": ca.times, "maximum": ca.fmax, "minimum": ca.fmin}
ENTRIES.update({"negative": lambda a: -a, "abs": ca.fabs, "sign": ca.sign, "remainder": remainder})
FLOATS = {"divide": ca.rdivide, "pow": ca.power, "clip": lambda x, a, b: ca.fmin(ca.fmax(x, a), b)}
FLOATS.update({op: getattr(ca, op) for op in SAME.split()})
BOOLS = {"less": ca.lt, "less_equal": ca.le, "greater": ca.gt, "greater_equal": ca.ge, "equal": ca.eq}
BOOLS.update({"not_equal": ca.ne})
BOOLS.update({"logical_and": ca.logic_and, "logical_or": ca.logic_or, "logical_not": ca.logic_not})

OPS: dict[str, Callable[..., Any]] = {
    **{op: each(f) for op, f in ENTRIES.items()},
    **{op: each(f, "float64") for op, f in FLOATS.items()},
    **{op: each(f, "bool") for op, f in BOOLS.items()},
    "amax": over_all(ca.mmax, "mmax is of all entries"),
    "amin": over_all(ca.mmin, "mmin is of all entries"),
    "astype": lambda x, dtype: Tensor(x.matrix != 0 if dtype == "bool" else x.matrix, x.shape, dtype),
    "broadcast_to": lambda x, shape: each(lambda a, b: a + b)(
        x, Tensor(ca.DM.zeros(*(*checked(shape), 1, 1)[:2]), shape, x.dtype)
    ),
    "cholesky": cholesky,
    "concat": concat,
    "cumulative_sum": lambda x, axis: Tensor(ca.cumsum(x.matrix, axis % len(x.shape)), x.shape, x.dtype),
    "det": lambda x: Tensor(ca.det(x.matrix), ()),
    "diagonal": main_diagonal(ca.diag, lambda x: x.shape[:1]),
    "flip": flip,
    "index": index,
    "index_update": index_update,
    "integer_pow": lambda x, n: Tensor(ca.power(x.matrix, n), x.shape),
    "inv": of_matrix(ca.inv),
    "kron": lambda a, b: Tensor(
        ca.kron(a.matrix, b.matrix), (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    ),
    "logsumexp": over_all(ca.logsumexp, "logsumexp is of all entries"),
    "matmul": matmul,
    "matrix_norm": matrix_norm,
    "matrix_power": lambda x, n: Tensor(ca.mpower(x.matrix, n), x.shape),
    "mean": mean,
    "outer": lambda a, b: Tensor(ca.mtimes(a.matrix, b.matrix.T), (*a.shape, *b.shape)),
    "permute_dims": lambda x, axes: Tensor(
        x.matrix if axes in ((), (0,), (0, 1)) else x.matrix.T, [x.shape[a] for a in axes], x.dtype
    ),
    "qr": qr,
    "reshape": reshape,
    "solve": lambda a, b: Tensor(ca.solve(a.matrix, b.matrix), b.shape),
    "stack": stack,
    "sum": reducing(ca.sum1),
    "trace": main_diagonal(ca.trace, lambda x: ()),
    "tril": triangle(ca.tril),
    "triu": triangle(ca.triu),
    "vector_norm": over_all(norm, "CasADi's norms are of all entries"),
    "where": each(ca.if_else),
}
"""There is no pinv: CasADi's solves the normal equations, as documented."""


def refusal(error: BaseException) -> kit.Unsupported | None:
    """The answer for an error that is no failure, or None."""
    if "Evaluation failed" in str(error):  # det of MX is documented to use it, too
        return kit.Unsupported("the linear solver gives up on a singular matrix")
    if "not defined for class" in str(error):
        return kit.Unsupported(str(error).strip().splitlines()[-1])
    return None


class Graph(kit.Way):
    """A graph for each question, of `kind` SX or MX."""

    ops = OPS
    dtypes = ("float64",)
    modes: kit.Modes = ("rev", "fwd")
    orders: tuple[int, ...] = (0, 1, 2, 3)
    structured = True

    def __init__(self, name: str, kind: Any) -> None:
        self.name, self.kind = name, kind
        self.chosen = False
        self.running: list[Any] = []

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        numbers = np.array(entries, float).reshape(checked(shape) if len(shape) > 1 else (-1, 1))
        return Tensor(self.kind(ca.DM(numbers)), shape, dtype, None if dtype == "float64" else entries)

    # Loops and branches

    def while_loop(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        for _ in range(MOST_TRIPS):
            goes_on = condition(carries, captures)
            known = goes_on.known()
            if known is None:
                return self.unrolled(condition, body, carries, captures)
            if not known:
                return carries
            carries = body(carries, captures)
        raise RuntimeError(f"a loop is still running after {MOST_TRIPS} trips")

    def unrolled(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        """A loop of unknown length: a bounded number of iterations, each selected or not."""
        goes_on = condition(carries, captures)
        for _ in range(BOUND):
            carries = self.choice(goes_on, body(carries, captures), carries)
            goes_on = OPS["logical_and"](goes_on, condition(carries, captures))
        self.running.append(goes_on.matrix)
        return carries

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        for i in range(self.trips(count)):
            carries = body(self.array("int64", (), [i]), carries, captures)
        return carries

    def trips(self, count: Any) -> int:
        number = count if isinstance(count, int) else count.known()
        if number is None:
            raise kit.Unsupported("CasADi has no loop of a number of trips that is an expression")
        return int(number)

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        known = predicate.known()
        if known is not None:
            return (then if known else otherwise)(captures)
        return self.choice(predicate, then(captures), otherwise(captures))

    def choice(self, predicate: Any, one: list[Any], other: list[Any]) -> list[Any]:
        self.chosen = True
        chosen = [ca.if_else(predicate.matrix, a.matrix, b.matrix) for a, b in zip(one, other)]
        return [Tensor(m, a.shape, a.dtype) for m, a in zip(chosen, one)]

    # Questions

    def answer(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs) -> list[kit.Message]:
        return kit.each_point(request["count"], lambda k: self.at(program, request, inputs, k), refusal)

    def at(self, program: kit.Program, request: kit.Message, inputs: kit.Inputs, k: int) -> kit.Message:
        """The answer at point k."""
        here, known = kit.point_of(inputs, k), []
        for name, (dtype, _, entries) in here.items():
            known += [] if dtype == "float64" else [name, *entries]
        weighted = [w is not None for w in request["weights"]]
        key = (tuple(known), tuple(request["wrt"]), tuple(request["modes"]), tuple(weighted))
        kept = vars(program).setdefault("graphs", {})
        if key not in kept:
            kept[key] = self.made(program, request, here)
        function, outputs, forward, chosen = kept[key]
        wrt = request["wrt"]
        x = [e for n in wrt for e in here[n][2]]
        rest = [t[2] for n, t in here.items() if n not in wrt and t[0] == "float64"]
        others = [e for entries in rest for e in entries]
        weights = [e for w in request["weights"] if w is not None for e in kit.decode_tensor(w)[2]]
        along = [request["directions"][n] for n in wrt] if request["directions"] else []
        directions = [e for v in along for e in kit.decode_tensor(v)[2]]
        units: Any = np.eye(len(x)) if forward else [np.zeros(len(x))]
        units = list(units) or [[]]
        found = [function(x, others, weights, directions, u) for u in units]
        if any(float(runs) for runs in found[0][len(outputs) + 1 :]):
            raise kit.Unsupported(
                f"CasADi has no while loop; unrolled to {BOUND} trips, this one is not at its end"
            )
        values = [(y.dtype, y.shape, y.exact or cast(y.dtype, r)) for y, r in zip(outputs, found[0])]
        slopes = [float(f[len(outputs)]) for f in found] if forward else entries_of(found[0][len(outputs)])
        if chosen and not all(map(math.isfinite, [*slopes, *(float(e) for v in values for e in v[2])])):
            raise kit.Unsupported("if_else computes both sides, and one of them is not finite here")
        gradient, begin = {}, 0
        for n in wrt if request["modes"] else ():
            size = math.prod(here[n][1])
            gradient[n] = "float64", here[n][1], slopes[begin : begin + size]
            begin += size
        return {"ok": (values, gradient)}

    def made(self, program: kit.Program, request: kit.Message, here: Any) -> Any:
        """The compiled question, its outputs, and whether the last mode is forward.

        The function takes inputs, other inputs, weights, directions and a unit.
        """
        wrt, modes = request["wrt"], request["modes"]
        shapes = {n: here[n][1] for n in wrt}
        others = {n: shape for n, (dtype, shape, _) in here.items() if n not in wrt and dtype == "float64"}
        x, xs = self.symbols("x", shapes)
        rest, more = self.symbols("c", others)
        numbers = {n: self.array(*tensor) for n, tensor in here.items() if tensor[0] != "float64"}
        self.chosen = False
        self.running = []
        outputs = program(dict(numbers, **xs, **more))
        given = {k: tuple(t["shape"]) for k, t in enumerate(request["weights"]) if t is not None}
        w, weights = self.symbols("w", given)
        v, u = self.kind.sym("v", x.shape[0] if request["directions"] else 0), self.kind.sym("u", x.shape[0])
        terms = [(outputs[k].matrix, weight.matrix) for k, weight in weights.items()]
        for mode in modes[:-1]:
            forward = mode == "fwd"
            slope = self.slope(terms, x, v) if forward else ca.dot(self.gradient(terms, x), v)
            terms = [(slope, self.kind(1))]
        forward = bool(modes) and modes[-1] == "fwd"
        found = self.kind(0)
        if modes:
            found = self.slope(terms, x, u) if forward else self.gradient(terms, x)
        results = [*(y.matrix for y in outputs), found, *self.running]
        return ca.Function("f", [x, rest, w, v, u], results), outputs, forward, self.chosen

    def slope(self, terms: Any, x: Any, direction: Any) -> Any:
        """The derivative of the sum of <y, w> over `terms` along a direction."""
        return ca.jtimes(total(terms, self.kind), x, direction)

    def gradient(self, terms: Any, x: Any) -> Any:
        """The gradient of the sum of <y, w> over `terms`, as a column."""
        return ca.gradient(total(terms, self.kind), x)

    def symbols(self, name: str, shapes: Any) -> Any:
        """One symbol for all of these arrays, and its parts, row by row."""
        symbol = self.kind.sym(name, sum(math.prod(checked(shape)) for shape in shapes.values()))
        parts, begin = {}, 0
        for n, shape in shapes.items():
            size = math.prod(shape)
            column = Tensor(symbol[begin : begin + size], (size,))
            parts[n] = reshape(column, shape) if len(shape) != 1 else column
            begin += size
        return symbol, parts


class Mapped(Graph):
    """Loops are `mapaccum`. Branches are `Function.if_else`, which computes only the selected branch."""

    def for_loop(self, count: Any, body: kit.Body, carries: list[Any], captures: list[Any]) -> list[Any]:
        n = self.trips(count)
        if n <= 0 or not carries:
            return carries
        i = Tensor(self.kind.sym("i"), (), "int64")
        count = len(carries)

        def trip(values: Any) -> Any:
            return body(i, values[:count], values[count:])

        step = self.inner("body", trip, [*carries, *captures], i, count)
        loop = step.mapaccum("loop", n, len(carries), {"base": 4})
        trips, repeated = self.kind(ca.DM(range(n)).T), [ca.repmat(c.matrix, 1, n) for c in captures]
        found = loop.call([*(c.matrix for c in carries), trips, *repeated])
        return [Tensor(r[:, -width(c) :], c.shape, c.dtype) for r, c in zip(found, carries)]

    def inner(self, name: str, body: Any, arguments: Any, i: Any = None, count: int = 0) -> Any:
        """A function of the caller's arguments, with `i` after the first `count` of them."""
        made = [self.kind.sym(f"a{k}", *a.matrix.shape) for k, a in enumerate(arguments)]
        symbols = [Tensor(m, a.shape, a.dtype) for m, a in zip(made, arguments)]
        matrices = [s.matrix for s in symbols]
        if i is not None:
            matrices.insert(count, i.matrix)
        return ca.Function(name, matrices, [ca.densify(y.matrix) for y in body(symbols)])

    def unrolled(
        self, condition: kit.Test, body: kit.Step, carries: list[Any], captures: list[Any]
    ) -> list[Any]:
        raise kit.Unsupported("CasADi has no while loop")

    def branch(self, predicate: Any, then: kit.Block, otherwise: kit.Block, captures: list[Any]) -> list[Any]:
        known = predicate.known()
        if known is not None:
            return (then if known else otherwise)(captures)
        kept = []

        def noting(side: kit.Block) -> kit.Block:
            def call(values: Any) -> Any:
                kept.append(side(values))
                return kept[-1]

            return call

        one, other = (
            self.inner(name, noting(side), captures) for name, side in (("one", then), ("other", otherwise))
        )
        found = ca.Function.if_else("choice", one, other).call(
            [predicate.matrix, *(c.matrix for c in captures)]
        )
        return [Tensor(r, a.shape, a.dtype) for r, a in zip(found, kept[0])]


class Jacobian(Graph):
    """The same by whole Jacobians of all results, which CasADi finds by coloring their sparsity patterns."""

    modes = ("rev",)
    orders = (0, 1, 2)

    def gradient(self, terms: Any, x: Any) -> Any:
        if not terms:
            return super().gradient(terms, x)
        results, weights = (ca.vertcat(*map(ca.vec, part)) for part in zip(*terms))
        return ca.densify(ca.mtimes(ca.jacobian(results, x).T, weights))


def total(terms: Any, kind: Any) -> Any:
    g = kind(0)
    for y, w in terms:
        g += ca.dot(y, w)
    return g


def width(x: Any) -> Any:
    return x.matrix.shape[1]


def entries_of(matrix: Any) -> Any:
    return np.array(matrix.full()).ravel().tolist()


def cast(dtype: str, matrix: Any) -> Any:
    return [{"int64": int, "bool": bool}.get(dtype, float)(e) for e in entries_of(matrix)]


if __name__ == "__main__":
    ways = [Graph("sx", ca.SX), Graph("mx", ca.MX), Mapped("mapaccum", ca.MX), Jacobian("jacobian", ca.SX)]
    kit.serve("casadi", ca.__version__, ways)
