"""Adapters with releases that lack names: they start, and refuse only the ops that need the names.

The libraries are stand-ins that have every other name.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradfuzz.adapters

FOLDER = Path(gradfuzz.adapters.__file__).parent


class Library(types.ModuleType):
    """A module or a function that has every name, except those that are missing."""

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._missing = missing

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if name.startswith("__") or path in self._missing:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        vars(self)[name] = Library(path, self._missing)
        return vars(self)[name]

    def __call__(self, *_: Any, **__: Any) -> None:
        pass


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts an adapter with stand-ins for these modules, the last with `more`; returns what it defines."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr(os, "environ", dict(os.environ))

    def start(adapter: str, modules: str, missing: str, **more: Any) -> dict[str, Any]:
        for name in modules.split():
            made = Library(name, frozenset(missing.split()))
            monkeypatch.setitem(sys.modules, name, made)
            above, _, own = name.rpartition(".")
            if above:
                setattr(sys.modules[above], own, made)
        vars(made).update(more)
        return runpy.run_path(str(FOLDER / f"{adapter}_adapter.py"), run_name="adapter")

    return start


PADDLE = "paddle paddle.nn"
MLX = "mlx mlx.core mlx.nn"
DRJIT = "drjit drjit.llvm"
PYTENSOR = (
    "pytensor pytensor.tensor pytensor.tensor.linalg pytensor.tensor.special pytensor.compile"
    " pytensor.compile.mode pytensor.gradient pytensor.ifelse pytensor.raise_op pytensor.scan"
    " pytensor.scan.utils pytensor.graph pytensor.graph.traversal"
)


@pytest.mark.parametrize(
    ("adapter", "modules", "missing", "op", "arguments"),
    [
        ("paddle", PADDLE, "paddle.linalg.svdvals", "svdvals", [0]),
        ("paddle", PADDLE, "paddle.linalg.matrix_exp", "expm", [0]),
        ("mlx", MLX, "mlx.core.linalg.det", "det", [0]),
        ("mlx", MLX, "mlx.core.linalg.solve", "solve", [0, 0]),
        ("drjit", DRJIT, "drjit.stack", "stack", []),
        ("drjit", DRJIT, "drjit.concat", "concat", []),
    ],
)
def test_an_op_is_refused_whose_name_the_release_lacks(
    started: Any, adapter: str, modules: str, missing: str, op: str, arguments: list[int]
) -> None:
    ops = started(adapter, modules, missing)["OPS"]
    with pytest.raises(AttributeError) as caught:
        ops[op](*arguments, **({} if arguments else {"axis": 0}))
    where, _, name = missing.rpartition(".")
    refusal = f"not in this release: module {where!r} has no attribute {name!r}"
    assert sys.modules["kit"].arm_of(caught.value) == {"unsupported": refusal}


def test_a_dtype_that_the_release_lacks_is_left_out(started: Any) -> None:
    assert "float64" in started("mlx", MLX, "")["DTYPES"]
    assert "float64" not in started("mlx", MLX, "mlx.core.float64")["DTYPES"]


def test_forward_mode_before_it_could_be_chosen(started: Any) -> None:
    """Before PyTensor 3 it is `Rop`, in the oldest releases by the ops' own rules alone."""
    defined = started("pytensor", PYTENSOR, "pytensor.gradient.pushforward")
    asked: list[bool] = []

    def rop(*_: Any, use_op_rop_implementation: bool = False, **__: Any) -> list[Any]:
        asked.append(use_op_rop_implementation)
        return [0.0]

    defined["WAYS"][0].slope.__globals__["pushforward"] = rop
    for way in defined["WAYS"]:
        assert way.slope(None, [], []) == 0.0
    assert asked == [way.direct for way in defined["WAYS"]]
    defined["WAYS"][0].slope.__globals__["pushforward"] = lambda *_, **__: [0.0]
    for way in defined["WAYS"]:
        if way.direct:
            assert way.slope(None, [], []) == 0.0
        else:
            with pytest.raises(defined["kit"].Unsupported, match="own rules alone"):
                way.slope(None, [], [])


