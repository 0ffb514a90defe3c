"""Reproducers for adapters' targets: the program in Python on the adapter's own calls, without gradfuzz."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gradfuzz import adapters
from gradfuzz.adapters.shipped import Adapter
from gradfuzz.oracles.base import Question
from gradfuzz.oracles.dialects.adapter_source import cut
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.op_source import Params
from gradfuzz.oracles.emit.script import RESERVED, heading, inputs_source
from gradfuzz.oracles.emit.script_gradient import gradient_source
from gradfuzz.oracles.emit.script_verdict import truth_source
from gradfuzz.oracles.emit.statements import (
    COMPARISON,
    Piece,
    Pieces,
    Written,
    as_piece,
    number_text,
    with_defaults,
)
from gradfuzz.programs.language.ops import operand_dtypes, result_type
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import ArrayConst
from gradfuzz.programs.language.types import DType, Type

_TENSORS = '''\
way = {way}()


def tensor(array):
    """A tensor of the library; ints and bools without a shape are Python's."""
    array = np.asarray(array)
    if not array.shape and array.dtype.kind in "bi":
        return array.item()
    return way.array(array.dtype.name, array.shape, array.ravel().tolist())


def array(value):
    """What the library returned, as it is."""
    if isinstance(value, (bool, int)):
        return np.asarray(value)
    dtype, shape, entries = way.entries(value)
    return np.array(entries, dtype).reshape(shape)
'''


def script(
    shown: ReproducerInput,
    adapter: Adapter,
    way: str,
    title: str,
    *,
    dtypes: bool = False,
    program: Program | None = None,
    operators: bool = False,
) -> str:
    """The script; with `dtypes` it also compares dtypes. `program` is the question's, as it was sent.
    `operators` is as for `AdapterEmitter`.

    Raises `CutError` where a way needs the kit, and `KeyError` where it has no such op.
    """
    question = shown.question
    program = program or question.program
    asked = OpCollector()
    AdapterEmitter(question.precision, asked, operators=operators).function(program, "f")
    truth = truth_source(question, shown.place, shown.expected, shown.allowed, shown.across, dtypes=dtypes)
    rest = [_gradient(question), truth]
    taken = _defined("\n\n".join([_TENSORS.format(way="None"), *rest])) | {"f"}
    found = cut(adapters.path(adapter.script), way, asked, taken)
    beside = [requirement for requirement in adapter.requires if requirement != "numpy"]
    needs = ", ".join((adapter.distribution, *beside))
    parts = [
        heading(question, title, needs, found.imports) + inputs_source(question, shown.place),
        found.source,
        _TENSORS.format(way=found.way),
        AdapterEmitter(question.precision, found.spelling, operators=operators).function(program, "f"),
        *rest,
    ]
    return "\n\n".join(parts)


def _defined(source: str) -> set[str]:
    """The names that a source defines."""
    nodes = ast.parse(source).body
    targets = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return functions | {target.id for target in targets if isinstance(target, ast.Name)}


def _gradient(question: Question) -> str:
    vs = "[tensor(directions[name]) for name in wrt]" if question.order > 1 else "[]"
    return gradient_source(
        question,
        "",
        array=lambda given, _: f"tensor({given})",
        derivative=f"way.differentiate(of_wrt, list(xs), ws, {vs}, {question.modes})[1]",
        to_numpy="array({})",
        factors=["ws = [None if w is None else tensor(w) for w in weights]"],
        outputs=("[{}]", "list({})"),
    )


class OpCollector(dict[str, str]):
    """Collects the ops that an emitter asks for."""

    def __missing__(self, op: str) -> str:
        self[op] = op
        return op


class AdapterEmitter(HostEmitter):
    """Programs as the adapters' kit runs them: all but plain ints and bools are tensors, ops have names, and
    return the one result that is asked for. `operators`: Python's operators are the library's own calls.
    """

    reserved = RESERVED | {"array", "f", "tensor", "way"}
    joint = False

    def __init__(self, precision: Precision, spelling: Mapping[str, str], *, operators: bool = False) -> None:
        super().__init__(precision, bare=operators)
        self._spelling = spelling
        self._operators = operators

    def name(self, name: str) -> str:
        own = super().name(name)
        return f"{own}_" if own in {spelled.partition(".")[0] for spelled in self._spelling.values()} else own

    def constant(self, value: float | complex) -> str:
        if isinstance(value, complex):
            real, imaginary = (self.scalar(number_text(part)) for part in (value.real, value.imag))
            return f"{self._spelling['complex']}({real}, {imaginary})"
        return self.scalar(number_text(value))

    def scalar(self, text: str) -> str:
        """A float as a tensor."""
        return f'way.array("{self.precision}", (), [{text}])'

    def dtype(self, of: str) -> str:
        """The protocol's name of a dtype."""
        wide = "complex64" if self.precision == "float32" else "complex128"
        return {"float": self.precision, "complex": wide, "int": "int64", "bool": "bool"}[of]

    def array(self, array: ArrayConst) -> str:
        entries = ", ".join(self.literal(v).text for v in array.values)
        return f'way.array("{self.dtype(array.dtype)}", {array.shape}, [{entries}])'

    def to_float(self, piece: Piece) -> str:
        return self.cast(piece, "float") if piece.type.shape else self.scalar(f"float({piece.text})")

    def to_complex(self, piece: Piece) -> str:
        return self.cast(piece, "complex")

    def cast(self, piece: Piece, dtype: DType) -> str:
        """A tensor of another dtype."""
        return f'{self._spelling["astype"]}({piece.text}, dtype="{self.dtype(dtype)}")'

    def apply(self, op: str, args: Pieces, params: Params, together: str | None = None) -> Piece:
        if self._operators and (op in self.infix or op == "negative"):
            return super().apply(op, args, params, together)
        full, types = with_defaults(op, params), tuple(a.type for a in args)
        result = result_type(op, types, full)
        if self.is_host(result) and all(map(self.is_host, types)):
            return super().apply(op, args, params, together)
        dtypes = operand_dtypes(op, types, result)
        operands = [self._as(a, dtype) for a, dtype in zip(args, dtypes, strict=True)]
        return as_piece(self.call(op, operands, full, result), result)

    def _as(self, piece: Piece, dtype: DType) -> Piece:
        if dtype in ("float", "complex"):
            return self.converted(piece, dtype)
        if piece.type.dtype == dtype or not piece.type.shape:
            return piece
        return Piece(self.cast(piece, dtype), piece.type.with_dtype(dtype))

    def on_arrays(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        x = args[0]
        if op == "astype" and x.type.shape:
            return self.cast(x, result.dtype)
        if op == "astype" and result.dtype == "bool":
            return Piece(f"{x.text} != 0", result, COMPARISON)
        if op == "astype":
            return Piece(x.text, result, x.precedence)
        texts = [a.text for a in args] + [f"{name}={value!r}" for name, value in params.items()]
        return f"{self._spelling[op]}({', '.join(texts)})"
