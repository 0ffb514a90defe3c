"""Programs that the adapters' generators write as source: here for plain Python, which has to say what the
interpreter says.
"""

from __future__ import annotations

import ast
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.foreign.wire import to_wire
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import loop_program, parse
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.strategies import FAMILIES, draw_many

sys.path.insert(0, str(Path(__file__).parents[3] / "gradfuzz" / "adapters"))

import fields
import kernels
import kit

SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "less": "<",
    "less_equal": "<=",
}
SIGNS.update(
    {
        "greater": ">",
        "greater_equal": ">=",
        "equal": "==",
        "not_equal": "!=",
        "logical_and": "and",
        "logical_or": "or",
    }
)


def spelled(template: str) -> Any:
    def write(writer: Any, sources: list[str], types: list[Any], result: Any, **params: Any) -> str:
        if result[1]:
            return str(writer.by_entry(lambda entries: template.format(*entries), sources, types, result))
        return template.format(*sources)

    return write


def index(writer: Any, sources: list[str], types: list[Any], result: Any, pattern: Any) -> str:
    if any(entry != "at" for entry in pattern):
        raise kit.Unsupported("slices")
    return f"{sources[0]}[{', '.join(sources[1:])}]"


OPS = {op: spelled(f"({{}} {sign} {{}})") for op, sign in SIGNS.items()}
OPS.update(
    {
        op: spelled(f"np.{op}({{}})")
        for op in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "negative")
    }
)
OPS.update({op: spelled(f"np.{op}({{}}, {{}})") for op in ("maximum", "minimum")})
OPS.update({"where": spelled("({1} if {0} else {2})"), "logical_not": spelled("(not {})"), "index": index})
OPS.update({"stack": kernels.moved(kernels.place_in_stack), "concat": kernels.moved(kernels.place_in_concat)})
OPS.update({"reshape": kernels.moved(kernels.reshaped), "flip": kernels.moved(kernels.flipped)})
OPS["broadcast_to"] = kernels.moved(
    lambda place, shapes, result, shape: (0, kernels.broadcast_entry(place, shapes[0]))
)
OPS["astype"] = lambda writer, sources, types, result, dtype: (
    writer.converted(sources[0], types[0][0], dtype) if not result[1] else kit.Unsupported
)


class Writer(kernels.Writer):  # type: ignore[misc]
    """Scalars are NumPy's, arrays are, too."""

    ops = OPS

    def constant(self, dtype: str, value: Any) -> str:
        if dtype != "float":
            return repr(value)
        return f"np.float64({value!r})" if math.isfinite(value) else f"np.float64('{value}')"

    def array(self, dtype: str, shape: Any, parts: list[str]) -> str:
        return f"np.array([{', '.join(parts)}]).reshape({shape})"

    def converted(self, source: str, own: str, wanted: str) -> str:
        return f"{'np.float64' if wanted == 'float' else wanted}({source})"


def ran(form: Any, inputs: dict[str, np.ndarray]) -> list[Any]:
    """The outputs of the kernel at one point."""
    layout = kernels.Layout(form)
    decoded = {n: (a.dtype.name, (1, *a.shape), a.ravel().tolist()) for n, a in inputs.items()}
    xs, ns = layout.rows(decoded, 1)
    ys, ms = ([[0.0] * layout.widths[name]] for name in "YM")
    source = "def program(p, X, N, Y, M):\n" + Writer(form).written(layout, 1)
    ast.parse(source, feature_version=(3, 8))
    scope: dict[str, Any] = {"np": np}
    exec(source, scope)
    arrays = [
        np.array(rows, t).reshape(1, -1)
        for rows, t in ((xs, float), (ns, np.int64), (ys, float), (ms, np.int64))
    ]
    scope["program"](0, *arrays)
    (result,) = layout.results("float64", [], arrays[2].tolist(), arrays[3].tolist(), None)
    return [np.array(entries, dtype).reshape(shape) for dtype, shape, entries in result["ok"][0]]


