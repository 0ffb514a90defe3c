"""HIPS autograd. Loops are Python's; reverse mode is make_vjp, forward mode make_jvp; higher orders nest
them.

An op is autograd's own function wherever that has a derivative, otherwise composed of such functions. `LACKS`
says what has no rule in autograd's source.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import autograd
import autograd.numpy as anp
import autograd.numpy.linalg as linalg
import autograd.scipy.linalg
import autograd.scipy.signal
import autograd.scipy.special
import kit
import numpy as np
from autograd.builtins import tuple as atuple
from autograd.core import VJPNode, make_jvp, make_vjp, vspace
from autograd.tracer import find_top_boxed_args, isbox


def index_key(pattern: Sequence[Any], indices: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(indices)
    return tuple(next(rest) if entry == "at" else slice(entry[1], entry[2]) for entry in pattern)


def index_update(x: Any, value: Any, *indices: Any, pattern: Sequence[Any]) -> Any:
    """autograd has no assignment: the rows around the place are joined with the new value."""
    if not pattern:
        return value
    key, rest = index_key(pattern, indices)[0], pattern[1:]
    if pattern[0] == "at":
        key %= len(x)
        row = index_update(x[key], value, *indices[1:], pattern=rest)
        return anp.concatenate((x[:key], anp.reshape(row, (1, *np.shape(row))), x[key + 1 :]))
    rows = [
        index_update(x[key.start + k], value[k], *indices, pattern=rest) for k in range(key.stop - key.start)
    ]
    return anp.concatenate((x[: key.start], anp.stack(rows), x[key.stop :])) if rows else x


def flip(x: Any, axis: int) -> Any:
    return x[(*[slice(None)] * (axis % x.ndim), slice(None, None, -1))]


def polygamma(x: Any, n: int) -> Any:
    """SciPy's array of a Python int is int64, beside which float32 becomes float64."""
    return autograd.scipy.special.polygamma(np.array(n, np.result_type(x)), x)


def take(x: Any, indices: Any, axis: int) -> Any:
    return x[(*[slice(None)] * (axis % x.ndim), indices)]


def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    places = list(np.indices(x.shape, sparse=True))
    places[axis] = indices
    return x[tuple(places)]


def sort(x: Any, axis: int) -> Any:
    """The reverse rule is of vectors only."""
    if x.ndim > 1 and find_top_boxed_args((x,))[2] is VJPNode:
        return take_along_axis(x, anp.argsort(x, axis, kind="stable"), axis)
    return anp.sort(x, axis)


def broadcast_to(x: Any, shape: kit.Shape) -> Any:
    """The reverse rule takes no keyword and no further axes."""
    return anp.broadcast_to(anp.reshape(x, (1,) * (len(shape) - np.ndim(x)) + np.shape(x)), shape)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """There is no derivative by the bounds."""
    if isbox(lower) or isbox(upper):
        return anp.minimum(anp.maximum(x, lower), upper)
    return anp.clip(x, lower, upper)


def logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    """SciPy's makes a vector of a number whose axes are kept."""
    return autograd.scipy.special.logsumexp(x, axis, keepdims=keepdims and np.ndim(x) > 0)


def log_softmax(x: Any, axis: int) -> Any:
    return x - autograd.scipy.special.logsumexp(x, axis, keepdims=True)


def transpose(x: Any) -> Any:
    return anp.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    return anp.conj(transpose(x))


def hermitian(x: Any) -> Any:
    return (x + adjoint(x)) / 2


def cholesky(x: Any, upper: bool) -> Any:
    lower = linalg.cholesky(hermitian(x))
    return adjoint(lower) if upper else lower


def svd(x: Any, full_matrices: bool, part: int) -> Any:
    """The reverse rule is of thin ones. A full one has other vectors only beyond the singular values."""
    rows, columns = x.shape[-2:]
    beyond = full_matrices and (rows - columns, 0, columns - rows)[part] > 0
    return linalg.svd(x, full_matrices=beyond)[part]


