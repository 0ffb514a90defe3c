"""Batched graphs against a Python loop over the instances."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest

from gradfuzz import engine
from gradfuzz.engine import compile, derivative
from gradfuzz.engine.batching.batch import batch
from gradfuzz.engine.batching.lanes import Lanes, one_by_one
from gradfuzz.engine.batching.rules import BATCH, batch_op
from gradfuzz.engine.rules.functions import real
from gradfuzz.engine.rules.value import apply
from gradfuzz.errors import DomainError, EvaluationError, NotDifferentiableError
from gradfuzz.fuzzer.tolerance.allowed import SAFETY, tolerances
from gradfuzz.oracles.base import Point, Question
from gradfuzz.oracles.references.finite_differences import MpmathNamespace
from gradfuzz.programs import OPS, Type, evaluate, lower, parse, to_text
from gradfuzz.programs.graphs.builder import GraphBuilder, constant
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.typecheck import typecheck
from gradfuzz.strategies import GeneratedCase, cases, draw_many

EPS = float(np.finfo(np.float64).eps)
FULL = ("slice", 0, 3)
Sample = tuple[dict[str, Any], tuple[str, ...]]
"""Parameters, and an argument each: a dtype and a shape, or one of the special matrices of `draw`."""

PAIRS: list[Sample] = [
    ({}, ("float", "float")),
    ({}, ("float[3]", "float")),
    ({}, ("float[3]", "float[2,1]")),
    ({}, ("int", "int[2]")),
]
COMPLEX_PAIRS: list[Sample] = [({}, ("complex", "complex[3]")), ({}, ("complex[2,1]", "float[3]"))]
SINGLES: list[Sample] = [({}, ("float",)), ({}, ("float[2,3]",))]
COMPLEX: list[Sample] = [({}, ("complex",)), ({}, ("complex[2,3]",))]
AXES: list[Sample] = [
    ({"axis": a, "keepdims": k}, ("float[2,3]",))
    for a, k in [(None, False), (None, True), (0, True), (-1, False), ((0, 1), False)]
]
ALONG: list[Sample] = [
    ({"axis": 0}, ("float[3]",)),
    ({"axis": 0}, ("float[3,2]",)),
    ({"axis": -1}, ("int[3,2]",)),
]
BOOLS: list[Sample] = [(p, ("bool[2,3]",)) for p, _ in AXES]
INDICES: dict[str, tuple[int, ...]] = {"index": (), "place": (), "indices": (2,), "rows": (2, 4)}
SQUARE: list[Sample] = [({}, ("square",)), ({}, ("squares",))]
TWO: list[Sample] = [
    ({}, ("square", "float[3,2]")),
    ({}, ("squares", "float[3,2]")),
    ({}, ("square", "float[2,3,1]")),
]
PARTS = {"qr": 2, "lu": 3, "svd": 3, "eigh": 2, "eig": 2, "slogdet": 2}


def _may_cancel(op: str) -> bool:
    """Whether a function of numbers of size 1 is granted their rounding: lgamma near its zeros."""
    return op in FUNCTIONS and FUNCTIONS[op].conditioned


def _kinds(row: Function) -> tuple[str, ...]:
    """Numbers inside the domain of a function."""
    low, high = row.domain
    last = "unit" if math.isfinite(high) else "above" if low >= 1.0 else "float"
    return (last,) if row.arguments == ("x",) else ("float", last)


SAMPLES: dict[str, list[Sample]] = {
    **{
        key: [*PAIRS, *COMPLEX_PAIRS]
        for key in ("add", "subtract", "multiply", "divide", "pow", "equal", "not_equal")
    },
    **dict.fromkeys(("maximum", "minimum", "complex"), PAIRS),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), PAIRS),
    **{
        key: [*SINGLES, *COMPLEX]
        for key in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "negative")
    },
    **{key: [*SINGLES, *COMPLEX] for key in ("conj", "real", "imag")},
    "sign": SINGLES,
    "remainder": [({}, ("int", "int")), ({}, ("int[3]", "int"))],
    "integer_pow": [({"n": 3}, ("float[2]",)), ({"n": -1}, ("float",)), ({"n": 2}, ("complex[2]",))],
    "where": [
        ({}, ("bool", "float[2]", "float")),
        ({}, ("bool[2,1]", "float[3]", "int")),
        ({}, ("bool", "complex[2]", "float")),
    ],
    **{
        key: [({}, ("bool", "bool")), ({}, ("bool[3]", "bool[2,1]"))] for key in ("logical_and", "logical_or")
    },
    "logical_not": [({}, ("bool[3]",))],
    "astype": [
        ({"dtype": "float"}, ("int[3]",)),
        ({"dtype": "int"}, ("bool",)),
        ({"dtype": "complex"}, ("float[2]",)),
    ],
    **{key: [*AXES, ({}, ("float",))] for key in ("sum", "mean", "prod")},
    **dict.fromkeys(("cumulative_sum", "flip"), ALONG),
    "reshape": [({"shape": (3, 2)}, ("float[6]",)), ({"shape": ()}, ("int[1,1]",))],
    "broadcast_to": [
        ({"shape": (2, 3)}, ("float[3]",)),
        ({"shape": (2, 3)}, ("float",)),
        ({"shape": (2, 3)}, ("float[2,1]",)),
    ],
    "permute_dims": [({"axes": (1, 0)}, ("float[2,3]",)), ({"axes": (2, 0, 1)}, ("int[2,3,1]",))],
    "concat": [({"axis": 0}, ("float[2]", "float[3]")), ({"axis": -1}, ("float[2,3]", "float[2,1]"))],
    "stack": [({"axis": 0}, ("float", "int")), ({"axis": -1}, ("float[3]", "float[3]"))],
    "index": [
        ({"pattern": ("at",)}, ("float[3]", "index")),
        ({"pattern": ("at", FULL)}, ("int[3,3]", "index")),
        ({"pattern": (FULL, "at")}, ("bool[3,3]", "index")),
        ({"pattern": ("at", ("slice", 1, 2), "at")}, ("float[3,2,3]", "index", "index")),
        ({"pattern": (("slice", 0, 2), "at", "at")}, ("float[3,3,3]", "index", "index")),
    ],
    "index_update": [
        ({"pattern": ("at",)}, ("float[3]", "float", "index")),
        ({"pattern": ("at", FULL)}, ("int[3,3]", "int[3]", "index")),
        ({"pattern": (("slice", 1, 3), "at")}, ("float[3,3]", "float[2]", "index")),
        ({"pattern": ("at", ("slice", 1, 2), "at")}, ("bool[3,2,3]", "bool[1]", "index", "index")),
    ],
    "matmul": [
        ({}, ("float[2,3]", "float[3,4]")),
        ({}, ("float[3]", "float[3]")),
        ({}, ("float[2,3]", "float[3]")),
        ({}, ("float[3]", "float[2,3,4]")),
        ({}, ("float[2,1,4,3]", "float[5,3,2]")),
        ({}, ("int[2,3]", "float[5,3,2]")),
        ({}, ("complex[2,3]", "float[3]")),
    ],
    "clip": [({}, ("float[3]", "float", "float[2,1]"))],
    **dict.fromkeys(("log1p", "expm1"), SINGLES),
    **dict.fromkeys(("amax", "amin", "logsumexp"), AXES),
    **dict.fromkeys(("all", "any"), BOOLS),
    **{key: [s for s in AXES if not isinstance(s[0]["axis"], tuple)] for key in ("argmax", "argmin")},
    **dict.fromkeys(
        ("cumulative_prod", "cumulative_max", "softmax", "log_softmax", "sort", "argsort"), ALONG
    ),
    "window_sum": [
        ({"window": (2,)}, ("float[5]",)),
        ({"window": (2, 1), "strides": (1, 2), "padding": ((1, 0), (0, 1))}, ("float[3,4]",)),
    ],
    "conv": [
        ({}, ("float[2,3,5]", "float[4,3,2]")),
        ({"strides": (1, 2), "padding": ((1, 0), (0, 1))}, ("float[1,2,3,4]", "float[3,2,2,2]")),
    ],
    "take": [({"axis": a}, ("float[3,3]", k)) for a, k in [(0, "place"), (-1, "indices"), (0, "indices")]],
    "take_along_axis": [({"axis": 1}, ("float[2,3]", "rows"))],
    "scatter_add": [
        ({"axis": 0}, ("float[3]", "place", "float")),
        ({"axis": 1}, ("float[2,3]", "indices", "float[2,2]")),
        ({"axis": 0}, ("float[3,2]", "indices", "float[2,2]")),
    ],
    "outer": [({}, ("float[2]", "float[3]")), ({}, ("int[2]", "int[3]"))],
    "kron": [({}, ("float[2,3]", "float[3,2]")), ({}, ("float[2,2,3]", "float[1,2]"))],
    "einsum": [
        ({"subscripts": "ij,jk->ik"}, ("float[2,3]", "float[3,2]")),
        ({"subscripts": "ii->"}, ("float[3,3]",)),
    ],
    **{key: [({"offset": 1}, ("float[3,3]",)), ({}, ("float[2,3,4]",))] for key in ("trace", "diagonal")},
    **{key: [({"k": -1}, ("float[3,3]",)), ({}, ("float[2,3,4]",))] for key in ("tril", "triu")},
    **{op: [({"part": k}, (m,)) for k in range(n) for m in ("square", "squares")] for op, n in PARTS.items()},
    **dict.fromkeys(("cholesky", "svdvals", "eigvalsh", "eigvals", "inv", "det", "pinv", "expm"), SQUARE),
    "matrix_power": [({"n": 3}, ("square",)), ({"n": -2}, ("squares",))],
    "matrix_norm": [
        ({"ord": "fro"}, ("square",)),
        ({"ord": 2, "keepdims": True}, ("squares",)),
        ({"ord": "inf"}, ("float[2,3]",)),
    ],
    "vector_norm": [
        ({"axis": a, "keepdims": k, "ord": 3}, ("float[2,3]",))
        for a, k in [(None, False), (None, True), (0, False), (-1, True)]
    ],
    "triangular_solve": TWO,
    "cofactor": [*SQUARE, ({}, ("square", "square"))],
    "divide_by_gaps": [({}, ("square", "float[3]", "far")), ({"hollow": True}, ("square", "far", "far"))],
    "solve": [*TWO, ({}, ("square", "float[3]")), ({}, ("squares", "float[3]"))],
    "lstsq": [({}, ("float[4,3]", "float[4,2]")), ({}, ("float[4,3]", "float[4]"))],
}


SAMPLES |= {
    name: [
        (dict.fromkeys(row.params, 1), tuple(f"{kind}{shape}" for kind in _kinds(row)))
        for shape in ("", "[2]", "[2,3]")
    ]
    for name, row in FUNCTIONS.items()
    if not row.reserved
}


def test_every_op_has_a_batching_rule_and_a_sample() -> None:
    assert set(OPS) == set(BATCH), "give the op a line in engine/batching/rules.py"
    assert set(OPS) == set(SAMPLES), "give the op a sample here"


def draw(kind: str, batch_shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Positive numbers, so that sums do not cancel; matrices that are symmetric, positive definite and far
    from singular.
    """
    if kind in ("square", "squares"):
        a = rng.uniform(0.1, 0.5, (*batch_shape, *((2,) if kind == "squares" else ()), 3, 3))
        return np.asarray(a + np.swapaxes(a, -1, -2) + np.diag([3.0, 4.0, 5.5]))
    if kind in INDICES:
        return rng.integers(-3 if kind == "index" else 0, 3, (*batch_shape, *INDICES[kind]))
    if kind == "far":
        return rng.uniform(0.1, 0.5, (*batch_shape, 3)) + np.array([10.0, 15.0, 30.0])
    dtype, _, rest = kind.partition("[")
    shape = (*batch_shape, *(int(n) for n in rest.rstrip("]").split(",") if n))
    if dtype in ("float", "unit", "above"):
        return rng.uniform(*{"float": (0.5, 2.0), "unit": (0.1, 0.9), "above": (1.5, 3.0)}[dtype], shape)
    if dtype == "complex":
        return np.asarray(rng.uniform(0.5, 2.0, shape) + 1j * rng.uniform(0.5, 2.0, shape))
    return rng.integers(1, 9, shape) if dtype == "int" else rng.integers(0, 2, shape).astype(bool)


