"""Linear algebra in mpmath, for the truth in a reproducer: the text of each op and its helper functions.

Matrices are NumPy arrays of mpf or mpc. The decompositions are mpmath's, of one matrix at a time, with the
signs (or phases, and the order of eigenvalues that have none) that NumPy chooses for the matrix rounded to
float64; they stay the same within a difference step. Singular and deficient matrices fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp

from gradfuzz.oracles.emit.op_source import Params, Shape, keywords
from gradfuzz.oracles.emit.plain_source import plain_source
from gradfuzz.programs.language.syntax import ParamValue


def stacked(function: Callable[..., Any], shapes: Any, array: Any) -> Any:
    """The results of a function of a matrix for each matrix of a stack, as arrays of these shapes."""
    results = [np.empty(shape, object) for shape in shapes]
    for index in np.ndindex(array.shape[:-2]):
        found = function(array[index])
        for result, part in zip(results, found if isinstance(found, tuple) else [found], strict=True):
            result[index] = part
    return results


def entries(matrix: Any) -> Any:
    """A matrix of mpmath as an array."""
    return np.array(matrix.tolist(), object)


def rounded(a: Any) -> Any:
    """The nearest matrix that NumPy can take apart."""
    return a.astype(complex if any(isinstance(x, mp.mpc) for x in a.flat) else float)


def signs(columns: Any, numeric: Any) -> Any:
    """The number of modulus 1 for each column that turns it to NumPy's."""
    inner = (np.conj(columns) * numeric).sum(0)
    return inner / abs(inner)


def qr(a: Any, mode: Any) -> Any:
    k = min(a.shape)
    q = entries(mp.qr(mp.matrix(a[:, :k].tolist()), "full" if mode == "complete" else "skinny")[0])
    q = q * signs(q, np.linalg.qr(rounded(a), mode)[0])
    return q, np.triu(np.conj(q.T) @ a)


def lu(a: Any) -> Any:
    """p, l, u with a = p l u, by elimination; the pivot is the largest entry of its column, as LAPACK sees
    it.
    """
    a, (m, n), k = a.copy(), a.shape, min(a.shape)
    rows = np.arange(m)
    for j in range(min(m - 1, n)):
        pivot = [j, j + int(np.argmax([abs(mp.re(x)) + abs(mp.im(x)) for x in a[j:, j]]))]
        a[pivot], rows[pivot] = a[pivot[::-1]], rows[pivot[::-1]]
        a[j + 1 :, j] = a[j + 1 :, j] / a[j, j]
        a[j + 1 :, j + 1 :] = a[j + 1 :, j + 1 :] - np.outer(a[j + 1 :, j], a[j, j + 1 :])
    return np.eye(m)[:, rows], np.tril(a[:, :k], -1) + np.eye(m, k), np.triu(a[:k])


def svd(a: Any, full: Any) -> Any:
    u, s, vh = [entries(part) for part in mp.svd(mp.matrix(a.tolist()), full_matrices=full)]
    near_u, _, near_vh = np.linalg.svd(rounded(a), full)
    v, k = np.conj(vh.T), len(s)
    u_signs, v_signs = signs(u, near_u), signs(v, np.conj(near_vh.T))
    v_signs[:k] = u_signs[:k]
    return u * u_signs, s.ravel(), np.conj((v * v_signs).T)


def svdvals(a: Any) -> Any:
    return entries(mp.svd(mp.matrix(a.tolist()), compute_uv=False)).ravel()


def hermitian(a: Any) -> Any:
    return (a + np.conj(a.T)) / 2


def eigh(a: Any) -> Any:
    w, v = [entries(part) for part in mp.eigh(mp.matrix(hermitian(a).tolist()))]
    return w.ravel(), v * signs(v, np.linalg.eigh(rounded(hermitian(a)))[1])


def eigvalsh(a: Any) -> Any:
    return entries(mp.eigh(mp.matrix(hermitian(a).tolist()), eigvals_only=True)).ravel()


def nearest(w: Any, a: Any) -> Any:
    """The order in which the eigenvalues w are those of NumPy."""
    left = list(range(len(w)))
    return [
        left.pop(int(np.argmin([abs(w[k] - near) for k in left]))) for near in np.linalg.eigvals(rounded(a))
    ]


def eig(a: Any) -> Any:
    w, v = mp.eig(mp.matrix(a.tolist()))
    w, v = np.array(w), entries(v)
    order = nearest(w, a)
    v = v[:, order] / elementwise(mp.sqrt, (abs(v[:, order]) ** 2).sum(0))
    return w[order], v * signs(v, np.linalg.eig(rounded(a))[1])


def eigvals(a: Any) -> Any:
    w = np.array(mp.eig(mp.matrix(a.tolist()), left=False, right=False))
    return w[nearest(w, a)]


def cholesky(a: Any) -> Any:
    return entries(mp.cholesky(mp.matrix(hermitian(a).tolist())))


def inverse(a: Any) -> Any:
    return entries(mp.inverse(mp.matrix(a.tolist())))


def pinv(a: Any) -> Any:
    """Of a matrix of full rank."""
    b = np.conj(a.T)
    return b @ inverse(a @ b) if a.shape[0] <= a.shape[1] else inverse(b @ a) @ b


def det(a: Any) -> Any:
    try:
        return mp.det(mp.matrix(a.tolist()))
    except TypeError:  # mpmath expects some row to have a pivot
        return mp.mpf(0)


def slogdet(a: Any) -> Any:
    return mp.sign(det(a)), mp.log(abs(det(a)))


def expm(a: Any) -> Any:
    return entries(mp.expm(mp.matrix(a.tolist())))


