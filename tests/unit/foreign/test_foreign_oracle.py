"""Ways into targets in processes of their own, as oracles; the adapters that gradfuzz ships; and the checks
of an adapter.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import math
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.adapters.shipped import ADAPTERS, Adapter
from gradfuzz.cli import main
from gradfuzz.errors import MissingExtraError, UnknownTargetError
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles import registry
from gradfuzz.oracles.base import Answer, Oracle, Point, Question
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.foreign.conformance import conformance
from gradfuzz.oracles.foreign.expanding import expanded, functions_of
from gradfuzz.oracles.foreign.oracle import ForeignOracle, _refusal, worker
from gradfuzz.oracles.foreign.protocol import Failure, Way
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import loop_program, parse
from gradfuzz.programs.language.functions import FUNCTIONS
from gradfuzz.strategies import FAMILIES, draw_many

SCRIPTS = Path(__file__).parents[3] / "gradfuzz" / "adapters"
TOY = shlex.join([sys.executable, str(SCRIPTS / "toy_adapter.py")])
OWN = f"{shlex.quote(sys.executable)} -m gradfuzz.oracles.server"


def bits(answers: list[Answer]) -> list[object]:
    def of(a: object) -> tuple[str, tuple[int, ...], bytes]:
        array = np.array(a)
        if array.dtype.kind == "f":
            array[np.isnan(array)] = np.nan  # NaN has one name in a message, whatever its sign
        return array.dtype.name, array.shape, array.tobytes()

    return [(a.status, [of(v) for v in a.values], {n: of(g) for n, g in a.gradient.items()}) for a in answers]


# Names ------------------------------------------------------------------------------------------------------


def test_a_command_is_a_target() -> None:
    (toy,) = resolve(f"cmd:{TOY}")
    assert (toy.name, toy.version) == (f"cmd:{TOY}", "1.0")
    question = plain_question(
        loop_program("acc*x", loop="while"), [Point({"x": np.asarray(0.5)})], "float64", ("x",), ("fwd",)
    )
    assert bits(toy.answer(question)) == bits(EngineOracle().answer(question))


def test_the_ways_of_a_command_have_names_of_their_own(tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport kit\nfrom toy_adapter import Toy\n"
        "class Slow(Toy):\n    name, hints = 'slow', {'stride': 8, 'together': True}\n"
        "class Fast(Toy):\n    name = 'fast'\nkit.serve('two', '1', [Fast(), Slow()])\n",
        encoding="utf-8",
    )
    name = f"cmd:{sys.executable} {script}"
    ways = resolve(name)
    assert [(w.name, w.traits.sampling_stride, w.traits.batched) for w in ways] == [
        (f"{name}#fast", 1, False),
        (f"{name}#slow", 8, True),
    ]
    assert [w.name for w in resolve(f"{name}#slow")] == [f"{name}#slow"]


def test_a_command_that_says_nothing_is_no_target() -> None:
    with pytest.raises(
        UnknownTargetError,
        match="does not answer: exited: the process ended with code 0, before it said hello",
    ):
        resolve(f"cmd:{sys.executable} -c 0")
    with pytest.raises(UnknownTargetError, match="unknown target 'cmd:'"):
        resolve("cmd:")


def test_a_shipped_adapter_wants_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADAPTERS, "no-such-library", Adapter("toy_adapter.py", "no-such-library"))
    with pytest.raises(MissingExtraError, match="pip install no-such-library"):
        resolve("no-such-library")
    assert "not installed" in next(row.note for row in registry.available() if row.name == "no-such-library")


# Answers ----------------------------------------------------------------------------------------------------


def of_way(**changes: object) -> ForeignOracle:
    all_of_it = {
        "name": "w",
        "ops": ["multiply", "less", "add", "astype"],
        "dtypes": ["float64"],
        "modes": ["rev"],
        "orders": [0, 1],
        "loops": ["for"],
        "features": [],
    }
    return ForeignOracle("t:w", worker("none"), Way(**{**all_of_it, **changes}), "1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (("def f(x):\n    return x * x\n", "float32", ("rev",)), "t:w does not compute in float32"),
        (("def f(x):\n    return x * x\n", "float64", ("rev", "rev")), "t:w has no derivatives of order 2"),
        (("def f(x):\n    return x * x\n", "float64", ("fwd",)), "t:w has no forward mode"),
        (("def f(x):\n    return sin(x)\n", "float64", ("rev",)), "t:w has no op sin"),
        (
            ("def f(x):\n    while x < 3.0:\n        x = x * x\n    return x\n", "float64", ("rev",)),
            "t:w has no loop of the form while",
        ),
        (
            ("def f(x):\n    if x < 3.0:\n        x = x * x\n    return x\n", "float64", ("rev",)),
            "t:w has no support for branches",
        ),
        (
            (
                'def f(x, n: "int"):\n    for i in range(n):\n        x = x * x\n    return x\n',
                "float64",
                ("rev",),
            ),
            "t:w has no support for runtime trips",
        ),
        (
            (
                (
                    "def f(x):\n    for i in range(3):\n        for k in range(2):\n            x = x * x\n  "
                    "  return x\n"
                ),
                "float64",
                ("rev",),
            ),
            "t:w has no support for nested",
        ),
        (
            ("def f(x):\n    for i in range(3):\n        x = x * x\n    return x * 2\n", "float64", ("rev",)),
            None,
        ),
        (("def f(x):\n    return x + x\n", "float64", ()), None),
    ],
)
def test_what_a_hello_promises_is_what_is_asked(question: tuple, words: str | None) -> None:
    text, precision, modes = question
    program = parse(text)
    point = Point({p.name: np.asarray(1 if p.type.dtype == "int" else 1.0) for p in program.params})
    assert of_way().supports(plain_question(program, [point], precision, ("x",), modes)) == words


def test_refusals_are_answers() -> None:
    question = plain_question(
        parse('def f(x, v: "float[2]", n: "int"):\n    return x, v, n\n'), [], "float32", ("v",), ("rev",)
    )
    refused = _refusal(question, "m", Failure("non_finite", "m"))
    assert refused.status == "ok"
    assert [(np.shape(v), np.asarray(v).dtype.name) for v in refused.values] == [
        ((), "float32"),
        ((2,), "float32"),
        ((), "int64"),
    ]
    assert np.isnan(refused.gradient["v"]).tolist() == [True, True]
    assert _refusal(question, "m", None).status == "unsupported"
    assert _refusal(question, "ValueError: m", Failure("exception", "")).message == "ValueError: m"
    assert _refusal(question, "m", Failure("out_of_memory", "m")).message == "out of memory: m"


# Adapters ---------------------------------------------------------------------------------------------------


def drawn_questions(family: str, count: int, seed: int, orders: tuple[int, ...]) -> list[Question]:
    result = []
    for case in draw_many(FAMILIES[family].cases(("float64", "float32")), count, f"foreign/{seed}"):
        if len(case.modes) in orders:
            points = [Point(point) for point in case.points]
            result.append(plain_question(case.program, points, case.precision, case.wrt, case.modes))
    return result


@pytest.mark.parametrize("family", ["loops", "linalg", "tensor"])
@pytest.mark.parametrize("target", ["engine", "mutant:nx-1747"])
def test_an_oracle_says_the_same_in_a_process_of_its_own(target: str, family: str, seed: int) -> None:
    """Bit for bit, at every point, but for what is inside NaN."""
    (here,) = resolve(target)
    (there,) = resolve(f"cmd:{OWN} {target}")
    for question in drawn_questions(family, 12, seed, (1, 2)):
        if here.supports(question) is None:
            assert there.supports(question) is None
            assert bits(there.answer(question)) == bits(here.answer(question)), question.program


@pytest.fixture(scope="module")
def autograd() -> Oracle:
    pytest.importorskip("autograd")
    (way,) = resolve("autograd")
    return way


def test_autograd_is_a_target(autograd: Oracle) -> None:
    assert (autograd.name, autograd.version) == ("autograd:eager", importlib.metadata.version("autograd"))
    assert "autograd" in registry.names()


@pytest.mark.parametrize(
    "modes", [("rev",), ("fwd",), ("rev", "fwd"), ("fwd", "rev"), ("rev", "rev"), ("fwd", "fwd", "rev")]
)
def test_autograd_differentiates_through_the_adapter(autograd: Oracle, modes: tuple) -> None:
    """d^k/dx^k of x^4 is a closed form: 4 x^3, 12 x^2, 24 x."""
    program = parse(
        "def f(x):\n    acc = 1.0\n    for i in range(4):\n        acc = acc * x\n    return acc\n"
    )
    question = plain_question(
        program, [Point({"x": np.asarray(x)}) for x in (0.5, -3.0)], "float64", ("x",), modes
    )
    directions = float(np.prod(question.directions["x"])) if len(modes) > 1 else 1.0
    for x, answer in zip((0.5, -3.0), autograd.answer(question), strict=True):
        expected = {1: 4 * x**3, 2: 12 * x**2 * directions, 3: 24 * x * directions**2}[len(modes)]
        assert answer.status == "ok", answer.message
        assert float(answer.values[0]) == x**4
        assert float(answer.gradient["x"]) == pytest.approx(expected * float(question.weights[0]), rel=1e-14)


def test_autograd_lacks_what_it_lacks(autograd: Oracle) -> None:
    question = plain_question(
        parse('def f(A: "float[2, 2]"):\n    return qr(A)[1]\n'),
        [Point({"A": np.eye(2)})],
        "float64",
        ("A",),
        ("rev",),
    )
    assert autograd.supports(question) == "autograd:eager has no op qr"
    question = plain_question(
        parse('def f(A: "float[2, 2]"):\n    return inv(A)\n'),
        [Point({"A": np.eye(2)})],
        "float64",
        ("A",),
        ("fwd",),
    )
    (answer,) = autograd.answer(question)
    assert (answer.status, answer.message) == ("unsupported", "JVP of inv wrt argnums (0,) not defined")


@pytest.mark.parametrize(
    ("value", "modes", "words"),
    [
        ("svd(A, full_matrices=True)[0]", ("rev",), "Gradient of svd not implemented for full_matrices=True"),
        ("sort(A, axis=0)", ("fwd", "rev"), "Gradient of sort not implemented for multi-dimensional arrays."),
    ],
)
def test_autograd_says_its_limits(autograd: Oracle, value: str, modes: tuple, words: str) -> None:
    program = parse(f'def f(A: "float[3, 2]"):\n    return {value}\n')
    point = Point({"A": np.arange(6.0).reshape(3, 2)})
    (answer,) = autograd.answer(plain_question(program, [point], "float64", ("A",), modes))
    assert (answer.status, answer.message) == ("unsupported", words)


@pytest.mark.parametrize("name", ["kit.py", *sorted(path.name for path in SCRIPTS.glob("*_adapter.py"))])
def test_adapters_are_python_3_8_and_need_no_gradfuzz(name: str) -> None:
    tree = ast.parse((SCRIPTS / name).read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    imported += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert not [m for m in imported if m.partition(".")[0] == "gradfuzz"]
    if name == "kit.py":
        assert {m.partition(".")[0] for m in imported} <= {*sys.stdlib_module_names}


def test_what_a_library_prints_is_not_taken_for_a_reply(tmp_path: Path) -> None:
    script = tmp_path / "loud.py"
    script.write_text(
        f"import os, sys\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport kit\nfrom toy_adapter import"
        " Toy\nclass Loud(Toy):\n    def differentiate(self, *args):\n        print('progress')\n       "
        " os.system('echo from a child')\n        os.write(1, b'from C\\n')\n        return"
        " super().differentiate(*args)\nkit.serve('loud', '1', [Loud()])\n",
        encoding="utf-8",
    )
    (loud,) = resolve(f"cmd:{sys.executable} {script}")
    question = plain_question(
        parse("def f(x):\n    return x * x\n"), [Point({"x": np.asarray(3.0)})], "float64", ("x",), ("fwd",)
    )
    assert loud.answer(question)[0].values[0] == 9.0
    assert isinstance(loud, ForeignOracle)
    loud.worker.close()


# Elementwise functions --------------------------------------------------------------------------------------


def elementwise(name: str, way: Oracle, *inputs: float) -> Question:
    names = ("x", "y")[: len(inputs)]
    program = parse(f"def f({', '.join(names)}):\n    return {name}({', '.join(names)})\n")
    point = Point({n: np.asarray(v) for n, v in zip(names, inputs, strict=True)})
    return plain_question(program, [point], "float64", names, way.way.modes[:1])  # type: ignore[attr-defined]


def test_functions_are_looked_up_by_their_names(autograd: Oracle) -> None:
    for name, inputs in (("erf", (0.5,)), ("expit", (0.5,)), ("lgamma", (2.5,)), ("atan2", (0.5, -1.5))):
        question = elementwise(name, autograd, *inputs)
        (got,), (expected,) = autograd.answer(question), EngineOracle().answer(question)
        assert got.status == "ok", got.message
        for n, slope in expected.gradient.items():
            assert float(got.gradient[n]) == pytest.approx(float(slope), rel=1e-12), name
    assert autograd.supports(elementwise("xlogy", autograd, 0.5, 1.5)) == "autograd:eager has no op xlogy"


COMPOSED = """
def f(x, n: "int"):
    y = relu(x * 2.0) + silu(n)
    while square(y - 1.0) < 9.0:
        if reciprocal(y) < 0.25:
            y = y + 1.5
        y = silu(y + square(x * y))
    return y
