"""The interpreter: a program means what Python says it means, in every arithmetic."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz.errors import DomainError, ProgramTypeError, TripLimitError
from gradfuzz.fuzzer.tolerance.perturbed import PerturbedNamespace
from gradfuzz.oracles.references.arb import ArbNamespace
from gradfuzz.oracles.references.finite_differences import MpmathNamespace
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import evaluate, interpret
from gradfuzz.programs.graphs.graph import Branch, Constant, Equation, Graph, Loop, Var
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.ops import OPS, result_type
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import ArrayConst, Call, Const, Name, Param, Return
from gradfuzz.programs.language.types import BOOL, FLOAT, INT, Type
from gradfuzz.programs.text.parse import parse

FLOAT64 = NumpyNamespace("float64")
PYTHON = {
    "sin": math.sin,
    "exp": math.exp,
    "maximum": max,
    "minimum": min,
    "where": lambda condition, a, b: a if condition else b,
    "float": float,
}

# Bodies of `def f(x, n)`: plain Python that Python itself can run.
BODIES = {
    "no statement": "return x",
    "constant": "return 2.5",
    "operators": "return (x + 2.0) * x / 4.0 - -x",
    "ints stay ints": "k = n * 7 - 3\n return k % 5, k, abs(-k), minimum(k, 4), maximum(k, 4)",
    "an int becomes a float": "acc = 1\n for i in range(n):\n  acc = acc * x\n return acc",
    "the counter in the body": "acc = 0.0\n for i in range(n):\n  acc = acc * x + i\n return acc",
    "int exponent": "return x**3 + x**-2 + x**0",
    "while": "i = 0\n acc = x\n while i < n:\n  acc = acc * x\n  i = i + 1\n return acc, i",
    "body first": (
        "i = 0\n acc = x\n while True:\n  t = acc * x\n  acc = t + 0.5\n  i = i + 1\n  if not i < n:\n  "
        " break\n return acc, t"
    ),
    "stopped by a value": "acc = 1.0\n while acc < 20.0:\n  acc = acc * 1.5 + x * x\n return acc",
    "if": "y = x\n if x > 0.25:\n  y = y * 2.0\n else:\n  y = y - 1.0\n return y",
    "if without else": "y = x\n if n == 3:\n  y = y * 2.0\n return y",
    "break": "acc = 1.0\n for i in range(10):\n  if i > n:\n   break\n  acc = acc * x + 1.0\n return acc",
    "continue": (
        "acc = 1.0\n for i in range(10):\n  if i % 2 == 0:\n   continue\n  acc = acc * x + i\n return acc"
    ),
    "continue in while": (
        "acc = 1.0\n i = 0\n while i < 8:\n  i = i + 1\n  if i == 3 or i == 5:\n   continue\n  acc = acc * x"
        " + i\n return acc"
    ),
    "break out of the inner loop only": (
        "acc = 0.0\n for i in range(4):\n  for j in range(4):\n   if j > i:\n    break\n   acc = acc + x *"
        " j\n  acc = acc * 0.5\n return acc"
    ),
    "nested": (
        "acc = 1.0\n for i in range(n):\n  k = 0\n  while k < i:\n   acc = acc * x + k\n   k = k + 1\n"
        " return acc"
    ),
    "chained": (
        "a = 1.0\n for i in range(n):\n  a = a * x\n b = a\n for i in range(n):\n  b = b + a * i\n return"
        " a, b"
    ),
    "swapped carries": "a = 1.0\n b = x\n for i in range(n):\n  t = a\n  a = b\n  b = t * x\n return a, b",
    "bools": (
        "go = n > 1\n k = 0\n while go and not k > 5:\n  k = k + 1\n  go = k < 4 or k == 100\n return k, go"
    ),
    "where": "return where(x > 0.0, x, -x), where(n > 2, n, -n)",
}


def program(body: str, parameters: str = 'x, n: "int"') -> Program:
    return parse(f"def f({parameters}):\n {body}\n")


def float64(text: Program, **inputs: Any) -> tuple[Any, ...]:
    return interpret(
        text, {k: np.float64(v) if isinstance(v, float) else v for k, v in inputs.items()}, FLOAT64
    )


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("x", [0.5, -1.25])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_program_means_what_python_says(body: str, x: float, n: int) -> None:
    scope: dict[str, Any] = dict(PYTHON)
    exec(f"def f(x, n):\n {body}\n", scope)
    expected = scope["f"](x, n)
    got = float64(program(body), x=x, n=n)
    assert got == (expected if isinstance(expected, tuple) else (expected,))


def test_a_converted_variable_is_a_float_even_after_no_trip() -> None:
    (acc,) = interpret(
        program(BODIES["an int becomes a float"]), {"x": np.float32(2), "n": 0}, NumpyNamespace("float32")
    )
    assert type(acc) is np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_everything_float_is_in_the_working_precision(dtype: Any) -> None:
    text = program(
        "acc = 0.1\n for i in range(n):\n  acc = acc * x + i / 3 + 2\n return acc, array([0.1, 0.2]) * acc,"
        " x**3, sum(array([1.0, 2.0]))"
    )
    outputs = interpret(text, {"x": dtype(0.3), "n": 2}, NumpyNamespace(dtype.__name__))
    assert {np.asarray(y).dtype for y in outputs} == {np.dtype(dtype)}
    assert [isinstance(y, dtype) for y in outputs] == [True, False, True, True]


def test_the_trace_has_decisions_and_trip_counts() -> None:
    text = program(
        "acc = 1.0\n for i in range(n):\n  if i == 1:\n   acc = acc * x\n  k = 0\n  while k < i:\n   k = k +"
        " 1\n return acc"
    )
    trace: list[int] = []
    interpret(text, {"x": np.float64(2), "n": 3}, FLOAT64, trace=trace)
    assert trace == [0, 0, 1, 1, 0, 2, 3]


def test_a_loop_left_by_break_counts_the_trip_it_left_in() -> None:
    trace: list[int] = []
    interpret(
        program("for i in range(9):\n  if i == n:\n   break\n return x"),
        {"x": np.float64(2), "n": 2},
        FLOAT64,
        trace=trace,
    )
    assert trace == [0, 0, 1, 3]


ENDLESS = {
    "while": ("acc = x\n while acc > 0.0:\n  acc = acc + 1.0\n return acc", 3),
    "body first": ("acc = x\n while True:\n  acc = acc + 1.0\n  if not acc > 0.0:\n   break\n return acc", 3),
    "for": ("acc = x\n k = 0\n for i in range(1000):\n  acc = acc + 1.0\n return acc", 4),
}


@pytest.mark.parametrize(("body", "line"), ENDLESS.values(), ids=ENDLESS.keys())
def test_a_loop_that_does_not_end_is_stopped(body: str, line: int) -> None:
    with pytest.raises(TripLimitError, match=f"line {line}: .* 50 trips.*raise the limit") as error:
        interpret(program(body), {"x": np.float64(1), "n": 0}, FLOAT64, trip_limit=50)
    assert error.value.line == line


def test_the_trip_limit_itself_is_allowed_and_is_per_loop() -> None:
    text = program(
        "acc = x\n for i in range(50):\n  acc = acc + 1.0\n for i in range(50):\n  acc = acc + 1.0\n"
        " return acc"
    )
    assert interpret(text, {"x": np.float64(1), "n": 0}, FLOAT64, trip_limit=50) == (101.0,)


def test_indices_are_pythons() -> None:
    text = program("return a[k], a[k - 1]", 'a: "float[3]", k: "int"')
    a = np.array([1.0, 2.0, 4.0])
    assert float64(text, a=a, k=1) == (2.0, 1.0)
    assert float64(text, a=a, k=0) == (1.0, 4.0)


@pytest.mark.parametrize("k", [3, -4])
def test_an_index_outside_its_array_is_a_domain_error(k: int) -> None:
    for body in ("return a[k]", "a[k] = 1.0\n return a"):
        with pytest.raises(DomainError, match=rf"index {k} is outside axis 0 of float\[3\]"):
            float64(program(body, 'a: "float[3]", k: "int"'), a=np.ones(3), k=k)


def test_an_update_leaves_the_input_alone() -> None:
    a = np.array([1.0, 2.0])
    (result,) = float64(program("a[k] = 7.0\n return a", 'a: "float[2]", k: "int"'), a=a, k=1)
    assert result.tolist() == [1.0, 7.0]
    assert a.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "body", ["return n % (n - n)", "k = n\n for i in range(70):\n  k = k * 2\n return k"]
)
def test_ints_that_have_no_value_are_domain_errors(body: str) -> None:
    with pytest.raises(DomainError):
        float64(program(body), x=1.0, n=3)


def test_floats_follow_ieee_without_warnings() -> None:
    text = program("return x / 0.0, log(-x), 1e300 * 1e300 * x, 0.0 / (x - x)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in ("float32", "float64"):
            namespace = NumpyNamespace(dtype)
            assert [
                str(float(y)) for y in interpret(text, {"x": namespace.constant(2.0), "n": 0}, namespace)
            ] == [
                "inf",
                "nan",
                "inf",
                "nan",
            ]


def test_many_programs_do_not_get_in_each_others_way() -> None:
    programs = [
        Program("f", (Param("x", FLOAT),), (Return((Call("multiply", (Name("x"), Const(float(k)))),)),))
        for k in range(3000)
    ]
    for _ in range(2):
        assert [float64(p, x=2.0)[0] for p in programs] == [2.0 * k for k in range(3000)]


# Every op, in every arithmetic ------------------------------------------------------------------------------

_ROWS = [
    (Type("float", (2, 3)), 1),
    (Type("float", (3, 2)), 0),
    (Type("float", (0, 2)), -1),
    (Type("int", (3,)), 0),
]
_ALONG_AXIS = ("cumulative_prod", "cumulative_max", "sort", "argsort", "softmax", "log_softmax")
CALLS: dict[str, list[tuple[tuple[Type, ...], dict[str, Any]]]] = {
    "remainder": [((INT, INT), {}), ((Type("int", (2,)), INT), {})],
    "integer_pow": [((FLOAT,), {"n": 5}), ((Type("float", (2,)),), {"n": -2}), ((INT,), {"n": 2})],
    "where": [
        ((BOOL, FLOAT, INT), {}),
        ((Type("bool", (2,)), FLOAT, Type("float", (2,))), {}),
        ((BOOL, INT, INT), {}),
        ((BOOL, BOOL, BOOL), {}),
    ],
    "logical_and": [((BOOL, BOOL), {}), ((Type("bool", (2,)), BOOL), {})],
    "logical_or": [((BOOL, BOOL), {}), ((Type("bool", (2,)), BOOL), {})],
    "logical_not": [((BOOL,), {}), ((Type("bool", (2,)),), {})],
    "sum": (
        [
            ((Type("float", (2, 3)),), {"axis": a, "keepdims": k})
            for a in (None, 0, -1, (0, 1))
            for k in (False, True)
        ]
        + [((Type("int", (2, 3)),), {"axis": 1}), ((Type("float", (0, 2)),), {"axis": 0}), ((FLOAT,), {})]
    ),
    "prod": (
        [((Type("float", (2, 3)),), {"axis": a}) for a in (None, 0)]
        + [((Type("int", (3,)),), {}), ((Type("float", (0,)),), {})]
    ),
    "mean": (
        [((Type("float", (2, 3)),), {"axis": a}) for a in (None, 1)]
        + [((Type("int", (3,)),), {}), ((INT,), {})]
    ),
    "cumulative_sum": (
        [((Type("float", (2, 3)),), {"axis": a}) for a in (0, -1)] + [((Type("int", (3,)),), {})]
    ),
    "astype": [
        ((INT,), {"dtype": "float"}),
        ((BOOL,), {"dtype": "float"}),
        ((BOOL,), {"dtype": "int"}),
        ((INT,), {"dtype": "bool"}),
        ((Type("int", (2,)),), {"dtype": "float"}),
        ((Type("bool", (2,)),), {"dtype": "float"}),
        ((Type("bool", (2,)),), {"dtype": "int"}),
    ],
    "reshape": [
        ((Type("float", (2, 3)),), {"shape": (3, 2)}),
        ((FLOAT,), {"shape": (1, 1)}),
        ((Type("float", (1,)),), {"shape": ()}),
    ],
    "broadcast_to": [
        ((Type("float", (3,)),), {"shape": (2, 3)}),
        ((FLOAT,), {"shape": (2,)}),
        ((INT,), {"shape": (2,)}),
    ],
    "permute_dims": [((Type("float", (2, 3)),), {"axes": (1, 0)})],
    "flip": [((Type("float", (2, 3)),), {"axis": 1})],
    "concat": [
        ((Type("float", (2,)), Type("float", (3,))), {}),
        ((Type("float", (2,)), Type("int", (1,))), {}),
    ],
    "stack": [
        ((FLOAT, INT, FLOAT), {}),
        ((Type("float", (2,)), Type("float", (2,))), {"axis": 1}),
        ((INT, INT), {}),
    ],
    "index": [
        ((Type("float", (2, 3)), INT), {"pattern": ("at", ("slice", 0, 2))}),
        ((Type("int", (3,)), INT), {"pattern": ("at",)}),
    ],
    "index_update": [
        ((Type("float", (2, 3)), Type("float", (2,)), INT), {"pattern": ("at", ("slice", 1, 3))}),
        ((Type("float", (3,)), INT, INT), {"pattern": ("at",)}),
        ((Type("int", (3,)), FLOAT, INT), {"pattern": ("at",)}),
    ],
    **{op: [((t,), {"axis": axis}) for t, axis in _ROWS] for op in _ALONG_AXIS},
    **{
        op: (
            [((t,), {}) for t, _ in _ROWS if 0 not in t.shape]
            + [((_ROWS[0][0],), {"axis": 1, "keepdims": True})]
        )
        for op in ("argmax", "argmin")
    },
    **{
        op: [((t,), {}) for t in (FLOAT, INT, _ROWS[0][0], Type("int", (2,)))]
        for op in ("amax", "amin", "logsumexp")
    },
    **{
        op: [((BOOL,), {}), ((Type("bool", (2, 3)),), {"axis": 0}), ((Type("bool", (0,)),), {})]
        for op in ("all", "any")
    },
    "clip": [((FLOAT, INT, FLOAT), {}), ((Type("float", (3,)), FLOAT, Type("int", (2, 1))), {})],
    "window_sum": [
        ((Type("float", (2, 3)),), {"window": (1, 2), "strides": (2, 1), "padding": ((0, 0), (1, 0))}),
        ((Type("int", (3,)),), {"window": (3,)}),
    ],
    "take": [
        ((Type("float", (2, 4)), Type("int", (3,))), {"axis": 1}),
        ((Type("int", (4,)), INT), {"axis": 0}),
    ],
    "take_along_axis": [
        ((Type("float", (2, 4)), Type("int", (1, 3))), {"axis": -1}),
        ((Type("int", (4,)), Type("int", (2,))), {"axis": 0}),
    ],
    "scatter_add": [
        ((Type("float", (2, 4)), Type("int", (5,)), Type("float", (2, 5))), {"axis": 1}),
        ((Type("int", (4,)), Type("int", (5,)), Type("int", (5,))), {"axis": 0}),
        ((Type("int", (4,)), INT, FLOAT), {"axis": 0}),
    ],
    "conv": [
        ((Type("float", (2, 1, 4)), Type("float", (3, 1, 2))), {"strides": (2,), "padding": ((1, 0),)}),
        ((Type("int", (1, 2, 3, 3)), Type("float", (1, 2, 2, 1))), {}),
    ],
    "matmul": (
        [
            ((Type("float", a), Type("float", b)), {})
            for a, b in [((2,), (2,)), ((3, 2), (2,)), ((2,), (2, 3)), ((4, 1, 2, 3), (5, 3, 2))]
        ]
        + [((Type("int", (2, 2)), Type("float", (2,))), {})]
    ),
}
_SQUARE = Type("float", (3, 3))
_STACK = Type("float", (2, 3, 3))
_SHAPES = [
    _SQUARE,
    _STACK,
    Type("float", (3, 2)),
    Type("float", (2, 3)),
    Type("float", (0, 2, 2)),
    Type("int", (2, 2)),
]
_SQUARES = [t for t in _SHAPES if t.shape[-1] == t.shape[-2]]
_COLUMNS = Type("float", (3, 2))
_MATRIX_NORMS = ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")
_VECTOR_NORMS = (0, 1, 2, 3, 4, -1, -2, "inf", "-inf")
CALLS |= {
    "qr": [((t,), {"mode": m, "part": k}) for t in _SHAPES for m in ("reduced", "complete") for k in (0, 1)],
    "lu": [((t,), {"part": k}) for t in _SHAPES for k in (0, 1, 2)],
    "svd": [
        ((t,), {"full_matrices": f, "part": k}) for t in _SHAPES for f in (False, True) for k in (0, 1, 2)
    ],
    "eigh": [((t,), {"part": k}) for t in _SQUARES for k in (0, 1)],
    "eig": [((t,), {"part": k}) for t in _SQUARES for k in (0, 1)],
    "slogdet": [((t,), {"part": k}) for t in _SQUARES for k in (0, 1)],
    "cholesky": [((t,), {"upper": u}) for t in _SQUARES for u in (False, True)],
    **{op: [((t,), {}) for t in _SHAPES] for op in ("svdvals", "pinv")},
    **{
        op: [((t,), {}) for t in _SQUARES] for op in ("eigvalsh", "eigvals", "inv", "det", "expm", "cofactor")
    },
    "triangular_solve": (
        [
            ((_SQUARE, _COLUMNS), {"lower": a, "transposed": b, "unit_diagonal": a != b})
            for a in (False, True)
            for b in (False, True)
        ]
        + [((_STACK, Type("float", (1, 2, 3))), {"left": False})]
    ),
    "solve": [
        ((_SQUARE, _COLUMNS), {}),
        ((_STACK, Type("float", (3,))), {}),
        ((_STACK, Type("float", (4, 1, 3, 1))), {}),
    ],
    "lstsq": [((_COLUMNS, Type("float", (3,))), {}), ((Type("float", (2, 2, 3)), Type("float", (2, 1))), {})],
    "matrix_norm": (
        [((t,), {"ord": o}) for t in (_SQUARE, _COLUMNS) for o in _MATRIX_NORMS]
        + [
            ((_STACK,), {"keepdims": True}),
            ((_STACK,), {"ord": 2, "keepdims": True}),
            ((_STACK,), {"ord": 1}),
        ]
    ),
    "vector_norm": (
        [((t,), {"ord": o}) for t in (_COLUMNS, FLOAT, Type("int", (2,))) for o in _VECTOR_NORMS]
        + [((_STACK,), {"axis": a, "keepdims": k}) for a in (0, -1) for k in (False, True)]
    ),
    "matrix_power": [((t,), {"n": n}) for t in (_SQUARE, _STACK) for n in (-2, -1, 0, 1, 3)],
    "divide_by_gaps": [
        ((_COLUMNS, Type("float", (3,)), Type("int", (2,))), {}),
        ((_SQUARE, Type("float", (3,)), Type("int", (3,))), {"hollow": True}),
    ],
    **{op: [((t,), {"offset": k}) for t in _SHAPES for k in (-1, 0, 2)] for op in ("trace", "diagonal")},
    **{op: [((t,), {"k": k}) for t in _SHAPES for k in (-1, 0, 2)] for op in ("tril", "triu")},
    "outer": [
        ((Type("float", (2,)), Type("float", (3,))), {}),
        ((Type("int", (2,)), Type("float", (0,))), {}),
    ],
    "kron": [((_SQUARE, _COLUMNS), {}), ((_STACK, Type("float", (4, 1, 1, 2))), {})],
    "einsum": [
        ((_COLUMNS, Type("float", (2, 2))), {"subscripts": "ij,jk->ki"}),
        ((_SQUARE,), {"subscripts": "ii->i"}),
        ((_STACK, Type("int", (3,))), {"subscripts": "bii,i->b"}),
        ((FLOAT, Type("float", (2,)), Type("float", (0,))), {"subscripts": ",i,j->i"}),
    ],
}
_PAIRS = [
    ((FLOAT, FLOAT), {}),
    ((FLOAT, INT), {}),
    ((INT, INT), {}),
    ((Type("float", (2, 1)), Type("float", (3,))), {}),
    ((Type("int", (2,)), FLOAT), {}),
]
_SINGLES = [
    ((FLOAT,), {}),
    ((INT,), {}),
    ((Type("float", (2, 2)),), {}),
    ((Type("float", (0,)),), {}),
    ((Type("int", (2,)),), {}),
]
CALLS |= {
    **{
        name: [((FLOAT,), {"n": 1}), ((Type("float", (2,)),), {"n": 2})]
        for name, row in FUNCTIONS.items()
        if row.params
    },
    **{
        name: [call for call in (_PAIRS if row.arguments == ("x", "y") else _SINGLES) if INT not in call[0]]
        for name, row in FUNCTIONS.items()
        if math.isfinite(row.domain[1])
    },
}
CASES = [
    (op, types, params)
    for op, row in OPS.items()
    for types, params in CALLS.get(op, _PAIRS if row.arity == (2, 2) else _SINGLES)
    if op not in FUNCTIONS or math.isinf(FUNCTIONS[op].domain[1]) or all(t.is_float for t in types)
]


def _takes(op: str, types: tuple[Type, ...], params: dict[str, Any]) -> bool:
    try:
        result_type(op, types, params)
    except ProgramTypeError:
        return False
    return True


_COMPLEX = [
    (op, tuple(t.with_dtype("complex") if t.is_float else t for t in types), params)
    for op, types, params in CASES
]
CASES += [case for case in _COMPLEX if any(t.is_complex for t in case[1]) and _takes(*case)]
"""Whatever takes floats and may take complex numbers takes them, too."""


def _entries(t: Type, offset: int) -> Any:
    """Values that are in every op's domain: positive floats, ints from 1, bools in turn. An index is 1."""
    shape = tuple(n or 0 for n in t.shape)
    size = math.prod(shape)
    if t.is_complex:
        re = _entries(t.with_dtype("float"), offset)
        return re + 0.5j / re
    if t.dtype == "float":
        return (0.375 + 0.25 * np.arange(offset, offset + size)).reshape(shape)
    entries = (
        np.arange(offset, offset + size) % 3 + 1
        if t.dtype == "int"
        else np.arange(offset, offset + size) % 2 == 0
    )
    return entries.reshape(shape) if shape else entries[0].item()