def svdvals(x: Any) -> Any:
    return linalg.svd(x, full_matrices=False, compute_uv=False)


def diagonal(x: Any, offset: int) -> Any:
    """Only that of offset 0 over swapped axes has a reverse rule. The others are the main one of a part."""
    if offset:
        row, column = max(-offset, 0), max(offset, 0)
        x = x[..., row:, column:]
        size = min(x.shape[-2:])
        x = x[..., :size, :size]
    return anp.diagonal(x, 0, -1, -2)


def trace(x: Any, offset: int) -> Any:
    """autograd's is over the first two axes."""
    return anp.trace(anp.moveaxis(x, (-2, -1), (0, 1)), offset)


def kron(a: Any, b: Any) -> Any:
    """autograd's is of matrices only."""
    if a.ndim == b.ndim == 2:
        return anp.kron(a, b)
    product = a[..., :, None, :, None] * b[..., None, :, None, :]
    rows, columns = (m * n for m, n in zip(a.shape[-2:], b.shape[-2:]))
    return anp.reshape(product, (*product.shape[:-4], rows, columns))


def matrix_power(x: Any, n: int) -> Any:
    if n == 0:
        return np.zeros(x.shape, x.dtype) + np.eye(x.shape[-1], dtype=x.dtype)
    return functools.reduce(anp.matmul, [linalg.inv(x) if n < 0 else x] * abs(n))


def solve(a: Any, b: Any) -> Any:
    """An array of one axis is a vector, as in NumPy 2. NumPy 1 takes one with an axis less than the matrices
    for vectors, so it gets all axes.
    """
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0" or a.ndim == 2 or b.ndim >= a.ndim:
        return linalg.solve(a, b)
    rows = b.shape if b.ndim > 1 else (*b.shape, 1)
    x = linalg.solve(a, anp.reshape(b, (*[1] * (a.ndim - len(rows)), *rows)))
    return x if b.ndim > 1 else x[..., 0]


def triangular_solve(a: Any, b: Any, lower: bool, transposed: bool, unit_diagonal: bool, left: bool) -> Any:
    """autograd's is of matrices only; stacks are solved as full systems."""
    if not left:
        return transpose(triangular_solve(a, transpose(b), lower, not transposed, unit_diagonal, True))
    if a.ndim == b.ndim == 2:
        return autograd.scipy.linalg.solve_triangular(
            a, b, trans=int(transposed), lower=lower, unit_diagonal=unit_diagonal
        )
    inside = int(unit_diagonal)
    a = anp.tril(a, -inside) if lower else anp.triu(a, inside)
    a = a + np.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else a
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (broadcast_to(m, (*batch, *m.shape[-2:])) for m in (a, b))
    return linalg.solve(transpose(a) if transposed else a, b)


def kept(keepdims: bool) -> dict[str, bool]:
    """The parameter where it is wanted: before autograd 1.8 the derivatives of `norm` do not know it."""
    return {"keepdims": True} if keepdims else {}


def sizes(x: Any) -> Any:
    """The second derivative of autograd's abs is not quite 0."""
    return anp.abs(x) if anp.iscomplexobj(x) else x * anp.sign(x)


def matrix_norm(x: Any, ord: Any, keepdims: bool) -> Any:
    """autograd has rules of the norms "fro" and "nuc"."""
    if ord in ("fro", "nuc"):
        return linalg.norm(x, ord, axis=None if x.ndim == 2 else (-2, -1), **kept(keepdims))
    if ord in (2, -2):
        norm = svdvals(x)[..., 0 if ord == 2 else -1]
    else:
        sums = anp.sum(sizes(x), -2 if ord in (1, -1) else -1)
        norm = anp.max(sums, -1) if ord in (1, "inf") else anp.min(sums, -1)
    return norm[..., None, None] if keepdims else norm