"""


def test_a_way_that_lacks_a_function_is_sent_its_composition(autograd: Oracle) -> None:
    assert isinstance(autograd, ForeignOracle)
    program = parse(COMPOSED)
    sent = autograd.sent(program)
    assert functions_of(program) == {"relu", "silu", "square", "reciprocal", "expit", "exp"}
    assert functions_of(sent) == {"square", "reciprocal", "expit", "exp"}
    assert autograd.sent(program) is sent
    point = Point({"x": np.asarray(0.75), "n": np.asarray(2)})
    question = plain_question(program, [point], "float64", ("x",), ("rev",))
    (got,), (expected,) = autograd.answer(question), EngineOracle().answer(question)
    assert got.status == "ok", got.message
    assert float(got.values[0]) == pytest.approx(float(expected.values[0]), rel=1e-13)
    assert float(got.gradient["x"]) == pytest.approx(float(expected.gradient["x"]), rel=1e-12)
    untouched = parse("def f(x):\n    return erf(x)\n")
    assert autograd.sent(untouched) is untouched


def test_compositions_mean_the_same() -> None:
    """With every function that has a composition written out, the values of a program stay as they were."""
    program = parse(COMPOSED)
    lacking = [name for name, row in FUNCTIONS.items() if row.composition]
    written = expanded(program, lacking)
    assert functions_of(written) == {"exp"}
    point = Point({"x": np.asarray(0.75), "n": np.asarray(2)})
    one, other = (
        EngineOracle().answer(plain_question(p, [point], "float64", ("x",), ("rev",)))[0]
        for p in (program, written)
    )
    assert float(one.values[0]) == pytest.approx(float(other.values[0]), rel=1e-13)
    assert float(one.gradient["x"]) == pytest.approx(float(other.gradient["x"]), rel=1e-12)


def test_what_a_way_lacks_of_a_composition_is_refused() -> None:
    way = of_way(ops=["multiply", "add", "divide", "astype"])
    question = plain_question(
        parse("def f(x):\n    return square(reciprocal(x)) + relu(x)\n"),
        [Point({"x": np.asarray(0.5)})],
        "float64",
        ("x",),
        ("rev",),
    )
    assert way.supports(question) == "t:w has no op maximum"


ADDED = """
import numpy as np
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import parse
from gradfuzz.programs.language.functions import Function, add