def _matrix_entries(t: Type, offset: int) -> Any:
    """A well-conditioned matrix, whose Hermitian part is positive definite with distinct eigenvalues, or a
    stack of them.
    """
    if t.is_complex:
        return _matrix_entries(t.with_dtype("float"), offset) + 0.125j * _matrix_entries(
            t.with_dtype("float"), offset + 3
        )
    shape = tuple(n or 0 for n in t.shape)
    value, m, n = np.arange(offset, offset + math.prod(shape)).reshape(shape), *shape[-2:]
    diagonal = np.diag(range(1, 1 + max(m, n)))[:m, :n]
    # A norm below 2 for the floats: beyond it, expm of SciPy 1.17 loses up to thousands of roundings.
    return value % 2 + 2 * diagonal if t.dtype == "int" else 0.03125 * (3 * value % 5) + 0.5 * diagonal


def _inside(row: Function, value: Any, t: Type) -> Any:
    """Positive values moved into the domain of a function."""
    low, high = row.domain
    if math.isfinite(high):
        return value / 8.0
    return value + int(low) if low > 0.0 else value


def _computed(case: tuple[str, tuple[Type, ...], dict[str, Any]], namespace: Any) -> Any:
    op, types, params = case
    names = [f"a{k}" for k in range(len(types))]
    call = Call(op, tuple(Name(n) for n in names), tuple(sorted(params.items())))
    text = Program("f", tuple(Param(n, t) for n, t in zip(names, types, strict=True)), (Return((call,)),))
    inputs = {}
    for k, (name, t) in enumerate(zip(names, types, strict=True)):
        factored = OPS[op].kind == "linalg" and op != "vector_norm"
        value = _matrix_entries(t, k) if factored and t.rank > 1 else _entries(t, k)
        if op in ("index", "index_update") and t == INT and k == len(types) - 1:
            value = 1
        if op in FUNCTIONS and k == len(types) - 1:
            value = _inside(FUNCTIONS[op], value, t)
        inputs[name] = value
        if t.is_inexact:
            boxed = np.array(
                [namespace.constant(v) for v in value.ravel().tolist()],
                None if namespace is FLOAT64 else object,
            )
            inputs[name] = boxed.reshape(value.shape)[()]
    return interpret(text, inputs, namespace)[0]