def test_kernels_say_what_the_interpreter_says() -> None:
    compared, loops = 0, set()
    with np.errstate(all="ignore"):
        for case in draw_many(FAMILIES["loops"].cases(("float64",)), 150, "kernels"):
            form = to_wire(case.program)
            for point in case.points[:2]:
                inputs = {name: np.asarray(value) for name, value in point.items()}
                try:
                    got = ran(form, inputs)
                except (kit.Unsupported, IndexError):
                    continue
                expected = interpret(case.program, inputs, NumpyNamespace())
                for a, b in zip(got, expected, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=str(case.program))
                compared += 1
                loops |= {
                    word
                    for word in ("'for'", "'repeat'", "'body'", "'break'", "'continue'")
                    if word in str(form)
                }
    assert compared > 150
    assert len(loops) == 5


def test_rows_and_derivatives_lie_where_the_layout_says() -> None:
    form = to_wire(parse('def f(x: "float[2]", n: "int", y):\n    return y, n, x\n'))
    layout = kernels.Layout(form)
    inputs = {
        "x": ("float64", (2, 2), [1.0, 2.0, 3.0, 4.0]),
        "n": ("int64", (2,), [7, 8]),
        "y": ("float64", (2,), [5.0, 6.0]),
    }
    assert layout.rows(inputs, 2) == ([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]], [[7], [8]])
    weight = {"dtype": "float64", "shape": [2], "data": [0.5, 0.25]}
    assert layout.weights({"weights": [None, None, weight]}) == [0.0, 0.5, 0.25]
    first, second = layout.results(
        "float64", ["y"], [[5.0, 1.0, 2.0], [6.0, 3.0, 4.0]], [[7], [8]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    )
    assert first["ok"] == (
        [("float64", (), [5.0]), ("int64", (), [7]), ("float64", (2,), [1.0, 2.0])],
        {"y": ("float64", (), [3.0])},
    )
    assert second["ok"][1] == {"y": ("float64", (), [6.0])}


ENDLESS = """
def f(x, n: "int"):
    k = 0
    for i in range(2):
        while k < n:
            k = k + 1
        j = 0
        while True:
            j = j + 1
            x = x + 1.0
            if not j < n:
                break
    return x, k
"""


def test_fields_end_a_loop_that_never_ends() -> None:
    """The lines for Taichi, run by Python: a trip too many ends all loops, and is told."""
    form = to_wire(parse(ENDLESS))
    layout = kernels.Layout(form)
    writer = fields.Writer(form, layout, 5)
    source = "def program(p, X, N, Y, M, T):\n" + writer.written(layout, 1)
    scope: dict[str, Any] = {"ti": SimpleNamespace(i64=int, i32=int), "F": float}
    exec(source, scope)
    told, trips = [], []
    for n in (0, 1, 5, 6, 10**12):
        ys, ms, over = [0.0], [0], [7]
        scope["program"](0, [0.5], [n], ys, ms, over)
        told.append(over[0])
        trips.append(ms[0])
    assert writer.watches
    assert told == [0, 0, 0, 1, 1]
    assert trips == [0, 1, 5, 6, 6]
    counted = fields.Writer(to_wire(loop_program("acc*x", loop="for")), layout, 5)
    assert "over" not in counted.written(layout, 1)


def plain(text: str, writer: Any) -> Any:
    form = to_wire(parse(text))
    lines = writer(form, kernels.Layout(form), 100)
    return lines, [line.strip() for line in lines.source().splitlines()]


GATHERED = """
def f(x: "float[3]", n: "int", y):
    acc = 0.5
    for i in range(n):
        acc = acc + x[i] * x[1] * y
        for j in range(2):
            acc = acc * x[j + 1]
    return acc
"""


def test_kernels_are_written_as_people_write_them() -> None:
    """Literals, counters and sums of them are the indices; counts are the arguments; sums are +=."""
    _, lines = plain(GATHERED, fields.PlainWriter)
    assert lines == [
        "@ti.kernel",
        "def program(v_n: ti.i32):",
        "for _ in range(1):",
        "v_acc = F(0.5)",
        "for v_i in range(v_n):",
        "v_acc += ((a_x[v_i] * a_x[1]) * a_y[None])",
        "for v_j in range(2):",
        "v_acc *= a_x[v_j + 1]",
        "y0[None] = v_acc",
    ]


SUMMED = """
def f(x: "float[3]", n: "int", y: "float[3]"):
    for i in range(n):
        y[i] = y[i] + x[i] * x[0]
    return y
"""


def test_what_a_loop_changes_is_changed_in_place() -> None:
    written, lines = plain(SUMMED, fields.InPlaceWriter)
    (changed,) = [line for line in lines if "a_x[v_i]" in line]
    assert changed in ("s_y[v_i] += (a_x[v_i] * a_x[0])", "ti.atomic_add(s_y[v_i], (a_x[v_i] * a_x[0]))")
    assert not written.changes_what_was_read
    assert not written.overwrites


@pytest.mark.parametrize(
    ("body", "reads", "overwrites"),
    [
        ("acc = acc + x", False, False),
        ("acc = acc - sin(x)", False, False),
        ("acc = acc + acc * x", True, False),  # the old value is read, and changed by +=
        ("acc = acc * x", True, True),
        ("acc = sin(x)", False, True),  # each trip overwrites what the one before wrote
        ("y = y + acc\n        acc = acc + x", True, False),
        ("if x > 0.5:\n            acc = acc + x", False, False),
    ],
)
def test_the_rules_for_fields(body: str, reads: bool, overwrites: bool) -> None:
    """What Taichi's documentation forbids: an entry that changes after it was read, and a second write."""
    text = f'def f(x, n: "int"):\n    acc = 0.5\n    y = 0.25\n    for i in range(n):\n        {body}\n'
    written, _ = plain(f"{text}    return acc, y\n", fields.InPlaceWriter)
    assert (written.changes_what_was_read, written.overwrites) == (reads, overwrites)


def test_a_scalar_is_its_own_sum() -> None:
    """The library's sum is a method of vectors and matrices."""
    _, lines = plain("def f(x):\n    return sum(x)\n", fields.PlainWriter)
    assert lines[-2:] == ["t0 = a_x[None]", "y0[None] = (t0)"]


def test_each_way_of_writing_a_kernel_is_right() -> None:
    """Taichi's adapter with a library in the place of Taichi that is right."""
    ways = resolve(f"cmd:{sys.executable} {Path(__file__).parents[2] / 'targets' / 'like_taichi.py'}")
    for text in (GATHERED, SUMMED):
        program = parse(text)
        inputs = {"x": np.array([0.5, 0.25, 2.0]), "n": np.asarray(2), "y": np.asarray(0.75)}
        if text is SUMMED:
            inputs["y"] = np.array([1.0, 0.5, 3.0])
        question = plain_question(program, [Point(inputs)], "float64", ("x", "y"), ("rev",))
        cases = check_question(question, ways).cases
        assert {case.oracle.rpartition("#")[2]: case.verdict for case in cases} == dict.fromkeys(
            ("reverse", "vectors", "functions", "plain", "in_place"), Verdict.AGREE
        )


def test_a_limit_that_the_documentation_states_is_a_convention() -> None:
    (limited,) = resolve(f"cmd:{sys.executable} {Path(__file__).parents[2] / 'targets' / 'limited.py'}")
    point = Point({"x": np.asarray(0.5)})
    verdicts = []
    for program in (loop_program("sin(acc)*x", loop="for"), parse("def f(x):\n    return sin(x)\n")):
        question = plain_question(program, [point], "float64", ("x",), ("fwd",))
        verdicts += check_question(question, [limited]).cases
    inside, outside = verdicts
    assert (inside.verdict, inside.conventions) == (Verdict.CONVENTION, ("loops",))
    assert "loops are not differentiated, as documented: https://example.org/manual#loops" in inside.message
    assert (outside.verdict, outside.conventions) == (Verdict.DISAGREE, ())


@pytest.mark.parametrize(
    ("raised", "refusal"),
    [
        (RuntimeError("[auto_diff.cpp:visit@241] Not supported."), True),
        (RuntimeError("[ir_shaping.cpp:visit@339] WhileStmt is not supported in AutoDiff"), True),
        (RuntimeError("[llvm.cpp:run@12] Assertion failure: ptr"), False),
        (ValueError("Not supported"), False),
    ],
)
def test_the_words_of_a_compiler_that_refuses_a_loop(raised: Exception, refusal: bool) -> None:
    """A while loop beside a for loop is refused in other words than a while loop alone."""
    assert isinstance(fields.refused(raised), kit.Unsupported) == refusal
