"""Expressions as JAX source."""

from __future__ import annotations

from gradfuzz.oracles.emit import elementwise_source
from gradfuzz.oracles.emit.op_source import WRITTEN, Params
from gradfuzz.oracles.emit.script import RESERVED
from gradfuzz.oracles.emit.statements import ATOM, POWER, Emitter, Piece, Pieces, Written, number_text
from gradfuzz.oracles.jax import tensors_source
from gradfuzz.programs.language.functions import Function
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import ArrayConst
from gradfuzz.programs.language.types import Type

_DTYPES = {"complex": "C", "float": "F", "int": "np.int64", "bool": "bool"}


def jax_name(op: str) -> str:
    """The name of an op in jax.numpy."""
    return "power" if op == "pow" else op


class JaxEmitter(Emitter):
    """Programs with `jax.numpy`.

    `F` is the working precision, a NumPy scalar type whose constants are never weakly typed; `C` is complex.
    """

    reserved = RESERVED | {"C", "F", "along", "arguments", "derivative", "f", "jax", "jnp", "lax", "weighted"}

    def __init__(self, precision: Precision) -> None:
        # To NumPy, a bfloat16 with a plain number is a float32.
        super().__init__(precision, bare=precision != "bfloat16")

    def constant(self, value: float | complex) -> str:
        return f"{'C' if isinstance(value, complex) else 'F'}({number_text(value)})"

    def array(self, array: ArrayConst) -> str:
        dtype = _DTYPES[array.dtype]
        if not array.values:
            return f"jnp.zeros({array.shape}, {dtype})"
        return f"jnp.array({self.entries(array)}, {dtype})"

    def to_float(self, piece: Piece) -> str:
        return f"jnp.asarray({piece.text}, F)"

    def elementwise(self, row: Function, args: Pieces, params: Params, result: Type) -> Written | None:
        return elementwise_source.write("jax", row.name, [a.text for a in args], params) or None

    def to_complex(self, piece: Piece) -> str:
        return f"jnp.asarray({piece.text}, C)"

    def strong(self, piece: Piece) -> Piece:
        """`piece` as a value with a dtype of its own, for carries and branches."""
        if piece.literal is not None and piece.type.dtype == "int":
            return Piece(f"np.int64({piece.text})", piece.type)
        return self.value(piece)

    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        x, texts = args[0], [a.text for a in args]
        match op:
            case _ if op in WRITTEN:
                return tensors_source.write(op, texts, self.shapes(args), params)
            case "complex":
                return f"lax.complex({', '.join(self.spread(a, result) for a in args)})"
            case "integer_pow":
                return Piece(f"{x.at(ATOM)} ** {params['n']}", result, POWER)
            case "astype":
                return f"jnp.asarray({x.text}, {_DTYPES[result.dtype]})"
            case "index":
                return self.indexed(x, args[1:], params["pattern"], result)
            case "index_update":
                place = ", ".join(self.places(params["pattern"], texts[2:]))
                return f"{x.at(ATOM)}.at[{place}].set({texts[1]})"
        return f"jnp.{jax_name(op)}({', '.join(texts)})"

    @staticmethod
    def spread(piece: Piece, result: Type) -> str:
        """`piece` in the shape of the result, for functions that do not broadcast."""
        same = piece.type.shape == result.shape
        return piece.text if same else f"jnp.broadcast_to({piece.text}, {result.shape})"