def _machine_number(x: Any) -> Any:
    """A number of a reference as Python's."""
    return float(x) if hasattr(x, "__float__") else complex(x)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(map(str, case[1]))}-{case[2]}")
def test_every_op_in_every_arithmetic(case: tuple[str, tuple[Type, ...], dict[str, Any]]) -> None:
    op, types, params = case
    expected_type = result_type(op, types, params)
    by_numpy = _computed(case, FLOAT64)
    assert np.shape(by_numpy) == expected_type.shape
    assert isinstance(by_numpy, np.ndarray) == bool(expected_type.shape)
    if expected_type == INT:
        assert type(by_numpy) is int
    mp = mpmath.MPContext()
    mp.prec = 100
    for namespace in (MpmathNamespace(mp), ArbNamespace()):
        exact = namespace.as_array(_computed(case, namespace))
        assert exact.shape == expected_type.shape
        numbers = [_machine_number(x) for x in exact.ravel().tolist()]
        largest = float(np.max(np.abs(by_numpy), initial=0.0))
        for got, want in zip(numbers, np.ravel(by_numpy).tolist(), strict=True):
            if OPS[op].kind == "linalg":
                # LAPACK's results are right for a matrix that differs by some roundings of its norm, which is
                # three of the gaps.
                assert abs(got - want) <= 32 * math.ulp(largest)
            elif expected_type.is_inexact:
                # Rounded differently, in the last bit or two of a well-conditioned op; where a function is
                # granted the rounding of its argument, of numbers of size 1.
                row = FUNCTIONS.get(op)
                size = max(abs(want), 1.0) if row is not None and row.conditioned else abs(want)
                assert abs(got - want) <= 8 * math.ulp(size)
            else:
                assert got == want


