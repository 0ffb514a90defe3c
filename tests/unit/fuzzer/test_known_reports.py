"""A finding says which known report it fits, in every report; what differs from the report does not."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from packaging.specifiers import SpecifierSet

from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.known_reports import (
    KNOWN_REPORTS,
    TRACKERS,
    TROPHIES,
    KnownReport,
    entries_of,
    reports_of,
)
from gradfuzz.fuzzer.results.records import from_document, to_document
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.results.trigger import FORMS
from gradfuzz.oracles.libraries import LIBRARIES
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.text.parse import parse
from gradfuzz.reports.common.pieces import console, show
from gradfuzz.reports.common.standing import divided, news
from gradfuzz.reports.formats import FORMATS
from gradfuzz.reports.machine.json import finding_document
from gradfuzz.reports.markdown.issue import issue
from gradfuzz.reports.terminal.block import finding as block
from gradfuzz.reports.terminal.concise import line
from tests.report_data import finding, finished, review

PAGES = Path(__file__).parents[3] / "docs" / "trophies"
"""A page for each system, by the name of its target."""

OUTSIDE = {"pytorch#197867", "HIPS/autograd#384"}
"""Reports that no finding can be told to fit: about custom functions, whatever they compute, and about
`broadcast_to`, of which autograd itself says that it has no such rule.
"""

UNTOLD: dict[str, set[int]] = {
    "torch": {84},
    "jax": set(),
    "autograd": set(),
    "mlx": set(),
    "tensorflow": {9, 10, 12},
    "paddle": {3, 8, 9, 10, 13, 21, 25, 41},
}
"""Entries without a report of which no row tells a finding; all others of these systems have a row. Those of
TensorFlow and Paddle are about loops, graphs, processes and arguments, and that of Torch is about operators
of one's own.
"""


# The table --------------------------------------------------------------------------------------------------


ROWS = (*KNOWN_REPORTS, *TROPHIES)


@pytest.mark.parametrize("row", ROWS, ids=[f"{k} {row.name}" for k, row in enumerate(ROWS)])
def test_a_row_names_what_there_is(row: KnownReport) -> None:
    assert row.system in {*ADAPTERS, *LIBRARIES}
    assert {*row.ops, *row.beside} <= {*OPS, "any"}
    assert "any" not in row.beside or row.ways, "a program in which any op may stand is told by its way"
    assert set(row.loops) <= set(FORMS.values())
    assert row.ops or row.loops or row.functions or row.rules or row.says or row.text, "it claims anything"
    assert row.classes
    assert all(set(modes) <= {"rev", "fwd"} for modes in row.modes)
    assert bool(row.says) <= (Class.ERROR in row.classes), "only an error says something"
    assert re.fullmatch(r"(>=|==)[\d.]+(,<[\d.]+)?", row.versions)
    re.compile(row.text)


@pytest.mark.parametrize("row", KNOWN_REPORTS, ids=lambda row: row.name)
def test_a_link_leads_to_the_tracker(row: KnownReport) -> None:
    tracker, number = re.fullmatch(r"([\w/]+)#(\d+)", row.name).groups()  # type: ignore[union-attr]
    assert row.link == f"https://github.com/{TRACKERS[tracker]}/issues/{number}"
    assert re.fullmatch(r"[\w-]+/[\w-]+", TRACKERS[tracker])


class Told(NamedTuple):
    """An entry of a page."""

    version: str
    until: str
    """The release since which it is right; empty where it stands."""
    reports: frozenset[str]


def told() -> dict[tuple[str, int], Told]:
    """The entries by system and number. What follows a semicolon is no report of the bug."""
    found = {}
    for page in PAGES.glob("*.md"):
        heading, *entries = re.split(r"^\*\*(?=\d+\. )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        version = heading.split("\n", 1)[0].rsplit(" ", 1)[1]
        for entry in entries:
            text, reports = " ".join(entry.split()), set()
            for sentence in re.findall(r"\bReported\b[^:]*: (.*?)[.;](?:\s|$)", text):
                tracker = ""
                for named, number in re.findall(r"([\w/]*)#(\d+)", sentence):
                    tracker = named or tracker
                    reports.add(f"{tracker}#{number}")
            right = re.search(r"- Right since ([\d.]*\d)", text)
            key = page.stem, int(text.partition(".")[0])
            found[key] = Told(version, right[1] if right else "", frozenset(reports))
    return found


def test_the_table_has_the_reports_of_the_trophies() -> None:
    reports = {(system, name) for (system, _), entry in told().items() for name in entry.reports}
    rows = {(row.system, row.name) for row in KNOWN_REPORTS}
    assert len(rows) == len(KNOWN_REPORTS)
    assert {name for _, name in reports - rows} == OUTSIDE
    assert rows - reports == set()


def test_the_entries_are_those_of_the_pages() -> None:
    entries = told()
    rows = {(row.system, row.entry) for row in TROPHIES}
    assert rows <= set(entries)
    for system, untold in UNTOLD.items():
        alone = {number for (of, number), entry in entries.items() if of == system and not entry.reports}
        assert alone - {number for of, number in rows if of == system} == untold


def test_a_row_holds_for_the_versions_that_have_the_bug() -> None:
    entries = told()
    for row in ROWS:
        for (system, number), entry in entries.items():
            if system == row.system and (number == row.entry or row.name in entry.reports):
                assert entry.version in SpecifierSet(row.versions), row.name
                assert row.versions.partition(",<")[2] == entry.until, row.name


# Fitting ----------------------------------------------------------------------------------------------------


def made(
    text: str, target: str, version: str, kind: Class, modes: str, at: Any = 0.5, **more: Any
) -> Finding:
    """A finding about a program; all its inputs are `at`."""
    program = parse(text)
    base = finding(with_evidence=False)
    inputs = {p.name: np.full(p.type.sizes, at) for p in program.params}
    smallest = replace(base.smallest, inputs=inputs)
    about = {"program": program, "original": program, "smallest": smallest, "cause": None, "note": ""}
    asked = {"target": target, "version": version, "kind": kind, "modes": tuple(modes.split())}
    return replace(base, **{**about, **asked, **more})


def singular(**changes: Any) -> Finding:
    text = 'def f(A: "float[2, 2]"):\n    return det(A)\n'
    return replace(made(text, "torch:eager", "2.13.0+cpu", Class.MISSING, "rev"), **changes)


def names(of: Finding) -> list[str]:
    return [report.name for report in reports_of(of)]


def program(text: str) -> dict[str, Any]:
    return {"program": parse(text)}


IN_A_LOOP = (
    'def f(A: "float[2, 2]"):\n    y = 0.0\n    for k in range(2):\n        y = det(A)\n    return y\n'
)


def test_the_gradient_of_det_at_a_singular_matrix() -> None:
    assert names(singular()) == ["pytorch#104675"]
    assert names(singular(version="2.14.0.dev20260401")) == ["pytorch#104675"]


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "jax:scan", "version": "2.13.0"},
        {"target": "mutant:nx-1747"},
        {"target": "cmd:torch"},
        {"version": "2.6.0"},
        {"version": "unknown"},
        {"modes": ("rev", "rev")},
        {"kind": Class.SIGN_FLIP},
        program('def f(A: "float[2, 2]"):\n    return trace(A)\n'),
        program('def f(A: "float[2, 2]"):\n    return det(inv(A))\n'),
        program(IN_A_LOOP),
    ],
    ids=["system", "mutant", "command", "version", "no version", "modes", "class", "op", "beside", "loop"],
)
def test_what_differs_may_be_another_bug(changes: dict[str, Any]) -> None:
    assert names(singular(**changes)) == []


def looped(trips: int, skip: str = "") -> str:
    return f"def f(x):\n    y = 1.0\n    for k in range({trips}):\n{skip}        y = y * x\n    return y\n"


SKIP = "        if k == 1:\n            continue\n"
DET = 'def f(A: "float[4, 4]"):\n    return det(A)\n'
EIGH = 'def f(A: "float[2, 2]"):\n    w, v = eigh(A)\n    return v\n'
TRIANGULAR = 'def f(A: "float[1, 1]", b: "float[1]"):\n    return triangular_solve(A, b{})\n'


@pytest.mark.parametrize(
    ("report", "fitting", "changes"),
    [
        (
            "pytorch#162350",
            made(
                *("def f(x):\n    return softmax(x)\n", "torch:eager", "2.13.0", Class.ERROR, "fwd rev"),
                note="RuntimeError: one of the variables has been modified by an inplace operation.",
            ),
            {"note": "RuntimeError: derivative not implemented."},
        ),
        (
            "swift#78264",
            made(
                "def f(x):\n    y = x\n    while True:\n        y = sin(y) * x\n        if not y > 1.0:\n"
                "            break\n    return y\n",
                *("swift==6.2.3:inout", "6.2.3", Class.RATIO_BLOWUP, "rev"),
            ),
            program("def f(x):\n    y = x\n    while y > 1.0:\n        y = sin(y) * x\n    return y\n"),
        ),
        (
            "jax#2821",
            made(DET, "jax:scan", "0.10.2", Class.NON_FINITE, "rev rev"),
            program(DET.replace("4", "3")),
        ),
        (
            "jax#40141",
            made(EIGH, "jax:scan", "0.10.2", Class.NON_FINITE, "rev", 2.0**25),
            {"smallest": finding().smallest},
        ),
        (
            "jax#40628",
            made("def f(x):\n    return i0(x)\n", "jax:scan", "0.10.2", Class.SPURIOUS, "rev", 0.0),
            {"version": "0.11.2"},
        ),
        (
            "tensorflow#127753",
            made(
                *("def f(x):\n    y = x * x\n    return y * x\n", "tensorflow:eager", "2.21.0"),
                *(Class.WRONG_VALUE, "fwd fwd"),
            ),
            {"target": "tensorflow:function"},
        ),
        (
            "Paddle#57863",
            made(TRIANGULAR.format(""), "paddle:dygraph", "3.3.1", Class.WRONG_VALUE, "rev"),
            program(TRIANGULAR.format(", unit_diagonal=True")),
        ),
        (
            "mlx#3047",
            made("def f(x):\n    return erf(x)\n", "mlx:eager", "0.32.4", Class.WRONG_PRIMAL, "rev"),
            {"precision": "float32"},
        ),
        (
            "warp#1552",
            made(looped(3, SKIP), "warp:kernel", "1.19.0", Class.MISSING, "rev"),
            program(looped(3)),
        ),
        (
            "taichi#8027",
            made(looped(33), "taichi:kernel", "1.7.4", Class.ERROR, "rev", note="SIGSEGV: the process died."),
            program(looped(30)),
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_each_condition_of_a_row_decides(report: str, fitting: Finding, changes: dict[str, Any]) -> None:
    assert report in names(fitting)
    assert report not in names(replace(fitting, **changes))


# Programs of the trophies -----------------------------------------------------------------------------------


def torch(text: str, way: str, kind: Class, modes: str, at: Any = 0.5, **more: Any) -> Finding:
    return made(text, f"torch:{way}", "2.13.0", kind, modes, at, **more)


def autograd(text: str, kind: Class, modes: str, at: Any = 0.5, **more: Any) -> Finding:
    return made(text, "autograd:eager", "1.9.1", kind, modes, at, **more)


def one(call: str, size: str = "") -> str:
    """A program that is one call."""
    return f"def f(x{size}):\n    return {call}\n"


SQUARE = ': "float[2, 2]"'
TWO = ({"x": np.full((2, 2), 0.25)},)
UNMADE = "def f(x):\n    y = x\n    for k in range(0):\n        y = softmax(y, axis=0)\n    return y\n"
SOLVE = 'def f(x: "float[2, 2]", y: "float[2, 2, 1]"):\n    return solve(x, y)\n'
STACK = SOLVE.replace("[2, 2]", "[2, 2, 2]").replace("[2, 2, 1]", "[2, 1]")
MISMATCH = "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([2, 1, 2, 1])"
SIZES = "RuntimeError: The size of tensor a (2) must match the size of tensor b (4)"
EMPTY = "IndexError: select(): index 0 out of range for tensor of size [0] at dimension 0"
RESHAPE = "ValueError: cannot reshape array of size 0 into shape ()"
SINGULAR = {"note": "_LinAlgError: the input matrix is singular"}
AXES = "AxisError: axis -2 is out of bounds for array of dimension 1"


def near(ratio: float) -> dict[str, Any]:
    """The clearest point of a finding that got so many times what was expected."""
    return {"clearest": replace(finding().clearest, ratio=ratio)}


def jax(text: str, way: str, kind: Class, modes: str, at: Any = 0.5, **more: Any) -> Finding:
    return made(text, f"jax:{way}", "0.10.2", kind, modes, at, **more)


LEAST = (
    "def f(x):\n    y = 1.0\n    for k in range(2):\n        t = y * x\n        y = minimum(t, sin(t))\n"
    "    return y\n"
)
LOST = torch(LEAST, "jacobian", Class.PRECISION, "fwd fwd", 100.0, **near(0.99999))
ZERO = "def f(x):\n    y = x\n    for k in range(1):\n        y = xlogy(y, 2.0) * y\n    return y\n"
BATCH = (
    'def f(x: "float[2, 6, 6]", acc: "float[2, 6, 2]"):\n    y = acc\n    for k in range(1):\n'
    "        y = sin(matmul(x, acc))\n    return y\n"
)
TINY = finding(1).smallest
POINTS = replace(TINY, inputs={"x": np.array([0.5, 1e-7])}, entry=("x", (0,)))


@pytest.mark.parametrize(
    ("name", "fitting", "planted"),
    [
        ("torch 3", torch(one("det(x)", SQUARE), "vmap", Class.SIGN_FLIP, "fwd", others=TWO), {"others": ()}),
        (
            "torch 3",
            torch(one("det(x)", SQUARE), "vmap", Class.SIGN_FLIP, "fwd", others=TWO),
            {"target": "torch:func"},
        ),
        (
            "torch 3",
            torch(one("det(x)", SQUARE), "vmap", Class.SIGN_FLIP, "fwd", others=TWO),
            {"modes": ("rev",)},
        ),
        (
            "torch 7",
            torch(one("det(x)", SQUARE), "func", Class.NON_FINITE, "rev rev"),
            {"kind": Class.SIGN_FLIP},
        ),
        (
            "torch 7",
            torch(one("det(x)", SQUARE), "func", Class.NON_FINITE, "rev rev"),
            {"target": "torch:eager"},
        ),
        ("torch 2", torch(UNMADE, "while_loop", Class.SIGN_FLIP, "rev"), {"culprits": ("softmax",)}),
        ("torch 2", torch(UNMADE, "while_loop", Class.SIGN_FLIP, "rev"), {"target": "torch:eager"}),
        (
            "torch 2",
            torch(UNMADE, "while_loop", Class.SIGN_FLIP, "rev"),
            program(UNMADE.replace("range(0)", "range(1)")),
        ),
        ("torch 15", torch(SOLVE, "jacobian", Class.ERROR, "rev", note=SIZES), SINGULAR),
        (
            "torch 15",
            torch(SOLVE, "jacobian", Class.ERROR, "rev", note=SIZES),
            program(SOLVE.replace("[2, 2, 1]", "[2, 1]")),
        ),
        (
            "torch 17",
            torch(one("vector_norm(x, ord=3)", ': "float[0]"'), "jacobian", Class.ERROR, "fwd", note=EMPTY),
            program(one("vector_norm(x, ord=3)", ': "float[2]"')),
        ),
        (
            "torch 23",
            torch(one("i1e(x)"), "func", Class.PRECISION, "fwd fwd rev", 1e-7),
            {"smallest": finding().smallest},
        ),
        (
            "torch 78",
            torch(STACK, "vmap", Class.WRONG_SHAPE, "fwd", others=TWO),
            program(STACK.replace("[2, 1]", "[2, 2, 1]")),
        ),
        ("torch 78", torch(STACK, "grad_of_vmap", Class.ERROR, "rev", note=MISMATCH), SINGULAR),
        (
            "torch 83",
            torch(one("gelu_tanh(x)"), "func", Class.NON_FINITE, "rev rev fwd", 100.0),
            {"smallest": finding().smallest},
        ),
        (
            "torch 83",
            torch(one("gelu_tanh(x)"), "func", Class.NON_FINITE, "rev rev fwd", 100.0),
            {"modes": ("rev",)},
        ),
        ("torch 8", LOST, {"culprits": ("sin",)}),
        ("torch 8", LOST, {"modes": ("rev",)}),
        ("torch 8", LOST, near(-1.0)),
        ("jax 20", jax(BATCH, "scan", Class.RATIO_BLOWUP, "rev fwd"), program(BATCH.replace("(1)", "(3)"))),
        ("jax 20", jax(BATCH, "scan", Class.RATIO_BLOWUP, "rev fwd"), {"target": "jax:unrolled"}),
        ("jax 21", jax(ZERO, "scan", Class.MISSING, "rev rev", 0.0), {"smallest": finding().smallest}),
        ("jax 21", jax(ZERO, "scan", Class.MISSING, "rev rev", 0.0), {"modes": ("rev",)}),
        ("jax 44", jax(one("i1e(x)"), "scan", Class.PRECISION, "rev rev rev", 1e-7), {"modes": ("rev",)}),
        (
            "jax 44",
            jax(one("i1e(x)"), "scan", Class.PRECISION, "rev rev rev", 1e-7),
            {"smallest": finding().smallest},
        ),
        (
            "autograd 19",
            autograd(one("reciprocal(x)", ': "float[2]"'), Class.NON_FINITE, "rev fwd fwd", smallest=POINTS),
            {"smallest": replace(POINTS, inputs={"x": np.array([0.5, 1.0])})},
        ),
        (
            "autograd 1",
            autograd(one("matrix_norm(inv(x))", ': "float[2, 1, 1]"'), Class.WRONG_VALUE, "rev"),
            program(one("matrix_norm(inv(x))", ': "float[1, 1]"')),
        ),
        ("autograd 52", autograd(one("expit(x)"), Class.MISSING, "rev", 40.0), {"kind": Class.SIGN_FLIP}),
        (
            "autograd 52",
            autograd(one("expit(x)"), Class.MISSING, "rev", 40.0),
            {"smallest": finding().smallest},
        ),
        (
            "autograd 15",
            autograd(one("vector_norm(x, ord='inf')"), Class.NON_FINITE, "rev", culprits=("vector_norm",)),
            program(one("vector_norm(x, ord=3)")),
        ),
        (
            "autograd 9",
            autograd(one("amin(x, axis=(-2, 1))", SQUARE), Class.ERROR, "fwd", note=AXES),
            {"modes": ("rev",)},
        ),
        (
            "autograd 18",
            autograd(one("log10(x)"), Class.WRONG_DTYPE, "fwd", precision="float32"),
            {"kind": Class.SIGN_FLIP},
        ),
        (
            "autograd 39",
            autograd(one("x * sinc(x)"), Class.PRECISION, "rev rev", 1e-7),
            {"smallest": finding().smallest},
        ),
        (
            "autograd 42",
            autograd(one("broadcast_to(x, (0,))"), Class.ERROR, "rev", note=RESHAPE),
            {"note": "ValueError: no such axis"},
        ),
        (
            "autograd 11",
            autograd(one("tanh(det(x))", SQUARE), Class.NON_FINITE, "rev rev"),
            {"culprits": ("det",)},
        ),
    ],
)
def test_a_program_is_an_entry_and_another_mistake_is_not(
    name: str, fitting: Finding, planted: dict[str, Any]
) -> None:
    assert [row.name for row in entries_of(fitting)] == [name]
    assert names(fitting) == []
    assert entries_of(replace(fitting, **planted)) == ()


def test_an_op_that_is_wrong_alone_tells_whatever_stands_around_it() -> None:
    text = one("slogdet(cholesky(x))[1]", SQUARE)
    fitting = torch(text, "eager", Class.WRONG_VALUE, "fwd rev rev", culprits=("slogdet",))
    assert "pytorch#192540" in names(fitting)
    assert names(replace(fitting, culprits=("cholesky", "slogdet"))) == []
    assert names(replace(fitting, culprits=())) == []
    assert names(replace(fitting, modes=("rev", "rev", "fwd"))) == [], "forward mode is the last one"


# Calls ------------------------------------------------------------------------------------------------------


def called(function: str, kind: Class, modes: str, **more: Any) -> Finding:
    """A finding about a call of a function of one array of two numbers."""
    call = Call("torch", function, (Argument(array=np.array([1.0, 2.0])),))
    base = finding(with_evidence=False)
    about = {"target": "torch", "version": "2.13.0+cpu", "kind": kind, "modes": tuple(modes.split())}
    return replace(base, **{**about, "call": call, "code": f"y = {function}(x0)", "note": "", **more})


AUTOGRAD = {"target": "autograd", "version": "1.9.1"}
JAX = {"target": "jax", "version": "0.10.2"}
TENSORFLOW = {"target": "tensorflow", "version": "2.21.0"}
PADDLE = {"target": "paddle", "version": "3.3.1"}
MLX = {"target": "mlx", "version": "0.32.4"}
FAR = replace(finding().smallest, inputs={"x0": np.array(40.0)}, entry=("x0", ()))
WAYS = {"torch": "eager", "jax": "scan", "paddle": "dygraph"}
ANYWHERE: dict[str, set[str]] = {
    "jax": set(),
    "torch": {
        *("AsStridedScatter", "CholeskyInverse", "CholeskySolve", "Logcumsumexp", "Polar", "TriangularSolve"),
        *("_foreach_maximum", "_foreach_minimum", "embedding_bag"),
    },
    "autograd": {
        *("clip", "diag", "full", "linspace", "logpdf", "outer", "partition", "solve_banded", "sort", "tile"),
        *("tril", "triu", "where"),
    },
    "mlx": {"addmm", "full", "full_like", "irfft", "irfft2", "irfftn"},
    "tensorflow": {
        *("FusedBatchNormV2", "FusedBatchNormV3", "IsotonicRegression", "det", "isotonic_regression", "pinv"),
    },
    "paddle": {
        *("as_strided", "group_norm", "gumbel_softmax", "kthvalue", "mode", "sigmoid_focal_loss"),
        "triangular_solve",
    },
}
"""Functions, ops and rules whose first derivative is wrong nearly anywhere in one mode, or is right at
arguments that no condition of the table tells.
"""


def flipped(system: str, modes: str) -> Iterator[tuple[str, Finding]]:
    """The opposite sign of each op, function and rule of the table, at 1.5, in an ordinary call."""
    version, way = told()[system, 1].version, WAYS.get(system, "eager")
    own = [row for row in ROWS if row.system == system]
    alone = made(one("x"), f"{system}:{way}", version, Class.SIGN_FLIP, modes, 1.5)
    for op in {op for row in own for op in row.ops}:
        yield op, replace(alone, culprits=(op,))
    argument = Argument(array=np.array([1.5]))
    for function in {name for row in own for name in row.functions}:
        full = function if function.startswith(f"{system}.") else f"{system}.{function}"
        call = Call(system, full, (argument,))
        yield full.rpartition(".")[2], replace(alone, target=system, call=call, code=f"y = {full}(x0)")
    for rule in {rule for row in own for rule in row.rules}:
        call = Call(system, f"{system}.f", (argument,))
        yield rule, replace(alone, target=system, call=call, code="y = f(x0)", rules=(rule,))


@pytest.mark.parametrize("system", ["torch", "jax", "autograd", "mlx", "tensorflow", "paddle"])
def test_the_opposite_sign_at_ordinary_arguments_is_new(system: str) -> None:
    """Whatever is known of a function at 0, in float16, of complex numbers or by a keyword."""
    plants = [*flipped(system, "rev"), *flipped(system, "fwd")]
    assert {name for name, one in plants if reports_of(one) or entries_of(one)} == ANYWHERE[system]


COMPLEX = Call("torch", "torch.logcumsumexp", (Argument(array=np.array([1.0 + 2.0j])),))


@pytest.mark.parametrize(
    ("report", "fitting", "changes"),
    [
        (
            "pytorch#196700",
            called("torch.layer_norm", Class.WRONG_VALUE, "fwd rev", rules=("NativeLayerNormBackward0",)),
            {"rules": ("NativeGroupNormBackward0",)},
        ),
        (
            "pytorch#196705",
            called("torch.logcumsumexp", Class.PRECISION, "fwd", rules=("LogcumsumexpBackward0",)),
            {"call": COMPLEX},
        ),
        (
            "pytorch#110009",
            called("torch.linalg.pinv", Class.WRONG_VALUE, "rev", code="y = torch.linalg.pinv(x0, rtol=0.5)"),
            {"code": "y = torch.linalg.pinv(x0)"},
        ),
        (
            "HIPS/autograd#810",
            called(
                *("autograd.numpy.mean", Class.WRONG_VALUE, "rev"),
                target="autograd",
                version="1.9.1",
                code="y = np.mean(x0, where=mask)",
            ),
            {"code": "y = np.mean(x0)"},
        ),
        (
            "pytorch#60197",
            called("torch.vander", Class.ERROR, "rev", note="one has been modified by an inplace operation"),
            {"call": Call("torch", "torch.linalg.vander", ())},
        ),
        (
            "pytorch#195681",
            torch(one("expit(x)"), "func", Class.MISSING, "rev", 40.0),
            {"smallest": finding().smallest},
        ),
        ("jax#40385", jax(one("expit(x)"), "scan", Class.MISSING, "rev", 40.0), {"kind": Class.SIGN_FLIP}),
        (
            "tensorflow#126060",
            called(
                "tensorflow.sigmoid", Class.MISSING, "rev", **TENSORFLOW, rules=("Sigmoid",), smallest=FAR
            ),
            {"smallest": TINY},
        ),
        (
            "tensorflow#127234",
            called("tensorflow.raw_ops.IsotonicRegression", Class.WRONG_SHAPE, "rev", **TENSORFLOW),
            {"kind": Class.NON_FINITE},
        ),
        (
            "pytorch#173946",
            called("torch.lstm", Class.ERROR, "", note="the process ends: segmentation fault"),
            {"note": "the process ends: no answer within 60 s"},
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_finding_of_a_call_says_its_report(report: str, fitting: Finding, changes: dict[str, Any]) -> None:
    assert names(fitting) == [report]
    assert names(replace(fitting, **changes)) == []


DIGAMMA = called("torch.digamma", Class.PRECISION, "rev", rules=("DigammaBackward0",))
NARROW = called("torch.narrow_copy", Class.MISSING, "rev", code="y = torch.narrow_copy(x0, 0, -1, 1)")
NORM = {"rules": ("LinalgVectorNormBackward0",), "note": "one has been modified by an inplace operation"}
SPENCE = called("jax.scipy.special.spence", Class.NON_FINITE, "rev", **JAX)
TILE = called("autograd.numpy.tile", Class.WRONG_VALUE, "rev", **AUTOGRAD)
SUM = called(
    *("autograd.numpy.sum", Class.WRONG_VALUE, "fwd"),
    **AUTOGRAD,
    code="y = autograd.numpy.sum(x0, initial=1.0)",
)
CROSS = called(
    *("torch.nn.functional.binary_cross_entropy", Class.PRECISION, "rev rev"),
    rules=("BinaryCrossEntropyBackward0",),
)


def coded(system: dict[str, str], call: str, kind: Class, modes: str, note: str = "", **more: Any) -> Finding:
    """A finding about a call by its code."""
    name, _, arguments = call.partition("(")
    function = f"{system['target']}.{name}"
    code = f"x0 = array([[1.0]])\ny = {function}({arguments}"
    return called(function, kind, modes, **{**system, "code": code, "note": note, **more})


def code(of: Finding, before: str, after: str) -> dict[str, Any]:
    assert of.code is not None
    return {"code": of.code.replace(before, after)}


SHIFTED = coded(AUTOGRAD, "numpy.linalg.solve(x0, [np.array([[0]])])", Class.ERROR, "rev")
BANDS = "ValueError: shapes of ab and b are not compatible"
BANDED = coded(AUTOGRAD, "scipy.linalg.solve_banded((0, 1), [[[1, 1]]], x0)", Class.ERROR, "rev", BANDS)
MODULUS = coded(MLX, "nn.losses.smooth_l1_loss(x0, mx.complex64)", Class.MISSING, "rev rev")
LENGTH = "ValueError: [fftn] Invalid FFT output size requested (1,0)"
ODD = coded(MLX, "core.fft.rfft2(x0)", Class.ERROR, "rev fwd", LENGTH)
PAD = coded(MLX, "core.pad(x0, 1, constant_values=x1)", Class.WRONG_SHAPE, "rev")
PADS = coded(
    MLX, "core.pad(x0, 1, constant_values=x1)", Class.ERROR, "rev", "the process ends: segmentation fault"
)
LABELS = coded(MLX, "core.fast.cross_entropy(x0, 2)", Class.ERROR, "rev", "the process ends: aborted")
NORMS = coded(PADDLE, "linalg.matrix_norm(x0)", Class.PRECISION, "rev", **near(1 - 5e-13))
SCALED = coded(PADDLE, "nn.functional.normalize(x0, epsilon=1.0)", Class.WRONG_VALUE, "rev")
HYPOT = coded(PADDLE, "hypot(x0, x1)", Class.ERROR, "fwd", "RuntimeError: The output DX can not be nullptr")
FFT = coded(PADDLE, "fft.irfft(x0, None)", Class.ERROR, "rev", "ValueError: Invalid fft n-point (0).")
KERNEL = coded(
    PADDLE, "nn.functional.max_pool3d(x0, 0)", Class.ERROR, "", "the process ends: floating point exception"
)
SELU = coded(PADDLE, "nn.functional.selu(x0)", Class.WRONG_VALUE, "rev", **near(1 - 3e-8))
PDIST = coded(PADDLE, "nn.functional.pdist(x0, p=0.5)", Class.NON_FINITE, "rev")
VIEW = coded(PADDLE, "narrow(x0[..., ::2], 0, 0, 1)", Class.WRONG_VALUE, "rev")
SILU = coded(TENSORFLOW, "nn.silu(x0 + array(1j, complex128))", Class.SIGN_FLIP, "rev")
DIAGONALS = coded(
    TENSORFLOW, "raw_ops.MatrixSetDiagV2(input=x0, diagonal=x1, k=(0, 1))", Class.WRONG_VALUE, "rev"
)
WEIGHTS = coded(JAX, "scipy.special.logsumexp(x0, b=array([0.0]))", Class.MISSING, "rev")
COSINE = coded(JAX, "numpy.acos(x0.astype(jnp.complex128))", Class.SIGN_FLIP, "rev")
MATMUL = coded(
    PADDLE, "mm(x0, x1)", Class.ERROR, "rev", "ValueError: Input dimension size should be equal to 2"
)
SCATTER = coded(
    TENSORFLOW, "raw_ops.TensorScatterSub(tensor=x0)", Class.ERROR, "", "the process ends: aborted"
)
GAMMA = coded(
    *(TENSORFLOW, "raw_ops.StatelessRandomGammaV2(alpha=x0)", Class.ERROR, "fwd"),
    "ValueError: Cannot reshape a tensor with 1 elements",
)
STD = coded(TENSORFLOW, "math.reduce_std(x0)", Class.NON_FINITE, "rev")
LENGTHS = coded(
    TENSORFLOW, "signal.irfft2d([x0], [0, 0])", Class.ERROR, "rev", "Incompatible shapes: [0,0] vs. [2]"
)
POISSON = called(
    "jax.scipy.stats.poisson.logpmf",
    Class.NON_FINITE,
    "rev",
    **JAX,
    smallest=replace(TINY, inputs={"x0": np.zeros(())}),
)
CHI2 = called("autograd.scipy.stats.chi2.pdf", Class.MISSING, "rev", **AUTOGRAD)


@pytest.mark.parametrize(
    ("entry", "fitting", "planted"),
    [
        ("torch 21", DIGAMMA, {"kind": Class.SIGN_FLIP}),
        ("torch 21", DIGAMMA, {"rules": ("LgammaBackward0",)}),
        ("torch 12", called("torch.norm", Class.ERROR, "fwd rev", **NORM), {"note": "no rule"}),
        ("torch 12", called("torch.norm", Class.ERROR, "fwd rev", **NORM), {"modes": ("rev",)}),
        ("torch 27", NARROW, {"code": "y = torch.narrow_copy(x0, 0, 1, 1)"}),
        ("torch 27", NARROW, {"modes": ("fwd",)}),
        ("torch 27", NARROW, {"call": Call("torch", "torch.narrow", ())}),
        ("torch 27", NARROW, {"target": "autograd"}),
        (
            "torch 58",
            called("torch.native_group_norm", Class.WRONG_PRIMAL, ""),
            {"version": "2.14.0"},
        ),
        (
            "torch 14",
            called("torch.sin", Class.ERROR, "rev fwd", note="RuntimeError: ZeroTensors are immutable. Go."),
            {"note": "RuntimeError: no tensor"},
        ),
        (
            "torch 60",
            called(
                *("torch.sin", Class.MISSING, "rev rev"),
                code="# differentiated by torch.autograd.functional.hessian\nf = torch.compile(call)",
            ),
            {"code": "# differentiated by torch.autograd.functional.hessian\nf = call"},
        ),
        (
            "torch 1",
            made(
                looped(3).replace("range(3)", "range(2)"), "torch:while_loop", "2.13.0", Class.MISSING, "rev"
            ),
            program(looped(3).replace("y = 1.0", "y = x")),
        ),
        ("jax 45", POISSON, {"smallest": TINY}),
        ("jax 45", POISSON, {"kind": Class.WRONG_VALUE}),
        ("autograd 4", SHIFTED, code(SHIFTED, "[np.array([[0]])]", "np.array([0])")),
        ("autograd 30", BANDED, code(BANDED, "[[[1, 1]]]", "[[1, 1]]")),
        ("autograd 30", BANDED, {"note": "LinAlgError: singular matrix"}),
        ("mlx 8", MODULUS, {"modes": ("rev",)}),
        ("mlx 8", MODULUS, code(MODULUS, "complex64", "float32")),
        ("mlx 12", ODD, {"modes": ("rev",)}),
        ("mlx 12", ODD, {"note": "ValueError: no such axis"}),
        ("mlx 21", PAD, code(PAD, "x1", "1.5")),
        ("mlx 21", PAD, {"modes": ("fwd",)}),
        ("mlx 21", PADS, {"note": "the process ends: no answer within 60 s"}),
        ("mlx 22", LABELS, {"kind": Class.MISSING}),
        ("mlx 22", LABELS, {"note": "ValueError: no such class"}),
        ("paddle 19", NORMS, near(0.5)),
        ("paddle 19", NORMS, {"modes": ("fwd",)}),
        ("paddle 19", SCALED, code(SCALED, ", epsilon=1.0", "")),
        ("paddle 20", HYPOT, {"modes": ("rev",)}),
        ("paddle 32", KERNEL, {"note": "ValueError: no such kernel"}),
        ("paddle 43", FFT, {"note": "ValueError: no such length"}),
        ("paddle 47", SELU, near(1.001)),
        ("paddle 47", SELU, {"precision": "float32"}),
        ("paddle 48", PDIST, code(PDIST, "0.5", "1.5")),
        ("paddle 48", PDIST, {"kind": Class.WRONG_VALUE}),
        ("paddle 49", MATMUL, {"note": "ValueError: no such axis"}),
        ("paddle 50", VIEW, code(VIEW, "::2", ":2")),
        ("paddle 50", VIEW, {"modes": ("fwd",)}),
        ("tensorflow 33", SILU, code(SILU, "complex128", "float64")),
        ("tensorflow 34", DIAGONALS, code(DIAGONALS, "(0, 1)", "0")),
        ("jax 48", WEIGHTS, code(WEIGHTS, "0.0", "0.5")),
        ("jax 48", WEIGHTS, {"kind": Class.NON_FINITE}),
        ("jax 49", COSINE, {"kind": Class.WRONG_VALUE}),
        ("jax 49", COSINE, code(COSINE, "complex128", "float64")),
        ("tensorflow 19", SCATTER, {"note": "InvalidArgumentError: no such place"}),
        ("tensorflow 29", GAMMA, {"modes": ("rev",)}),
        ("tensorflow 31", STD, {"kind": Class.WRONG_VALUE}),
        ("tensorflow 32", LENGTHS, {"note": "InvalidArgumentError: Incompatible shapes: [2,0] vs. [2]"}),
        ("jax 27", SPENCE, {"kind": Class.WRONG_VALUE}),
        ("autograd 51", SUM, {"code": "y = autograd.numpy.sum(x0)"}),
        ("autograd 51", SUM, {"modes": ("rev",)}),
        ("torch 79", CROSS, {"modes": ("rev",)}),
        ("torch 79", CROSS, {"kind": Class.NON_FINITE}),
        ("jax 27", SPENCE, {"call": Call("jax", "jax.scipy.special.i1", ())}),
        ("autograd 25", TILE, {"kind": Class.NON_FINITE}),
        ("autograd 25", TILE, {"modes": ("fwd",)}),
        ("autograd 28", CHI2, {"kind": Class.NON_FINITE}),
    ],
)
def test_a_finding_is_an_entry_and_another_mistake_is_not(
    entry: str, fitting: Finding, planted: dict[str, Any]
) -> None:
    assert [row.name for row in entries_of(fitting)] == [entry]
    assert names(fitting) == []
    other = replace(fitting, **planted)
    assert entries_of(other) == ()
    found = finished([fitting, other])
    assert news(found.findings, Review()) == "1 new, 1 known: 1 on docs/trophies."
    assert divided(found.findings, Review())[0] == [other]


def test_two_entries_of_one_cause_are_both_told() -> None:
    logits = called(
        *("torch.nn.functional.binary_cross_entropy_with_logits", Class.ERROR, "fwd fwd"),
        note="RuntimeError: ZeroTensors are immutable. Go.",
    )
    assert [row.name for row in entries_of(logits)] == ["torch 14", "torch 63"]
    assert [row.name for row in entries_of(replace(logits, modes=("fwd",)))] == ["torch 14"]
    square = called("jax.numpy.linalg.lstsq", Class.NON_FINITE, "rev", **JAX, code="x0 = jnp.array([[2.0]])")
    assert [row.name for row in entries_of(square)] == ["jax 19", "jax 29"]
    tall = replace(square, code="x0 = jnp.array([[2.0], [1.0]])")
    assert [row.name for row in entries_of(tall)] == ["jax 19"]
    assert entries_of(replace(square, kind=Class.WRONG_VALUE)) == ()


def test_an_entry_is_told_with_its_page() -> None:
    told = "Known as entry 25 of docs/trophies/autograd.md: the gradient adds up the wrong entries for few"
    out = io.StringIO()
    show(console(out, width=200), block(TILE))
    assert told in out.getvalue()
    assert line(TILE).endswith("; entry 25 of docs/trophies/autograd.md")
    for form in sorted({*FORMATS} - {"ndjson", "json", "sarif"}):
        assert "entry 25 of docs/trophies/autograd.md" in FORMATS[form].render(finished([TILE]), None), form
    assert finding_document(TILE)["trophies"] == ["autograd 25"]


@pytest.mark.parametrize("form", ["html", "markdown", "concise", "github"])
@pytest.mark.parametrize(
    ("known", "cited", "other"),
    [
        (TILE, r"autograd 25|entry 25 of docs/trophies/autograd\.md", {"kind": Class.NON_FINITE}),
        (singular(), "pytorch#104675", {"version": "2.6.0"}),
    ],
    ids=["entry", "report"],
)
def test_what_is_listed_is_shown_as_known(
    form: str, known: Finding, cited: str, other: dict[str, Any]
) -> None:
    """Beside the word stands the entry or the report; another mistake of the function is new."""
    marks = {
        "html": r'(?:badge">|"standing">)(known|new)\b',
        "markdown": r"\| (known|new)\b",
        "concise": r"\((known|new)\)$",
        "github": r"%0A(Known|New)$",
    }
    for one, word in ((known, "known"), (replace(known, **other), "new")):
        text = FORMATS[form].render(finished([one]), Review())
        assert {said.lower() for said in re.findall(marks[form], text, re.MULTILINE)} == {word}
        assert bool(re.search(cited, text)) == (word == "known")


def test_a_row_of_functions_is_about_no_program() -> None:
    text = "def f(x):\n    return x * x\n"
    program = made(text, "torch:eager", "2.13.0", Class.ERROR, "rev", note="modified by an inplace operation")
    assert names(program) == []


# Reports ----------------------------------------------------------------------------------------------------


LINK = "https://github.com/pytorch/pytorch/issues/104675"


@pytest.mark.parametrize("form", sorted({*FORMATS} - {"ndjson"}))
@pytest.mark.parametrize("reviewed", [False, True])
def test_every_report_says_it(form: str, reviewed: bool) -> None:
    other = singular(version="2.6.0")
    shown = [
        FORMATS[form].render(sweep, review(sweep) if reviewed else None)
        for sweep in (finished([singular()]), finished([other]))
    ]
    assert LINK in shown[0]
    assert LINK not in shown[1]


def test_a_finding_alone_says_it() -> None:
    out = io.StringIO()
    show(console(out, width=200), block(singular()))
    assert f"Reported as pytorch#104675 ({LINK}): the gradient is 0" in out.getvalue()
    assert line(singular()).endswith(f"; reported as pytorch#104675 ({LINK})")
    assert f"Reported as [`pytorch#104675`](<{LINK}>): the gradient is 0" in issue(singular())


def test_a_shown_record_is_read_without_it() -> None:
    document = {**to_document(singular()), "reported": [LINK]}
    assert names(from_document(document, Finding, "here")) == ["pytorch#104675"]
