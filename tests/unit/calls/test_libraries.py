"""Libraries whose functions are called: views, checks, forms and scripts, by values that NumPy or a closed
form gives.
"""

import importlib
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import NotDifferentiableError, UnsupportedError
from gradfuzz.fuzzer.calling.invocation import asked, called, is_inside, quiet, size_of, values_of
from gradfuzz.fuzzer.results.call import Argument, Call, Form
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.layouts import LAYOUTS, Layout
from gradfuzz.libraries.library import Library
from gradfuzz.libraries.watching import function_of
from gradfuzz.oracles.base import Array

NUMPY: dict[Layout, Callable[[Array], Array]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: np.swapaxes(x, -1, -2),
    "stepped": lambda x: x[..., ::2],
    "expanded": lambda x: np.broadcast_to(x, (2, *x.shape[1:])),
}


@pytest.fixture(params=["torch", "jax", "autograd"])
def library(request: pytest.FixtureRequest) -> Library:
    pytest.importorskip(request.param)
    return library_named(request.param)


@pytest.fixture
def script(library: Library) -> Iterator[dict[str, Any]]:
    """The names of a script of the library after its helpers; JAX has the types of before at the end."""
    if library.name == "torch":
        with quiet():  # it compiles rules of forward mode when they are first used, and warns that it does
            importlib.import_module("torch._decomp.decompositions_for_jvp")
    names: dict[str, Any] = {}
    code = "\n".join([library.forms.header, library.source(*HELPERS), library.slope_source(("rev", "fwd"))])
    if library.name != "jax":
        exec(code, names)
        yield names
        return
    import jax

    before = jax.config.read("jax_enable_x64")
    exec(code, names)
    yield names
    jax.config.update("jax_enable_x64", before)


def numpy(library: Library, x: Any) -> Array:
    return library.numpy(x)


HELPERS = ("leaves", "total", "real_parts", "doubled")


def sin(library: Library, x: Any) -> Any:
    return function_of(call(library, "sin").function)(x)


def call(library: Library, function: str, *arguments: Argument, form: Form = "alone") -> Call:
    home = {"torch": "torch", "jax": "jax.numpy", "autograd": "autograd.numpy"}[library.name]
    return Call(library.name, f"{home}.{function}", arguments, form)


def floats(*shape: int, dtype: str = "float64") -> Argument:
    return Argument(array=np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype))


def check(library: Library, one: Call) -> None:
    library.check(called(one, library), [library.constant(value) for value in values_of(one)])


