"""Reproducers for adapters' targets: the program in Python on the adapter's own calls, without gradfuzz."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from gradfuzz import adapters
from gradfuzz.adapters.shipped import Adapter
from gradfuzz.oracles.base import Question
from gradfuzz.oracles.dialects.adapter_source import cut
from gradfuzz.oracles.dialects.table import ReproducerInput
from gradfuzz.oracles.emit.host import HostEmitter
from gradfuzz.oracles.emit.script import RESERVED, heading, inputs_source
from gradfuzz.oracles.emit.script_verdict import truth_source
from gradfuzz.oracles.emit.statements import Piece, number_text
from gradfuzz.oracles.foreign.wire import operand_dtypes
from gradfuzz.programs.language.ops import OPS, result_type
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import ArrayConst, ParamValue, Program
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

_GRADIENT = """\
def gradient():
    point = {{name: tensor(value) for name, value in inputs.items()}}

    def function(*xs):
        return {outputs}

    xs, along = [point[name] for name in {wrt}], {directions}
    outputs, slopes = way.differentiate(function, xs, {weights}, along, {modes})
    return {result}
"""


def script(
    shown: ReproducerInput,
    adapter: Adapter,
    way: str,
    title: str,
    *,
    dtypes: bool = False,
    program: Program | None = None,
) -> str:
    """The script; with `dtypes` it also compares dtypes. `program` is the question's, as it was sent.

    Raises `CutError` where a way needs the kit, and `KeyError` where it has no such op.
    """
    question = shown.question
    program = program or question.program
    asked = _Asked()
    _Emitter(question.precision, asked).function(program, "f")
    rest = [
        _gradient(question),
        truth_source(question, shown.place, shown.expected, shown.allowed, shown.across, dtypes=dtypes),
    ]
    found = cut(
        adapters.path(adapter.script),
        way,
        asked,
        _defined("\n\n".join([_TENSORS.format(way="None"), *rest])) | {"f"},
    )
    parts = [
        heading(question, title, ", ".join((adapter.distribution, *_beside(adapter))), found.imports)
        + inputs_source(question, shown.place),
        found.source,
        _TENSORS.format(way=found.way),
        _Emitter(question.precision, found.spelling).function(program, "f"),
        *rest,
    ]
    return "\n\n".join(parts)


def _beside(adapter: Adapter) -> list[str]:
    """The packages beside the library, without those of every script."""
    return [requirement for requirement in adapter.requires if requirement != "numpy"]


def _defined(source: str) -> set[str]:
    """The names that a source defines."""
    nodes = ast.parse(source).body
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return functions | {
        n.id
        for node in nodes
        if isinstance(node, ast.Assign)
        for n in node.targets
        if isinstance(n, ast.Name)
    }


def _gradient(question: Question) -> str:
    single = len(question.program.result.values) == 1
    wrt = "wrt" if question.modes else "[]"
    given = f"f(*{{**point, **dict(zip({wrt}, xs))}}.values())"
    weights = (
        "[None if w is None else tensor(w) for w in weights]"
        if question.modes
        else f"{[None] * len(question.weights)}"
    )
    return _GRADIENT.format(
        outputs=f"[{given}]" if single else f"list({given})",
        wrt=wrt,
        directions="[tensor(directions[name]) for name in wrt]" if question.order > 1 else "[]",
        weights=weights,
        modes=tuple(question.modes),
        result="{name: array(s) for name, s in zip(wrt, slopes)}"
        if question.modes
        else '{f"output {k}": array(output) for k, output in enumerate(outputs)}',
    )


class _Asked(dict[str, str]):
    """Collects the ops that an emitter asks for."""

    def __missing__(self, op: str) -> str:
        self[op] = op
        return op


class _Emitter(HostEmitter):
    """Programs as the adapters' kit runs them: all but plain ints and bools are tensors, ops have names."""

    reserved = RESERVED | {"array", "f", "tensor", "way"}

    def __init__(self, precision: Precision, spelling: Mapping[str, str]) -> None:
        super().__init__(precision, bare=False)
        self._spelling = spelling

    def name(self, name: str) -> str:
        own = super().name(name)
        return (
            f"{own}_"
            if own in self._spelling.values() or any(s.startswith(f"{own}.") for s in self._spelling.values())
            else own
        )

    def constant(self, value: float | complex) -> str:
        assert not isinstance(value, complex), "no adapter is asked about complex numbers"
        return f'way.array("{self.precision}", (), [{number_text(value)}])'

    def array(self, array: ArrayConst) -> str:
        dtype = {"float": self.precision, "int": "int64", "bool": "bool"}[array.dtype]
        return (
            f'way.array("{dtype}", {array.shape}, [{", ".join(self.literal(v).text for v in array.values)}])'
        )

    def to_float(self, piece: Piece) -> str:
        if not piece.type.shape:
            return f'way.array("{self.precision}", (), [float({piece.text})])'
        return f'{self._spelling["astype"]}({piece.text}, dtype="{self.precision}")'

    def to_complex(self, piece: Piece) -> str:
        raise NotImplementedError("no adapter is asked about complex numbers")

    def apply(
        self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], together: str | None = None
    ) -> Piece:
        full = {name: default for name, default in OPS[op].params if default is not ...} | dict(params)
        types = tuple(a.type for a in args)
        result = result_type(op, types, full)
        if self.is_host(result) and all(map(self.is_host, types)):
            return super().apply(op, args, params, together)
        dtypes = operand_dtypes(op, types, result)
        return self.call(
            op, [self._as(a, dtype) for a, dtype in zip(args, dtypes, strict=True)], full, result
        )

    def _as(self, piece: Piece, dtype: DType) -> Piece:
        if dtype == "float":
            return self.floating(piece)
        if piece.type.dtype == dtype or not piece.type.shape:
            return piece
        return Piece(
            f'{self._spelling["astype"]}({piece.text}, dtype="{_NAMES[dtype]}")', piece.type.with_dtype(dtype)
        )

    def on_arrays(
        self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece:
        x = args[0]
        if op == "astype" and not x.type.shape:
            return Piece(
                f"{x.text} != 0" if result.dtype == "bool" else x.text,
                result,
                4 if result.dtype == "bool" else x.precedence,
            )
        if op == "astype":
            params = {"dtype": {**_NAMES, "float": self.precision}[result.dtype]}
        texts = [a.text for a in args] + [f"{name}={value!r}" for name, value in params.items()]
        return Piece(f"{self._spelling[op]}({', '.join(texts)})", result)


_NAMES: Mapping[str, str] = {"int": "int64", "bool": "bool"}