def vector_norm(x: Any, ord: Any, axis: int | None, keepdims: bool) -> Any:
    """autograd has rules of orders above 1."""
    ord = {"inf": np.inf, "-inf": -np.inf}.get(ord, ord)
    if ord > 1 and (axis is not None or x.ndim == 1):
        return linalg.norm(x, ord, axis=axis, **kept(keepdims))
    if ord > 1:
        norm = linalg.norm(anp.ravel(x), ord)
        return anp.reshape(norm, (1,) * x.ndim) if keepdims else norm
    if ord == -np.inf:
        return anp.min(sizes(x), axis, keepdims=keepdims)
    if ord == 0:
        return anp.sum((x != 0).astype(sizes(x).dtype), axis, keepdims=keepdims)
    total = anp.sum(sizes(x) ** ord, axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1 / ord)


def conv(x: Any, kernel: Any, strides: Sequence[int], padding: Sequence[Sequence[int]]) -> Any:
    """autograd flips the kernel, and its stride is 1."""
    spatial = list(range(2, x.ndim))
    if padding:
        x = anp.pad(x, [(0, 0), (0, 0), *map(tuple, padding)], "constant")
    turned = kernel[(..., *[slice(None, None, -1)] * len(spatial))]
    y = autograd.scipy.signal.convolve(x, turned, axes=[spatial, spatial], dot_axes=[[1], [1]], mode="valid")
    return y[(..., *[slice(None, None, s) for s in strides])] if strides else y


SAME = "add subtract multiply divide negative sin cos tan tanh exp log sqrt log1p expm1 abs sign maximum"
SAME += " minimum where less less_equal greater greater_equal equal not_equal logical_and logical_or"
SAME += " logical_not remainder sum mean prod all any argmax argmin matmul outer tril triu"
"""Ops whose namesakes in autograd.numpy take the same parameters."""

OPS = {
    **{op: getattr(anp, op) for op in SAME.split()},
    "acos": anp.arccos,  # NumPy 2 has the names of the standard, too, of which autograd has no derivative
    "acosh": anp.arccosh,
    "amax": anp.max,
    "amin": anp.min,
    "argsort": lambda x, axis: anp.argsort(x, axis, kind="stable"),
    "asin": anp.arcsin,
    "asinh": anp.arcsinh,
    "astype": lambda x, dtype: x.astype(dtype),
    "atan": anp.arctan,
    "atan2": anp.arctan2,
    "atanh": anp.arctanh,
    "bessel_i": lambda x, n: autograd.scipy.special.iv(n, x),
    "bessel_ie": lambda x, n: autograd.scipy.special.ive(n, x),
    "bessel_j": lambda x, n: autograd.scipy.special.jn(n, x),
    "broadcast_to": broadcast_to,
    "cholesky": cholesky,
    "clip": clip,
    "complex": lambda re, im: re + 1j * im,
    "concat": lambda *arrays, axis: anp.concatenate(arrays, axis),
    "conv": conv,
    "cumulative_sum": anp.cumsum,
    "det": linalg.det,
    "conj": anp.conj,
    "diagonal": diagonal,
    "eig": lambda x, part: linalg.eig(x)[part],
    "eigh": lambda x, part: linalg.eigh(hermitian(x))[part],
    "eigvalsh": lambda x: linalg.eigh(hermitian(x))[0],
    "einsum": lambda *arrays, subscripts: anp.einsum(subscripts, *arrays),
    "flip": flip,
    "i0": autograd.scipy.special.i0,  # anp.i0 has no derivative
    "i0e": lambda x: autograd.scipy.special.ive(0, x),
    "i1e": lambda x: autograd.scipy.special.ive(1, x),
    "imag": anp.imag,
    "index": lambda x, *indices, pattern: x[index_key(pattern, indices)],
    "index_update": index_update,
    "integer_pow": lambda x, n: x**n,
    "inv": linalg.inv,
    "kron": kron,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "matrix_norm": matrix_norm,
    "matrix_power": matrix_power,
    "permute_dims": anp.transpose,
    "pinv": linalg.pinv,
    "polygamma": polygamma,
    "pow": anp.power,
    "real": anp.real,
    "reshape": lambda x, shape: anp.reshape(x, shape),
    "slogdet": lambda x, part: linalg.slogdet(x)[part],
    "softmax": lambda x, axis: anp.exp(log_softmax(x, axis)),
    "solve": solve,
    "sort": sort,
    "stack": lambda *arrays, axis: anp.stack(arrays, axis),
    "svd": svd,
    "svdvals": svdvals,
    "take": take,
    "take_along_axis": take_along_axis,
    "trace": trace,
    "triangular_solve": triangular_solve,
    "vector_norm": vector_norm,
}


