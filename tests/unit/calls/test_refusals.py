"""What autograd lacks is known by its tables and by the call, and never by what an exception says.

Beside each excuse stands what it could hide: an exception with the same words, and a wrong number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import autograd.numpy as anp
import autograd.scipy.linalg as linalg
import autograd.scipy.special as special
import numpy as np
import pytest
from autograd.core import primitive_jvps, primitive_vjps
from autograd.extend import defjvp, defvjp
from autograd.numpy import numpy_wrapper

from gradfuzz.fuzzer.calling.judge import judged
from gradfuzz.fuzzer.conventions.limits import LIMITS, is_beyond
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Reason, Verdict
from gradfuzz.oracles.base import Mode


def array(*entries: object, keyword: str = "", dtype: str = "float64", constant: bool = False) -> Argument:
    return Argument(keyword, array=np.array(entries, dtype), constant=constant)


def literal(text: str, keyword: str = "") -> Argument:
    return Argument(keyword, literal=text)


def numpy(function: str, *arguments: Argument) -> Call:
    return Call("autograd", f"autograd.numpy.{function}", arguments)


def verdict(call: Call, mode: Mode = "rev") -> tuple[Verdict | None, Reason | None]:
    """The verdict in one mode; None where the library lacks the derivative."""
    found = judged(call, [(mode,)])
    assert found.refused == ""
    if not found.verdicts:
        assert set(found.lacks) == {(mode,)}
        return None, None
    (one,) = found.verdicts
    return one.case.verdict, one.case.reason


AGREE, CRASHED, DISAGREE = ((v, None) for v in (Verdict.AGREE, Verdict.CRASHED, Verdict.DISAGREE))
UNDEFINED = Verdict.INCONCLUSIVE, Reason.UNDEFINED
LACKING = None, None

X, Y = array(0.5, -1.25), array(2.0, 0.75)
MATRIX = array([2.0, 0.5, 1.5], [0.25, 3.0, 1.0])
SQUARE = array([2.0, 0.5], [0.25, 3.0])


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Plants a rule of reverse mode."""

    def plant(primitive: Any, rule: Any, **more: Any) -> None:
        monkeypatch.setitem(primitive_vjps, primitive, primitive_vjps[primitive])
        defvjp(primitive, rule, **more)

    return plant


def raising(error: Exception) -> Any:
    def rule(*_: Any, **__: Any) -> Any:
        raise error

    return rule


# No rule ----------------------------------------------------------------------------------------------------


def test_a_mode_without_a_rule_is_lacking(planted: Any) -> None:
    error_function = Call("autograd", "autograd.scipy.special.erf", (X,))
    assert verdict(error_function, "fwd") == LACKING
    assert verdict(error_function) == AGREE
    planted(special.erf, lambda ans, x: lambda g: g * np.exp(-(x**2)))  # without 2 / sqrt(pi)
    assert verdict(error_function) == DISAGREE


def test_an_argument_without_a_rule_is_lacking() -> None:
    """By all three arguments autograd raises KeyError, by two of them NotImplementedError."""
    arguments = array(0.25), array(1.5), array(2.0)
    whole = Call("autograd", "autograd.scipy.stats.beta.cdf", arguments)
    assert verdict(whole) == LACKING
    assert (
        verdict(replace(whole, arguments=(*arguments[:2], replace(arguments[2], constant=True)))) == LACKING
    )
    held = (arguments[0], *(replace(one, constant=True) for one in arguments[1:]))
    assert verdict(replace(whole, arguments=held)) == AGREE


@pytest.mark.parametrize(
    "error",
    [
        NotImplementedError("VJP of tanh wrt argnums (0,) not defined"),
        NotImplementedError("Can't handle multiple arguments yet."),
        KeyError(0),
        TypeError("<lambda>() got an unexpected keyword argument 'x'"),
        TypeError("Can't differentiate w.r.t. type"),
        IndexError("tuple index out of range"),
    ],
)
def test_what_a_rule_raises_is_found(error: Exception, planted: Any) -> None:
    planted(anp.tanh, raising(error))
    assert verdict(numpy("tanh", X)) == CRASHED