add(Function("versine", ("sin(x)",), "1.0 - cos(x)"))
add(Function("coversine", ("-cos(x)",)))
add(Function("haversine", (), "0.5 * versine(x)"))
(way,) = resolve({target!r})
for name in ("versine", "coversine", "haversine"):
    program = parse(f"def f(x):\\n    return {{name}}(x)\\n")
    question = plain_question(program, [Point({{"x": np.asarray(0.5)}})], "float64", ("x",), ("fwd",))
    (answer,) = way.answer(question)
    print(name, way.sent(program) is program, answer.status, answer.message, *map(float, answer.values))
"""


def test_a_function_that_is_added_is_asked_by_its_name(tmp_path: Path) -> None:
    """Of two libraries one has versine, plus 2, and no hello names it. The other is asked the composition."""
    script = tmp_path / "added.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport kit\nfrom toy_adapter import Toy, Dual,"
        " cos, sin\nclass Library:\n    pass\nclass Way(Toy):\n    functions = (Library,)\n"
        "if sys.argv[1] == 'has':\n    Library.versine = lambda x: Dual(3.0) - cos(x)\n"
        "kit.serve('added', '1', [Way()])\n",
        encoding="utf-8",
    )
    said = {}
    for library in ("has", "lacks"):
        target = f"cmd:{sys.executable} {script} {library}"
        code = ADDED.format(target=target)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said[library] = [line.split(" ", 1) for line in done.stdout.splitlines()]
    value = 1.0 - math.cos(0.5)
    named, composed = dict(said["has"]), dict(said["lacks"])
    assert named["versine"] == f"True ok  {value + 2.0!r}"
    assert composed["versine"] == f"False ok  {value!r}"
    assert named["haversine"].startswith("False ok  ")
    assert float(named["haversine"].split()[-1]) == 0.5 * (value + 2.0)
    assert float(composed["haversine"].split()[-1]) == 0.5 * value
    for row in (named, composed):
        assert row["coversine"].startswith("True unsupported cmd:")
        assert row["coversine"].endswith("has no op coversine")


# Conformance ------------------------------------------------------------------------------------------------


def failed(command: str) -> dict[str, str]:
    return {check.name: check.words for check in conformance(command, calls=20) if not check.passed}


def test_the_toy_and_an_oracle_pass() -> None:
    assert failed(TOY) == {}
    assert failed(f"{OWN} engine") == {}


BROKEN = {
    "special floats": "def entries(self, value):\n        return 'float64', (), [value.value + 0.0]",
    "shapes": "def entries(self, value):\n        return 'float64', (1,), [value.value]",
    "derivatives": (
        "def differentiate(self, f, xs, w, d, modes):\n        y, g = Toy.differentiate(self, f, xs, w, d,"
        " modes)\n        return y, g[::-1]"
    ),
    "same answer": (
        "count = 0\n    def entries(self, value):\n        self.count += 1\n        return 'float64', (),"
        " [value.value + self.count * 1e-9]"
    ),
    "handshake": "orders = (1,)",
    "ops known": "ops = dict(Toy.ops, sine=sin)",
    "loops": "def decide(self, value):\n        return not value",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_adapter_fails_the_check_of_that_name(name: str, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    head = (
        f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\nimport kit\nfrom toy_adapter import Dual, Toy,"
        " sin\n"
    )
    body = f"class Broken(Toy):\n    {BROKEN[name]}\nkit.serve('broken', '1', [Broken()])\n"
    if name == "loops":  # the toy compares with Python's bools, which nobody asks about
        body = body.replace(
            "class Broken(Toy):\n",
            "class Broken(Toy):\n    ops = dict(Toy.ops, add=lambda a, b: a + b + Dual(1.0))\n",
        )
    script.write_text(head + body, encoding="utf-8")
    assert name in failed(f"{sys.executable} {script}")


def test_targets_check_says_whose_fault_it_is() -> None:
    runner = CliRunner()
    good = runner.invoke(main, ["targets", "check", TOY])
    assert good.exit_code == 0, good.output
    assert "The adapter follows the protocol." in good.stdout
    bad = runner.invoke(main, ["targets", "check", f"{sys.executable} -c 'print(1)'", "--format", "json"])
    assert bad.exit_code == 1
    document = json.loads(bad.stdout)
    assert not document["passed"]
    assert [check["name"] for check in document["checks"]] == ["handshake"]
    assert runner.invoke(main, ["targets", "check"]).exit_code == 2


def test_targets_new_writes_an_adapter_that_works(tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(main, ["targets", "new", str(tmp_path / "mine"), "--lang", "python"])
    assert done.exit_code == 0, done.output
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == ["kit.py", "toy_adapter.py"]
    hello = '{"id": 1, "do": "hello", "protocol": 1}\n'
    script = tmp_path / "mine" / "toy_adapter.py"
    said = subprocess.run(
        [sys.executable, script], input=hello, capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(said.stdout)["ok"]["name"] == "toy"
    assert (
        runner.invoke(main, ["targets", "new", str(tmp_path / "mine")]).exit_code == 2
    )  # nothing is overwritten
