"""Torch's answers against the truth, what it declines, and what a reproducer does."""

from __future__ import annotations

import functools
import importlib
import itertools
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import MissingExtraError
from gradfuzz.oracles.base import Answer, Mode, Oracle, Question
from gradfuzz.oracles.references.arb import ArbReference
from gradfuzz.oracles.target_name import RULE
from gradfuzz.oracles.torch.ways import script, ways
from tests.asked_programs import Values, asked
from tests.asked_programs import assert_true as near_the_truth
from tests.running import run_script

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

WAYS = {oracle.name: oracle for oracle in ways() if not oracle.traits.batched}
UNROLLED = ("torch:eager", "torch:func", "torch:jacobian")
STRUCTURED = tuple(
    name for name in WAYS if name not in UNROLLED and "compile" not in name and RULE not in name
)

question = functools.partial(asked, weight=0.5)
assert_true = functools.partial(near_the_truth, roundings=64)


def ask(name: str, q: Question) -> list[Answer]:
    return WAYS[name].answer(q)


PROGRAMS: dict[str, tuple[str, tuple[str, ...], tuple[Values, ...]]] = {
    "product": (
        "def f(x):\n acc = 1.0\n for i in range(3):\n  acc = acc*x\n return acc\n",
        ("x",),
        ({"x": 0.5}, {"x": -1.25}, {"x": 0.0}, {"x": 1e-12}),
    ),
    "several inputs": (
        "def f(x, y):\n acc = y\n for i in range(5):\n  t = acc*x\n  acc = sin(t) + y/2\n return acc, acc*x +"
        " i0(y)\n".replace("i0(y)", "exp(y)"),
        ("x", "y"),
        ({"x": 0.5, "y": 1.5}, {"x": -0.75, "y": 0.25}),
    ),
    "one of two inputs": (
        "def f(x, y):\n acc = 1.0\n for i in range(3):\n  acc = acc*x + y*i\n return acc\n",
        ("y",),
        ({"x": 0.5, "y": 1.5},),
    ),
    "arrays": (
        (
            'def f(x, v: "float[3]"):\n acc = v\n for i in range(3):\n  acc[i] = acc[i] * x + sum(v)\n  v ='
            " tanh(acc) * v[i]\n return acc, v @ acc\n"
        ),
        ("v", "x"),
        ({"x": 0.5, "v": [1.0, -0.5, 0.25]},),
    ),
    "a loop that stops by value": (
        "def f(x, y):\n acc = y\n while acc < 10.0:\n  acc = acc*(1.5 + x*x)\n return acc\n",
        ("x", "y"),
        ({"x": 0.5, "y": 1.0}, {"x": 1.75, "y": 0.3}),
    ),
    "body first": (
        (
            "def f(x):\n acc = 1.0\n k = 0\n while True:\n  t = acc*x\n  acc = t + 0.5\n  k = k + 1\n  if not"
            " k < 3:\n   break\n return acc\n"
        ),
        ("x",),
        ({"x": 0.5}, {"x": 2.0}),
    ),
    "break and continue": (
        (
            'def f(x, n: "int"):\n acc = x\n for i in range(n):\n  if i == 1:\n   continue\n  if acc > 3.0:\n'
            "   break\n  acc = acc*x + i\n return acc\n"
        ),
        ("x",),
        ({"x": 1.5, "n": 9}, {"x": 0.25, "n": 4}, {"x": 0.25, "n": 0}),
    ),
    "a branch": (
        (
            "def f(x, y):\n acc = x\n for i in range(4):\n  if acc > 0.45:\n   acc = acc*x\n  else:\n   acc ="
            " acc + y*i\n return acc\n"
        ),
        ("x", "y"),
        ({"x": 0.5, "y": 0.3}, {"x": 0.9, "y": 2.0}),
    ),
    "nested": (
        (
            "def f(x, y):\n acc = x\n for i in range(2):\n  for j in range(3):\n   acc = acc*x + y\n  acc ="
            " sin(acc)\n return acc\n"
        ),
        ("x", "y"),
        ({"x": 0.5, "y": 0.3},),
    ),
}
ORDERS = [modes for order in (1, 2) for modes in itertools.product(("rev", "fwd"), repeat=order)]


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("modes", ORDERS, ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("way", UNROLLED)
def test_unrolled_programs(way: str, program: str, modes: tuple[Mode, ...], precision: str) -> None:
    text, wrt, points = PROGRAMS[program]
    q = question(text, *points, wrt=wrt, modes=modes, precision=precision)
    if way == "torch:eager" and modes.count("fwd") == 2:
        assert {a.status for a in ask(way, q)} == {"unsupported"}
    else:
        assert_true(q, ask(way, q))


@pytest.mark.parametrize(
    "modes", [("rev", "rev", "rev"), ("fwd", "rev", "fwd"), ("rev", "fwd", "fwd")], ids="-".join
)
def test_third_order(modes: tuple[Mode, ...]) -> None:
    text, wrt, points = PROGRAMS["several inputs"]
    q = question(text, *points, wrt=wrt, modes=modes)
    assert_true(q, ask("torch:func", q))


STARTS_AT_INPUT = {
    "for": "def f(x, y):\n acc = x\n for i in range(3):\n  acc = sin(acc*y) + x + i\n return acc*x\n",
    "while": "def f(x, y):\n acc = x\n while acc < 9.0:\n  acc = acc*2.5 + y\n return acc\n",
    "repeat": (
        "def f(x, y):\n acc = x\n k = 0\n while True:\n  acc = acc*y + x\n  k = k + 1\n  if not k < 3:\n  "
        " break\n return acc\n"
    ),
    "counted at run time": (
        'def f(x, y, n: "int"):\n acc = x\n for i in range(n):\n  acc = acc*y + x\n return acc\n'
    ),
    "two carries": (
        "def f(x, y):\n a = x\n b = y\n for i in range(3):\n  t = a\n  a = b*y\n  b = t + a*x\n return a"
        " + b\n"
    ),
    "arrays": (
        'def f(x, y, v: "float[3]"):\n acc = v*x\n for i in range(3):\n  acc[i] = acc[i]*y + v[2 - i]\n'
        " return sum(acc*acc)\n"
    ),
    "a branch": PROGRAMS["a branch"][0],
    "break and continue": (
        PROGRAMS["break and continue"][0].replace("f(x, n", "f(x, y, n").replace("3.0", "0.55")
    ),
    "chained": (
        "def f(x, y):\n acc = x\n for i in range(2):\n  acc = acc*y\n b = y*1.0\n for i in range(3):\n  b ="
        " b*acc\n return b + x\n"
    ),
}
"""Torch's while_loop is known to be wrong where a carry starts from a constant (torch #184528), so these
start from an input.
"""


QUICK = ("for", "while", "two carries")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in STARTS_AT_INPUT]
)
@pytest.mark.parametrize("way", STRUCTURED)
def test_structured_loops(way: str, name: str) -> None:
    points = [{"x": 0.5, "y": 0.3, "v": [1.0, -0.5, 0.25], "n": n} for n in (3, 2)]
    q = question(STARTS_AT_INPUT[name], *points, wrt=("x", "y"))
    answers = ask(way, q)
    if way == "torch:scan" and name in ("while", "repeat", "break and continue"):
        assert {a.status for a in answers} == {"unsupported"}
        assert "condition ends" in answers[0].message
    else:
        assert_true(q, answers)


