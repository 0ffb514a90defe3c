"""Every public strategy: its repr makes it again, its draws are valid and can be pasted, it shrinks to what
is documented, and Hypothesis is content.
"""

from __future__ import annotations

import inspect
import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import gradfuzz.programs
import gradfuzz.strategies
from gradfuzz.programs import Assign, Call, Const, Name, Program, Type, parse, to_text, typecheck
from gradfuzz.programs.arithmetic.half_numpy import refused_op
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.strategies import (
    GeneratedCase,
    arrays,
    cases,
    complex_cases,
    complex_programs,
    cotangents,
    draw_many,
    expressions,
    linalg_cases,
    linalg_programs,
    loop_bodies,
    loops,
    matrices,
    points,
    programs,
    shapes,
    tensor_cases,
    tensor_programs,
)
from gradfuzz.strategies.drawing.display import array_text
from gradfuzz.strategies.inputs.point import defined

PROGRAM = parse("""
def f(x, v: "float[3]", a: "float[2, 2]", n: "int", b: "bool"):
    acc = x
    for i in range(n):
        acc = acc * v[i]
    return acc, inv(a), n
""")
SIMPLEST = parse("def f(x):\n    acc = 1.0\n    for i in range(0):\n        acc = acc * x\n    return acc")
INVERSE = parse('def f(a: "float[2, 2]"):\n    y = inv(a)\n    return y')
SUM = parse('def f(a: "float[2, 2]"):\n    t = sum(a, axis=0)\n    return t')
QUARTERS = np.array([[2.0, -1.5], [0.0, 2.5]])
"""Entries in quarters, the diagonal heavy."""