def test_every_op_is_a_method_of_every_namespace() -> None:
    for namespace in (
        FLOAT64,
        MpmathNamespace(mpmath.MPContext()),
        ArbNamespace(),
        PerturbedNamespace("float64"),
    ):
        assert not [op for op in OPS if not callable(getattr(namespace, op, None))]


def test_constants_are_rounded_to_the_working_precision_first() -> None:
    text = parse("def f(x):\n return 0.1 * x, array([0.1]) * x\n")
    tenth = float(np.float32(0.1))
    for namespace in (
        NumpyNamespace("float32"),
        MpmathNamespace(mpmath.MPContext(), "float32"),
        ArbNamespace("float32"),
    ):
        scalar, array = interpret(text, {"x": namespace.constant(1.0)}, namespace)
        assert float(scalar) == float(array[0]) == tenth


# The functional form ----------------------------------------------------------------------------------------


def _float(value: float) -> Constant:
    return Constant(Const(value))


def _equation(op: str, *inputs: Var | Constant, of: Type = FLOAT, **params: Any) -> Equation:
    return Equation(op, inputs, tuple(sorted(params.items())), Var(of))


def _power_loop(form: Any, trips: Var, x: Var) -> tuple[Loop, Var, Var]:
    """acc, k <- acc * x, k + 1, saving the acc of every trip."""
    inner, acc, k = Var(FLOAT, "x"), Var(FLOAT, "acc"), Var(INT, "k")
    product, counted = _equation("multiply", acc, inner), _equation("add", k, Constant(Const(1)), of=INT)
    index = (Var(INT, "i"),) if form == "for" else ()
    body = Graph(
        (inner, Var(INT, "n"), acc, k, *index), (product, counted), (product.output, counted.output, acc)
    )
    bound, seen = Var(INT, "n"), Var(INT, "k")
    test = _equation("less", seen, bound, of=BOOL)
    condition = (
        None if form == "for" else Graph((Var(FLOAT), bound, Var(FLOAT), seen), (test,), (test.output,))
    )
    final, saved = Var(FLOAT), Var(FLOAT.stacked())
    outputs = (final, Var(INT), saved)
    loop = Loop(
        form,
        (x, trips),
        (_float(1.0), Constant(Const(0))),
        (),
        body,
        condition,
        trips if form == "for" else None,
        outputs,
    )
    return loop, final, saved


