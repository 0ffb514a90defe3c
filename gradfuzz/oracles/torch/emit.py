"""Programs in torch's dialect: `TorchEmitter` is for unrolled code with Python's scalar ints and bools."""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.linalg_source import Params, is_linalg
from gradfuzz.oracles.emit.plain_source import plain_source_in
from gradfuzz.oracles.emit.statements import ATOM, POWER, Piece, Pieces, Written, number_text
from gradfuzz.oracles.emit.tensor_source import is_tensor_op
from gradfuzz.oracles.torch import linalg_source, tensors_source
from gradfuzz.programs.language.axes import normalize_axes
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue
from gradfuzz.programs.language.types import DType, Type, inexact

UPDATED = '''\
def updated(array, place, value):
    """A copy of `array` with `value` at `place`."""
    array = array.clone()
    array[place] = value
    return array
'''
_LINALG = "gradfuzz.oracles.torch.linalg"
HELPERS = {"updated": UPDATED, **plain_source_in(_LINALG, "symmetric", "kron_of_stacks")}
"""Functions that emitted code may call, by name."""

_OTHER_NAME = {"concat": "cat", "permute_dims": "permute"}
"""Ops with another name in torch."""
_COMPLEX = {"float64": "torch.complex128", "float32": "torch.complex64"}
_DTYPES = {"float": "dtype", "int": "torch.int64", "bool": "torch.bool"}


def torch_name(op: str) -> str:
    """The name of an op in torch."""
    return _OTHER_NAME.get(op, op)


class TorchEmitter(HostEmitter):
    """Floats and arrays are tensors, int and bool scalars plain Python.

    The code reads the globals `torch` and `dtype`.
    """

    reserved = frozenset({"cond", "dtype", "scan", "torch", "while_loop", *HELPERS})

    def constant(self, value: float | complex) -> str:
        dtype = self.dtype("complex" if isinstance(value, complex) else "float")
        return f"torch.tensor({number_text(value)}, dtype={dtype})"

    def dtype(self, of: DType) -> str:
        """Torch's name of a dtype."""
        return _COMPLEX.get(self.precision, "torch.complex32") if of == "complex" else _DTYPES[of]

    def array(self, array: ArrayConst) -> str:
        dtype = self.dtype(array.dtype)
        if not array.values:
            return f"torch.zeros({array.shape}, dtype={dtype})"
        return f"torch.tensor({self.entries(array)}, dtype={dtype})"

    def to_float(self, piece: Piece) -> str:
        return f"torch.as_tensor({piece.text}, dtype=dtype)" if piece.host else f"{piece.at(ATOM)}.to(dtype)"

    def elementwise(self, row: Function, args: Pieces, params: Params, result: Type) -> Written | None:
        return elementwise_source.write("torch", row.name, [self.tensor(a) for a in args], params) or None

    def to_complex(self, piece: Piece) -> str:
        return f"{piece.at(ATOM)}.to({self.dtype('complex')})"

    def tensor(self, piece: Piece) -> str:
        """`piece`, which may be a plain int or bool, as a tensor."""
        return f"torch.as_tensor({piece.text})" if piece.host else piece.text

    def operands(self, op: str, args: Pieces, result: Type) -> tuple[Piece, Piece]:
        """Torch would multiply a plain number by the reciprocal of a tensor, which rounds twice."""
        first = self.converted(args[0], inexact([args[0].type.dtype])) if op == "divide" else args[0]
        return super().operands(op, [first, *args[1:]], result)

    def on_arrays(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        """An op with at least one argument or the result being a tensor."""
        x, texts = args[0], [self.tensor(a) for a in args]
        match op:
            case _ if is_tensor_op(op):
                return tensors_source.write(op, texts, self.shapes(args), params)
            case _ if is_linalg(op):
                return linalg_source.write(op, [a.text for a in args], self.shapes(args), params)
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "astype" if result.dtype == x.type.dtype:
                return x
            case "astype":
                return f"{x.at(ATOM)}.to({self.dtype(result.dtype)})"
            case "real" | "imag" if x.type.is_complex:
                return f"{x.at(ATOM)}.{op}"
            case "real":
                return replace(x, type=result)
            case "imag":
                return f"torch.zeros_like({x.text})"
            case "concat" | "stack":
                return f"torch.{torch_name(op)}([{', '.join(texts)}], dim={params['axis']})"
            case "sum" | "mean" | "prod":
                return self.reduction(op, x, params, result)
            case "cumulative_sum":
                return f"torch.cumsum({texts[0]}, dim={params['axis']})"
            case "flip":
                return f"torch.flip({texts[0]}, ({params['axis']},))"
            case "reshape" | "broadcast_to" | "permute_dims":
                (to,) = params.values()  # the shape or the axes
                return f"torch.{torch_name(op)}({texts[0]}, {to})"
            case "index" | "index_update" if not x.type.shape:
                return args[-1]
            case "index":
                return self.indexed(x, args[1:], params["pattern"], result)
            case "index_update":
                return self.index_updated(x, args[1], args[2:], params["pattern"])
        return f"torch.{torch_name(op)}({', '.join(texts)})"

    def reduction(self, op: str, x: Piece, params: Params, result: Type) -> Written:
        """`sum`, `mean` and `prod`. Torch takes an empty list of axes for all axes."""
        axes, option = normalize_axes(params["axis"], x.type.rank, op), linalg_source.keepdim(params)
        if not axes:
            return replace(x, type=result)
        if len(axes) == x.type.rank and not option:
            return f"torch.{op}({x.text})"
        if op != "prod":
            return f"torch.{op}({x.text}, dim={axes}{option})"
        text = x.text
        for axis in reversed(axes):
            text = f"torch.prod({text}, dim={axis}{option})"
        return text

    def index_updated(self, x: Piece, value: Piece, indices: Pieces, pattern: ParamValue) -> str:
        """A copy of `x` with `value` at an index."""
        return f"updated({x.text}, {self.place(pattern, indices)}, {value.text})"