def test_what_a_rule_of_forward_mode_raises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(primitive_jvps, anp.tanh, primitive_jvps[anp.tanh])
    defjvp(anp.tanh, raising(NotImplementedError("JVP of tanh wrt argnums (0,) not defined")))
    assert verdict(numpy("tanh", X), "fwd") == CRASHED
    assert verdict(numpy("tanh", X)) == AGREE


@pytest.mark.parametrize(
    "call",
    [
        numpy("clip", X, literal("-1", "min"), literal("1", "max")),
        numpy("rot90", SQUARE, literal("1"), literal("(0, 1)", "axes")),
        numpy("pad", X, literal("1")),
        numpy("nan_to_num", X, literal("1.0", "nan")),
    ],
    ids=lambda call: call.function,
)
def test_a_rule_that_does_not_take_what_its_function_takes_is_found(call: Call) -> None:
    """Entry 41 of autograd."""
    assert verdict(call) == CRASHED


# Limits of rules --------------------------------------------------------------------------------------------

DENSITY = "autograd.scipy.stats.multivariate_normal.logpdf"
MEAN, COVARIANCE = array(0.25, 0.5, constant=True), array([2.0, 0.5], [0.5, 1.0], constant=True)

BEYOND = [  # a call beyond the limit of a rule, and one within
    (numpy("sort", SQUARE), numpy("sort", X)),
    (numpy("partition", SQUARE, literal("1")), numpy("partition", X, literal("1"))),
    (numpy("atleast_1d", X, replace(Y, constant=True)), numpy("atleast_1d", X)),
    (numpy("atleast_3d", X, replace(Y, constant=True)), numpy("atleast_3d", X)),
    (
        numpy("gradient", array(0.5, 2.0, 1.0, 3.0), literal("2.0")),
        numpy("gradient", array(0.5, 2.0, 1.0, 3.0)),
    ),
    (
        numpy("pad", X, literal("1"), literal("'edge'", "mode")),
        numpy("pad", X, literal("1"), literal("'constant'", "mode")),
    ),
    (numpy("diagonal", SQUARE), numpy("diagonal", SQUARE, literal("0"), literal("-1"), literal("-2"))),
    (
        numpy("rollaxis", MATRIX, literal("-1")),
        numpy("rollaxis", MATRIX, literal("1")),
    ),
    (numpy("linalg.norm", MATRIX, literal("1")), numpy("linalg.norm", MATRIX)),
    (numpy("linalg.norm", X, literal("1")), numpy("linalg.norm", X, literal("3"))),
    (numpy("linalg.svd", MATRIX), numpy("linalg.svd", MATRIX, literal("False", "compute_uv"))),
    (
        Call("autograd", "autograd.scipy.linalg.sqrtm", (SQUARE, literal("False", "disp"))),
        Call("autograd", "autograd.scipy.linalg.sqrtm", (SQUARE,)),
    ),
    (
        numpy("fft.rfft2", SQUARE, literal("None"), literal("(0, 0)")),
        numpy("fft.rfft2", SQUARE, literal("None"), literal("(0, 1)")),
    ),
    (numpy("fft.rfft", array(0.5, 2.0, 1.0)), numpy("fft.rfft", array(0.5, 2.0, 1.0, 3.0))),
    (numpy("fft.rfft", X, literal("3")), numpy("fft.rfft", array(0.5, 2.0, 1.0, 3.0), literal("4"))),
    (numpy("fft.irfftn", MATRIX, literal("(2, 3)")), numpy("fft.irfft", array(0.5, 2.0, 1.0))),
    (
        Call("autograd", DENSITY, (X, MEAN, replace(COVARIANCE, constant=False), literal("True"))),
        Call("autograd", DENSITY, (X, MEAN, COVARIANCE)),
    ),
]


def test_each_limit_has_its_call() -> None:
    reached = {
        one.functions for one in LIMITS for call, _ in BEYOND if fnmatchcase(call.function, one.functions)
    }
    assert reached == {one.functions for one in LIMITS}