@pytest.mark.parametrize("form", ["for", "while", "repeat"])
@pytest.mark.parametrize("trips", [0, 1, 4])
def test_loops_of_the_functional_form(form: Any, trips: int) -> None:
    x, n = Var(FLOAT, "x"), Var(INT, "n")
    loop, final, saved = _power_loop(form, n, x)
    result, stack = evaluate(Graph((x, n), (loop,), (final, saved)), [np.float64(3.0), trips], FLOAT64)
    run = max(1, trips) if form == "repeat" else trips
    assert result == 3.0**run
    assert stack == [3.0**k for k in range(run)]


def test_a_reverse_loop_reads_and_writes_its_stacks_by_index() -> None:
    """total <- 10 total + entry from the last index to the first, writing (total before, index)."""
    stack, total, entry, index = Var(FLOAT.stacked()), Var(FLOAT), Var(FLOAT), Var(INT)
    scaled = _equation("multiply", total, _float(10.0))
    summed = _equation("add", scaled.output, entry)
    final, before, indices = Var(FLOAT), Var(FLOAT.stacked()), Var(INT.stacked())
    for reverse, result, history in ((True, 321.0, [32.0, 3.0, 0.0]), (False, 123.0, [0.0, 1.0, 12.0])):
        body = Graph((total, entry, index), (scaled, summed), (summed.output, total, index))
        loop = Loop("for", (), (_float(0.0),), (stack,), body, None, None, (final, before, indices), reverse)
        graph = Graph((stack,), (loop,), (final, before, indices))
        assert evaluate(graph, [[1.0, 2.0, 3.0]], FLOAT64) == (result, history, [0, 1, 2])


