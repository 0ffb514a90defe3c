"""Programs in torch's dialect: `TorchEmitter` is for unrolled code with Python's scalar ints and bools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.linalg_source import is_linalg
from gradfuzz.oracles.emit.plain_source import plain_source_in
from gradfuzz.oracles.emit.statements import ATOM, POWER, Piece, number_text
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
HELPERS = {"updated": UPDATED} | plain_source_in(
    "gradfuzz.oracles.torch.linalg", "symmetric", "kron_of_stacks"
)
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

    def elementwise(
        self, row: Function, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece | None:
        text = elementwise_source.write("torch", row.name, [self.tensor(a) for a in args], params)
        return Piece(text, result) if text else None

    def to_complex(self, piece: Piece) -> str:
        return f"{piece.at(ATOM)}.to({self.dtype('complex')})"

    def tensor(self, piece: Piece) -> str:
        """`piece`, which may be a plain int or bool, as a tensor."""
        return f"torch.as_tensor({piece.text})" if piece.host else piece.text

    def operands(self, op: str, args: Sequence[Piece], result: Type) -> tuple[Piece, Piece]:
        """Torch would multiply a plain number by the reciprocal of a tensor, which rounds twice."""
        first = self.converted(args[0], inexact([args[0].type.dtype])) if op == "divide" else args[0]
        return super().operands(op, [first, *args[1:]], result)

    def on_arrays(
        self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece:
        """An op with at least one argument or the result being a tensor."""
        x, texts = args[0], [self.tensor(a) for a in args]
        match op:
            case _ if is_tensor_op(op):
                return Piece(tensors_source.write(op, texts, self.shapes(args), params), result)
            case _ if is_linalg(op):
                return self.linalg(linalg_source.write, op, args, params, result)
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "astype" if result.dtype == x.type.dtype:
                return x
            case "astype":
                return Piece(f"{x.at(ATOM)}.to({self.dtype(result.dtype)})", result)
            case "real" | "imag" if x.type.is_complex:
                return Piece(f"{x.at(ATOM)}.{op}", result)
            case "real":
                return replace(x, type=result)
            case "imag":
                return Piece(f"torch.zeros_like({x.text})", result)
            case "concat" | "stack":
                return Piece(f"torch.{torch_name(op)}([{', '.join(texts)}], dim={params['axis']})", result)
            case "sum" | "mean" | "prod":
                return self.reduction(op, x, params, result)
            case "cumulative_sum":
                return Piece(f"torch.cumsum({texts[0]}, dim={params['axis']})", result)
            case "flip":
                return Piece(f"torch.flip({texts[0]}, ({params['axis']},))", result)
            case "reshape" | "broadcast_to" | "permute_dims":
                (to,) = params.values()  # the shape or the axes
                return Piece(f"torch.{torch_name(op)}({texts[0]}, {to})", result)
            case "index" | "index_update" if not x.type.shape:
                return args[-1]
            case "index":
                return self.indexed(x, args[1:], params["pattern"], result)
            case "index_update":
                return self.index_updated(x, args[1], args[2:], params["pattern"], result)
        return Piece(f"torch.{torch_name(op)}({', '.join(texts)})", result)

    def reduction(self, op: str, x: Piece, params: Mapping[str, ParamValue], result: Type) -> Piece:
        """`sum`, `mean` and `prod`. Torch takes an empty list of axes for all axes."""
        axes, keep = normalize_axes(params["axis"], x.type.rank, op), bool(params["keepdims"])
        if not axes:
            return replace(x, type=result)
        if len(axes) == x.type.rank and not keep:
            return Piece(f"torch.{op}({x.text})", result)
        option = ", keepdim=True" if keep else ""
        if op != "prod":
            return Piece(f"torch.{op}({x.text}, dim={axes}{option})", result)
        text = x.text
        for axis in reversed(axes):
            text = f"torch.prod({text}, dim={axis}{option})"
        return Piece(text, result)

    def indexed(self, x: Piece, indices: Sequence[Piece], pattern: ParamValue, result: Type) -> Piece:
        """`x[...]`."""
        return Piece(f"{x.at(ATOM)}[{', '.join(self.places(pattern, [i.text for i in indices]))}]", result)

    def index_updated(
        self, x: Piece, value: Piece, indices: Sequence[Piece], pattern: ParamValue, result: Type
    ) -> Piece:
        """A copy of `x` with `value` at an index."""
        places = self.places(pattern, [i.text for i in indices], "slice({}, {})")
        place = places[0] if len(places) == 1 else f"({', '.join(places)})"
        return Piece(f"updated({x.text}, {place}, {value.text})", result)
