"""Linear-algebra ops in Nx, by the functions of Nx.LinAlg, which take stacks of matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gradfuzz.oracles.emit.op_source import Params, Shape
from gradfuzz.programs.language.axes import normalize_axes

LACKS: Mapping[str, str] = {
    "eig": "Nx has no derivative of eigenvalues of a general matrix",
    "eigvals": "Nx has no derivative of eigenvalues of a general matrix",
    "einsum": "Nx has no einsum",
    "expm": "Nx has no matrix exponential",
}

_NAMES = {"det": "determinant", "inv": "invert", "lstsq": "least_squares", "lu": "lu", "pinv": "pinv"}
_ORDERS = {"fro": ":frobenius", "nuc": ":nuclear", "inf": ":inf", "-inf": ":neg_inf"}


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `op_source.Write`."""
    x, shape = texts[0], shapes[0]
    match op:
        case "qr":
            return f"Nx.LinAlg.qr({x}, mode: :{params['mode']})"
        case "svd":
            return f"Nx.LinAlg.svd({x}, full_matrices?: {str(params['full_matrices']).lower()})"
        case "svdvals":
            return f"elem(Nx.LinAlg.svd({x}, full_matrices?: false), 1)"
        case "eigh":
            return f"Nx.LinAlg.eigh({_symmetric(x, shape)})"
        case "eigvalsh":
            return f"elem(Nx.LinAlg.eigh({_symmetric(x, shape)}), 0)"
        case "cholesky":
            text = f"Nx.LinAlg.cholesky({_symmetric(x, shape)})"
            return _transposed(text, shape) if params["upper"] else text
        case "solve" if 1 < len(shapes[1]) < len(shape):
            return f"Nx.LinAlg.solve({x}, {spread_stacks(texts, shapes)[1]})"
        case "solve":
            return f"Nx.LinAlg.solve({x}, {texts[1]})"
        case "slogdet":
            d = f"Nx.LinAlg.determinant({x})"
            return f"{{Nx.sign({d}), Nx.log(Nx.abs({d}))}}"
        case "triangular_solve":
            return _triangular_solve(texts, shapes, params)
        case "matrix_norm":
            order = _ORDERS.get(str(params["ord"]), str(params["ord"]))
            keep = ", keep_axes: true" if params["keepdims"] else ""
            return f"Nx.LinAlg.norm({x}, ord: {order}, axes: [{len(shape) - 2}, {len(shape) - 1}]{keep})"
        case "vector_norm":
            return _vector_norm(x, shape, params)
        case "matrix_power":
            return f"Nx.LinAlg.matrix_power({x}, {params['n']})"
        case "outer":
            return f"Nx.outer({', '.join(texts)})"
        case "kron":
            return _kron(texts, shapes)
        case "diagonal":
            return f"Nx.take_diagonal({x}, offset: {params['offset']})"
        case "trace":
            return f"Nx.sum(Nx.take_diagonal({x}, offset: {params['offset']}), axes: [-1])"
        case "tril" | "triu":
            return f"Nx.{op}({x}, k: {params['k']})"
    return f"Nx.LinAlg.{_NAMES[op]}({', '.join(texts)})"


def shape_text(sizes: Iterable[object]) -> str:
    """A shape, or any tuple, in Elixir."""
    return f"{{{', '.join(map(str, sizes))}}}"


def spread(text: str, old: Shape, new: Shape) -> str:
    """A tensor in a shape that it is broadcast to."""
    return text if tuple(old) == tuple(new) else f"Nx.broadcast({text}, {shape_text(new)})"


def spread_stacks(texts: Sequence[str], shapes: Sequence[Shape]) -> list[str]:
    """Stacks of matrices, with the batch axes that they have together."""
    batch = np.broadcast_shapes(*(s[:-2] for s in shapes))
    return [spread(text, s, (*batch, *s[-2:])) for text, s in zip(texts, shapes, strict=True)]


def _transposed(text: str, shape: Shape) -> str:
    axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    return f"Nx.transpose({text}, axes: [{', '.join(map(str, axes))}])"


def _symmetric(x: str, shape: Shape) -> str:
    return f"Nx.divide(Nx.add({x}, {_transposed(x, shape)}), 2)"


def _triangular_solve(texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    a, b = texts
    if params["unit_diagonal"]:
        triangle, k = ("tril", -1) if params["lower"] else ("triu", 1)
        a = f"Nx.add(Nx.{triangle}({a}, k: {k}), Nx.eye({shapes[0][-1]}))"
    options = [f"lower: {str(params['lower']).lower()}"]
    options += ["transform_a: :transpose"] if params["transposed"] else []
    options += [] if params["left"] else ["left_side: false"]
    a, b = spread_stacks((a, b), shapes)
    return f"Nx.LinAlg.triangular_solve({a}, {b}, {', '.join(options)})"


def _vector_norm(x: str, shape: Shape, params: Params) -> str:
    order = str(params["ord"])
    if not shape:
        return f"Nx.abs({x})"
    axes = normalize_axes(params["axis"], len(shape), "vector_norm")
    options = [f"axes: [{', '.join(map(str, axes))}]", *(["keep_axes: true"] if params["keepdims"] else [])]
    over = ", ".join(options)
    match order:
        case "inf":
            return f"Nx.reduce_max(Nx.abs({x}), {over})"
        case "-inf":
            return f"Nx.reduce_min(Nx.abs({x}), {over})"
        case "0":
            return f"Nx.sum(Nx.not_equal({x}, 0), {over})"
        case "1":
            return f"Nx.sum(Nx.abs({x}), {over})"
        case "2":
            return f"Nx.sqrt(Nx.sum(Nx.multiply({x}, {x}), {over}))"
    return f"Nx.pow(Nx.sum(Nx.pow(Nx.abs({x}), {order}), {over}), 1 / {order})"


def _kron(texts: Sequence[str], shapes: Sequence[Shape]) -> str:
    (a, b), (p, q) = texts, shapes
    batch = np.broadcast_shapes(p[:-2], q[:-2])
    left = f"Nx.reshape({a}, {shape_text((*p[:-2], p[-2], 1, p[-1], 1))})"
    right = f"Nx.reshape({b}, {shape_text((*q[:-2], 1, q[-2], 1, q[-1]))})"
    return f"Nx.reshape(Nx.multiply({left}, {right}), {shape_text((*batch, p[-2] * q[-2], p[-1] * q[-1]))})"