def elementwise(function: Callable[..., Any], array: Any) -> Any:
    return np.frompyfunc(function, 1, 1)(array)


_MATRIX = (stacked, entries, rounded, signs, hermitian)
_DECOMPOSITIONS = (qr, lu, svd, svdvals, eigh, eigvalsh, nearest, eig, eigvals, cholesky)
_FUNCTIONS = (inverse, pinv, det, slogdet, expm, elementwise)
HELPERS = {f.__name__: plain_source(f) for f in (*_MATRIX, *_DECOMPOSITIONS, *_FUNCTIONS)}
"""The functions, by name, as scripts show them."""


def write(
    op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params, results: Sequence[Shape]
) -> str:
    """The expression for an op with results of these shapes; see `op_source.Write`."""
    x, shape = texts[0], shapes[0]
    match op:
        case "qr":
            return _of_matrices("qr", x, shape, results, f'"{params["mode"]}"')
        case "svd":
            return _of_matrices("svd", x, shape, results, str(params["full_matrices"]))
        case "cholesky":
            text = _of_matrices("cholesky", x, shape, results)
            return f"np.conj(np.swapaxes({text}, -2, -1))" if params["upper"] else text
        case "lu" | "eig" | "eigvals" | "eigh" | "slogdet" | "svdvals" | "eigvalsh" | "pinv" | "det" | "expm":
            return _of_matrices(op, x, shape, results)
        case "inv":
            return _inverse(x, shape)
        case "solve":
            return f"{_inverse(x, shape)} @ {texts[1]}"
        case "lstsq":
            return f"{_of_matrices('pinv', x, shape, [(*shape[:-2], shape[-1], shape[-2])])} @ {texts[1]}"
        case "triangular_solve":
            return _triangular_solve(texts, shape, params)
        case "matrix_norm":
            return _matrix_norm(x, shape, params, results[0])
        case "vector_norm":
            return _vector_norm(x, shape, params)
        case "matrix_power":
            return _matrix_power(x, shape, params["n"])
        case "kron" if len(results[0]) > 2:
            a, b = f"{x}[..., :, None, :, None]", f"{texts[1]}[..., None, :, None, :]"
            return f"np.reshape({a} * {b}, {results[0]})"
        case "einsum":
            return f'np.einsum("{params["subscripts"]}", {", ".join(texts)})'
        case "trace" | "diagonal":
            return f"np.{op}({x}, {params['offset']}, -2, -1)"
        case "tril" | "triu":
            return f"np.{op}({x}, {params['k']})"
        case "outer" | "kron":
            return f"np.{op}({', '.join(texts)})"
    raise AssertionError(f"no mpmath form of {op}")


def _of_matrices(function: str, x: str, shape: Shape, results: Sequence[Shape], option: str = "") -> str:
    """A function of one matrix, and perhaps an option, mapped over any batch axes."""
    rest = f", {option}" if option else ""
    if len(shape) == 2:
        return f"{function}({x}{rest})"
    of_one = f"lambda a: {function}(a{rest})" if rest else function
    text = f"stacked({of_one}, {list(results)}, {x})"
    return text if len(results) > 1 else f"{text}[0]"


def _inverse(x: str, shape: Shape) -> str:
    return _of_matrices("inverse", x, shape, [shape])


def _matrix_power(x: str, shape: Shape, n: ParamValue) -> str:
    assert isinstance(n, int), "the type rule lets no other power through"
    base = x if n >= 0 else _inverse(x, shape)
    return _of_matrices("np.linalg.matrix_power", base, shape, [shape], str(abs(n)))


def _triangular_solve(texts: Sequence[str], shape: Shape, params: Params) -> str:
    a, b = texts
    triangle = "np.tril" if params["lower"] else "np.triu"
    matrix = f"{triangle}({a})"
    if params["unit_diagonal"]:
        matrix = f"{triangle}({a}, {-1 if params['lower'] else 1}) + np.eye({shape[-1]})"
    inverse = _inverse(f"np.swapaxes({matrix}, -2, -1)" if params["transposed"] else matrix, shape)
    return f"{inverse} @ {b}" if params["left"] else f"{b} @ {inverse}"


def _matrix_norm(x: str, shape: Shape, params: Params, result: Shape) -> str:
    values = _of_matrices("svdvals", x, shape, [(*shape[:-2], min(shape[-2:]))])
    text = {
        "fro": f"elementwise(mp.sqrt, (abs({x}) ** 2).sum((-2, -1)))",
        "nuc": f"{values}.sum(-1)",
        "2": f"{values}[..., 0]",
        "-2": f"{values}[..., -1]",
        "1": f"abs({x}).sum(-2).max(-1)",
        "-1": f"abs({x}).sum(-2).min(-1)",
        "inf": f"abs({x}).sum(-1).max(-1)",
        "-inf": f"abs({x}).sum(-1).min(-1)",
    }[str(params["ord"])]
    return f"np.reshape({text}, {result})" if params["keepdims"] else text


def _vector_norm(x: str, shape: Shape, params: Params) -> str:
    order = params["ord"]
    if not shape:
        return f"abs({x})"
    over = ", ".join(keywords({**params, "ord": None}))
    match order:
        case "inf" | "-inf":
            return f"abs({x}).{'max' if order == 'inf' else 'min'}({over})"
        case 0:
            return f"({x} != 0).sum({over})"
        case 1:
            return f"abs({x}).sum({over})"
        case 2:
            return f"elementwise(mp.sqrt, (abs({x}) ** 2).sum({over}))"
    return f"elementwise(lambda s: s ** (1 / mp.mpf({order})), (abs({x}) ** {order}).sum({over}))"