# What a library says it has not -----------------------------------------------------------------------------


def test_what_casadi_does_not_define_is_a_refusal(started: Any) -> None:
    refusal, words = started("casadi", "casadi", "")["refusal"], "'eval' not defined for class Determinant"
    assert str(refusal(RuntimeError(f"Error in Function::call for 'f':\n{words}"))) == words
    assert refusal(RuntimeError("Error in Function::call for 'f'")) is None


@pytest.mark.parametrize("words", ["The Op exp_grad doesn't have any grad op.", "doesn't have any gradop."])
def test_an_op_of_paddle_without_a_second_derivative_is_a_refusal(started: Any, words: str) -> None:
    defined = started("paddle", PADDLE, "")

    def raising(*_: Any) -> None:
        raise RuntimeError(words)

    way = defined["Dygraph"]()
    way.derivatives = raising
    with pytest.raises(defined["kit"].Unsupported, match="have any grad"):
        way.differentiate(None, [], [], [], ())


def test_a_loop_of_drjit_without_reverse_mode_is_a_refusal(started: Any) -> None:
    defined = started("drjit", DRJIT, "")
    way = defined["Symbolic"]()

    def together(*_: Any) -> None:
        raise RuntimeError(why)

    way.together = together
    why = "CustomOp::backward(): the derivative of a complex loop is not yet implemented!"
    with pytest.raises(defined["kit"].Unsupported, match="complex loop"):
        way.answer(None, {}, {})
    why = "jit_assemble(): incompatible size"
    with pytest.raises(RuntimeError, match="incompatible size"):
        way.answer(None, {}, {})


@pytest.mark.parametrize("version", ["15.0.6", (15, 0, 6)])
def test_drjit_says_its_llvm_as_text_or_as_a_tuple(started: Any, version: Any) -> None:
    defined = started("drjit", DRJIT, "")
    defined["dr"].detail.llvm_version = lambda: version
    for op in ("minimum", "hypot"):
        with pytest.raises(defined["kit"].Unsupported, match=r"and this is 15\.0\.6"):
            defined["OPS"][op](0.5, 0.5)


@pytest.mark.parametrize("tensor", [complex, np.zeros])
def test_matmul_of_drjit_is_listed_where_tensors_have_a_product(started: Any, tensor: Any) -> None:
    backend = Library("ad", frozenset())
    backend.Float64 = len
    backend.TensorXf64 = lambda size, shape: tensor(size)
    defined = started("drjit", DRJIT, "", ad=backend)
    assert ("matmul" in defined["OPS"]) == (tensor is np.zeros)


def test_reductions_of_drjit_before_they_kept_axes(started: Any) -> None:
    class Tensor:
        def __init__(self, entries: Any) -> None:
            self.entries = np.asarray(entries)
            self.array, self.shape, self.ndim = self.entries, self.entries.shape, self.entries.ndim

    made = started("drjit", DRJIT, "")
    made["dr"].is_tensor_v = lambda x: isinstance(x, Tensor)
    made["dr"].reshape = lambda kind, x, shape: kind(x.entries.reshape(shape))
    x = Tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])

    def total(value: Tensor, axis: Any) -> Tensor:
        return Tensor(value.entries.sum(axis))

    for axis in (0, -1, (0,), None):
        for keepdims in (False, True):
            found = made["reducing"](total)(x, axis=axis, keepdims=keepdims)
            expected = x.entries.sum(axis, keepdims=keepdims)
            assert np.array_equal(found.array if expected.ndim else found, expected)
            assert found.shape == expected.shape