def test_a_branch_runs_one_side_only() -> None:
    x, left, right = Var(FLOAT), Var(FLOAT), Var(FLOAT)
    test = _equation("greater", x, _float(0.0), of=BOOL)
    entry = ArrayConst("float", (1,), (Const(7.0),))
    out_of_range = _equation("index", Constant(entry), Constant(Const(5)), pattern=("at",))
    output = Var(FLOAT)
    branch = Branch(
        test.output,
        (x,),
        Graph((left,), (), (left,)),
        Graph((right,), (out_of_range,), (out_of_range.output,)),
        (output,),
    )
    graph = Graph((x,), (test, branch), (output,))
    assert evaluate(graph, [np.float64(2.0)], FLOAT64) == (2.0,)
    with pytest.raises(DomainError):
        evaluate(graph, [np.float64(-2.0)], FLOAT64)


@pytest.mark.parametrize("form", ["for", "while", "repeat"])
def test_the_trip_limit_holds_in_the_functional_form(form: Any) -> None:
    x, n = Var(FLOAT, "x"), Var(INT, "n")
    loop, final, _ = _power_loop(form, n, x)
    graph = Graph((x, n), (loop,), (final,))
    assert evaluate(graph, [np.float64(1.0), 20], FLOAT64, trip_limit=20) == (1.0,)
    with pytest.raises(TripLimitError, match="20 trips"):
        evaluate(graph, [np.float64(1.0), 21], FLOAT64, trip_limit=20)
