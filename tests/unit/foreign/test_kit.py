"""The walks of the kit for adapters: loops and branches that are Python's, and those that a library makes."""

from __future__ import annotations

import linecache
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.oracles.foreign.wire import to_wire
from gradfuzz.programs import parse
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.language.functions import _ROWS
from gradfuzz.strategies import FAMILIES, draw_many

pytest.importorskip("autograd", reason="the ops are those of the adapter for autograd")
sys.path.insert(0, str(Path(__file__).parents[3] / "gradfuzz" / "adapters"))

import autograd_adapter
import kit


class Structured(autograd_adapter.Eager):  # type: ignore[misc]
    """Loops and branches that see what a library would: lists of arrays of types that do not change."""

    structured = True

    def __init__(self) -> None:
        self.made: set[str] = set()

    def array(self, dtype: str, shape: Any, entries: Any) -> Any:
        return np.array(entries, dtype).reshape(shape)

    def while_loop(self, condition: Any, body: Any, carries: list[Any], captures: list[Any]) -> list[Any]:
        self.made.add("while")
        while condition(carries, captures):
            carries = self.checked(body(carries, captures), carries)
        return carries

    def branch(self, predicate: Any, then: Any, otherwise: Any, captures: list[Any]) -> list[Any]:
        self.made.add("branch")
        one, other = then(captures), otherwise(captures)
        self.checked(one, other)
        return one if predicate else other

    def checked(self, new: list[Any], old: list[Any]) -> list[Any]:
        for a, b in zip(new, old, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert np.shape(a) == np.shape(b)
        return new


class Counting(Structured):
    """One with a loop that counts: of Python ints where the program says a number."""

    def for_loop(self, count: Any, body: Any, carries: list[Any], captures: list[Any]) -> list[Any]:
        self.made.add("literal" if isinstance(count, int) else "count")
        for i in range(int(count)):
            carries = self.checked(body(np.asarray(i), carries, captures), carries)
        return carries


def outputs(way: Any, form: Any, inputs: dict[str, np.ndarray], kind: type) -> list[bytes]:
    program = kit_program(way, form, kind)
    given = {
        name: program.tensor(a.dtype.name, a.shape, a.ravel().tolist())
        for name, a in ((n, np.asarray(v)) for n, v in inputs.items())
    }
    return [np.asarray(y).tobytes() for y in program(given)]


def kit_program(way: Any, form: Any, kind: type) -> Any:
    return kind(form, way, "float64", TRIP_LIMIT)


@pytest.mark.parametrize("way", [Structured, Counting])
def test_loops_that_a_library_makes_say_the_same(way: type) -> None:
    made: set[str] = set()
    asked = 0
    with np.errstate(all="ignore"):
        for case in draw_many(FAMILIES["loops"].cases(("float64",)), 150, "kit"):
            form = to_wire(case.program)
            structured = way()
            for point in case.points[:2]:
                try:
                    expected = outputs(autograd_adapter.Eager(), form, dict(point), kit.Program)
                except (kit.Unsupported, IndexError):
                    continue
                assert outputs(structured, form, dict(point), kit.StructuredProgram) == expected
                asked += 1
            made |= structured.made
    assert asked > 200
    assert made >= {"while", "branch"}


TESTED = """
def f(x):
    y = x
    while True:
        y = y * 2.0
        s = y + 1.0
        if not s < 8.0:
            break
    return y
"""


@pytest.mark.parametrize("way", [Structured, Counting])
def test_a_loop_tests_what_its_body_assigned(way: type) -> None:
    """No other iteration reads it, so that it is no carry by itself."""
    form = to_wire(parse(TESTED))
    for x in (0.5, 3.0, 100.0):
        y = 2.0 * x
        while y + 1.0 < 8.0:
            y = 2.0 * y
        (got,) = outputs(way(), form, {"x": np.float64(x)}, kit.StructuredProgram)
        assert got == np.float64(y).tobytes()


EXITS = """
def f(x, n: "int"):
    y = x
    for i in range(n):
        if y > 4.0:
            y = y + 0.5
            break
        z = y * 2.0
        if z > 3.0:
            y = z + 1.0
            if x < 0.6:
                continue
        y = y + x
        k = 0
        while k < 3:
            k = k + 1
            if k == 2:
                continue
            y = y + 0.125
    return y
"""


@pytest.mark.parametrize("way", [Structured, Counting])
def test_breaks_are_flags(way: type) -> None:
    form = to_wire(parse(EXITS))
    for x in (0.1, 0.5, 0.55, 0.7, 3.0):
        for n in range(6):
            inputs = {"x": np.asarray(x), "n": np.asarray(n)}
            expected = outputs(autograd_adapter.Eager(), form, inputs, kit.Program)
            assert outputs(way(), form, inputs, kit.StructuredProgram) == expected


class Decided:
    """A bool of a library that is no number of Python's."""

    def __init__(self, value: Any) -> None:
        self.value = bool(value)


COMPLEX = """
def f(x, y: "float[2]", n: "int"):
    z = complex(x, 2.0)
    w = z * y + 3.0
    w = w * complex(x)
    w = w + complex(n)
    return real(w), imag(w), abs(w)
"""


@pytest.mark.parametrize("way", [autograd_adapter.Eager, Structured])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_complex_numbers_are_as_wide_as_the_floats_of_a_question(way: type, dtype: str) -> None:
    program = kit.Program(to_wire(parse(COMPLEX)), way(), dtype, TRIP_LIMIT)
    given = {"x": (dtype, (), [0.5]), "y": (dtype, (2,), [1.5, -2.0]), "n": ("int64", (), [4])}
    found = program({name: program.tensor(*tensor) for name, tensor in given.items()})
    w = (complex(0.5, 2.0) * np.array([1.5, -2.0]) + 3.0) * 0.5 + 4
    for got, expected in zip(found, (w.real, w.imag, abs(w)), strict=True):
        assert np.asarray(got).dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_complex_name_that_an_early_exit_skips(dtype: str) -> None:
    """The other side of the branch around the rest of the body needs a value of its type.

    The sine is looked up in the library.
    """
    text = """
def f(x):
    acc = x
    for i in range(2):
        if acc > 1.0:
            continue
        z = complex(acc, 1.0)
        acc = acc + real(sin(z))
    return acc
"""
    way = Structured()
    way.ops = {op: function for op, function in way.ops.items() if op != "sin"}
    assert way.functions
    program = kit.StructuredProgram(to_wire(parse(text)), way, dtype, TRIP_LIMIT)
    (found,) = program({"x": np.array(0.5, dtype)})
    expected = 0.5 + np.sin(0.5) * np.cosh(1.0)  # more than 1, so the second trip is skipped
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)


