"""Programs in autograd's dialect: `anp` is `autograd.numpy`; int and bool scalars are plain Python.

An op is autograd's own differentiable function where there is one. Assignments, indices along an axis and ops
that NumPy lacks are composed of those; `LACKS` has the ops for which that would test another function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.linalg_source import Params, Shape, is_linalg, keywords
from gradfuzz.oracles.emit.script import RESERVED
from gradfuzz.oracles.emit.statements import ATOM, POWER, SUM, UNARY, Piece, Pieces, Written, number_text
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

_ENTRIES_ALONG = '''\
def entries_along(array, indices, axis):
    """The entries of `array` at `indices` along one axis."""
    places = list(np.indices(array.shape, sparse=True))
    places[axis] = indices
    return array[tuple(places)]
'''
_WITH_VALUE = '''\
def with_value(array, place, value):
    """A copy of `array` with `value` at `place`."""
    numbers = np.full(array.shape, -1)
    numbers[place] = np.arange(np.size(numbers[place])).reshape(np.shape(numbers[place]))
    return anp.where(numbers < 0, array, anp.reshape(value, (-1,))[numbers])
'''
_LOG_SUM_EXP = '''\
def log_sum_exp(x, axis, keepdims):
    """The logarithm of the sum of exp(x); the largest entry, a constant, is taken out."""
    largest = np.max(getval(x), axis=axis, keepdims=True)
    total = anp.log(anp.sum(anp.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else anp.reshape(total, np.sum(largest, axis=axis).shape)
'''
HELPERS = {"entries_along": _ENTRIES_ALONG, "with_value": _WITH_VALUE, "log_sum_exp": _LOG_SUM_EXP}
"""Functions that emitted code may call, by name."""

_OTHER_NAME = {
    "amax": "max",
    "amin": "min",
    "concat": "concatenate",
    "pow": "power",
    "cumulative_sum": "cumsum",
    "permute_dims": "transpose",
}
_IN_NUMPY = (
    "ceil cos cosh exp exp2 expm1 floor floor_divide hypot log log10 log1p log2 logaddexp reciprocal round"
    " sin sinc sinh sqrt square tan tanh trunc"
)
FUNCTIONS: Mapping[str, str] = {
    **{f"a{name}": f"anp.arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    **{name: f"anp.{name}" for name in _IN_NUMPY.split()},
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
    functions = FUNCTIONS

    def constant(self, value: float | complex) -> str:
        return f"np.{self.dtype('complex' if isinstance(value, complex) else 'float')}({number_text(value)})"

    def dtype(self, of: str) -> str:
        """NumPy's name of a dtype."""
        names = {"float": self.precision, "complex": _COMPLEX[self.precision], "int": "int64", "bool": "bool"}
        return names[of]

    def array(self, array: ArrayConst) -> str:
        text = f"np.array({self.entries(array)}, " if array.values else f"np.zeros({array.shape}, "
        return f'{text}"{self.dtype(array.dtype)}")'

    def to_float(self, piece: Piece) -> str:
        if piece.host:
            return f"np.{self.precision}({piece.text})"
        return f'np.asarray({piece.text}, "{self.precision}")'

    def to_complex(self, piece: Piece) -> str:
        return f"({piece.at(SUM)} + 0j)"

    def on_arrays(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        """An op with at least one argument or the result being more than a plain number."""
        x, texts, axis = args[0], [a.text for a in args], params.get("axis")
        if op in _IDENTITY_ON_SCALARS and not x.type.shape and not result.shape:
            return replace(x, type=result)
        match op:
            case _ if is_linalg(op):
                return write(op, [a.at(ATOM) for a in args], self.shapes(args), params)
            case "complex":
                return Piece(f"{x.at(SUM)} + 1j * {args[1].at(UNARY)}", result, SUM)
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "astype" if x.type.dtype == result.dtype:
                return x
            case "astype" if result.is_inexact:
                return self.to_complex(x) if result.is_complex else self.to_float(x)
            case "astype":
                return f'np.asarray({x.text}, "{self.dtype(result.dtype)}")'
            case "index":
                return self.indexed(x, args[1:], params["pattern"], result)
            case "index_update" if not x.type.shape:
                return args[1]
            case "index_update":
                return f"with_value({x.text}, {self.place(params['pattern'], args[2:])}, {texts[1]})"
            case "clip":
                return f"anp.minimum(anp.maximum({x.text}, {texts[1]}), {texts[2]})"
            case "logsumexp" if not x.type.shape:
                return x
            case "logsumexp":
                return f"log_sum_exp({x.text}, {axis}, {params['keepdims']})"
            case "softmax" | "log_softmax":
                text = f"{x.at(SUM)} - log_sum_exp({x.text}, {axis}, True)"
                return f"anp.exp({text})" if op == "softmax" else Piece(text, result, SUM)
            case "argsort":
                return f'anp.argsort({x.text}, {axis}, "stable")'
            case "sort" if x.type.rank == 1:
                return f"anp.sort({x.text})"
            case "sort":  # autograd sorts vectors only
                return f'entries_along({x.text}, anp.argsort({x.text}, {axis}, "stable"), {axis})'
            case "take_along_axis":
                return f"entries_along({x.text}, {texts[1]}, {axis})"
            case "take":
                assert isinstance(axis, int), "the type checker lets no other axis through"
                return f"{x.at(ATOM)}[{':, ' * (axis % x.type.rank)}{texts[1]}]"
            case "concat" | "stack":
                texts = [f"[{', '.join(texts)}]"]
        return f"anp.{_OTHER_NAME.get(op, op)}({', '.join([*texts, *keywords(params)])})"


# Linear algebra ---------------------------------------------------------------------------------------------


def write(op: str, texts: Sequence[str], shapes: Sequence[Shape], params: Params) -> str:
    """The expression for an op; see `linalg_source.Write`."""
    x, shape = texts[0], shapes[0]
    match op:
        case "cholesky" | "eigh" | "eigvalsh":
            symmetric = f"({x} + anp.conj({_swapped(x)})) / 2"
            if op != "cholesky":
                return f"anp.linalg.eigh({symmetric}){'[0]' if op == 'eigvalsh' else ''}"
            text = f"anp.linalg.cholesky({symmetric})"
            return f"anp.conj({_swapped(text)})" if params["upper"] else text
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
    matrix = f"{triangle}({a})"
    if params["unit_diagonal"]:
        matrix = f"{triangle}({a}, {-1 if lower else 1}) + np.eye({size})"
    matrix = _swapped(matrix) if params["transposed"] else matrix
    if params["left"]:
        return f"anp.linalg.solve({matrix}, {b})"
    return _swapped(f"anp.linalg.solve({_swapped(matrix)}, {_swapped(b)})")


def _swapped(x: str) -> str:
    """The transposed matrices of a stack."""
    return f"anp.swapaxes({x}, -1, -2)"


def _matrix_norm(x: str, params: Params) -> str:
    keep = ", keepdims=True" if params["keepdims"] else ""
    order = str(params["ord"])
    if order == "fro":
        return f"anp.sqrt(anp.sum(anp.abs({x}) ** 2, axis=(-2, -1){keep}))"
    if order in ("nuc", "2", "-2"):
        values = f"anp.linalg.svd({x}, full_matrices=False)[1]"
        place = 0 if order == "2" else -1
        text = f"anp.sum({values}, axis=-1)" if order == "nuc" else f"{values}[..., {place}]"
        return f"{text}[..., None, None]" if keep else text
    inner, outer = (-2, -1) if order in ("1", "-1") else (-1, -2)
    extreme = "min" if order.startswith("-") else "max"
    text = f"anp.{extreme}(anp.sum(anp.abs({x}), axis={inner}, keepdims=True), axis={outer}, keepdims=True)"
    return text if keep else f"{text}[..., 0, 0]"


def _vector_norm(x: str, shape: Shape, params: Params) -> str:
    order = params["ord"]
    if not shape:
        return f"anp.abs({x})"
    over = "".join(f", {word}" for word in keywords({**params, "ord": None}))
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
