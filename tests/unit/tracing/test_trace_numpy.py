"""NumPy functions as programs: the values are NumPy's, the derivatives of the references are those of HIPS
autograd, and what is no program is said.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import autograd
import autograd.numpy
import numpy as np
import pytest
import scipy.special
from autograd.extend import defvjp, primitive

from gradfuzz.errors import UntraceableError
from gradfuzz.fuzzer.questions.weighted import weighted_question
from gradfuzz.oracles.base import Point
from gradfuzz.programs import Program, to_text
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.strategies import FAMILIES, draw_many
from gradfuzz.tracing.common import compositions
from gradfuzz.tracing.common.leaves import leaves_of
from gradfuzz.tracing.numpy.trace import traced
from tests.traced import (
    ARB,
    Array,
    counting,
    drawn,
    proved,
    same_gradient,
    same_truth,
    same_values,
    swallowing,
    truth_of,
)


def leaves(f: Callable[..., Any], args: Sequence[Array]) -> list[Any]:
    """What `f` returns."""
    return [leaf for _, leaf in leaves_of(f(*(np.array(a)[()] for a in args)))]


def check(f: Callable[..., Any], args: Sequence[Array]) -> Program:
    """`f` takes the namespace first. Traced with numpy and with autograd.numpy, it has NumPy's values and
    autograd's gradient.
    """
    for namespace in (np, autograd.numpy):
        program = traced(functools.partial(f, namespace), args)
        truth, weights = proved(program, args)
        same_values(program, truth, args, leaves(functools.partial(f, np), args))

        def total(*xs: Any, weights: Any = weights) -> Any:
            outputs = [leaf for _, leaf in leaves_of(f(autograd.numpy, *xs))]
            return sum(
                autograd.numpy.sum(w * y) for w, y in zip(weights, outputs, strict=True) if w is not None
            )

        gradient = autograd.grad(total, list(range(len(args))))(*(np.array(a) for a in args))
        same_gradient(truth, gradient)
    return program


def by_differences(
    f: Callable[..., Any], args: Sequence[Array], weights: Sequence[Array | None], h: float
) -> list[Array]:
    """The gradient of the weighted outputs by central differences of order six."""

    def total(xs: Sequence[Array]) -> float:
        pairs = zip(weights, leaves(f, xs), strict=True)
        return float(sum(np.sum(w * y) for w, y in pairs if w is not None))

    gradient = []
    for k, x in enumerate(args):
        slopes = np.zeros(x.shape)
        for place in np.ndindex(x.shape):

            def moved(steps: int, k: int = k, place: Any = place) -> float:
                xs = [np.array(a) for a in args]
                xs[k][place] += steps * h
                return total(xs)

            slopes[place] = sum(c * (moved(n) - moved(-n)) for n, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (
                60.0 * h
            )
        gradient.append(slopes)
    return gradient


def well(np: Any, x: Any) -> Any:
    """A symmetric matrix with eigenvalues above 1, well apart."""
    return x @ x.T + np.diag(np.arange(1.0, x.shape[-1] + 1.0))


V, M, S, T = (4,), (3, 3), (), (2, 3, 4)
IDX = np.array([2, 0, 2])
MASK = np.array([True, False, True, True])


def recurrence(np: Any, x: Any) -> Any:
    h = np.zeros(4)
    for k in range(5):
        h = np.tanh(h * 0.5 + x * (k + 1))
    return h


def accumulated(np: Any, x: Any) -> Any:
    total = np.zeros(4)
    for k in range(4):
        total = total + x[k] * np.cos(x)
    return total


def halved(np: Any, x: Any) -> Any:
    while np.linalg.norm(x) > 0.1:
        x = x * x / 2.0 if x[0] > 0.2 else x / 3.0
    return x


def newton(np: Any, a: Any) -> Any:
    root = 1.0
    for _ in range(5):
        root = 0.5 * (root + a / root)
    return root


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "trigonometry": (lambda np, x: np.sin(x) * np.cos(x) + np.tan(x), [V]),
    "inverse trigonometry": (lambda np, x: np.arcsin(x) + np.arccos(x * 0.7) * np.arctan(x), [V]),
    "arctan2": (lambda np, x, y: np.arctan2(x, y), [V, V]),
    "hyperbolic": (lambda np, x: np.sinh(x) + np.cosh(x) * np.tanh(x), [V]),
    "inverse hyperbolic": (lambda np, x: np.arcsinh(x) + np.arccosh(x + 1.5) + np.arctanh(x), [V]),
    "exponentials": (lambda np, x: np.exp(x) + np.exp2(x) + np.expm1(x), [V]),
    "logarithms": (lambda np, x: np.log(x) * np.log2(x) + np.log10(x) - np.log1p(x), [V]),
    "powers": (
        lambda np, x, y: x**y + x**3 + x**-2 + x**0.5 + 2.0**x + np.square(x) + np.power(x, 1.5),
        [V, V],
    ),
    "scalars": (lambda np, x: (2.0 - x) / 3.0 + 1.0 / x * 0.1 - 4 + np.float64(2.0) * x, [V]),
    "0-d": (lambda np, x, y: np.sin(x) * y + y**2 - abs(x - 2.0), [S, S]),
    "arrays first": (lambda np, x: np.array([1.0, 2.0, 3.0, 4.0]) * x - np.arange(4) / x, [V]),
    "logaddexp": (lambda np, x, y: np.logaddexp(x, y), [V, V]),
    "sums": (lambda np, x: np.sum(x) * x.sum(axis=1) + np.mean(x, axis=0).sum() + x.mean(), [M]),
    "several axes": (lambda np, x: np.sum(x, axis=(0, 2), keepdims=True) * x, [T]),
    "prod": (lambda np, x: np.prod(x) + np.sum(np.prod(x, axis=1)), [M]),
    "variances": (lambda np, x: np.var(x) + np.std(x, axis=1).sum() + np.var(x, axis=0, ddof=1).sum(), [M]),
    "extremes": (lambda np, x: np.max(x) * np.min(x) + x.max(axis=1).sum() + np.sum(np.min(x, axis=0)), [M]),
    "maximum": (lambda np, x, y: np.maximum(x, y) * np.minimum(x, y * 2.0) + np.clip(x, 0.4, 0.7), [V, V]),
    "where": (lambda np, x, y: np.where(x > y, x * y, x - y) * (x > 0.5) + np.abs(x - 0.5), [V, V]),
    "logic": (lambda np, x: np.where(np.logical_and(x > 0.3, ~(x > 0.6)) | (x == 0.5), x, x**2), [V]),
    "cumsum": (lambda np, x: np.cumsum(x) * np.cumsum(x)[::-1], [V]),
    "cumsum of a matrix": (lambda np, x: np.cumsum(x, axis=1) * np.cumsum(x, axis=0), [M]),
    "sort": (lambda np, x: np.sort(x) * np.arange(4.0), [V]),
    "dot": (lambda np, x, y: np.dot(x, y) + x @ y + np.matmul(y, x), [M, M]),
    "vectors": (lambda np, x, y: np.dot(x, y) * np.outer(x, y) + np.inner(x, y) + x @ y, [V, V]),
    "matvec": (lambda np, x, y: x @ y[:3] + y[1:] @ x, [M, V]),
    "einsum": (
        lambda np, x, y: (
            np.einsum("ij,jk->ki", x, y) + np.einsum("ij,ij->", x, y) + np.einsum("...i,...i", x, y).sum()
        ),
        [M, M],
    ),
    "tensordot": (lambda np, x, y: np.tensordot(x, y, axes=([1], [0])) + np.tensordot(x, y, axes=2), [M, M]),
    "kron": (lambda np, x, y: np.kron(x, y), [(2, 3), (3, 2)]),
    "views": (
        lambda np, x: x.reshape((4, 6)).T * np.transpose(x, (2, 0, 1)).reshape(6, 4) + np.ravel(x)[0],
        [T],
    ),
    "axes": (
        lambda np, x: (
            np.swapaxes(x, 0, 2) * np.moveaxis(x, 0, -1).transpose((1, 0, 2)) + np.expand_dims(x[0].T, 2)
        ),
        [T],
    ),
    "slices": (lambda np, x: x[0, 1:, ::2] * x[1, :2, 1::2] + x[..., -1].sum(), [T]),
    "index": (lambda np, x: x[IDX] * x[:, IDX] + x[IDX, np.array([1, 1, 0])] + x[-1, None], [M]),
    "mask": (lambda np, x: np.sum(x[MASK]) * x, [V]),
    "joining": (lambda np, x, y: np.concatenate([x, y * 2.0]) * np.hstack([y, x]) + np.append(x, y), [V, V]),
    "stacking": (lambda np, x, y: np.stack([x, y], axis=1) * np.vstack([y, x]).T, [V, V]),
    "array": (lambda np, x: np.array([[x[0] * x[1], 1.0], [np.sin(x[2]), x[3] ** 2]]) @ x[:2], [V]),
    "moving": (lambda np, x: np.roll(x, 1, axis=1) * np.flipud(x) + np.fliplr(x) + np.rot90(x), [M]),
    "repeat": (lambda np, x: np.repeat(x, 2, axis=0) * np.tile(x, (2, 1)), [M]),
    "pad": (lambda np, x: np.pad(x, (1, 2), "constant") ** 2, [V]),
    "split": (lambda np, x: np.split(x, 2)[0] * np.array_split(x, 2)[1], [V]),
    "diagonals": (lambda np, x: np.diag(x).sum() * np.diag(x[0]) + np.trace(x), [M]),
    "triangles": (lambda np, x: np.tril(x) @ np.triu(x, 1), [M]),
    "diff": (lambda np, x: np.diff(x) * np.diff(x, n=1), [V]),
    "inv": (lambda np, x: np.linalg.inv(well(np, x)), [M]),
    "solve": (lambda np, x, y: np.linalg.solve(well(np, x), y), [M, M]),
    "det": (lambda np, x: np.linalg.det(x) + np.linalg.slogdet(well(np, x))[1], [M]),
    "cholesky": (lambda np, x: np.linalg.cholesky(well(np, x)), [M]),
    "eigh": (lambda np, x: np.linalg.eigh(well(np, x))[0] * np.linalg.eigh(well(np, x))[1][0] ** 2, [M]),
    "svd": (lambda np, x: np.linalg.svd(well(np, x), full_matrices=False)[1], [M]),
    "norms": (
        lambda np, x: np.linalg.norm(x) + np.linalg.norm(x, axis=1).sum() + np.linalg.norm(x[0], 3),
        [M],
    ),
    "pinv": (lambda np, x: np.linalg.pinv(x), [(3, 2)]),
    "recurrence": (recurrence, [V]),
    "accumulated": (accumulated, [V]),
    "newton": (newton, [S]),
    "by value": (halved, [V]),
    "sorted by Python": (lambda np, x: np.array(sorted(x)) * np.arange(4.0), [V]),
    "several results": (lambda np, x, y: {"b": (x * y, [np.sum(x)]), "a": np.exp(y)}, [V, V]),
    "like": (lambda np, x: np.zeros_like(x) + np.ones_like(x) * x + np.full_like(x, 2.0), [V]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str, seed: int) -> None:
    f, shapes = FUNCTIONS[name]
    check(f, drawn(name, shapes, seed))


def written(x: Any) -> Any:
    out = np.zeros_like(x)
    out[0] = x[1] * x[2]
    out[1:] = x[:-1] ** 2
    out[::2] += 1.0
    out[MASK] *= 2.0
    return out


def through_a_view(x: Any) -> Any:
    y = x.copy()
    row = y[1:]
    row[0] = x[3] * 2.0
    row += 1.0
    return y * x


def in_place(x: Any) -> Any:
    y = x.copy()
    y += x
    y *= np.sin(x)
    y[y > 0.5] = 0.25
    total = np.zeros(4)
    total += y
    return np.add(total, x, out=np.zeros_like(x))


def by_number(x: Any) -> Any:
    xp = x.__array_namespace__()
    y = xp.asarray([x[0], x[1] * 2.0], dtype=xp.float64)
    return xp.concat(
        [xp.acos(y * 0.3), xp.permute_dims(xp.stack([y, y]), (1, 0))[0], xp.atan2(y, y + 1.0)]
    ) * xp.astype(xp.sum(x > 0.4), xp.float64)


def asarrays(x: Any) -> Any:
    y = np.asarray(x)
    return np.sqrt(np.array([np.dot(y, y), y[0] * 3.0, np.exp(y[1])])) + np.atleast_1d(y[3])


OTHERS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "written": (written, [V]),
    "through a view": (through_a_view, [V]),
    "in place": (in_place, [V]),
    "array API": (by_number, [V]),
    "asarray": (asarrays, [V]),
    "scans": (
        lambda x: (
            np.cumprod(x, axis=1) * np.cumulative_sum(x, axis=0)
            + np.maximum.accumulate(np.sin(9.0 * x), axis=1)
        ),
        [M],
    ),
    "ufunc methods": (
        lambda x: (
            np.add.reduce(x, axis=1) * np.multiply.reduce(x)
            + np.subtract.outer(x[0], x[1])
            + np.add.accumulate(x)
        ),
        [M],
    ),
    "where it stands": (
        lambda x: x[np.argmax(x)] * np.take_along_axis(x, np.argsort(x), axis=0) + np.take(x, IDX).sum(),
        [V],
    ),
    "pairs of places": (lambda x: x[np.argmax(x, axis=0), IDX], [M]),
    "order statistics": (lambda x: np.median(x) + np.median(x, axis=1) + np.ptp(x, axis=0), [M]),
    "average": (lambda x, w: np.average(x, weights=w) + np.average(x, axis=0, weights=w[:, 0]), [M, M]),
    "bounds": (
        lambda x: (
            np.max(x, axis=0, initial=-np.inf) + np.min(x, initial=0.5) + np.trace(x[None], axis1=1, axis2=2)
        ),
        [M],
    ),
    "error and gamma functions": (
        lambda x: scipy.special.erf(x) * scipy.special.gammaln(x + 0.3) + scipy.special.psi(x),
        [V],
    ),
    "masks": (
        lambda x: np.exp(np.where(MASK, x, -np.inf)) + np.maximum(x, -np.inf) + np.minimum(x, np.inf),
        [V],
    ),
    "count": (lambda x: x / np.count_nonzero(x > 0.1) + np.any(x > 0.8) * x + np.all(x > 0.1), [V]),
    "select": (lambda x: np.select([x > 0.6, x > 0.4], [x * 2.0, x**2], default=1.0), [V]),
    "written in Python by NumPy": (
        lambda x, y: np.polyval(x, y) + np.vander(x[:2], 4)[0] + np.trapezoid(x, y),
        [V, V],
    ),
    "cross": (lambda x, y: np.cross(x[:3], y[:3]) + np.linalg.cross(x[1:], y[1:]), [V, V]),
    "methods": (
        lambda x: (
            x.dot(x.T).clip(0.5).cumsum(axis=1).ravel().repeat(2).reshape(2, -1).std(axis=1)
            + x.prod() * x.trace()
        ),
        [M],
    ),
    "convolve": (lambda x, y: np.convolve(x, y[:2]), [V, V]),
    "qr": (lambda x: np.abs(np.linalg.qr(x).Q) + np.abs(np.linalg.qr(x)[1]), [M]),
    "linalg": (
        lambda x: np.linalg.matrix_power(x, 3) + np.linalg.multi_dot([x, x, x.T]) + np.linalg.svdvals(x),
        [M],
    ),
    "matrix norms": (
        lambda x: (
            np.linalg.norm(x, 2) + np.linalg.norm(x, 1) + np.linalg.norm(x, "nuc") + np.linalg.matrix_norm(x)
        ),
        [M],
    ),
    "eigenvalues": (lambda x: np.linalg.eigvalsh(well(np, x)) + np.linalg.lstsq(x, x[0], rcond=None)[0], [M]),
    "stacks": (
        lambda x: (
            np.linalg.vecdot(x, x)
            + np.matmul(x, np.matrix_transpose(x)).sum()
            + np.linalg.trace(x @ x.mT)[:, None]
        ),
        [T],
    ),
    "degrees": (lambda x: np.sin(np.deg2rad(x * 90.0)) + np.degrees(x) + np.hypot(x, 1.0) + np.cbrt(x), [V]),
    "complex inside": (
        lambda x, y: np.abs(np.exp(x + 1j * y)) + np.angle(x + 1j * y) + np.real(np.conj(x * 1j) * y * 1j),
        [V, V],
    ),
    "is it a number": (lambda x: np.where(np.isfinite(x), x, 0.0) + np.where(np.isnan(x), 1.0, x**2), [V]),
    "scipy": (
        lambda x: (
            scipy.special.expit(x)
            + scipy.special.logit(x)
            + scipy.special.xlogy(x, x)
            + scipy.special.log_expit(x)
        ),
        [V],
    ),
    "broadcast": (
        lambda x, y: np.broadcast_to(x, (2, 4)) * np.broadcast_arrays(x[:, None], y)[1][0] + y.ravel()[:4],
        [V, (1, 4)],
    ),
    "dstack": (lambda x: np.dstack([x, x * 2.0]) + np.column_stack([x[0], x[1]])[:, :1, None], [M]),
    "bools": (lambda x: (x > 0.5) * 1.0 + ((x > 0.3) ^ (x > 0.6)) * x + (x > 0.2).sum() * x, [V]),
    "fill": (
        # what empty_like holds is any number, NaN included; so none of it is kept
        lambda x: (
            np.zeros_like(x, shape=(4,)) + np.where(x < 9.0, x.astype(float), np.empty_like(x)).flatten()
        ),
        [V],
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_autograd_does_not_have(name: str, seed: int) -> None:
    """Where differences with two steps differ there is a kink between: then at other arguments."""
    f, shapes = OTHERS[name]
    for attempt in range(9):
        args = drawn(f"{name} {attempt}", shapes, seed)
        program = traced(f, args)
        truth, weights = proved(program, args)
        same_values(program, truth, args, leaves(f, args))
        wide, narrow = (by_differences(f, args, weights, h) for h in (1e-3, 2e-4))
        if all(np.allclose(x, y, rtol=1e-7, atol=1e-8) for x, y in zip(wide, narrow, strict=True)):
            break
    else:
        pytest.fail("there is a kink everywhere")
    for own, theirs in zip(truth.gradient.values(), wide, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-7, atol=1e-8)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
def test_whole_numbers() -> None:
    """Their derivative is 0 between the jumps."""

    def f(x: Any) -> Any:
        return (
            np.floor(x * 5) * x
            + np.ceil(x * 3)
            + (x * 7) % 1.5
            + np.trunc(-x * 4) * (x // 0.15)
            + (np.rint(x * 5) + np.round(x, 1) - np.around(x * 30, -1) + (x * 7).round() - np.fix(x * 3))
        )

    args = [np.array([0.21, -0.33, 0.51, 0.73])]
    program = traced(f, args)
    truth, weights = proved(program, args)
    same_values(program, truth, args, leaves(f, args))
    np.testing.assert_allclose(truth.gradient["x"], weights[0] * (np.floor(args[0] * 5) + 7.0), rtol=1e-14)


def test_a_wrong_rule_of_autograd_does_not_change_the_program(seed: int) -> None:
    @primitive
    def f(x: Any) -> Any:
        return np.sin(x) * x

    defvjp(f, lambda ans, x: lambda g: 2.0 * g)
    args = drawn("primitive", [V], seed)
    truth, weights = proved(traced(f, args), args)
    (x,), (gradient,) = args, truth.gradient.values()
    np.testing.assert_allclose(gradient, weights[0] * (np.sin(x) + x * np.cos(x)), rtol=1e-14)


def test_parameters_are_named_as_those_of_the_function() -> None:
    def area(width: Any, height: Any) -> Any:
        return width * height

    assert to_text(traced(area, [np.float64(2.0), np.float64(3.0)])).startswith("def area(width, height)")


def test_float32_is_kept(seed: int) -> None:
    args = [a.astype(np.float32) for a in drawn("float32", [V], seed)]
    program = traced(lambda x: np.exp(x) * 0.1 + np.mean(x) * [1.0, 2.0, 3.0, 4.0][2], args)
    (value,) = interpret(program, {"x": args[0]}, NumpyNamespace("float32"))
    assert value.dtype == np.float32


def test_an_array_that_was_written_to_is_as_it_was() -> None:
    buffer = np.array([1.0, 2.0])

    def f(x: Any) -> Any:
        y = buffer.copy()
        y += x
        return np.add(y, x, out=buffer.copy())

    traced(f, [np.array([0.5, 0.25])])
    np.testing.assert_array_equal(buffer, [1.0, 2.0])


# What is no program -----------------------------------------------------------------------------------------


def endless(x: Any) -> Any:
    while np.sum(x) < 1e9:
        x = x + 1.0
    return x


def into_an_array(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = x[1]
    return y


def through_two_views(x: Any) -> Any:
    y = x.copy()
    first, second = y[1:], y[:2]
    first[0] = 0.0
    return second


def through_another_shape(x: Any) -> Any:
    y = x.copy()
    y.reshape(1, 3)[0, 1] = 0.0
    return y


def the_diagonal(x: Any) -> Any:
    y = np.outer(x, x)
    np.einsum("ii->i", y)[...] = 1.0
    return y


def aliased(x: Any) -> Any:
    total = np.zeros(3)
    other = total
    total += x
    return other


UNTRACEABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "too many decisions": (endless, "more than 256 numbers"),
    "swallowed": (swallowing, r"float\(\)"),
    "float": (lambda x: x * float(x[0]), r"float\(\)"),
    "math": (lambda x: x * math.sin(x[0]), r"float\(\)"),
    "range": (lambda x: sum(x for _ in range(np.argmax(x))), "an index or a count"),
    "into an array": (into_an_array, r"float\(\).*numpy.zeros_like"),
    "asarray of a dtype": (lambda x: np.asarray(x, dtype=np.float64), r"float\(\)"),
    "comparing arrays": (lambda x: x if np.allclose(x, 0.0) else -x, "numpy.allclose gives a bool"),
    "sizes": (lambda x: x[x > 0.5], "mask as an index"),
    "nonzero": (lambda x: x[np.nonzero(x > 0.5)], "numpy.nonzero"),
    "one of two views is written to": (through_two_views, "seen through another one"),
    "another shape is written to": (through_another_shape, "seen through another one"),
    "a diagonal is written to": (the_diagonal, "seen through another one"),
    "an alias of what is written to": (aliased, "does something that the trace does not see"),
    "a function that nobody has": (scipy.special.j0, "j0 has no counterpart"),
    "one triangle": (
        lambda x: np.linalg.cholesky(np.diag(x + 1.0) + 0.1 * np.outer(x, x**2)),
        "cholesky reads one triangle",
    ),
    "interpolation": (lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0]), "interp has no counterpart|float"),
    "mixed precisions": (lambda x: x * np.longdouble(2.0), "one precision"),
    "ints of floats": (lambda x: x[(x * 3).astype(int)], "hides a derivative"),
    "complex results": (lambda x: x * 1j, "returns complex numbers"),
    "other results": (lambda x: "sum", "returns str"),
    "another result each time": (counting(), "changes from call to call"),
    "random numbers": (lambda x: x * np.random.default_rng().random(3), "changes from call to call"),
    "it raises": (lambda x: x.reshape(7), "with arrays of gradfuzz the function raises ValueError"),
    "a method that no program has": (lambda x: x.tobytes(), "no attribute 'tobytes'"),
    "an infinite result": (
        lambda x: np.where([True, False, False], -np.inf, x),
        "does something that the trace does not see",
    ),
    "NaN": (lambda x: x * np.nan, "a constant is NaN"),
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_untraceable(name: str) -> None:
    f, reason = UNTRACEABLE[name]
    with pytest.raises(UntraceableError, match=reason):
        traced(f, [np.array([0.5, 0.75, 0.25])])


def test_a_loop_of_many_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compositions, "MOST_EQUATIONS", 50)
    with pytest.raises(UntraceableError, match="more than 50 steps"):
        traced(lambda x: sum((x * k for k in range(60)), x), [np.array(0.5)])


def test_arguments_that_no_program_has() -> None:
    with pytest.raises(UntraceableError, match="complex128"):
        traced(np.sin, [np.array(1j)])
    with pytest.raises(UntraceableError, match="float32 and float64"):
        traced(np.add, [np.float32(1.0), np.float64(1.0)])
    with pytest.raises(UntraceableError, match="one precision"):
        traced(lambda x: x * np.float64(2.0), [np.float32(1.0)])


# There and back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "least"), [("loops", 12), ("tensor", 12), ("linalg", 12)])
def test_programs_that_numpy_runs_are_traced_back(family: str, least: int, seed: int) -> None:
    """What decides by a value, or writes to an array that was made beforehand, is no trace; all others have
    the values and the gradient of the program.
    """
    told = 0
    for case in draw_many(FAMILIES[family].cases(("float64",)), 25, f"numpy/{seed}"):
        program, inputs = case.program, case.points[0]
        names = [p.name for p in program.params if p.type.is_float]
        plain = {n: a.item() if a.ndim == 0 and a.dtype.kind != "f" else a[()] for n, a in inputs.items()}

        def f(*xs: Any, program: Program = program, plain: Any = plain, names: Any = names) -> Any:
            return interpret(program, {**plain, **dict(zip(names, xs, strict=True))}, NumpyNamespace())

        args = [inputs[n] for n in names]
        try:
            back = traced(f, args)
        except UntraceableError:
            continue
        (truth,) = ARB.truth(weighted_question(program, [Point(inputs)], "float64", ("rev",)))
        told += same_truth(truth, truth_of(back, args)[0], names)
    assert told >= least