def test_a_bool_of_the_library_becomes_a_float_by_its_astype() -> None:
    way = autograd_adapter.Eager()
    own = {"less": lambda a, b: Decided(a < b), "astype": lambda x, dtype: np.asarray(x.value, dtype)}
    way.ops = {**way.ops, **own}
    form = to_wire(parse("def f(x):\n    return x * astype(x < 1.0, float) + astype(True, float)"))
    for x, expected in ((0.5, 1.5), (2.0, 1.0)):
        found = outputs(way, form, {"x": np.asarray(x)}, kit.Program)
        assert found == [np.asarray(expected).tobytes()]


def test_bools_of_the_library_are_joined_by_what_the_way_decides() -> None:
    class Way(autograd_adapter.Eager):  # type: ignore[misc]
        def decide(self, value: Decided) -> bool:
            return value.value

    way = Way()
    way.ops = {**way.ops, "less": lambda a, b: Decided(a < b)}
    form = to_wire(
        parse(
            """def f(x):
    i = 0
    acc = 1.0
    while acc < x and i < 5:
        acc = acc + x
        i = i + 1
    if not acc < x or x < 1.0:
        acc = acc + 1.0
    return acc
"""
        )
    )
    for x, expected in ((0.5, 2.0), (2.0, 4.0), (1.25, 3.25)):
        found = outputs(way, form, {"x": np.asarray(x)}, kit.Program)
        assert found == [np.asarray(expected).tobytes()]


def test_hello_lists_the_elementwise_functions_of_the_table() -> None:
    """All but those with parameters, and those for which no library has a function of this name."""
    rows = {row.name for row in _ROWS if not row.params} - {"gelu_tanh", "normal_density"}
    listed = kit._ELEMENTWISE.split()
    assert sorted(listed) == sorted(rows)
    assert set(kit.SPELLED) <= rows


