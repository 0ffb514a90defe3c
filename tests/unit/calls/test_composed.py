"""Libraries whose gradients and slopes are nested, and that mostly run in environments of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gradfuzz.errors import UnsupportedError
from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Verdict
from gradfuzz.libraries.composed import ComposedLibrary, connected
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.layouts import LAYOUTS, Layout
from gradfuzz.libraries.library import Library, Wanted
from gradfuzz.oracles.base import Mode

X, Y = np.array([0.5, -1.25]), np.array([2.0, 0.75])
V, U = np.array([1.0, 3.0]), np.array([-2.0, 0.5])
W = np.array([1.5, -1.0])
FIRST = [3 * W * X**2 * Y, W * X**3]
"""The gradient of the sum of W x^3 y, by x and y."""
SECOND = [W * (6 * X * Y * V + 3 * X**2 * U), 3 * W * X**2 * V]
"""The gradient of its slope along (V, U)."""

COMBINATIONS: list[tuple[Mode, ...]] = [
    *(("rev",), ("fwd",), ("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd"))
]


def asked(framework: Any, modes: Sequence[Mode]) -> Any:
    xs = [framework.array(X), framework.array(Y)]
    wanted = Wanted([W, None], [V, U], modes)
    outputs, slopes = framework.derivative(lambda x, y: (x * x * x * y, x), xs, wanted)
    np.testing.assert_allclose(framework.numpy(outputs[0]), X**3 * Y, rtol=1e-15)
    return [framework.numpy(slope) for slope in slopes]


def gradient(g: Any, xs: Any) -> Any:
    import autograd

    return autograd.grad(g, tuple(range(len(xs))))(*xs)


def slope(g: Any, xs: Any, directions: Any) -> Any:
    import autograd

    return sum(autograd.make_jvp(g, k)(*xs)(v)[1] for k, v in enumerate(directions))


class Nested(ComposedLibrary):
    """autograd, by nothing but a gradient and a slope."""

    def is_array(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def array(self, value: Any, like: Any = None) -> Any:
        return np.array(value)

    def pair(self, re: Any, im: Any) -> Any:
        return re + 1j * im

    def parts(self, z: Any) -> tuple[Any, Any]:
        return z.real, z.imag

    def is_complex(self, value: Any) -> bool:
        return bool(np.iscomplexobj(value))

    def inner(self, xs: Any, ys: Any, like: Any) -> Any:
        import autograd.numpy as anp

        return sum(anp.sum(x * y) for x, y in zip(xs, ys, strict=True))


@pytest.mark.parametrize("modes", COMBINATIONS, ids=" ".join)
def test_a_gradient_and_a_slope_are_nested(modes: tuple[Mode, ...]) -> None:
    pytest.importorskip("autograd")
    expected = FIRST if len(modes) == 1 else SECOND
    for got, right in zip(asked(Nested(), modes), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-14)


def test_forward_mode_that_takes_too_long_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("autograd")
    monkeypatch.setattr("gradfuzz.libraries.composed._SLOW", -1.0)
    with pytest.raises(NotImplementedError, match="takes too long"):
        asked(Nested(), ("fwd",))
    assert len(asked(Nested(), ("rev",))) == 2


def test_what_is_connected() -> None:
    assert connected("It", [[1.0], [2.0]]) is None
    assert connected("It", [[None, 1.0], [None, None], [2.0, None]]) == (0, 2)
    with pytest.raises(UnsupportedError, match="It returns None for the gradient by its array 2"):
        connected("It", [[1.0, None], [2.0, None]])


# The libraries themselves, where they are installed ---------------------------------------------------------


@pytest.fixture(params=["tensorflow", "mlx", "paddle"])
def library(request: pytest.FixtureRequest) -> Library:
    pytest.importorskip(request.param, reason=f"{request.param} is not installed beside gradfuzz")
    return library_named(request.param)


@pytest.mark.parametrize("modes", COMBINATIONS, ids=" ".join)
def test_the_derivatives_of_a_library(library: Library, modes: tuple[Mode, ...]) -> None:
    framework = library_named(library.name)
    expected = FIRST if len(modes) == 1 else SECOND
    if library.name == "paddle" and len(modes) > 1 and "fwd" in modes:
        with pytest.raises(NotImplementedError, match="of third order"):
            asked(framework, modes)
        return
    for got, right in zip(asked(framework, modes), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_and_its_code(library: Library, layout: Layout) -> None:
    value = np.arange(10.0).reshape(1, 2, 5)
    seen = library.view(library.constant(value), layout)
    names: dict[str, Any] = {}
    exec(f"{library.forms.header}\nx = {library.array_code(value)}", names)
    written = eval(library.view_code("x", layout, value.shape), names)
    expected = {
        "transposed": np.swapaxes(value, -1, -2),
        "stepped": value[..., ::2],
        "expanded": np.repeat(value, 2, axis=0),
    }.get(layout, value)
    np.testing.assert_array_equal(library.numpy(seen), expected)
    np.testing.assert_array_equal(library.numpy(written), expected)


def test_the_helpers_of_a_script(library: Library) -> None:
    names: dict[str, Any] = {}
    helpers = library.source("leaves", "total", "real_parts", "doubled")
    exec("\n".join([library.forms.header, helpers, library.slope_source(("rev", "fwd"))]), names)
    xs, v = [library.constant(X), library.constant(Y)], [library.constant(V), library.constant(U)]
    exec("def g(x, y):\n    return total(x * x * x * y)", names)
    slope = float(np.sum(3 * X**2 * Y * V + X**3 * U))
    assert float(names["slope_rev"](names["g"], xs, v)) == pytest.approx(slope, rel=1e-14)
    assert float(names["slope_fwd"](names["g"], xs, v)) == pytest.approx(slope, rel=1e-14)
    integers = library.constant(np.arange(3))
    assert len(names["leaves"]((xs[0], [integers, xs[1]]))) == len(library.leaves((xs[0], [integers, xs[1]])))
    np.testing.assert_array_equal(library.numpy(names["doubled"](xs[0])), [X, 1.25 * X])


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        ("scipy.stats.beta.cdf", tuple(Argument(array=np.array(a)) for a in (0.5, 2.0, 3.0)), "KeyError: 1"),
    ],
)
def test_what_autograd_has_no_rule_for_is_refused(
    function: str, arguments: tuple[Argument, ...], words: str
) -> None:
    """A derivative by a shape of a distribution."""
    found = judged(Call("autograd", f"autograd.{function}", arguments), [("rev",)])
    assert not found.verdicts
    assert words in found.lacks[("rev",)]


def test_numbers_of_16_bits_are_no_arrays_of_numpy() -> None:
    x = Argument(array=np.array(0.5, ml_dtypes.bfloat16))
    assert (
        judged(Call("autograd", "autograd.scipy.special.y1", (x,)), [("rev",)]).refused
        == "NumPy has no bfloat16"
    )


def test_an_order_whose_digits_are_cut_off_is_refused() -> None:
    """SciPy takes Bessel functions of the second kind by integer orders, and says so."""
    order, x = Argument(array=np.array(0.5)), Argument(array=np.array(0.5))
    found = judged(Call("autograd", "autograd.scipy.special.yn", (order, x)), [("rev",)])
    assert "truncated to an integer" in found.refused
    whole = Argument(array=np.array(1))
    (right,) = judged(Call("autograd", "autograd.scipy.special.yn", (whole, x)), [("rev",)]).verdicts
    assert right.case.verdict is Verdict.AGREE


def test_what_has_no_gradient_is_refused(library: Library) -> None:
    arrays = [library.constant(X), library.constant(Y)]
    assert library.followed(lambda x, y: [x * x * y], arrays) is None
    if library.name != "mlx":  # it does not say
        with pytest.raises(UnsupportedError, match="array 2"):
            library.followed(lambda x, y: [x * x], arrays)


def test_what_a_graph_of_tensorflow_refuses_is_no_valid_call() -> None:
    """The eager kernels take it, and forward mode, which is followed in a graph, would be a crash."""
    pytest.importorskip("tensorflow", reason="tensorflow is not installed beside gradfuzz")
    import tensorflow as tf

    library = library_named("tensorflow")
    x = library.constant(np.array([0.25]))
    for refused in (
        lambda x: tf.raw_ops.Fill(dims=0, value=x),
        lambda x: tf.raw_ops.ConcatV2(values=[x, x], axis=(0,)),
    ):
        refused(x)
        with pytest.raises(ValueError, match="must be rank"):
            library.check(refused, [x])
    library.check(lambda x: tf.concat([x, x], 0), [x])
    library.check(lambda x: tf.constant(x.numpy()), [x])  # no graph can follow it, and it is valid


def test_a_lost_gradient_of_paddle_is_no_refusal() -> None:
    """A weight without a bias has no gradient, and what computed it misses one: entry 39 of Paddle."""
    pytest.importorskip("paddle", reason="paddle is not installed beside gradfuzz")
    image = Argument(array=np.arange(12.0).reshape(2, 3, 2) ** 1.5)
    weight = Argument("weight", array=np.array([1.0, 2.0, 3.0]))
    found = judged(Call("paddle", "paddle.nn.functional.instance_norm", (image, weight)), [("rev",)])
    assert [one.case.verdict for one in found.verdicts] == [Verdict.CRASHED]


def test_max_pools_of_paddle_say_that_they_lack_a_second_derivative() -> None:
    pytest.importorskip("paddle", reason="paddle is not installed beside gradfuzz")
    image, size = Argument(array=np.array([[[[-2.0]]]])), Argument(literal="(1, 1)")
    found = judged(
        Call("paddle", "paddle.nn.functional.max_pool2d", (image, size)), [("rev",), ("rev", "rev")]
    )
    assert [one.case.verdict for one in found.verdicts] == [Verdict.AGREE]
    assert "only supports avgpool" in found.lacks["rev", "rev"]