@pytest.mark.parametrize(("beyond", "within"), BEYOND, ids=lambda call: call.function)
def test_a_call_beyond_a_limit_is_not_judged(beyond: Call, within: Call) -> None:
    """It raises. Within the limit the derivative is right, and an exception would be told."""
    assert verdict(beyond) == UNDEFINED
    assert verdict(within) == AGREE
    assert not is_beyond(within, ("rev",))


def test_the_words_of_a_limit_within_it_are_found(planted: Any) -> None:
    words = "Gradient of sort not implemented for multi-dimensional arrays."
    planted(anp.sort, raising(NotImplementedError(words)))
    assert verdict(numpy("sort", X)) == CRASHED
    assert verdict(numpy("sort", SQUARE)) == UNDEFINED


def test_an_argument_that_is_given_away_is_not_judged(planted: Any) -> None:
    """What is written into is lost for the derivative. Where the argument is kept a wrong one is found."""
    solved = Call("autograd", "autograd.scipy.linalg.solve_triangular", (replace(SQUARE, constant=True), X))
    given = replace(solved, arguments=(*solved.arguments, literal("True", "overwrite_b")))
    assert verdict(solved) == AGREE
    planted(linalg.solve_triangular, lambda ans, a, b, **_: lambda g: 2.0 * g, argnums=(1,))
    assert verdict(solved) == DISAGREE
    assert verdict(given) == UNDEFINED


def test_a_limit_of_reverse_mode_is_none_of_forward_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(primitive_jvps, anp.sort, primitive_jvps[anp.sort])
    defjvp(anp.sort, raising(NotImplementedError("Gradient of sort not implemented")))
    assert verdict(numpy("sort", SQUARE), "fwd") == CRASHED


def test_a_wrong_number_beyond_a_limit_is_found(planted: Any) -> None:
    planted(anp.sort, lambda ans, x: lambda g: 2.0 * g)
    assert verdict(numpy("sort", SQUARE)) == DISAGREE


# Lists and keywords -----------------------------------------------------------------------------------------


def test_a_list_of_arrays_is_not_judged(planted: Any) -> None:
    """ "Don't use: implicit casting of lists to arrays." What takes lists by the documents is judged."""
    assert verdict(numpy("linalg.cholesky", Argument(items=(array([2.0, 0.5], [0.5, 3.0]),)))) == UNDEFINED
    for function in ("concatenate", "stack", "array"):
        assert verdict(numpy(function, Argument(items=(X, Y)))) == AGREE
    planted(anp.concatenate_args, lambda ans, axis, *xs: lambda g: 2.0 * g, argnums=(1,))
    assert verdict(numpy("concatenate", Argument(items=(X,)))) == DISAGREE
    assert (
        verdict(numpy("linalg.norm", Argument(items=(array(3.0),)))) != UNDEFINED
    )  # it makes an array first


def test_an_exception_beside_a_list_is_found(planted: Any) -> None:
    planted(anp.linalg.det, raising(TypeError("Cannot cast ufunc 'det' input from dtype('O')")))
    assert verdict(numpy("linalg.det", Argument(items=(SQUARE,)))) == UNDEFINED
    assert verdict(numpy("linalg.det", SQUARE)) == CRASHED


def test_what_an_array_by_its_keyword_raises_is_not_judged(planted: Any) -> None:
    shifted = numpy("var", X, array(0.25, keyword="mean"))
    assert verdict(shifted) == UNDEFINED
    planted(anp.sum, lambda ans, x, **_: lambda g: 2.0 * g * np.ones(np.shape(x)))
    assert verdict(numpy("sum", replace(X, keyword="a"))) == DISAGREE
    planted(numpy_wrapper._primitive_var, raising(TypeError("bad operand type")))
    assert verdict(numpy("var", X)) == CRASHED


def test_a_dtype_that_numpy_does_not_have_is_no_call(planted: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert "bfloat16" in judged(numpy("tanh", Argument(array=np.array(0.5, ml_dtypes.bfloat16)))).refused
    planted(anp.tanh, lambda ans, x: lambda g: 2.0 * g)
    assert verdict(numpy("tanh", array(0.5, dtype="float16"))) == DISAGREE