def test_drjit_is_asked_for_a_sine_where_its_documentation_promises_one(started: Any) -> None:
    """Beyond 8192 the float32 sine of Dr.Jit 1.5 has no right digit. What a loop records is not known yet."""
    made = started("drjit", DRJIT, "")
    recording = False
    of_numpy = {"any": lambda x, axis: np.any(x, axis), "width": np.size, "detach": lambda x: x}
    vars(made["dr"]).update(of_numpy, is_complex_v=np.iscomplexobj, flag=lambda name: recording)
    sine = made["accurate"](np.sin)
    for x in (np.array(0.5), np.array([-8191.0, 2.0]), np.zeros(0), np.array(9000.0 + 1.0j)):
        assert np.array_equal(sine(x), np.sin(x))
    large = np.array([0.5, -8192.0])
    with pytest.raises(made["kit"].Unsupported, match="below 8192 alone: https://"):
        sine(large)
    recording = True
    assert np.array_equal(sine(large), np.sin(large))


@pytest.mark.parametrize("missing", ["", "warp.matrix_from_rows"])
def test_warp_before_it_made_matrices_of_rows(started: Any, missing: str) -> None:
    """A kernel that cannot be made takes others of its module with it, and these return zeros."""
    made = started("warp", "warp", missing)
    writer = object.__new__(made["Writer"])
    writer.constructor = lambda dtype, shape: f"{dtype}{len(shape)}"
    if missing:
        with pytest.raises(made["kit"].Unsupported, match=r"no wp\.matrix_from_rows"):
            writer.array("float", (2, 1), ["a", "b"])
    else:
        assert writer.array("float", (2, 1), ["a", "b"]) == "wp.matrix_from_rows(float1(a), float1(b))"
    assert writer.array("float", (2,), ["a", "b"]) == "float1(a, b)"


def test_the_graph_of_tinygrad_by_either_name(started: Any) -> None:
    defined = started("tinygrad", "tinygrad tinygrad.Device", "", _devices=["PYTHON"])
    new = types.SimpleNamespace(uop=types.SimpleNamespace(toposort=lambda: ["a", "b"]))
    old = types.SimpleNamespace(lazydata=types.SimpleNamespace(toposort={"a": None, "b": None}))
    assert defined["nodes_before"](new) == defined["nodes_before"](old) == {"a", "b"}


def test_singular_values_of_mlx_with_and_without_the_vectors(started: Any) -> None:
    defined = started("mlx", MLX, "")
    defined["mx"].linalg.svd = lambda x: ("u", "s", "v")
    assert defined["OPS"]["svdvals"](0.5) == "s"

    def svd(x: float, *, compute_uv: bool) -> str:
        """svd(a: array, compute_uv: bool = True)"""
        return "" if compute_uv else "values"

    defined["mx"].linalg.svd = svd
    assert defined["OPS"]["svdvals"](0.5) == "values"


def test_pytensor_may_take_so_long_to_make_a_function(started: Any) -> None:
    """Its rewrites go on after whatever else fails."""
    defined = started("pytensor", PYTENSOR, "")

    def make(seconds: float) -> None:
        with defined["limited"](seconds):
            while seconds < 1:
                with contextlib.suppress(Exception):
                    sum(range(1000))

    with pytest.raises(defined["kit"].Unsupported, match=r"for more than 0\.01 seconds"):
        make(0.01)
    make(60.0)


@pytest.mark.parametrize(
    ("file", "method", "lacks"),
    [
        ("pytensor/graph/op.py", "R_op", True),
        ("pytensor/graph/op.py", "perform", False),
        ("pytensor/tensor/math.py", "R_op", False),
    ],
)
def test_pytensor_lacks_a_rule_that_an_op_does_not_define(
    started: Any, file: str, method: str, lacks: bool
) -> None:
    """Of an op without one, the method of the base class raises. What a rule of its own raises is told."""
    missing_rule, names = started("pytensor", PYTENSOR, "")["missing_rule"], dict[str, Any]()
    exec(compile(f"def {method}():\n    raise NotImplementedError\n", f"/lib/{file}", "exec"), names)
    with pytest.raises(NotImplementedError) as caught:
        names[method]()
    assert missing_rule(caught.value) == (method if lacks else "")