def test_what_adapters_share_of_a_request() -> None:
    inputs = {"v": ("float64", (2, 3), [float(k) for k in range(6)]), "n": ("int64", (2,), [4, 5])}
    assert kit.point_of(inputs, 1) == {"v": ("float64", (3,), [3.0, 4.0, 5.0]), "n": ("int64", (), [5])}
    tensor = kit.encode_tensor("float64", (), [2.0])
    request = {"wrt": ["v"], "weights": [None, tensor], "directions": {"v": tensor}}
    made = ("float64", (), [2.0])
    assert kit.contracted(request, lambda *parts: parts) == ([None, made], [made])
    assert kit.contracted({**request, "directions": {}}, lambda *parts: parts) == ([None, made], [])

    def at(k: int) -> int:
        return 6 // k

    def refusal(error: Exception) -> Exception | None:
        return kit.Unsupported("by 0") if isinstance(error, ZeroDivisionError) else None

    assert kit.each_point(2, at, refusal) == [{"unsupported": "by 0"}, 6]
    assert kit.each_point(1, at)[0]["error"]["kind"] == "exception"


# Whose fault it is ------------------------------------------------------------------------------------------


def wrapped(keep_text: bool) -> Exception:
    """What a library makes of an exception in its callback."""
    try:
        try:
            raise kit.Unsupported("there is no op frobnicate here")
        except kit.Unsupported as own:
            if keep_text:
                raise RuntimeError(f"loop body failed: {own} [loop.cpp]") from None
            raise RuntimeError("loop body failed") from own
    except RuntimeError as error:
        if keep_text:
            error.__context__ = None
        return error


@pytest.mark.parametrize("keep_text", [True, False])
def test_what_an_adapter_refuses_in_a_callback_is_a_refusal(keep_text: bool) -> None:
    assert kit.arm_of(wrapped(keep_text)) == {"unsupported": "there is no op frobnicate here"}


IN_GRAPH = """In user code:

    File "model.py", line 39, in <module>
      print("no ValueError: here")
    File "model.py", line 38, in build
      return paddle.gather(x, i)

    OutOfRangeError: The element of Index must be less than 3, but received 7.
      [Hint: Expected p_index[i] < 3.]
      [operator < pd_kernel.phi_kernel > error]
"""
DETECTED = """Graph execution error:

Detected at node inv
Input is not invertible.
\t [[{{node inv}}]]
"""


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (IN_GRAPH, "OutOfRangeError: The element of Index must be less than 3, but received 7."),
        (DETECTED, "Input is not invertible."),
        ("\nshapes differ: 2, 3\nat line 7", "shapes differ: 2, 3"),
        ("the body of a loop:", "the body of a loop:"),
        ("", ""),
    ],
)
def test_an_error_is_told_by_the_line_that_says_what_happened(message: str, told: str) -> None:
    arm = kit.arm_of(ValueError(message))
    assert arm == {"error": {"kind": "exception", "message": f"ValueError: {told}"}}


@pytest.mark.parametrize("error", [NotImplementedError, AssertionError, RuntimeError])
def test_no_exception_is_a_refusal_by_its_type(error: type[Exception]) -> None:
    assert kit.arm_of(error("no rule"))["error"]["message"] == f"{error.__name__}: no rule"


LISTED = (
    "JVP of inv wrt argnums (0,) not defined",
    "JVP of solve wrt argnums (0, 1) not defined",
    "VJP of cbrt wrt argnums (0,) not defined",
    "Gradient of sort not implemented for multi-dimensional arrays.",
    "Gradient of svd not implemented for full_matrices=True",
)
BESIDE = (
    "VJP of inv wrt argnums (0,) not defined",
    "JVP of sin wrt argnums (0,) not defined",
    "VJP of solve wrt argnum 0 not defined",
    "Gradient of sort not implemented",
    "not implemented",
    "",
)
"""The same of functions and modes that have a rule in autograd's source."""


def test_autograd_lacks_by_its_list_alone() -> None:
    way = autograd_adapter.Eager()
    for words in LISTED:
        error = NotImplementedError(words)
        assert kit.arm_of(way.refusal(error) or error) == {"unsupported": words}
    assert all(way.refusal(NotImplementedError(words)) is None for words in BESIDE)
    assert kit.Way().refusal(NotImplementedError(LISTED[0])) is None