def test_scan_from_a_constant() -> None:
    text, wrt, points = PROGRAMS["product"]
    q = question(text, *points, wrt=wrt)
    assert_true(q, ask("torch:scan", q))


@pytest.mark.parametrize("way", UNROLLED)
def test_outputs_of_every_kind(way: str) -> None:
    """An input returned unchanged, one that nothing was done with, an int, a bool, a constant."""
    text = 'def f(x, y, n: "int", v: "float[2]"):\n return x, y, n + 1, x > y, 2.5, v[0:1]\n'
    q = question(text, {"x": 0.5, "y": 1.5, "n": 3, "v": [1.0, 2.0]}, wrt=("x", "v"), precision="float32")
    (answer,) = ask(way, q)
    assert [v.tolist() for v in answer.values] == [0.5, 1.5, 4, False, 2.5, [1.0]]
    assert [v.dtype.name for v in answer.values] == [
        "float32",
        "float32",
        "int64",
        "bool",
        "float32",
        "float32",
    ]
    assert answer.gradient["x"] == 1.0
    assert answer.gradient["v"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("modes", ORDERS, ids="-".join)
@pytest.mark.parametrize("way", UNROLLED)
def test_nothing_depends_on_the_input(way: str, modes: tuple[Mode, ...]) -> None:
    q = question("def f(x, y):\n return y*2.0\n", {"x": 0.5, "y": 1.5}, modes=modes)
    (answer,) = ask(way, q)
    if answer.status == "unsupported":
        assert modes == ("fwd", "fwd")
    else:
        assert answer.gradient["x"] == 0.0


@pytest.mark.parametrize(
    "way", [pytest.param(w, marks=pytest.mark.slow) if "inductor" in w else w for w in WAYS if RULE not in w]
)
def test_the_value_only(way: str) -> None:
    text, wrt, points = PROGRAMS["product"]
    answer, *_ = ask(way, question(text, *points, wrt=wrt, modes=()))
    assert answer.status == "ok", answer.message
    assert (answer.gradient, float(answer.values[0])) == ({}, 0.125)


# What is declined, and what goes wrong ----------------------------------------------------------------------


def test_structured_ways_want_a_loop() -> None:
    q = question("def f(x):\n return x*x\n", {"x": 0.5})
    for way in STRUCTURED:
        assert WAYS[way].supports(q) == "the program has no loop"


@pytest.mark.parametrize("way", STRUCTURED)
def test_a_mode_without_a_rule_is_declined(way: str) -> None:
    """Torch returns no tangent from these constructs: nothing that could be judged."""
    text, wrt, points = PROGRAMS["product"]
    for modes in (("fwd",), ("rev", "fwd"), ("fwd", "rev")):
        answer, *_ = ask(way, question(text, *points, wrt=wrt, modes=modes))
        assert (answer.status, "no forward mode" in answer.message) == ("unsupported", True)


@pytest.mark.parametrize("way", WAYS)
def test_an_endless_loop_is_an_error(way: str) -> None:
    q = question("def f(x):\n acc = x\n while acc < 2.0:\n  acc = acc*x\n return acc\n", {"x": 0.5})
    (answer,) = ask(way, q)
    if way == "torch:scan" or RULE in way:
        assert answer.status == "unsupported"
    else:
        assert (answer.status, "trip limit" in answer.message) == ("error", True)


def test_an_index_outside_the_array_is_an_error_at_that_point_only() -> None:
    q = question(
        'def f(x, i: "int", v: "float[2]"):\n return x*v[i]\n',
        *({"x": 0.5, "i": i, "v": [1, 2]} for i in (1, 2, 0)),
    )
    answers = ask("torch:eager", q)
    assert [a.status for a in answers] == ["ok", "error", "ok"]
    assert answers[1].message.startswith("DomainError: index 2")


@pytest.mark.parametrize(
    "raised",
    [RuntimeError("boom"), NotImplementedError("no rule"), AssertionError("outs_to_grad length")],
)
def test_an_exception_is_an_answer(monkeypatch: pytest.MonkeyPatch, raised: Exception) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise raised

    monkeypatch.setattr(torch.autograd, "grad", fail)
    text, wrt, points = PROGRAMS["product"]
    answers = ask("torch:eager", question(text, *points, wrt=wrt))
    assert {(a.status, a.message) for a in answers} == {("error", f"{type(raised).__name__}: {raised}")}


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gradfuzz\[torch\]'"):
        ways()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_changed(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Filters, loggers, and what the process prints; the program is one that torch's tracer logs errors
    about.
    """
    importlib.import_module("sympy")  # the compiler imports it, and that adds a filter
    before = list(warnings.filters), torch.get_num_threads(), torch.get_default_dtype()
    text, wrt, points = PROGRAMS["nested"]
    ask(way, question(text, *points, wrt=wrt))
    assert (list(warnings.filters), torch.get_num_threads(), torch.get_default_dtype()) == before
    handlers = [
        h
        for name in logging.root.manager.loggerDict
        if name.startswith("torch")
        for h in logging.getLogger(name).handlers
    ]
    assert not any(getattr(f, "__module__", "").startswith("gradfuzz") for h in handlers for f in h.filters)
    assert capfd.readouterr() == ("", "")


def test_an_oracle_says_who_it_is() -> None:
    for oracle in WAYS.values():
        assert isinstance(oracle, Oracle)
        assert torch.__version__.startswith(oracle.version)
    assert len({oracle.name for oracle in ways()}) == len(ways())


# Reproducers ------------------------------------------------------------------------------------------------


REPRODUCERS = [
    ("torch:eager", "several inputs", ("rev",), "float64"),
    ("torch:while_loop", "product", ("rev",), "float64"),
    *(
        pytest.param(*case, marks=pytest.mark.slow)
        for case in (
            ("torch:eager", "arrays", ("rev", "fwd"), "float64"),
            ("torch:eager", "body first", (), "float64"),
            ("torch:func", "break and continue", ("fwd",), "float32"),
            ("torch:func", "arrays", ("rev", "rev"), "float64"),
            ("torch:scan", "product", ("rev",), "float64"),
        )
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "program", "modes", "precision"),
    REPRODUCERS,
    ids=lambda v: v if isinstance(v, str) else "-".join(v),
)
def test_a_script_says_what_the_oracle_says(
    way: str, program: str, modes: tuple[Mode, ...], precision: str, tmp_path: Path
) -> None:
    """It exits with 1 exactly where the oracle's answer is wrong, and prints the oracle's own number."""
    text, wrt, points = PROGRAMS[program]
    q = question(text, points[0], wrt=wrt, modes=modes, precision=precision)
    (answer,), (truth,) = ask(way, q), ArbReference().truth(q)
    got, right = answer.gradient, truth.gradient
    if not modes:
        got, right = (
            {f"output {k}": v for k, v in enumerate(values)} for values in (answer.values, truth.values)
        )
    unit = float(np.finfo(precision).eps)
    allowed = {name: np.full(r.shape, 64 * unit * float(np.max(np.abs(r)))) for name, r in right.items()}
    wrong = any(np.any(np.abs(got[name] - r) > allowed[name]) for name, r in right.items())
    done = run_script(script(q, 0, way, right, allowed), tmp_path)
    assert (done.returncode, done.stderr) == (int(wrong), "")
    assert done.stdout.rstrip().endswith("wrong" if wrong else "right")
    rows = [line.split() for line in done.stdout.splitlines()[1:-1]]
    printed = [float(row[-2]) for row in rows]
    assert printed == [float(entry) for name in right for entry in np.ravel(got[name])]


@pytest.mark.slow
def test_a_script_without_bounds_derives_them(tmp_path: Path) -> None:
    text, wrt, points = PROGRAMS["product"]
    q = question(text, points[0], wrt=wrt)
    source = script(q, 0, "torch:eager", {"x": np.array(0.75)})
    assert run_script(source, tmp_path).returncode == 0
    assert run_script(source.replace("(f(*changed),)", "(2 * f(*changed),)"), tmp_path).returncode == 1


def test_scripts_need_no_gradfuzz() -> None:
    text, wrt, points = PROGRAMS["several inputs"]
    for way, modes in itertools.product(WAYS, ORDERS):
        source = script(question(text, points[0], wrt=wrt, modes=modes), 0, way, {})
        compile(source, "reproducer.py", "exec")
        assert "gradfuzz" not in source


# Memory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", UNROLLED)
def test_the_order_of_the_memory_of_inputs_is_no_matter(way: str) -> None:
    """f = sum of w_ij x_ij x_ji, so df/dx_ij = (w_ij + w_ji) x_ji."""
    text = 'def f(x: "float[2, 2]"):\n    return x * permute_dims(x, axes=(1, 0))\n'
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for modes in (("rev",), ("fwd",)):
        q = question(text, {"x": np.asfortranarray(x)}, modes=modes)
        assert q.points[0].inputs["x"].flags.f_contiguous
        w = q.weights[0]
        assert w is not None
        (answer,) = ask(way, q)
        assert answer.status == "ok", answer.message
        np.testing.assert_array_equal(answer.gradient["x"], (w + w.T) * x.T)


def test_a_part_of_zeros_without_memory() -> None:
    """The second derivative of a linear function by torch.func is a part of zeros that are nowhere."""
    text = 'def f(x: "float[2]", y: "float[1]"):\n    return concat([x, y])\n'
    for modes in (("fwd", "rev"), ("fwd", "fwd"), ("rev", "fwd")):
        q = question(text, {"x": [1.0, 2.0], "y": [3.0]}, wrt=("x", "y"), modes=modes)
        for way in UNROLLED:
            (answer,) = ask(way, q)
            if answer.status != "unsupported":
                assert {name: g.tolist() for name, g in answer.gradient.items()} == {
                    "x": [0.0, 0.0],
                    "y": [0.0],
                }, answer.message


@pytest.mark.parametrize("modes", [("fwd",), ("rev", "fwd"), ("fwd", "rev")])
@pytest.mark.parametrize("of_x", ["x", "sum(x)", "sin(x)"])
def test_an_empty_array_has_an_empty_gradient_in_forward_mode(of_x: str, modes: tuple[Mode, ...]) -> None:
    """torch.func.jacfwd has no products of numbers where the array is empty, and weights are such."""
    text = f'def f(x: "float[0]", y):\n    return {of_x}, y * y * y\n'
    asked = question(text, {"x": np.zeros(0), "y": 2.0}, wrt=("x", "y"), modes=modes)
    (answer,), (right,) = WAYS["torch:func"].answer(asked), WAYS["torch:eager"].answer(asked)
    assert answer.status == "ok", answer.message
    assert answer.gradient["x"].shape == (0,)
    assert answer.gradient["y"] == right.gradient["y"] != 0.0


@pytest.mark.parametrize("modes", [("fwd",), ("rev", "fwd"), ("fwd", "rev")])
def test_a_script_of_forward_mode_runs_to_its_end(modes: tuple[Mode, ...], tmp_path: Path) -> None:
    asked = question("def f(x):\n    return x * x\n", {"x": 1.5}, modes=modes)
    slope = np.asarray(3.0 if len(modes) == 1 else 2.0)
    done = run_script(script(asked, 0, "torch:eager", {"x": slope}), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