def test_mygrad_refuses_what_it_documents_that_it_lacks(started: Any) -> None:
    defined = started("mygrad", "mygrad mygrad.nnet mygrad.linalg", "")
    x, kernel = np.zeros((1, 1, 5)), np.zeros((1, 1, 2))
    defined["mg"].nnet.conv_nd = lambda *_, stride, padding: (stride, padding)
    conv = defined["OPS"]["conv"]
    assert conv(x, kernel, [3], None) == ([3], (0,))
    assert conv(x, kernel, None, [(1, 1)]) == (1, (1,))
    with pytest.raises(defined["kit"].Unsupported, match="strides"):
        conv(x, kernel, [2], None)

    def trunc() -> None:
        raise ValueError(f"<ufunc 'trunc'> {defined['NO_DERIVATIVE']}")

    way = defined["Eager"]()
    with pytest.raises(defined["kit"].Unsupported, match="trunc"):
        way.differentiate(trunc, [], [], [], ("rev",))


def test_mlx_has_no_way_in_float64_that_would_round_it(started: Any) -> None:
    defined = started("mlx", MLX, "")
    for answer, expected in (([0.1], True), ([0.10000000149011612], False)):
        defined["mx"].array = lambda *_, answer=answer: types.SimpleNamespace(tolist=lambda: answer)
        assert defined["has_doubles"]() is expected
    assert not started("mlx", MLX, "mlx.core.float64")["has_doubles"]()


# Complex numbers --------------------------------------------------------------------------------------------

NO_KERNEL = "(NotFound) The kernel with key (CPU, complex128) of kernel `solve` is not registered."


@pytest.mark.parametrize("words", [NO_KERNEL, "The dtype must be float32 or float64, but got complex64"])
def test_what_paddle_has_for_real_numbers_only_is_a_refusal(started: Any, words: str) -> None:
    refusal = started("paddle", PADDLE, "")["refusal"]
    assert str(refusal(RuntimeError(f"In user code:\n  x\n  {words}\n [Hint]"))) == f"Paddle: {words}"
    assert refusal(RuntimeError("(InvalidArgument) the dimensions differ")) is None


def test_what_paddle_documents_for_real_numbers_only_is_a_refusal(started: Any) -> None:
    defined = started("paddle", PADDLE, "")
    defined["OPS"]["matrix_power"](types.SimpleNamespace(dtype="paddle.float64"), n=2)
    for op, params in {"matrix_power": {"n": 2}, "pinv": {}}.items():
        with pytest.raises(defined["kit"].Unsupported, match=rf"paddle\.linalg\.{op}: "):
            defined["OPS"][op](types.SimpleNamespace(dtype="paddle.complex64"), **params)


def test_what_paddle_has_no_gradient_of_is_asked_for_its_values_alone(started: Any) -> None:
    defined = started("paddle", PADDLE, "")
    constant, traced = (types.SimpleNamespace(stop_gradient=stop, ndim=2) for stop in (True, False))
    defined["paddle"].linalg.lstsq = lambda a, b: ("solution", "residuals")
    assert defined["OPS"]["lstsq"](constant, constant) == "solution"
    for operands in ((constant, traced), (traced, constant)):
        with pytest.raises(defined["kit"].Unsupported, match="lstsq has no gradient kernel"):
            defined["OPS"]["lstsq"](*operands)


@pytest.mark.parametrize(
    "words",
    [
        "[linalg::inv] Arrays must have type float32 or float64. Received array with type complex64.",
        "[linalg::det] Complex inputs are not supported.",
        "[expm1] Not supported for complex64.",
    ],
)
def test_what_mlx_has_for_real_numbers_only_is_a_refusal(started: Any, words: str) -> None:
    defined = started("mlx", MLX, "")
    way = defined["Eager"]()

    def raising(*_: Any) -> None:
        raise ValueError(message)

    way.derivatives, message = raising, words
    with pytest.raises(defined["kit"].Unsupported, match="omplex"):
        way.differentiate(None, [], [], [], ())
    message = "[matmul] Last dimension of first input must match"
    with pytest.raises(ValueError, match="Last dimension"):
        way.differentiate(None, [], [], [], ())