def same(a: Any, b: Any) -> bool:
    """Equal, arrays bit for bit."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (
            b.dtype,
            b.shape,
            b.tobytes(),
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, GeneratedCase):
        return all(
            same(getattr(a, name), getattr(b, name))
            for name in ("program", "points", "wrt", "precision", "modes")
        )
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def is_program(program: Program) -> bool:
    return bool(typecheck(program).outputs) and parse(to_text(program)) == program


def is_case(case: GeneratedCase) -> bool:
    return is_program(case.program) and all(
        point.keys() == {p.name for p in case.program.params} for point in case.points
    )


def is_point(point: dict[str, Any]) -> bool:
    shapes = {p.name: p.type.sizes for p in PROGRAM.params}
    return {name: v.shape for name, v in point.items()} == shapes and defined(PROGRAM, point)


def is_about(simplest: Program) -> Callable[[GeneratedCase], bool]:
    return lambda case: case.program == simplest and len(case.points) == 1 and case.modes == ("rev",)


@dataclass(frozen=True)
class Row:
    """A public strategy with options that are not the defaults, what holds of every draw, and what it shrinks
    to.
    """

    plain: Callable[[], st.SearchStrategy[Any]]
    other: Callable[[], st.SearchStrategy[Any]]
    valid: Callable[[Any], bool]
    minimum: Callable[[Any], bool]


def is_array(array: Any) -> bool:
    return isinstance(array, np.ndarray) and bool(np.all(np.isfinite(array)))


PRODUCT = Call("multiply", (Name("acc"), Name("x")))
ROWS: dict[str, Row] = {
    "programs": Row(
        programs, lambda: programs(families=("linalg", "loops")), is_program, lambda p: p == SIMPLEST
    ),
    "loops": Row(
        loops,
        lambda: loops(min_trips=1, forms=("for", "while"), by_value=False),
        is_program,
        lambda p: p == SIMPLEST,
    ),
    "linalg_programs": Row(
        linalg_programs,
        lambda: linalg_programs(ops=("solve",), max_side=3),
        is_program,
        lambda p: p == INVERSE,
    ),
    "tensor_programs": Row(
        tensor_programs, lambda: tensor_programs(ops=("sort",), empty=False), is_program, lambda p: p == SUM
    ),
    "complex_programs": Row(
        complex_programs,
        lambda: complex_programs(ops=("inv",), max_side=2),
        is_program,
        lambda p: "y = y * a" in to_text(p),
    ),
    "loop_bodies": Row(
        loop_bodies,
        lambda: loop_bodies(carries={"h": Type("float", (2,))}, names={"x": Type("float")}, exits=("break",)),
        lambda body: isinstance(body, tuple) and bool(body),
        lambda body: body == (Assign("acc", PRODUCT),),
    ),
    "expressions": Row(
        expressions,
        lambda: expressions(
            names={"v": Type("float", (3,)), "z": Type("float")}, shape=(3,), max_depth=2, raw=("z",)
        ),
        lambda e: isinstance(e, (Name, Const, Call)),
        lambda e: e == Name("x"),
    ),
    "points": Row(
        lambda: points(PROGRAM),
        lambda: points(parse("def f(x):\n    return log(x)"), precision="float32", extremes=False),
        is_point,
        lambda p: (
            p["x"] == 0.5
            and p["v"].tolist() == [0.5] * 3
            and p["n"] == 0
            and not p["b"]
            and same(p["a"], QUARTERS)
        ),
    ),
    "cotangents": Row(
        lambda: cotangents(PROGRAM),
        lambda: cotangents(SIMPLEST, min_value=-1.0, max_value=-0.5),
        lambda w: (
            [None if x is None else x.shape for x in w] == [(), (2, 2), None]
            and any(x is not None and x.any() for x in w)
        ),
        lambda w: same(w, (np.array(1.0), np.ones((2, 2)), None)),
    ),
    "arrays": Row(
        arrays,
        lambda: arrays((2, 3), precision="float16", min_value=1.0, ties=False),
        is_array,
        lambda a: same(a, np.full((2, 2), 0.5)),
    ),
    "matrices": Row(
        matrices,
        lambda: matrices((2, 3, 3), structure="spd", min_condition=10.0, max_condition=1000.0),
        lambda a: is_array(a) and a.ndim >= 2,
        lambda a: same(a, QUARTERS),
    ),
    "shapes": Row(
        shapes,
        lambda: shapes(aspects=("tall",), max_side=3, empty=False),
        lambda s: len(s) in (2, 3, 4),
        lambda s: s == (2, 2),
    ),
    "cases": Row(
        cases,
        lambda: cases(programs=loops(max_loops=1), precisions=("float32",), max_points=2),
        is_case,
        is_about(SIMPLEST),
    ),
    "linalg_cases": Row(
        linalg_cases, lambda: linalg_cases(ops=("qr",), points=2), is_case, is_about(INVERSE)
    ),
    "tensor_cases": Row(tensor_cases, lambda: tensor_cases(max_order=1), is_case, is_about(SUM)),
    "complex_cases": Row(
        complex_cases, lambda: complex_cases(max_side=3), is_case, lambda c: "y = y * a" in to_text(c.program)
    ),
}
STRATEGIES = pytest.mark.parametrize("name", list(ROWS))
FINDING = settings(
    phases=[Phase.generate, Phase.shrink],
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
)
SCOPE = {name: getattr(gradfuzz.strategies, name) for name in gradfuzz.strategies.__all__}
PASTED = {
    **{name: getattr(gradfuzz.programs, name) for name in gradfuzz.programs.__all__},
    "array": np.array,
    "zeros": np.zeros,
}


def test_every_public_strategy_is_in_the_table() -> None:
    found = set()
    for name in gradfuzz.strategies.__all__:
        value = getattr(gradfuzz.strategies, name)
        if inspect.isroutine(value) and "SearchStrategy" in str(inspect.signature(value).return_annotation):
            found.add(name)
    assert found == set(ROWS)


@STRATEGIES
def test_options_are_given_by_keyword(name: str) -> None:
    parameters = inspect.signature(getattr(gradfuzz.strategies, name)).parameters.values()
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert positional in ([], ["shape"], ["program"])
    assert "hrinks towards" in (getattr(gradfuzz.strategies, name).__doc__ or "")


@STRATEGIES
@pytest.mark.parametrize("which", ["plain", "other"])
def test_the_repr_makes_it_again(name: str, which: str) -> None:
    strategy = getattr(ROWS[name], which)()
    again = eval(repr(strategy), dict(SCOPE))
    assert repr(again) == repr(strategy)
    assert all(map(same, draw_many(again, 15, 1), draw_many(strategy, 15, 1)))
    if which == "plain" and name not in ("points", "cotangents"):
        assert repr(strategy) == f"{name}()"


@STRATEGIES
def test_draws_are_valid(name: str, seed: int) -> None:
    drawn = draw_many(ROWS[name].plain(), 60, seed)
    assert len(drawn) == 60
    assert all(map(ROWS[name].valid, drawn))


@STRATEGIES
def test_it_shrinks_to_what_is_documented(name: str) -> None:
    row = ROWS[name]
    simplest = find(row.plain(), lambda _: True, settings=FINDING)
    assert row.minimum(simplest), simplest
    assert same(simplest, draw_many(row.plain(), 1, 0)[0])


@STRATEGIES
def test_hypothesis_is_content_with_it_at_default_settings(name: str) -> None:
    """All health checks are on, and a warning is an error. That for slow draws looks at the clock on the
    wall, which a busy machine spoils: here it is the time of the process, a tenth of a second for each of the
    examples that it looks at.
    """
    default = settings.get_profile("default")
    assert (default.max_examples, default.suppress_health_check) == (100, ())
    start = time.process_time()

    @settings(
        default, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    @given(ROWS[name].plain())
    def test(_: Any) -> None: ...

    test()
    assert time.process_time() - start < 0.1 * 100


@STRATEGIES
@pytest.mark.parametrize("which", ["plain", "other"])
def test_what_hypothesis_shows_can_be_pasted(name: str, which: str) -> None:
    """The example that fails, as it is printed, is the one that failed, in all its digits."""
    seen: list[Any] = []

    @settings(FINDING, phases=[Phase.generate])
    @given(drawn=getattr(ROWS[name], which)())
    def test(drawn: Any) -> None:
        text = repr(drawn) if not isinstance(drawn, np.ndarray) else array_text(drawn)
        if zlib.crc32(text.encode()) % 7 == 0:
            seen.append(drawn)
            raise AssertionError

    with pytest.raises(AssertionError) as caught:
        test()
    note, *_ = (n for n in caught.value.__notes__ if "drawn=" in n)
    arguments = eval("dict" + note[note.index("(") :], {**SCOPE, **PASTED})
    assert same(arguments["drawn"], seen[-1])


def test_what_is_shown_is_what_was_drawn() -> None:
    @FINDING
    @given(drawn=arrays((2,)), point=points(PROGRAM))
    def test(drawn: Any, point: Any) -> None:
        drawn[:] = 7.0
        point["v"][:] = 7.0
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        test()
    (note,) = (n for n in caught.value.__notes__ if "drawn=" in n)
    assert "drawn=array([0.5, 0.5])" in note
    assert "'v': array([0.5, 0.5, 0.5])" in note


@pytest.mark.parametrize(
    "array", [np.array(0.1), np.zeros((0, 2), np.float32), np.array([[1, 2]]), np.array([], bool)], ids=str
)
def test_the_text_of_an_array_makes_it(array: Any) -> None:
    assert same(eval(array_text(array), dict(PASTED)), array)


def test_a_program_shows_the_call_that_makes_it() -> None:
    assert (
        repr(SIMPLEST)
        == r"parse('def f(x):\n    acc = 1.0\n    for i in range(0):\n        acc = acc * x\n    return"
        r" acc\n')"
    )
    for program in draw_many(programs(), 80, 4):
        assert eval(repr(program), {"parse": parse}) == program


# Options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: programs(families=()), "families=() give one of 'loops', 'linalg', 'tensor', 'complex'"),
        (lambda: programs(families=("batches",)), "'batches' 'loops'"),
        (lambda: loops(max_trips=-1), "max_trips=-1 at least 0"),
        (lambda: complex_programs(ops=("cbrt",)), "'cbrt' 'sqrt' more"),
        (lambda: complex_programs(max_side=1), "max_side=1 at least 2"),
        (lambda: tensor_programs(ops=()), "ops=() 'mean' more"),
        (lambda: shapes(max_side=0), "max_side=0 at least 2"),
        (lambda: arrays((-1,)), "shape=(-1,) at least 0"),
        (lambda: arrays(precision="float8"), "'float8' 'float64'"),
        (lambda: arrays(min_value=2.0, max_value=1.0), "min_value=2.0 max_value=1.0"),
        (lambda: arrays(min_value=math.nan), "min_value=nan finite"),
        (lambda: arrays(precision="float32", max_value=0.1), "max_value=0.1 0.10000000149"),
        (lambda: arrays(precision="float16", max_value=1e6), "max_value=1000000.0 float16"),
        (lambda: arrays(min_value=0.0, max_value=0.0, zeros=False), "zeros=False"),
        (
            lambda: arrays((100, 100), precision="bfloat16", ties=False),
            "ties=False shape=(100, 100) bfloat16",
        ),
        (lambda: arrays((2,), min_value=1.0, max_value=1.0, ties=False), "ties=False 1.0"),
        (lambda: matrices((3,)), "shape=(3,) 2 sizes"),
        (lambda: matrices(3), "shape=3 tuple"),
        (lambda: matrices((2, 2), min_condition="1"), "min_condition='1' number"),
        (lambda: arrays(3), "shape=3 tuple"),
        (lambda: arrays((3,), max_value=True), "max_value=True number"),
        (lambda: loops(max_trips="3"), "max_trips='3' int"),
        (lambda: loops(forms="for"), "forms='for' tuple 'for', 'while', 'repeat'"),
        (lambda: points("def f(x): return x"), "program='def parse str"),
        (lambda: points(parse('def f(z: "complex"):\n    return real(z)')), "z complex in_pairs"),
        (lambda: cases(programs=SIMPLEST), "programs=parse st.just"),
        (lambda: expressions(names={"x": "float"}), "names={'x': 'float'} Type"),
        (lambda: loop_bodies(carries={"no name": Type("float")}), "'no name'"),
        (lambda: matrices((2, 3), structure="spd"), "shape=(2, 3) 'spd' square"),
        (lambda: matrices(structure="dense"), "'dense' 'general' 'spd'"),
        (lambda: matrices((2, 2), min_condition=0.5), "min_condition=0.5"),
        (
            lambda: matrices((2, 2), min_condition=9.0, max_condition=3.0),
            "min_condition=9.0 max_condition=3.0",
        ),
        (
            lambda: matrices((2, 2), max_condition=1e12, precision="float32"),
            "max_condition=1000000000000.0 'float32'",
        ),
        (lambda: matrices((2, 2), min_condition=1e30), "min_condition=1e+30"),
        (lambda: matrices((4, 1), min_condition=2.0), "min_condition=2.0 shape=(4, 1)"),
        (lambda: matrices((2, 2), structure="singular", max_condition=9.0), "'singular' 'general', 'spd'"),
        (lambda: cotangents(SIMPLEST, min_value=1.0, max_value=0.5), "min_value=1.0 max_value=0.5"),
        (lambda: cotangents(SIMPLEST, min_value=0.01, max_value=0.02), "min_value=0.01 1/8"),
        (lambda: cotangents(SIMPLEST, max_value=math.inf), "max_value=inf 32"),
    ],
)
def test_an_impossible_option_is_named_where_it_is_drawn(
    make: Callable[[], st.SearchStrategy[Any]], words: str
) -> None:
    """With its value and what is allowed; not where it is made, so that a module of tests can always be
    collected.
    """

    @given(make())
    def test(_: Any) -> None: ...

    with pytest.raises(InvalidArgument) as caught:
        test()
    for word in words.split():
        assert word in str(caught.value)


@given(
    st.data(), st.sampled_from(["float64", "float32", "bfloat16", "float16"]), st.booleans(), st.booleans()
)
@settings(max_examples=150)
def test_arrays_keep_to_their_bounds(data: st.DataObject, precision: Any, zeros: bool, ties: bool) -> None:
    low, high = data.draw(
        st.sampled_from([(None, None), (-1.0, None), (None, 0.0), (0.0, 3.0), (-4.0, -2.0), (2.0, 64.0)])
    )
    shape = data.draw(st.sampled_from([None, (), (3,), (0, 2), (2, 3), (7, 6)]))
    if not ties and precision == "bfloat16" and shape == (7, 6):
        return
    drawn = data.draw(
        arrays(shape, precision=precision, min_value=low, max_value=high, zeros=zeros, ties=ties)
    )
    values = drawn.astype(np.float64)
    assert drawn.dtype == np.dtype(precision)
    assert shape is None or drawn.shape == shape
    assert np.all(np.isfinite(values))
    assert np.all(values >= (-np.inf if low is None else low))
    assert np.all(values <= (np.inf if high is None else high))
    if not zeros:
        assert np.all(values != 0)
    if not ties:
        assert len(set(values.ravel().tolist())) == values.size


def test_arrays_reach_what_breaks_gradients(seed: int) -> None:
    drawn = draw_many(arrays((3,)), 400, seed)
    assert any(np.all(a == a[0]) for a in drawn)
    assert sum(0 in a for a in drawn) > 20
    assert any(np.any((a != 0) & (np.abs(a) < 1e-6)) for a in drawn)
    assert any(np.any(np.abs(a) > 50) for a in drawn)
    assert any(np.any(a < 0) for a in drawn)
    assert {a.ndim for a in draw_many(arrays(), 100, seed)} == {0, 1, 2, 3, 4}
    (large,) = draw_many(arrays((50, 50)), 2, seed)[1:]
    assert large.shape == (50, 50)


@pytest.mark.parametrize("structure", ["general", "spd", "symmetric", "lower", "upper"])
@pytest.mark.parametrize(("low", "high"), [(None, 1.0), (None, 50.0), (1e3, 1e5), (1e8, None), (1e4, 1e4)])
def test_condition_numbers_lie_between_their_bounds(
    structure: Any, low: float | None, high: float | None, seed: int
) -> None:
    for stack in draw_many(
        matrices((2, 4, 4), structure=structure, min_condition=low, max_condition=high), 40, seed
    ):
        found = np.linalg.cond(stack)
        assert np.all(found >= 0.999 * (low or 1.0))
        assert np.all(found <= 1.001 * (high or 1e15))
        if structure == "spd":
            assert np.all(np.linalg.eigvalsh(stack) > 0)
        if structure in ("lower", "upper"):
            assert np.array_equal(stack, np.tril(stack) if structure == "lower" else np.triu(stack))


def test_condition_numbers_fill_their_range(seed: int) -> None:
    found = [
        float(np.linalg.cond(m))
        for m in draw_many(matrices((5, 3), min_condition=10.0, max_condition=1e6), 150, seed)
    ]
    assert found[0] == pytest.approx(10.0)
    assert {math.floor(math.log10(c)) for c in found} >= {1, 2, 3, 4, 5}
    assert all(min(m.shape[-2:]) > 1 for m in draw_many(matrices(min_condition=2.0), 60, seed))
    for m in draw_many(matrices((3, 3), precision="float32", max_condition=100.0, extremes=False), 40, seed):
        assert m.dtype == np.float32
        assert np.linalg.cond(m.astype(np.float64)) <= 100.1


def test_weights_are_exact_in_every_precision(seed: int) -> None:
    program = parse('def f(a: "float[3, 4]", x):\n    return a * x, x > 0.0, sum(a)')
    drawn = draw_many(cotangents(program), 60, seed)
    for first, second, third in drawn:
        assert second is None
        for weights in (first, third):
            assert np.all(weights * 8 == np.round(weights * 8))
            assert np.all(np.abs(weights) <= 2)
    assert any(np.any(first < 0) for first, _, _ in drawn)
    (large,) = draw_many(cotangents(parse('def f(a: "float[20, 20]"):\n    return a')), 2, seed)[1:]
    assert len(np.unique(large[0])) > 20


@pytest.mark.parametrize("family", ["loops", "linalg", "tensor", "complex"])
@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16", "float16"])
def test_points_fit_programs_of_every_family(family: Any, precision: Any, seed: int) -> None:
    """Matrices are factored, indices are in range, and nearly every value is finite, where the precision has
    the ops.
    """
    finite = []
    for k, program in enumerate(draw_many(programs(families=(family,)), 60, seed)):
        (point,) = draw_many(points(program, precision=precision), 2, seed + k)[1:]
        assert {name: v.shape for name, v in point.items()} == {p.name: p.type.sizes for p in program.params}
        assert all(v.dtype == np.dtype(precision) for v in point.values() if v.dtype.kind not in "ib")
        if refused_op(program, precision) is None:
            finite.append(defined(program, point, precision))
    assert sum(finite) >= 0.95 * len(finite)


def test_a_point_of_a_program_that_a_person_wrote() -> None:
    program = parse(
        'def f(a: "float[3, 3]", b: "float[3, 1]", k: "int[4]", n: "int", v: "float[5]"):\n'
        "    s = 0.5 * (a + permute_dims(a, axes=(1, 0)))\n"
        "    c = cholesky(s)\n"
        "    y = triangular_solve(c, b)\n"
        "    acc = 0.0\n"
        "    for i in range(n):\n"
        "        acc = acc + v[i]\n"
        "    return take(y, k, axis=0), acc"
    )
    drawn = draw_many(points(program), 100, 5)
    assert all(np.all(np.linalg.eigvalsh(p["a"]) > -1e-9) for p in drawn)
    assert {int(n) for p in drawn for n in p["k"]} == {0, 1, 2}
    assert max(int(p["n"]) for p in drawn) == 5
    for point in drawn:
        arguments = {name: v if v.ndim else v.item() for name, v in point.items()}
        assert all(np.all(np.isfinite(y)) for y in interpret(program, arguments, NumpyNamespace("float64")))