# Views ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 3), (1, 2, 5), (1, 0, 4)])
def test_a_view_is_that_of_numpy(library: Library, layout: Layout, shape: tuple[int, ...]) -> None:
    value = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    seen = numpy(library, library.view(library.constant(value), layout))
    np.testing.assert_array_equal(seen, NUMPY[layout](value), strict=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_code_of_a_view_gives_the_view(library: Library, script: dict[str, Any], layout: Layout) -> None:
    value = np.arange(6.0).reshape(1, 2, 3)
    code = library.view_code("x", layout, value.shape)
    seen = eval(code, {**script, "x": library.constant(value)})
    np.testing.assert_array_equal(numpy(library, seen), NUMPY[layout](value), strict=True)


# Arrays -----------------------------------------------------------------------------------------------------


VALUES = [
    np.array([0.1, -0.0, np.inf, -np.inf, 2.0**-1074]),
    np.array([[0.1, 0.2]], np.float32),
    np.array([0.1], np.float16),
    np.array([0.1 + 0.3j, complex(-0.0, 2.0)]),
    np.array([[True], [False]]),
    np.array([2**40, -1]),
    np.array(0.7),
    np.zeros((0, 3)),
    np.zeros((2, 0), np.float32),
]


@pytest.mark.parametrize("value", VALUES, ids=[f"{v.dtype}{v.shape}" for v in VALUES])
def test_the_code_of_an_array_gives_its_bits(library: Library, script: dict[str, Any], value: Array) -> None:
    seen = numpy(library, eval(library.array_code(value), script))
    assert (seen.dtype, seen.shape) == (value.dtype, value.shape)
    assert np.ascontiguousarray(seen).tobytes() == value.tobytes()


@pytest.mark.parametrize("name", ["float64", "float32", "complex128", "int64"])
def test_a_dtype_is_what_its_code_names(library: Library, script: dict[str, Any], name: str) -> None:
    assert eval(library.dtype_code(name), script) == library.dtype(name)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
def test_an_array_keeps_its_dtype_in_a_checked_call(library: Library, dtype: str) -> None:
    seen = []

    def f(x: Any) -> tuple[Any, ...]:
        y = sin(library, library.view(x, "stepped"))
        seen.append(str(y.dtype).removeprefix("torch."))
        return (y,)

    library.check(f, [library.constant(np.ones((2, 4), dtype))])
    assert seen == [dtype]


def test_the_leaves_are_the_arrays_of_floats(library: Library) -> None:
    real, complex_ = library.constant(np.ones(2)), library.constant(np.ones(2, np.complex128))
    nested = (
        library.constant(np.arange(2)),
        [real, "text"],
        {"z": complex_},
        None,
        library.constant(np.ones(2) > 0),
    )
    assert [id(leaf) for leaf in library.leaves(nested)] == [id(real), id(complex_)]


# Checks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_good_call_passes_and_a_bad_one_raises(library: Library, dtype: str) -> None:
    check(library, call(library, "matmul", floats(2, 3, dtype=dtype), floats(3, 2, dtype=dtype)))
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        check(library, call(library, "matmul", floats(2, 3, dtype=dtype), floats(2, 3, dtype=dtype)))


def test_a_call_that_returns_no_floats_is_none(library: Library) -> None:
    with pytest.raises(NotDifferentiableError, match="returns no array of floats"):
        check(library, call(library, "argmax", floats(3)))


def test_jax_is_followed_without_computing() -> None:
    jax = pytest.importorskip("jax")
    library = library_named("jax")
    seen = []
    library.check(lambda x: seen.append(x) or (x,), [library.constant(np.ones(2))])
    assert [isinstance(x, jax.core.Tracer) for x in seen] == [True]


def test_what_needs_values_in_jax_is_computed() -> None:
    pytest.importorskip("jax")
    library = library_named("jax")
    mask = Argument(array=np.array([True, False, True]))
    check(library, call(library, "compress", mask, floats(3)))
    with pytest.raises(ValueError, match="axis 4 is out of bounds"):
        check(library, call(library, "compress", mask, floats(3), Argument("axis", literal="4")))


# Around a call ----------------------------------------------------------------------------------------------


def test_total_and_doubled_are_those_of_numpy(library: Library) -> None:
    x = np.array([0.5, -1.25])
    z = x * (1.0 + 2.0j)
    with library.context("float64"):
        total, doubled = library.function("total"), library.function("doubled")
        assert float(total(library.constant(x))) == -0.75
        assert float(total(library.constant(z))) == -0.75
        np.testing.assert_array_equal(numpy(library, doubled(library.constant(x))), [x, 1.25 * x])


def test_the_map_over_a_leading_axis(library: Library) -> None:
    one = call(library, "cumsum", floats(3), Argument(literal="0"), form="vectorized")
    if library.name == "autograd":
        with pytest.raises(UnsupportedError):
            asked(one, library)
        return
    f = asked(one, library)
    arrays = [library.constant(value) for value in values_of(one)]
    with library.context("float64"):
        (seen,) = f(*arrays)
    np.testing.assert_array_equal(numpy(library, seen), [[1.0, 3.0, 6.0], [1.25, 3.75, 7.5]])


def test_jax_compiles_and_autograd_does_not() -> None:
    pytest.importorskip("jax")
    library = library_named("jax")
    one = call(library, "square", floats(2), form="compiled")
    (seen,) = asked(one, library)(library.constant(np.array([3.0, 4.0])))
    np.testing.assert_array_equal(numpy(library, seen), [9.0, 16.0])
    pytest.importorskip("autograd")
    with pytest.raises(UnsupportedError):
        asked(
            call(library_named("autograd"), "square", floats(2), form="compiled"), library_named("autograd")
        )


# Scripts ----------------------------------------------------------------------------------------------------


def arrays(library: Library, script: dict[str, Any], *values: Any) -> list[Any]:
    return [eval(library.array_code(np.array(value)), script) for value in values]


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_the_slope_of_a_script(library: Library, script: dict[str, Any], mode: str) -> None:
    """Of sum x^3 y: 3 x^2 y v + x^3 w."""
    xs = arrays(library, script, [0.5, -2.0], 3.0)
    v = arrays(library, script, [1.0, 0.25], -2.0)
    assert float(script[f"slope_{mode}"](lambda x, y: (x * x * x * y).sum(), xs, v)) == 27.0


@pytest.mark.parametrize("outer", ["rev", "fwd"])
@pytest.mark.parametrize("inner", ["rev", "fwd"])
def test_a_slope_of_a_slope(library: Library, script: dict[str, Any], inner: str, outer: str) -> None:
    """Of sum x^3 along v and then w: 6 x v w."""
    xs, v, w = ([x] for x in arrays(library, script, [0.5, -2.0], [1.0, 0.25], [2.0, 4.0]))

    def first(*xs: Any) -> Any:
        return script[f"slope_{inner}"](lambda x: (x * x * x).sum(), xs, v)

    assert float(script[f"slope_{outer}"](first, xs, w)) == 6.0 * (0.5 * 2.0 - 2.0 * 0.25 * 4.0)


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_the_slope_through_complex_numbers(library: Library, script: dict[str, Any], mode: str) -> None:
    """Of the real parts of z^2, z = x + i y, with the weights 1 and 3: 2 x v - 2 y w + 3 (2 x w + 2 y v)."""
    xs = arrays(library, script, 1.5, -0.5)
    v = arrays(library, script, 2.0, 4.0)
    pair = eval(f"lambda x, y: {library.forms.pair.format(re='x', im='y')}", script)

    def g(x: Any, y: Any) -> Any:
        z = pair(x, y)
        parts = script["real_parts"](script["leaves"]([z * z]))
        return parts[0].sum() + 3.0 * parts[1].sum()

    assert float(script[f"slope_{mode}"](g, xs, v)) == 40.0


def test_the_helpers_of_a_script_are_those_of_the_library(library: Library, script: dict[str, Any]) -> None:
    real, complex_, whole = arrays(library, script, [0.5, -1.25], [0.5 + 2.0j], [1, 2])
    assert [id(y) for y in script["leaves"]((real, [whole], [complex_]))] == [id(real), id(complex_)]
    assert float(script["total"](real)) == -0.75
    assert float(script["total"](complex_)) == 0.5
    parts = [numpy(library, y).tolist() for y in script["real_parts"]([real, complex_])]
    assert parts == [[0.5, -1.25], [0.5], [2.0]]
    assert numpy(library, script["doubled"](real)).tolist() == [[0.5, -1.25], [0.625, -1.5625]]


def test_the_words_of_a_script_are_functions_of_the_library(library: Library, script: dict[str, Any]) -> None:
    for word in (library.forms.sin, library.forms.mapped, library.forms.compiled):
        assert not word or callable(eval(word.replace("{f}", "abs"), script))
    exec(library.forms.seed, script)


# Rules ------------------------------------------------------------------------------------------------------


RULES = {"torch": ("AddBackward0", "MulBackward0", "SinBackward0"), "jax": ("add", "mul", "sin")}


def test_the_rules_of_a_function(library: Library) -> None:
    xs = [library.constant(np.ones((2, 2))), library.constant(np.ones((2, 2)))]
    own = library.rules(lambda x, y: [sin(library, library.view(x, "transposed")) * y + x], xs)
    if library.name == "autograd":
        assert own == ("add", "multiply", "sin", "swapaxes")
    else:
        assert own == RULES[library.name]


def test_functions_of_jax_with_a_rule_of_their_own() -> None:
    jax = pytest.importorskip("jax")
    library = library_named("jax")
    x = library.constant(np.ones(3, np.float32))
    assert library.rules(lambda x: [jax.nn.relu(x) * x], [x]) == ("custom_jvp relu", "mul")
    assert library.rules(lambda x: [jax.jit(jax.numpy.exp)(x)], [x]) == ("exp",)


@pytest.mark.parametrize("name", ["torch", "autograd", "jax"])
def test_results_that_the_library_does_not_differentiate(name: str) -> None:
    pytest.importorskip(name)
    library = library_named(name)
    x, y = library.constant(np.array([0.5])), library.constant(np.array([1.5]))

    def hidden(x: Any) -> Any:
        if name == "torch":
            return x.detach()
        if name == "jax":
            import jax

            return jax.lax.stop_gradient(x)
        from autograd.tracer import getval

        return np.array(getval(x))

    assert library.followed(lambda x, y: (sin(library, x), hidden(y), y * y), [x, y]) == (0, 2)
    assert library.followed(lambda x, y: (sin(library, x), y * y), [x, y]) is None


# Headers ----------------------------------------------------------------------------------------------------


NAMES = {
    "jax": (
        "jax.numpy.linalg.det jax.nn.relu jax.lax.linalg.qr jax.scipy.special.erf jax.scipy.linalg.expm "
        "jax.scipy.stats.norm.pdf jax.scipy.signal.convolve jax.scipy.sparse.linalg.cg jax.scipy.fft.dct "
        "jax.scipy.ndimage.map_coordinates jax.scipy.integrate.trapezoid jax.scipy.cluster.vq.vq"
    ),
    "autograd": (
        "autograd.numpy.linalg.det autograd.numpy.fft.fft autograd.scipy.special.erf "
        "autograd.scipy.linalg.sqrtm autograd.scipy.stats.norm.pdf autograd.scipy.signal.convolve"
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_script_reaches_the_functions_after_its_header(name: str) -> None:
    pytest.importorskip(name)
    code = (
        f"{library_named(name).forms.header}\nprint(all(map(callable, [{', '.join(NAMES[name].split())}])))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "True\n", ended.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_jax_is_estimated_by_numpy(dtype: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    library = library_named("jax")
    x = np.array([-1.0, 2.0], dtype)
    (found,) = library.estimate(lambda x: (jnp.where(x > 0, jnp.log(jnp.abs(x) + 1), jnp.nan),), [x]) or []
    assert found.dtype == np.dtype(dtype)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(math.log(3.0), rel=1e-6)


def test_what_cannot_be_traced_is_not_estimated() -> None:
    jax = pytest.importorskip("jax")
    library = library_named("jax")
    sides = lambda x: (x if x[0] > 0 else -x,)  # noqa: E731
    assert library.estimate(jax.jit(sides), [np.ones(2)]) is None
    (found,) = library.estimate(sides, [-np.ones(2)]) or ()
    assert found.tolist() == [1.0, 1.0]


def test_a_call_is_outside_by_its_estimate_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    library = library_named("jax")
    one = call(library, "log", Argument(array=np.array([-1.0, 2.0])))
    computed: list[str] = []
    monkeypatch.setattr(type(library), "constant", lambda self, value: computed.append("JAX") or value)
    assert size_of(one, estimated=True) == math.inf
    assert not computed
    assert not is_inside(one)
    assert computed == ["JAX"]