NO_RULE = "cbrt copysign fmod positive"
"""Functions of numpy/numpy_wrapper.py without a defvjp and a defjvp."""
NO_FORWARD = (
    "cholesky convolve det eig eigh erf erfc erfinv expit gamma gammaln hypot i0 i1 inv iv ive j0 j1 jv"
)
NO_FORWARD += " logit pinv polygamma psi slogdet solve solve_triangular svd y0 y1 yn"
"""Those of numpy/, scipy/linalg.py, scipy/signal.py and scipy/special.py without a defjvp."""
LACKS = (
    rf"^(JVP|VJP) of ({NO_RULE.replace(' ', '|')}) wrt argnums? .* not defined$",
    rf"^JVP of ({NO_FORWARD.replace(' ', '|')}) wrt argnums .* not defined$",
    "^Gradient of sort not implemented for multi-dimensional arrays",  # numpy/numpy_vjps.py
    "^Gradient of svd not implemented for full_matrices=True",  # numpy/linalg.py
)


def gradient(g: Callable[..., Any], xs: Sequence[Any]) -> Any:
    """The gradient of a scalar function of a tuple."""
    vjp, value = make_vjp(g, xs)
    return vjp(vspace(value).ones())


def slope(g: Callable[..., Any], xs: Sequence[Any], directions: Sequence[Any]) -> Any:
    """The derivative of a scalar function of a tuple, along a direction."""
    return make_jvp(g, xs)(directions)[1]


class Eager(kit.Way):
    """autograd as it is: programs run in Python, on numbers that record a tape."""

    name = "eager"
    ops = OPS
    lacks = LACKS
    functions = (anp, autograd.scipy.special)
    modes = ("rev", "fwd")
    orders = (0, 1, 2, 3)

    def array(self, dtype: str, shape: kit.Shape, entries: list[Any]) -> Any:
        return np.array(entries, dtype).reshape(shape)[()]

    def entries(self, value: Any) -> kit.Numbers:
        array = np.asarray(value)
        return array.dtype.name, array.shape, array.ravel().tolist()

    def differentiate(
        self, f: kit.Function, xs: list[Any], weights: list[Any], directions: list[Any], modes: kit.Modes
    ) -> tuple[list[Any], list[Any]]:
        outputs = f(*xs)
        if not modes:
            return outputs, []
        vs, xs = atuple(directions), atuple(xs)

        def objective(xs: Sequence[Any]) -> Any:
            terms = [anp.sum(y * w) for y, w in zip(f(*xs), weights) if w is not None]
            return sum(terms[1:], terms[0]) if terms else 0.0

        def along(g: Callable[..., Any], mode: str) -> Callable[..., Any]:
            if mode == "fwd":
                return lambda xs: slope(g, xs, vs)
            return lambda xs: sum([anp.sum(s * v) for s, v in zip(gradient(g, xs), vs)])

        g = objective
        for mode in modes[:-1]:
            g = along(g, mode)
        return outputs, gradient(g, xs) if modes[-1] == "rev" else self.each_direction(g, xs)

    def each_direction(self, g: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
        """The gradient by forward mode, entry by entry."""
        slopes = []
        for k, x in enumerate(xs):
            found = []
            for place in np.ndindex(np.shape(x)):
                units = [np.zeros_like(y) for y in xs]
                units[k][place] = 1
                found.append(slope(g, xs, atuple([u[()] for u in units])))
            slopes.append(np.array(found).reshape(np.shape(x)) if found else np.zeros_like(x))
        return slopes


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kit.serve("autograd", version("autograd"), [Eager()])