def test_mlx_has_no_complex_numbers_of_float64(started: Any) -> None:
    defined = started("mlx", MLX, "")
    assert "complex" in defined["Eager"]().describe()["ops"]
    assert not {"complex", "eig"} & set(defined["Double"]().describe()["ops"])


@pytest.mark.parametrize(
    "words",
    [
        "Input `a` must have `float`-like `dtype` (saw complex128).",
        "gradient registry has no entry for: Lu",
        "No registered 'Eig' OpKernel for XLA_CPU_JIT devices",
    ],
)
def test_what_tensorflow_has_not_is_a_refusal(started: Any, words: str) -> None:
    modules = "tensorflow tensorflow.experimental tensorflow.experimental.numpy"
    refusal = started("tensorflow", modules, "")["refusal"]
    assert str(refusal(TypeError(f"In a graph:\n{words}\nThe op is created at"))) == words
    assert refusal(TypeError("Input `a` must have a `shape`")) is None
    assert refusal(KeyError("x")) is None


def test_a_graph_of_tensorflow_that_cannot_be_made_is_tried_once(started: Any) -> None:
    defined = started("tensorflow", "tensorflow tensorflow.experimental tensorflow.experimental.numpy", "")
    of_a_kernel = type("InvalidArgumentError", (Exception,), {})
    defined["tf"].errors.OpError = of_a_kernel
    tried: list[Exception] = []

    def asked(error: Exception) -> tuple[list[Any], int]:
        def traced(*_: Any) -> None:
            tried.append(error)
            raise error

        tried.clear()
        results = defined["WhileLoop"]().answered(traced, [{}] * 3, (), (), [], [])
        return results, len(tried)

    assert asked(AssertionError("no output")) == ([defined["kit"].arm_of(AssertionError("no output"))] * 3, 1)
    assert asked(of_a_kernel("not invertible"))[1] == 3


def test_a_part_of_a_tensor_of_drjit_takes_entries_and_no_tensor(started: Any) -> None:
    defined = started("drjit", DRJIT, "")
    defined["dr"].is_tensor_v = lambda value: hasattr(value, "array")
    written: dict[Any, Any] = {}

    class Tensor:
        shape = (3,)

        def __init__(self, x: Any) -> None: ...

        def __setitem__(self, key: Any, value: Any) -> None:
            written[str(key)] = value

    value = types.SimpleNamespace(array="entries")
    defined["OPS"]["index_update"](Tensor(0), value, pattern=[["slice", 0, 2]])
    defined["OPS"]["index_update"](Tensor(0), 0.5, 1, pattern=["at"])
    assert written == {"(slice(0, 2, None),)": "entries", "(1,)": 0.5}


def test_drjit_has_no_tensors_of_complex_numbers(started: Any) -> None:
    defined = started("drjit", DRJIT, "")
    unsupported = pytest.raises(defined["kit"].Unsupported, match="no tensors of complex numbers")
    defined["dr"].is_tensor_v = lambda x: x == "tensor"
    defined["dr"].is_complex_v = lambda x: False
    defined["dr"].type_v = lambda x: defined["dr"].VarType.Float32
    defined["COMPLEX"]["complex64"] = lambda *parts: parts
    assert defined["OPS"]["complex"]("re", "im") == ("re", "im")
    assert defined["OPS"]["astype"]("re", dtype="complex64") == ("re", 0)
    with unsupported:
        defined["OPS"]["complex"]("re", "tensor")
    with unsupported:
        defined["OPS"]["astype"]("tensor", dtype="complex64")


def test_the_logarithm_of_a_complex_number_needs_an_llvm_that_does_not_abort(started: Any) -> None:
    defined = started("drjit", DRJIT, "")
    defined["dr"].detail.llvm_version = lambda: (15, 0, 6)
    defined["dr"].is_complex_v = lambda x: isinstance(x, complex)
    defined["OPS"]["log"](0.5)
    with pytest.raises(defined["kit"].Unsupported, match=r"needs LLVM 17, and this is 15\.0\.6"):
        defined["OPS"]["log"](0.5j)


