"""Programs in torch's dialect: `TorchEmitter` is for unrolled code with Python's scalar ints and bools."""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.op_source import WRITTEN, Params
from gradfuzz.oracles.emit.plain_source import plain_source_in
from gradfuzz.oracles.emit.statements import ATOM, POWER, Piece, Pieces, Written, number_text
from gradfuzz.oracles.torch import tensors_source
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

_COMPLEX = {"float64": "torch.complex128", "float32": "torch.complex64"}
_DTYPES = {"float": "dtype", "int": "torch.int64", "bool": "torch.bool"}


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
            case _ if op in WRITTEN:
                return tensors_source.write(op, texts, self.shapes(args), params)
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "astype":
                return f"{x.at(ATOM)}.to({self.dtype(result.dtype)})"
            case "real" | "imag" if x.type.is_complex:
                return f"{x.at(ATOM)}.{op}"
            case "real":
                return replace(x, type=result)
            case "imag":
                return f"torch.zeros_like({x.text})"
            case "index":
                return self.indexed(x, args[1:], params["pattern"], result)
            case "index_update":
                return self.index_updated(x, args[1], args[2:], params["pattern"])
        return f"torch.{op}({', '.join(texts)})"

    def index_updated(self, x: Piece, value: Piece, indices: Pieces, pattern: ParamValue) -> str:
        """A copy of `x` with `value` at an index."""
        return f"updated({x.text}, {self.place(pattern, indices)}, {value.text})"
