"""Emitted code computes what the interpreter computes: every op, in every dialect, and the statements."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz.errors import ProgramSyntaxError
from gradfuzz.oracles.emit import script_tensors
from gradfuzz.oracles.emit.op_source import INTERNAL, is_linalg
from gradfuzz.oracles.emit.plain_source import called
from gradfuzz.oracles.emit.script import MpmathEmitter
from gradfuzz.oracles.emit.statements import Emitter, nested_list, number_text, rounded
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.programs.text.parse import parse

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from gradfuzz.oracles.torch.emit import UPDATED, TorchEmitter  # noqa: E402 - after torch is known to be there
from gradfuzz.oracles.torch.loops import loop_source  # noqa: E402
from gradfuzz.oracles.torch.namespace import TorchNamespace  # noqa: E402

INPUTS: dict[str, Any] = {
    "x": 0.75,
    "y": 1.5,
    "v": [1.0, -2.0, 0.5],
    "m": [[1.0, 2.0, -3.0], [0.25, 5.0, 6.0]],
    "i": 1,
    "k": [3, -4],
    "b": True,
    "c": [True, False],
}
PARAMS = 'x, y, v: "float[3]", m: "float[2, 3]", i: "int", k: "int[2]", b: "bool", c: "bool[2]"'

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "add": ("x + y", "x + v", "i + 2", "k + i", "x + i", "1 + 2.5", "k + 0.5"),
    "subtract": ("x - (y - 2)", "m - v", "i - 3", "2 - k", "i - k", "x - -2.0"),
    "multiply": ("x * y", "v * 3", "i * 2 * x", "k * x", "2 * (x + 1)"),
    "divide": ("x / y", "v / 4", "i / 2", "1 / 3", "2 / i", "k / 3"),
    "negative": ("-x", "-v", "-i", "-(x + y)", "-(x ** 2)", "(-x) ** 2"),
    "remainder": ("(i + 6) % 4", "(i - 6) % 4", "k % 3", "7 % (k * k)"),
    "integer_pow": ("x ** 3", "v ** 2", "x ** -2", "x ** 0", "i ** 2", "k ** 2"),
    "pow": ("pow(x, 0.5)", "pow(x, y)", "pow(2.0, v)", "pow(x, i)"),
    "sin": ("sin(x)", "sin(v)", "sin(i)", "sin(1)"),
    "cos": ("cos(x)", "cos(m)"),
    "tan": ("tan(x)", "tan(v)"),
    "tanh": ("tanh(x)", "tanh(v)"),
    "exp": ("exp(x)", "exp(v)"),
    "log": ("log(x)", "log(abs(v))"),
    "sqrt": ("sqrt(x)", "sqrt(abs(v))", "sqrt(2)"),
    "abs": ("abs(-x)", "abs(v)", "abs(i - 5)", "abs(k)"),
    "complex": (
        "real(exp(complex(x, v) * 2.0))",
        "imag(complex(x, 1.0) / complex(2, y) - 0.5j)",
        "abs(complex(v, i) ** complex(0.5, x))",
    ),
    "conj": ("abs(conj(complex(x, y)) - x) + real(conj(v))", "real(conj(i))"),
    "real": ("real(complex(k, x) ** 3 + complex(k))", "real(x)", "real(i)"),
    "imag": ("imag(where(b, complex(y, x), v)) + imag(v)", "imag(2.0j * sqrt(complex(x, y)))"),
    "sign": ("sign(-x)", "sign(v)", "sign(i - 5)", "sign(k)", "sign(i - 5) * 2"),
    "maximum": ("maximum(x, y)", "maximum(v, 0.25)", "maximum(i, 3)", "maximum(k, i)", "maximum(x, i)"),
    "minimum": ("minimum(x, y)", "minimum(v, x)", "minimum(i, 3)", "minimum(k, 2.5)"),
    "where": (
        "where(x < y, x, 2)",
        "where(v > 0, v, x)",
        "where(b, i, 7)",
        "where(c, k, 0)",
        "where(i > 3, x, v)",
        "where(b, 1, x)",
    ),
    "less": ("x < y", "v < 0.5", "i < 2", "3 < k", "i < k"),
    "less_equal": ("x <= y", "i <= x"),
    "greater": ("x > y", "v > x"),
    "greater_equal": ("x >= 0.75", "k >= 3"),
    "equal": ("x == 0.75", "i == 1", "k == 3"),
    "not_equal": ("x != 0.75", "i != 1"),
    "logical_and": ("logical_and(x < y, i > 3)", "logical_and(b, v > 0)", "logical_and(c, k > 0)"),
    "logical_or": (
        "logical_or(x > y, b)",
        "logical_or(logical_and(b, i > 3), x < y)",
        "logical_and(logical_or(b, i > 3), x > y)",
    ),
    "logical_not": (
        "logical_not(x < y)",
        "logical_not(b)",
        "logical_not(c)",
        "logical_not(logical_or(b, x > y))",
    ),
    "sum": (
        "sum(m)",
        "sum(m, axis=0)",
        "sum(m, axis=1, keepdims=True)",
        "sum(k)",
        "sum(x)",
        "sum(m, axis=())",
        "sum(m, axis=(0, 1), keepdims=True)",
    ),
    "mean": ("mean(m)", "mean(m, axis=1)", "mean(k)", "mean(m, axis=(0, 1))"),
    "prod": (
        "prod(m)",
        "prod(m, axis=0)",
        "prod(m, axis=(0, 1))",
        "prod(k)",
        "prod(m, axis=(0, 1), keepdims=True)",
    ),
    "cumulative_sum": ("cumulative_sum(v)", "cumulative_sum(m, axis=1)", "cumulative_sum(k)"),
    "astype": (
        "astype(i, float)",
        "astype(b, int)",
        "astype(k, float)",
        "astype(c, int)",
        "astype(i, bool)",
        "astype(b, float)",
    ),
    "reshape": (
        "reshape(m, (3, 2))",
        "reshape(x, (1, 1))",
        "reshape(sum(m, keepdims=True), ())",
        "reshape(i, (1,))",
    ),
    "broadcast_to": ("broadcast_to(v, (2, 3))", "broadcast_to(x, (2,))", "broadcast_to(i, (2,))"),
    "permute_dims": ("permute_dims(m, (1, 0))", "permute_dims(x, ())"),
    "flip": ("flip(v)", "flip(m, axis=1)", "flip(k)"),
    "concat": ("concat([v, v * 2])", "concat([m, m], axis=1)", "concat([k, v])"),
    "stack": ("stack([x, y])", "stack([v, v], axis=1)", "stack([i, 4])", "stack([x, i])"),
    "index": (
        "v[i]",
        "v[0:2]",
        "m[i, 0]",
        "m[i]",
        "m[0:2, i]",
        "m[i, 1:3]",
        "k[i]",
        "c[0]",
        "v[i - 2]",
        "m[i, i + 1]",
    ),
    "index_update": (
        "index_update(v, x, i)",
        "index_update(m, x, i, i + 1)",
        "index_update(m, v, i, slice(0, 3))",
        "index_update(m, m[0:2, 1:3], slice(0, 2), slice(0, 2))",
        "index_update(k, 5, 0)",
        "index_update(k, x, i)",
        "index_update(v, x, i - 2)",
    ),
    "log1p": ("log1p(x)", "log1p(abs(v))", "log1p(i)"),
    "expm1": ("expm1(x)", "expm1(v)"),
    "softmax": ("softmax(v)", "softmax(m, axis=0)", "softmax(k)"),
    "log_softmax": ("log_softmax(m)", "log_softmax(m + 1, axis=0)"),
    "clip": ("clip(x, 0, y)", "clip(v, x, 2)", "clip(m, v, x)", "clip(k, i, 2)", "clip(i, 2, 3)"),
    "argmax": (
        "argmax(m)",
        "argmax(m, axis=1)",
        "argmax(v, axis=-1, keepdims=True)",
        "argmax(m, keepdims=True)",
        "argmax(k) * 2",
    ),
    "argmin": ("argmin(m)", "argmin(m * 2, axis=0, keepdims=True)", "v[argmin(v)]"),
    "argsort": ("argsort(v)", "argsort(m, axis=0)", "argsort(k)"),
    "cumulative_prod": ("cumulative_prod(v)", "cumulative_prod(m, axis=1)", "cumulative_prod(k)"),
    "cumulative_max": ("cumulative_max(v)", "cumulative_max(m, axis=-1)", "cumulative_max(k)"),
    "amax": (
        "amax(m)",
        "amax(m, axis=0)",
        "amax(x)",
        "amax(m, axis=(0, 1), keepdims=True)",
        "amax(k)",
        "amax(i)",
        "amax(m, axis=())",
    ),
    "amin": ("amin(m + 1, axis=1)", "amin(k, keepdims=True)"),
    "logsumexp": ("logsumexp(m)", "logsumexp(m, axis=1, keepdims=True)", "logsumexp(x)", "logsumexp(k)"),
    "all": ("all(c)", "all(b)", "all(m > v, axis=0)", "all(c, keepdims=True)", "where(all(c), x, y)"),
    "any": ("any(c)", "any(m > v, axis=(0, 1))", "logical_and(any(v > x), b)"),
    "window_sum": (
        "window_sum(v, (2,))",
        "window_sum(m + 1, (2, 2), strides=(1, 2), padding=((1, 0), (0, 1)))",
        "window_sum(k, (1,), strides=(2,))",
        "window_sum(reshape(m[0:0], (0, 3)), (1, 2))",
        "window_sum(reshape(m[0:0], (0, 3)), (1, 2), padding=((1, 0), (0, 0)))",
    ),
    "sort": ("sort(v)", "sort(m, axis=0)", "sort(k)", "sort(v * x)"),
    "take": (
        "take(v, array([2, 0, 2]), axis=0)",
        "take(m, i, axis=1)",
        "take(m + 1, array([[0, 1], [1, 1]]), axis=0)",
        "take(k, argsort(k), axis=0)",
        "take(m, array([1]) * i, axis=-1)",
        "take(v, 1, axis=0)",
    ),
    "take_along_axis": (
        "take_along_axis(m, array([[2], [0]]), axis=1)",
        "take_along_axis(m * x, argsort(m), axis=-1)",
        "take_along_axis(m, array([[1]]), axis=0)",
        "take_along_axis(k, array([1, 1, 0]), axis=0)",
    ),
    "scatter_add": (
        "scatter_add(v, array([2, 2]), v[0:2], axis=0)",
        "scatter_add(m * 2, array([1, 1]), m[0:2, 0:2], axis=1)",
        "scatter_add(m, array([[1, 1], [0, 1]]), stack([m, m]), axis=0)",
        "scatter_add(v, i, x, axis=0)",
        "scatter_add(k, array([0, 0]), k, axis=0)",
        "scatter_add(k, array([0, 0]), v[0:2], axis=0)",
    ),
    "conv": (
        "conv(reshape(m, (2, 1, 3)), reshape(v[0:2], (1, 1, 2)))",
        "conv(reshape(m, (1, 2, 3)), reshape(stack([v, v]), (1, 2, 3)), strides=(2,), padding=((1, 1),))",
        "conv(reshape(m, (1, 1, 2, 3)), reshape(m, (3, 1, 1, 2)), (1, 2), ((1, 0), (0, 2)))",
        "conv(reshape(m[0:0], (0, 1, 3)), reshape(v, (1, 1, 3)))",
        "conv(reshape(k, (1, 1, 2)), reshape(k, (2, 1, 1)))",
    ),
    "matmul": ("m @ v", "v @ v", "k @ m", "m @ permute_dims(m, (1, 0))", "permute_dims(m, (1, 0)) @ (m + 1)"),
}


def _calls(row: Function) -> tuple[str, ...]:
    """A function of a scalar, an array and an int, in its domain."""
    texts = []
    for e in ("x", "m", "i"):
        inside = f"({row.inside})".replace("(e)", f"({e})").replace(" e", f" {e}").replace("(e ", f"({e} ")
        first = f"{e}, " if row.arguments == ("x", "y") else ""
        texts.append(f"{row.name}({first}{inside}{''.join(f', {p}=2' for p in row.params)})")
    return tuple(texts)


EXPRESSIONS |= {
    name: _calls(row) for name, row in FUNCTIONS.items() if not (row.reserved or row.lacked("torch"))
}
CASES = [(op, expression) for op, expressions in EXPRESSIONS.items() for expression in expressions]

STATEMENTS = (
    'def f(x, y, v: "float[3]", m: "float[2, 3]", i: "int", k: "int[2]", b: "bool", c: "bool[2]"):\n'
    "    acc = 1\n"
    "    n = 0\n"
    "    for j in range(i + 3):\n"
    "        if j == 2:\n"
    "            continue\n"
    "        acc = acc * x + j\n"
    "        if acc > 40 or not b:\n"
    "            break\n"
    "        n = n + 1\n"
    "    while n < 6:\n"
    "        n = n + 2\n"
    "        v[n % 3] = acc\n"
    "    while True:\n"
    "        acc = acc / 2\n"
    "        if acc > 1 and n > 2:\n"
    "            y = y + acc\n"
    "        else:\n"
    "            y = y * 2\n"
    "        if not acc > 0.25:\n"
    "            break\n"
    "    return acc, y, v, n\n"
)


def program_of(expression: str) -> Program:
    return parse(f"def f({PARAMS}):\n    return {expression}\n")


def with_namespace(program: Program, namespace: Any, convert: Any) -> list[Any]:
    kinds = {p.name: p.type for p in program.params}
    inputs = {
        name: convert(value) if kinds[name].is_float or kinds[name].shape else value
        for name, value in INPUTS.items()
    }
    return [np.asarray(v) for v in interpret(program, inputs, namespace)]


def by_numpy(program: Program) -> list[Any]:
    return with_namespace(program, NumpyNamespace("float64"), np.asarray)


def tensor(value: Any) -> Any:
    return torch.tensor(value, dtype=torch.float64 if isinstance(np.asarray(value).flat[0], float) else None)


def run(source: str, arguments: dict[str, Any], names: dict[str, Any]) -> list[Any]:
    exec(source, names)
    outputs = names["f"](**arguments)
    return [np.asarray(o, dtype=float) for o in (outputs if isinstance(outputs, tuple) else (outputs,))]


def by_torch_source(program: Program) -> list[Any]:
    source = UPDATED + TorchEmitter("float64").function(program, "f")
    kinds = {p.name: p.type for p in program.params}
    arguments = {n: tensor(v) if kinds[n].is_float or kinds[n].shape else v for n, v in INPUTS.items()}
    return run(source, arguments, {"torch": torch, "dtype": torch.float64})


def by_mpmath_source(program: Program) -> list[Any]:
    exactly = np.frompyfunc(mpmath.mpf, 1, 1)
    source = (
        "def replaced(array, place, value):\n    array = array.copy()\n    array[place] = value\n    return"
        " array\ndef exactly(values):\n    return np.frompyfunc(mpf, 1, 1)(np.asarray(values,"
        " dtype=float))\ndef elementwise(function, array):\n    return np.frompyfunc(function, 1, 1)(array)\n"
        + MpmathEmitter("float64").function(program, "f")
    )
    source += "".join(called(source, script_tensors.HELPERS))
    kinds = {p.name: p.type for p in program.params}
    arguments = {
        n: exactly(np.asarray(v, float)) if kinds[n].is_float else np.asarray(v) if kinds[n].shape else v
        for n, v in INPUTS.items()
    }
    return run(source, arguments, {"np": np, "mp": mpmath.mp, "mpf": mpmath.mpf})


def by_tensor_source(program: Program) -> list[Any]:
    source = UPDATED + loop_source(lower(program), "float64", "while_loop")[1]
    return run(source, {n: tensor(v) for n, v in INPUTS.items()}, {"torch": torch, "dtype": torch.float64})


def assert_same(got: list[Any], expected: list[Any]) -> None:
    """Equal but for the rounding of the functions, which the libraries compute differently: a few units in
    the last place.
    """
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert g.shape == e.shape
        assert np.all(
            np.abs(g.astype(float) - e.astype(float))
            <= 8 * np.spacing(np.maximum(np.abs(e.astype(float)), 1.0))
        )


def test_every_op_has_a_case() -> None:
    elsewhere = {name for name in OPS if is_linalg(name) or name in INTERNAL}
    elsewhere |= {name for name, row in FUNCTIONS.items() if row.lacked("torch")}
    assert set(EXPRESSIONS) == set(OPS) - elsewhere, "test_linalg_oracles has the others"
    for op, expression in CASES:
        used = {node.op for node in walk(program_of(expression)) if isinstance(node, Call)}
        assert op in used, f"{expression} does not use {op}"


@pytest.mark.parametrize(("op", "expression"), CASES, ids=[e for _, e in CASES])
def test_an_op_in_the_torch_namespace(op: str, expression: str) -> None:
    program = program_of(expression)
    (got,), (expected,) = with_namespace(program, TorchNamespace("float64"), tensor), by_numpy(program)
    assert_same([got], [expected])
    assert got.dtype == expected.dtype


@pytest.mark.parametrize("run_source", [by_torch_source, by_mpmath_source, by_tensor_source])
@pytest.mark.parametrize(("op", "expression"), CASES, ids=[e for _, e in CASES])
def test_an_op_in_source(run_source: Any, op: str, expression: str) -> None:
    program = program_of(expression)
    assert_same(run_source(program), by_numpy(program))


@pytest.mark.parametrize("run_source", [by_torch_source, by_mpmath_source])
def test_statements_in_source(run_source: Any) -> None:
    program = parse(STATEMENTS)
    assert_same(run_source(program), by_numpy(program))


def test_constants_are_rounded_to_the_working_precision() -> None:
    program = parse("def f(x):\n    return x * 0.1 + array([0.1, 1.0])[0]\n")
    tenth = repr(float(np.float32(0.1)))
    assert MpmathEmitter("float32").function(program, "f").count(tenth) == 2
    assert TorchEmitter("float32").function(program, "f").count(tenth) == 2
    assert rounded(1e300, "float32") == float("inf")


def test_non_finite_constants() -> None:
    assert number_text(float("inf")) == 'float("inf")'
    program = parse("def f(x):\n    return minimum(x, inf) + where(x > 0, 0.0, nan)\n")
    source = MpmathEmitter("float64").function(program, "f")
    assert run(source, {"x": mpmath.mpf(2)}, {"mpf": mpmath.mpf, "mp": mpmath.mp})[0] == 2.0


def test_a_variable_with_the_name_of_a_module_gets_an_underscore() -> None:
    program = parse("def f(np, mp):\n    torch = np * mp\n    return torch\n")
    assert "def f(np_, mp_):" in MpmathEmitter("float64").function(program, "f")
    assert "torch_ = np * mp" in TorchEmitter("float64").function(program, "f")


def test_a_name_that_is_no_name_is_refused() -> None:
    emitter: Emitter = MpmathEmitter("float64")
    with pytest.raises(ProgramSyntaxError, match="not a name"):
        emitter.name("x); import os")


def test_nested_lists() -> None:
    assert nested_list(["1", "2", "3", "4"], (2, 2)) == "[[1, 2], [3, 4]]"
    assert nested_list(["1"], ()) == "1"
    assert nested_list(["1", "2"], (1, 2, 1)) == "[[[1], [2]]]"