def equation(op: str, params: dict[str, Any], arrays: list[np.ndarray]) -> Graph:
    builder = GraphBuilder()
    dtypes: dict[str, Any] = {"f": "float", "c": "complex", "i": "int", "b": "bool"}
    inputs = [builder.input(Type(dtypes[a.dtype.kind], a.shape)) for a in arrays]
    return builder.finish(inputs, [builder.emit(op, *inputs, **params)])


@pytest.mark.parametrize("op", SAMPLES)
def test_an_op_on_a_batch_is_the_op_on_each_instance(op: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for params, kinds in SAMPLES[op]:
        graph = equation(op, params, [draw(k, (), rng) for k in kinds])
        single = compile(graph)
        for shape, flags in itertools.product(
            [(4,), (2, 3), (0,), (1,)], itertools.product((True, False), repeat=len(kinds))
        ):
            if not any(flags):
                continue
            arrays = [draw(k, shape if b else (), rng) for k, b in zip(kinds, flags, strict=True)]
            batched, (has_axes,) = batch(graph, flags, shape)
            (got,) = compile(batched)(*arrays)
            assert has_axes
            assert np.shape(got) == (*shape, *(n or 0 for n in graph.outputs[0].type.shape)), (
                params,
                kinds,
                flags,
                shape,
            )
            for place in np.ndindex(*shape):
                (expected,) = single(*[a[place] if b else a for a, b in zip(arrays, flags, strict=True)])
                # NumPy adds in another order, and its SIMD loops round otherwise than its scalar ones: a few
                # units.
                size = np.max(np.abs(expected), initial=1.0 if _may_cancel(op) else 0.0)
                allowed = 64 * EPS * size if graph.outputs[0].type.is_inexact else 0
                assert np.all(np.abs(np.subtract(got[place], expected, dtype=complex)) <= allowed), (
                    params,
                    kinds,
                    flags,
                    shape,
                )


@pytest.mark.parametrize("op", [op for op in SAMPLES if OPS[op].smooth])
@pytest.mark.parametrize("axes", [("a", "b", "ab"), ("ab", "a")])
def test_the_gradient_of_an_op_vectorized_is_stacked(op: str, axes: tuple[str, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3}
    for params, kinds in SAMPLES[op]:
        names = [tuple(a) for a in itertools.islice(itertools.cycle(axes), len(kinds))]
        arrays = [
            draw(kind, tuple(sizes[n] for n in own), rng) for kind, own in zip(kinds, names, strict=True)
        ]
        weights = rng.normal(
            size=tuple(
                n or 0 for n in equation(op, params, [draw(k, (), rng) for k in kinds]).outputs[0].type.shape
            )
        )

        def f(*xs: Any, params: Any = params, weights: Any = weights) -> Any:
            return engine.sum(real(apply(op, *xs, **params) * weights))

        vectorized = [engine.vectorize(x, *own) for x, own in zip(arrays, names, strict=True)]
        if any(a.dtype.kind in "fc" for a in arrays):
            engine.check_vectorized(f, *vectorized, units=2_000 if OPS[op].kind == "linalg" else 256)


def test_an_index_outside_its_array_is_an_error_in_a_batch_too() -> None:
    x, i = np.ones((2, 3)), np.array([0, 3])
    for op, extra in (("index", []), ("index_update", [np.ones(2)])):
        graph = equation(op, {"pattern": ("at",)}, [x[0], *(e[0] for e in extra), i[0]])
        batched, _ = batch(graph, [True] * len(graph.inputs), 2)
        with pytest.raises(DomainError):
            compile(batched)(x, *extra, i)


def test_an_op_without_a_rule_is_named() -> None:
    with pytest.raises(NotDifferentiableError, match="no batching rule for fourier"):
        batch_op(Lanes((2,)), "fourier", [np.ones(2)], [True], {})


def test_the_rule_of_last_resort(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(2, 3, 4))
    got = one_by_one("flip")(Lanes((2, 3)), [x], [True], {"axis": 0})
    assert np.array_equal(got, x[..., ::-1])


# Whole programs ---------------------------------------------------------------------------------------------


def by_instance(graph: Graph, columns: list[np.ndarray], shared: list[Any]) -> list[np.ndarray]:
    run = compile(graph, trip_limit=2_000)
    results = [run(*row, *shared) for row in zip(*columns, strict=True)]
    return [np.stack([np.asarray(r[k]) for r in results]) for k in range(len(results[0]))]


def at_once(graph: Graph, columns: list[np.ndarray], shared: list[Any]) -> list[np.ndarray]:
    n = len(columns[0])
    batched, flags = batch(graph, [True] * len(columns) + [False] * len(shared), n)
    results = compile(batched, trip_limit=2_000)(*columns, *shared)
    return [
        np.asarray(r) if b else np.broadcast_to(r, (n, *np.shape(r)))
        for r, b in zip(results, flags, strict=True)
    ]


def assert_same(got: list[np.ndarray], expected: list[np.ndarray], text: str) -> None:
    """Equal but for the rounding of NumPy's vector loops, which a loop program repeats a few dozen times."""
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape
        finite = np.isfinite(b)
        assert np.array_equal(finite, np.isfinite(a)), (text, a, b)
        assert np.array_equal(a[~finite], b[~finite], equal_nan=True), (text, a, b)
        assert np.allclose(a[finite], b[finite], rtol=1e-11, atol=1e-280), (text, a, b)


def assert_same_but_for_rounding(
    got: list[np.ndarray], expected: list[np.ndarray], case: GeneratedCase, weights: list[np.ndarray]
) -> None:
    """Outputs, and gradients after them where there are any: equal like this, or but for what rounding does
    to them, which the body of a loop may magnify.
    """
    try:
        assert_same(got, expected, to_text(case.program))
    except AssertionError:
        rest = iter(weights)
        own = [next(rest) if t.is_float else None for t in typecheck(case.program).outputs]
        points = tuple(Point(p) for p in case.points)
        question = Question(case.program, points, "float64", case.wrt, ("rev",), tuple(own), {})
        known = [tolerance for tolerance in tolerances(question) if tolerance.reason is None]
        if len(known) < len(points):
            return  # chaotic: nobody knows what is right
        rows = [[*t.value_noise, *(t.noise[name] for name in case.wrt)][: len(got)] for t in known]
        for a, b, *noises in zip(got, expected, *rows, strict=True):
            assert a.shape == b.shape
            assert np.all(np.abs(a - b) <= SAFETY * np.stack(noises)), (to_text(case.program), a, b)


@pytest.mark.parametrize("programs", [40, pytest.param(1_000, marks=pytest.mark.slow)])
def test_drawn_loop_programs_value_and_gradient(programs: int, seed: int) -> None:
    judged = identical = 0
    for case in draw_many(cases(precisions=("float64",), min_points=3, max_order=1), programs, seed):
        columns = [np.stack([np.asarray(p[v.name]) for p in case.points]) for v in case.program.params]
        graph, gradient = lower(case.program), derivative(case.program, wrt=case.wrt, modes=("rev",))
        weights = [
            np.full(tuple(n or 0 for n in v.type.shape), 0.75) for v in gradient.inputs[len(columns) :]
        ]
        try:
            value, expected = by_instance(graph, columns, []), by_instance(gradient, columns, weights)
        except EvaluationError:
            continue
        got = at_once(graph, columns, [])
        assert_same_but_for_rounding(got, value, case, weights)
        assert_same_but_for_rounding(at_once(gradient, columns, weights), expected, case, weights)
        batched, flags = batch(graph, [True] * len(columns), len(case.points))
        if all(flags):
            tall = [np.broadcast_to(w, (len(case.points), *w.shape)) for w in weights]
            turned = compile(derivative(batched, wrt=case.wrt, modes=("rev",)))(*columns, *tall)
            assert_same_but_for_rounding([np.asarray(a) for a in turned], expected, case, weights)
        judged += 1
        identical += all(np.array_equal(a, b, equal_nan=True) for a, b in zip(got, value, strict=True))
    assert judged > 0.85 * programs
    assert identical > 0.9 * judged, "most programs have no op that NumPy rounds differently in a vector loop"


TRAPS = {
    # What is divided by is 0 when the loop has ended.
    """
def f(x: float, n: int):
    y = x
    k = 0
    while k < n:
        y = y * x / (n - k)
        k = k + 1
    return y
""": [[2.0, 3.0, 5.0], [2, 1, 0]],
    # The root of what is negative when the loop has ended.
    """
def f(x: float, n: int):
    y = x
    while y > 0.0:
        y = sqrt(y) - 1.0
    return y
""": [[2.0, 0.5, -1.0], [0, 0, 0]],
    # An index that has left its array when the loop has ended.
    """
def f(x: float, n: int):
    v = array([1.0, 2.0, 4.0])
    y = 0.0
    k = 3 - n
    while k < 3:
        y = y * x + v[k] * x
        k = k + 1
    return y
""": [[2.0, 3.0, 5.0], [3, 1, 0]],
    # A count of trips after which the next would take the root of 0.
    """
def f(x: float, n: int):
    y = 4.0 * x
    for i in range(n):
        y = sqrt(y) - x
    return y
""": [[1.0, 0.0625, 0.625], [2, 3, 0]],
    # A side that most may not take.
    """
def f(x: float, n: int):
    if x > 1.0:
        y = sqrt(x - 1.0)
    else:
        y = log(1.0 - x)
    return y
""": [[2.0, 0.5, -1.0], [0, 0, 0]],
}


@pytest.mark.parametrize("text", TRAPS, ids=["division", "root", "index", "count", "branch"])
@pytest.mark.parametrize("modes", [("rev",), ("fwd",), ("rev", "rev"), ("rev", "fwd")])
def test_an_instance_that_is_done_computes_nothing_of_its_own(text: str, modes: Any) -> None:
    program = parse(text)
    columns = [np.array(c) for c in TRAPS[text]]
    shared = [1.0] * len(modes)
    gradient = derivative(program, wrt=("x",), modes=modes)
    expected = by_instance(gradient, columns, shared)
    assert np.all(np.isfinite(expected[1]))
    assert_same(at_once(gradient, columns, shared), expected, text)
    batched, _ = batch(lower(program), [True, True], 3)
    turned = compile(derivative(batched, wrt=("x",), modes=("rev",)))(*columns, np.ones(3))
    assert_same(
        [np.asarray(turned[1])],
        [by_instance(derivative(program, wrt=("x",), modes=("rev",)), columns, [1.0])[1]],
        text,
    )


def test_a_batched_graph_runs_in_other_arithmetics() -> None:
    (text,) = (t for t in TRAPS if "n - k" in t)
    columns = [np.array(c) for c in TRAPS[text]]
    batched, _ = batch(lower(parse(text)), [True, True], 3)
    gradient = derivative(batched, wrt=("x",), modes=("rev",))
    exact = np.array([mpmath.mpf(x) for x in columns[0].tolist()], dtype=object)
    ones = np.array([mpmath.mpf(1)] * 3, dtype=object)
    _, got = evaluate(gradient, [exact, columns[1], ones], MpmathNamespace(mpmath.mp))
    # The derivatives of x^3/2, x^2 and x at 2, 3 and 5.
    assert got.tolist() == [6.0, 6.0, 1.0]


@pytest.mark.parametrize("reverse", [False, True])
def test_counted_loops_and_their_stacks_of_different_lengths(reverse: bool) -> None:
    """a = a x + i over the indices in either direction, each old a kept; then b = b/2 + a over what
    was kept.
    """
    builder = GraphBuilder()
    x, n = builder.input(Type("float"), "x"), builder.input(Type("int"), "n")
    first = GraphBuilder()
    c, a, i = first.input(Type("float"), "c"), first.input(Type("float"), "a"), first.input(Type("int"), "i")
    step = first.emit("add", first.emit("multiply", a, c), i)
    body = first.finish([c, a, i], [step, a])
    last, kept = builder.loop("for", constants=[x], initial=[x], body=body, count=n, reverse=reverse)
    second = GraphBuilder()
    b, entry, k = (
        second.input(Type("float"), "b"),
        second.input(Type("float"), "entry"),
        second.input(Type("int"), "k"),
    )
    half = second.emit("add", second.emit("multiply", b, constant(0.5)), entry)
    (total,) = builder.loop(
        "for", constants=[], initial=[last], stacks=[kept], body=second.finish([b, entry, k], [half])
    )
    graph = builder.finish([x, n], [total])
    xs, ns = np.array([0.5, 2.0, -1.5, 3.0]), np.array([3, 0, 5, 1])

    def by_hand(x: float, n: int) -> float:
        a, kept = x, [0.0] * n
        for i in reversed(range(n)) if reverse else range(n):
            kept[i] = a
            a = a * x + i
        for entry in kept:
            a = a * 0.5 + entry
        return a

    batched, flags = batch(graph, [True, True], 4)
    assert flags == (True,)
    assert compile(batched)(xs, ns)[0].tolist() == [
        by_hand(x, n) for x, n in zip(xs, ns.tolist(), strict=True)
    ]
    gradient = derivative(graph, wrt=("x",), modes=("rev",))
    expected = by_instance(gradient, [xs, ns], [1.0])
    assert_same(at_once(gradient, [xs, ns], [1.0]), expected, "")
    turned = compile(derivative(batched, wrt=("x",), modes=("rev",)))(xs, ns, np.ones(4))
    assert_same([np.asarray(r) for r in turned], expected, "")