def test_a_compiler_that_the_machine_lacks_is_a_refusal() -> None:
    """tinygrad without clang; a file that the library itself reads is another matter."""
    try:
        subprocess.run(["frobnicating-cc", "-c"], check=True)
    except FileNotFoundError as error:
        arm = kit.arm_of(error)
    assert arm == {"unsupported": "the library starts the program frobnicating-cc, which this machine lacks"}
    assert list(kit.arm_of(FileNotFoundError(2, "No such file or directory", "weights.bin"))) == ["error"]
    assert list(kit.arm_of(FileNotFoundError(2, "No such file or directory", "/a/model"))) == ["error"]


def test_what_a_release_has_not_is_a_refusal() -> None:
    """The adapter looks a name up in NumPy, and NumPy in itself."""
    for error in (
        looked_up_in(str(kit.__file__), "import numpy\nnumpy.frobnicate"),
        looked_up_in(str(autograd_adapter.__file__), "import numpy\nnumpy.zeros(2).frobnicate()"),
    ):
        arm = kit.arm_of(error)
        assert list(arm) == ["unsupported"]
        assert arm["unsupported"].startswith("not in this release: ")
        assert "frobnicate" in arm["unsupported"]
    for error in (
        looked_up_in(np.__file__, "import numpy\nnumpy.frobnicate"),
        looked_up_in(str(kit.__file__), "None.frobnicate"),
        looked_up_in(str(kit.__file__), "(0.5).frobnicate"),
        looked_up_in(str(kit.__file__), "[][1]"),
    ):
        assert list(kit.arm_of(error)) == ["error"]


def test_arguments_that_a_release_does_not_take_are_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is what is called by its module, also where a decorator of its own stands between."""
    (tmp_path / "oldlib.py").write_text(
        "import functools\n"
        "def cholesky(x): pass\n"
        "@functools.wraps(cholesky)\n"
        "def jitted(*args, **more): return cholesky(*args, **more)\n"
        "class jit: cholesky = jitted\n"
        "def solve(x): return cholesky(x, upper=True)\n"
        "def inv(x): return cholesky(x, 1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    adapter = tmp_path / "old_adapter.py"
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(adapter), raising=False)

    def arm(line: str) -> Any:
        adapter.write_text(f"import oldlib\nclass A:\n    def own(self): pass\nself = A()\n{line}\n")
        linecache.checkcache(str(adapter))
        with pytest.raises(TypeError) as caught:
            runpy.run_path(str(adapter))
        return kit.arm_of(caught.value)

    words = "cholesky() got an unexpected keyword argument 'upper'"
    assert arm("oldlib.cholesky(1, upper=True)") == {"unsupported": f"not in this release: {words}"}
    assert arm("oldlib.jit.cholesky(1, upper=True)") == {"unsupported": f"not in this release: {words}"}
    assert list(arm("oldlib.solve(1)")) == ["error"]
    assert list(arm("self.own(upper=True)")) == ["error"]
    words = "cholesky() takes 1 positional argument but 2 were given"
    assert arm("oldlib.cholesky(1, 2)") == {"unsupported": f"not in this release: {words}"}
    assert list(arm("oldlib.inv(1)")) == ["error"]
    assert list(arm("self.own(1)")) == ["error"]


def test_arguments_that_a_compiled_function_does_not_take_are_a_refusal() -> None:
    """Where nanobind's function is called, and by whom, is the last frame: it is compiled, and has none."""
    said = (
        "sum(): incompatible function arguments. The following argument types are supported:\\n"
        "    1. sum(value: object) -> object\\n\\nInvoked with types: A, kwargs = { keepdims: bool }"
    )
    raised = f'raise TypeError("{said}")'
    refusal = "not in this release: sum(): incompatible function arguments"
    assert kit.arm_of(looked_up_in(str(kit.__file__), raised)) == {"unsupported": refusal}
    assert list(kit.arm_of(looked_up_in(np.__file__, raised))) == ["error"]


def test_what_an_adapter_does_not_find_in_its_own_tables_is_its_own_error() -> None:
    for source, said in (
        ("{}['s']", "KeyError: 's'"),
        ("nowhere", "NameError: name 'nowhere' is not defined"),
    ):
        refusal = f"an error of the adapter: {said}"
        assert kit.arm_of(looked_up_in(str(kit.__file__), source)) == {"unsupported": refusal}
        assert list(kit.arm_of(looked_up_in(np.__file__, source))) == ["error"]


def looked_up_in(file: str, source: str) -> Exception:
    """The exception of some lines of a file."""
    try:
        exec(compile(source, file, "exec"), {})
    except (AttributeError, LookupError, NameError, TypeError) as error:
        return error
    raise AssertionError("it raises")
