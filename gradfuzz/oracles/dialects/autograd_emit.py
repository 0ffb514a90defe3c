"""Programs in autograd's dialect: `anp` is `autograd.numpy`; int and bool scalars are plain Python.

An op is autograd's own differentiable function where there is one. Assignments, indices along an axis and ops
that NumPy lacks are composed of those; `LACKS` has the ops for which that would test another function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.linalg_source import Params, Shape, is_linalg
from gradfuzz.oracles.emit.script import RESERVED
from gradfuzz.oracles.emit.statements import ATOM, POWER, SUM, UNARY, Piece, number_text
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue
from gradfuzz.programs.language.types import Type

LACKS: Mapping[str, str] = {
    "conv": "autograd has no convolution with strides and channels",
    "cumulative_max": "autograd has no derivative of numpy.maximum.accumulate",
    "cumulative_prod": "autograd has no derivative of numpy.cumprod",
    "eigvals": "autograd has no derivative of numpy.linalg.eigvals",
    "expm": "autograd has no matrix exponential",
    "lstsq": "autograd has no derivative of numpy.linalg.lstsq",
    "lu": "autograd has no LU decomposition",
    "qr": "autograd has no derivative of numpy.linalg.qr",
    "scatter_add": "autograd has no derivative of numpy.add.at",
    "window_sum": "autograd has no sums over windows",
}

HELPERS = {
    "entries_along": (
        '''\
def entries_along(array, indices, axis):
    """The entries of `array` at `indices` along one axis."""
    places = list(np.indices(array.shape, sparse=True))
    places[axis] = indices
    return array[tuple(places)]
'''
    ),
    "with_value": (
        '''\
def with_value(array, place, value):
    """A copy of `array` with `value` at `place`."""
    numbers = np.full(array.shape, -1)
    numbers[place] = np.arange(np.size(numbers[place])).reshape(np.shape(numbers[place]))
    return anp.where(numbers < 0, array, anp.reshape(value, (-1,))[numbers])
'''
    ),
    "log_sum_exp": (
        '''\
def log_sum_exp(x, axis, keepdims):
    """The logarithm of the sum of exp(x); the largest entry, a constant, is taken out."""
    largest = np.max(getval(x), axis=axis, keepdims=True)
    total = anp.log(anp.sum(anp.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else anp.reshape(total, np.sum(largest, axis=axis).shape)
'''
    ),
}
"""Functions that emitted code may call, by name."""

_OTHER_NAME = {
    "amax": "max",
    "amin": "min",
    "concat": "concatenate",
    "cumulative_sum": "cumsum",
    "permute_dims": "transpose",
    "pow": "power",
}
FUNCTIONS: Mapping[str, str] = {
    **{f"a{name}": f"anp.arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    **{
        name: f"anp.{name}"
        for name in (
            *("ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "floor_divide", "hypot", "log"),
            *("log10", "log1p", "log2", "logaddexp", "reciprocal", "round", "sin", "sinc", "sinh", "sqrt"),
            *("square", "tan", "tanh", "trunc"),
        )
    },
    **{name: f"special.{name}" for name in ("digamma", "erf", "erfc", "erfinv", "expit", "polygamma")},
    "lgamma": "special.gammaln",
}
"""The elementwise functions that autograd has a derivative of; `special` is `autograd.scipy.special`."""

_IDENTITY_ON_SCALARS = frozenset(
    {"amax", "amin", "broadcast_to", "index", "mean", "permute_dims", "prod", "reshape", "sum"}
)
_COMPLEX = {"float64": "complex128", "float32": "complex64"}


class AutogradEmitter(HostEmitter):
    """Floats and arrays are what `autograd.numpy` takes."""

    reserved = RESERVED | {"anp", "getval", "grad", "special", *HELPERS}

    def constant(self, value: float | complex) -> str:
        return f"np.{self.dtype('complex' if isinstance(value, complex) else 'float')}({number_text(value)})"

    def dtype(self, of: str) -> str:
        """NumPy's name of a dtype."""
        return {"float": self.precision, "complex": _COMPLEX[self.precision], "int": "int64", "bool": "bool"}[
            of
        ]

    def array(self, array: ArrayConst) -> str:
        dtype = self.dtype(array.dtype)
        return (
            f'np.array({self.entries(array)}, "{dtype}")'
            if array.values
            else f'np.zeros({array.shape}, "{dtype}")'
        )

    def to_float(self, piece: Piece) -> str:
        return (
            f"np.{self.precision}({piece.text})"
            if piece.host
            else f'np.asarray({piece.text}, "{self.precision}")'
        )

    def to_complex(self, piece: Piece) -> str:
        return f"({piece.at(SUM)} + 0j)"

    def elementwise(
        self, row: Function, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece | None:
        if row.name not in FUNCTIONS:
            return None
        operands = [*map(str, params.values()), *(a.text for a in args)]
        return Piece(f"{FUNCTIONS[row.name]}({', '.join(operands)})", result)

    def on_arrays(
        self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece:
        """An op with at least one argument or the result being more than a plain number."""
        x, texts = args[0], [a.text for a in args]
        if op in _IDENTITY_ON_SCALARS and not x.type.shape and not result.shape:
            return replace(x, type=result)
        match op:
            case _ if is_linalg(op):
                return self.linalg(write, op, [Piece(a.at(ATOM), a.type) for a in args], params, result)
            case "complex":
                return Piece(f"{x.at(SUM)} + 1j * {args[1].at(UNARY)}", result, SUM)
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "astype" if x.type.dtype == result.dtype:
                return x
            case "astype" if result.is_inexact:
                return Piece(self.to_complex(x) if result.is_complex else self.to_float(x), result)
            case "astype":
                return Piece(f'np.asarray({x.text}, "{self.dtype(result.dtype)}")', result)
            case "concat" | "stack":
                return Piece(
                    f"anp.{_OTHER_NAME.get(op, op)}([{', '.join(texts)}], axis={params['axis']})", result
                )
            case "index" if not x.type.shape:
                return x
            case "index":
                return Piece(f"{x.at(ATOM)}[{', '.join(self.places(params['pattern'], texts[1:]))}]", result)
            case "index_update" if not x.type.shape:
                return args[1]
            case "index_update":
                places = self.places(params["pattern"], texts[2:], "slice({}, {})")
                place = places[0] if len(places) == 1 else f"({', '.join(places)})"
                return Piece(f"with_value({x.text}, {place}, {texts[1]})", result)
            case "clip":
                return Piece(f"anp.minimum(anp.maximum({x.text}, {texts[1]}), {texts[2]})", result)
            case "logsumexp" if not x.type.shape:
                return x
            case "logsumexp":
                return Piece(f"log_sum_exp({x.text}, {params['axis']}, {params['keepdims']})", result)
            case "softmax" | "log_softmax":
                text = f"{x.at(SUM)} - log_sum_exp({x.text}, {params['axis']}, True)"
                return Piece(f"anp.exp({text})", result) if op == "softmax" else Piece(text, result, SUM)
            case "argsort":
                return Piece(f'anp.argsort({x.text}, {params["axis"]}, "stable")', result)
            case "sort" if x.type.rank == 1:
                return Piece(f"anp.sort({x.text})", result)
            case "sort":  # autograd sorts vectors only
                return Piece(
                    f'entries_along({x.text}, anp.argsort({x.text}, {params["axis"]}, "stable"),'
                    f" {params['axis']})",
                    result,
                )
            case "take_along_axis":
                return Piece(f"entries_along({x.text}, {texts[1]}, {params['axis']})", result)
            case "take":
                axis = params["axis"]
                assert isinstance(axis, int), "the type checker lets no other axis through"
                return Piece(f"{x.at(ATOM)}[{':, ' * (axis % x.type.rank)}{texts[1]}]", result)
        options = [
            f"{name}={value}" for name, value in params.items() if value is not None and value is not False
        ]
        return Piece(f"anp.{_OTHER_NAME.get(op, op)}({', '.join([*texts, *options])})", result)


# Linear algebra ---------------------------------------------------------------------------------------------


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `linalg_source.Write`."""
    x, shape = texts[0], shapes[0]
    match op:
        case "cholesky" | "eigh" | "eigvalsh":
            symmetric = f"({x} + anp.conj(anp.swapaxes({x}, -1, -2))) / 2"
            if op != "cholesky":
                return f"anp.linalg.eigh({symmetric}){'[0]' if op == 'eigvalsh' else ''}"
            text = f"anp.linalg.cholesky({symmetric})"
            return f"anp.conj(anp.swapaxes({text}, -1, -2))" if params["upper"] else text
        case "svd":
            return f"anp.linalg.svd({x}, full_matrices={params['full_matrices']})"
        case "svdvals":
            return f"anp.linalg.svd({x}, full_matrices=False)[1]"
        case "triangular_solve":
            return _triangular_solve(texts, shapes, params)
        case "matrix_norm":
            return _matrix_norm(x, params)
        case "vector_norm":
            return _vector_norm(x, shape, params)
        case "matrix_power":
            return _matrix_power(x, shape, params["n"])
        case "einsum":
            return f'anp.einsum("{params["subscripts"]}", {", ".join(texts)})'
        case "kron":
            (a, b), second = texts, shapes[1]
            product = f"anp.reshape({a}, {_spread(shape, 0)}) * anp.reshape({b}, {_spread(second, 1)})"
            batch = np.broadcast_shapes(shape[:-2], second[:-2])
            return f"anp.reshape({product}, {(*batch, shape[-2] * second[-2], shape[-1] * second[-1])})"
        case "trace" | "diagonal":
            rows, columns = _diagonal(shape, params["offset"])
            entries = f"{x}[..., {rows}, {columns}]"
            return entries if op == "diagonal" else f"anp.sum({entries}, axis=-1)"
        case "tril" | "triu":
            return f"anp.{op}({x}, {params['k']})"
        case "outer":
            return f"anp.outer({', '.join(texts)})"
    return f"anp.linalg.{op}({', '.join(texts)})"


def _spread(shape: Shape, place: int) -> Shape:
    """The shape of a Kronecker factor, with an axis of size 1 after, or before, each of its own two."""
    m, n = shape[-2:]
    return (*shape[:-2], m, 1, n, 1) if place == 0 else (*shape[:-2], 1, m, 1, n)


def _diagonal(shape: Shape, offset: ParamValue) -> tuple[list[int], list[int]]:
    assert isinstance(offset, int), "the type checker lets no other offset through"
    m, n = shape[-2:]
    rows = [i for i in range(m) if 0 <= i + offset < n]
    return rows, [i + offset for i in rows]


def _triangular_solve(texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """A triangular system as a full one."""
    a, b = texts
    size, lower = shapes[0][-1], params["lower"]
    triangle = "anp.tril" if lower else "anp.triu"
    matrix = (
        f"{triangle}({a}, {-1 if lower else 1}) + np.eye({size})"
        if params["unit_diagonal"]
        else f"{triangle}({a})"
    )
    matrix = f"anp.swapaxes({matrix}, -1, -2)" if params["transposed"] else matrix
    if params["left"]:
        return f"anp.linalg.solve({matrix}, {b})"
    return (
        f"anp.swapaxes(anp.linalg.solve(anp.swapaxes({matrix}, -1, -2), anp.swapaxes({b}, -1, -2)), -1, -2)"
    )


def _matrix_norm(x: str, params: Params) -> str:
    keep = ", keepdims=True" if params["keepdims"] else ""
    order = str(params["ord"])
    if order == "fro":
        return f"anp.sqrt(anp.sum(anp.abs({x}) ** 2, axis=(-2, -1){keep}))"
    if order in ("nuc", "2", "-2"):
        values = f"anp.linalg.svd({x}, full_matrices=False)[1]"
        text = (
            f"anp.sum({values}, axis=-1)" if order == "nuc" else f"{values}[..., {0 if order == '2' else -1}]"
        )
        return f"{text}[..., None, None]" if keep else text
    inner, outer = (-2, -1) if order in ("1", "-1") else (-1, -2)
    extreme = "min" if order.startswith("-") else "max"
    text = f"anp.{extreme}(anp.sum(anp.abs({x}), axis={inner}, keepdims=True), axis={outer}, keepdims=True)"
    return text if keep else f"{text}[..., 0, 0]"


def _vector_norm(x: str, shape: Shape, params: Params) -> str:
    order, axis = params["ord"], params["axis"]
    if not shape:
        return f"anp.abs({x})"
    over = "".join(
        [f", axis={axis}" if axis is not None else "", ", keepdims=True" if params["keepdims"] else ""]
    )
    match order:
        case "inf" | "-inf":
            return f"anp.{'max' if order == 'inf' else 'min'}(anp.abs({x}){over})"
        case 0:
            return f'anp.sum(np.asarray({x} != 0, "float64"){over})'
        case 1:
            return f"anp.sum(anp.abs({x}){over})"
        case 2:
            return f"anp.sqrt(anp.sum(anp.abs({x}) ** 2{over}))"
    return f"anp.sum(anp.abs({x}) ** {order}{over}) ** (1 / {order})"


def _matrix_power(x: str, shape: Shape, n: ParamValue) -> str:
    assert isinstance(n, int), "the type checker lets no other power through"
    if n == 0:
        return f"0 * {x} + np.eye({shape[-1]})"
    return f"({' @ '.join([f'anp.linalg.inv({x})' if n < 0 else x] * abs(n))})"