# Sequences of a scan ----------------------------------------------------------------------------------------


class Made:
    """A variable of a graph: what it is made of. Its type makes others."""

    def __init__(self, *of: Any, shape: Any = (3,)) -> None:
        self.of = of
        self.shape = shape

    @property
    def type(self) -> Any:
        made = types.SimpleNamespace(shape=self.shape)
        return Callable(made.__dict__, lambda: Made(shape=self.shape))

    def __getitem__(self, key: Any) -> Made:
        return Made("entry", self, key)

    def ancestors(self) -> set[Any]:
        inside = [x for part in self.of for x in (part if isinstance(part, tuple) else [part])]
        return {self, *inside, *(y for x in inside if isinstance(x, Made) for y in x.ancestors())}


class Callable(types.SimpleNamespace):
    def __init__(self, fields: dict[str, Any], call: Any) -> None:
        super().__init__(**fields)
        self.call = call

    def __call__(self) -> Any:
        return self.call()


@pytest.fixture
def mapping(started: Any) -> Any:
    """The way of PyTensor that maps sequences, and what its scans were given."""
    defined = started("pytensor", PYTENSOR, "")
    way, scans = defined["Mapping"]("scan-sequences", "fast_run", 1), []
    inside = way.for_loop.__globals__
    inside["pt"].lscalar = lambda: Made()
    inside["ancestors"] = lambda results: {y for x in results for y in x.ancestors()}
    inside["counter"] = lambda count: ("counter", count)
    inside["fitted"] = lambda values, carries: values

    def scan(step: Any, carries: list[Any], sequences: list[Any], non_sequences: list[Any]) -> list[Any]:
        inner = [Made() for _ in [*sequences, *carries, *non_sequences]]
        scans.append((sequences, inner, step(*inner)))
        return list(carries)

    way.scan = scan
    return way, scans, defined["kit"].Unsupported


def test_an_array_that_a_loop_reads_at_its_counter_is_a_sequence(mapping: Any) -> None:
    way, scans, _ = mapping
    index, x, other = way.ops["index"], Made(), Made()

    def body(i: Any, carries: list[Any], captures: list[Any]) -> list[Any]:
        return [Made(carries[0], index(captures[0], i, pattern=("at",)), captures[1])]

    way.for_loop(3, body, [Made()], [x, other])
    ((sequences, inner, results),) = scans
    assert sequences == [x]  # the counter is not used otherwise
    assert results[0].of[1].of[1] is inner[0]  # the sequence's element, at no further place
    assert results[0].of[2] is inner[3]


def test_the_counter_is_a_sequence_too_where_the_body_uses_it(mapping: Any) -> None:
    way, scans, _ = mapping
    index, x = way.ops["index"], Made(shape=(5, 2))

    def body(i: Any, carries: list[Any], captures: list[Any]) -> list[Any]:
        return [Made(index(captures[0], i, 1, pattern=("at", "at")), i)]

    way.for_loop(3, body, [Made()], [x])
    ((sequences, inner, results),) = scans
    assert sequences[0] == ("counter", 3)
    assert sequences[1].of == ("entry", x, slice(None, 3))
    assert results[0].of[0].of == ("entry", inner[1], (1,))
    assert results[0].of[1] is inner[0]


def test_a_loop_that_reads_no_array_at_its_counter_maps_nothing(mapping: Any) -> None:
    way, scans, _ = mapping
    index, x, j = way.ops["index"], Made(), Made()
    way.for_loop(3, lambda i, cs, xs: [Made(index(xs[0], j, pattern=("at",)))], [Made()], [x])
    assert [sequences for sequences, _, _ in scans] == [[("counter", 3)]]


def test_a_sequence_that_is_shorter_than_its_loop_is_a_refusal(mapping: Any) -> None:
    way, _, unsupported = mapping
    index = way.ops["index"]
    with pytest.raises(unsupported, match="beyond an array"):
        way.for_loop(4, lambda i, cs, xs: [index(xs[0], i, pattern=("at",))], [Made()], [Made()])
