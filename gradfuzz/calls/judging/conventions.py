"""Calls that a library's own documents leave undefined, and answers that are a matter of convention.

A row says which calls it is about, why nothing is wrong with them, and where that is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from gradfuzz.calls.asking import returned, values_of
from gradfuzz.calls.drawing.views import seen
from gradfuzz.calls.libraries.library import function_of, library_named
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Verdict
from gradfuzz.oracles.base import Array


@dataclass(frozen=True, slots=True)
class Row:
    """A convention."""

    name: str
    why: str
    functions: tuple[str, ...]
    """Patterns of the public names that it is about."""
    fits: Callable[[Call, CheckResult], bool]
    source: str
    """Where it is documented."""
    raises: bool | None = False
    """Whether it is about exceptions, and not about numbers; None where it is about both."""


def excused(call: Call, case: CheckResult) -> CheckResult:
    """The case, or a convention where a row explains that its numbers are off."""
    if not case.verdict.is_wrong:
        return case
    for row in CONVENTIONS:
        if row.raises not in (None, case.verdict is Verdict.CRASHED):
            continue
        about = any(fnmatchcase(call.function, pattern) for pattern in row.functions)
        if about and row.fits(call, case):
            message = f"{row.why}: {row.source}"
            return replace(case, verdict=Verdict.CONVENTION, kind=None, message=message, conventions=())
    return case


def _has_repeated_index(call: Call, case: CheckResult) -> bool:
    """Whether an array of integers has an entry twice."""
    indices = [seen(one) for one in call.arrays() if one.array is not None and one.array.dtype.kind in "iu"]
    return any(np.unique(entries).size < entries.size for entries in indices)


def _has_repeated_place(call: Call, case: CheckResult) -> bool:
    """Whether an array of integers has a row twice: each row is one place."""
    indices = [x for one in call.arrays() if (x := seen(one)).dtype.kind in "iu" and x.ndim and x.shape[-1]]
    rows = [x.reshape(-1, x.shape[-1]) for x in indices]
    return any(len(np.unique(places, axis=0)) < len(places) for places in rows)


def _draws_without_slope(call: Call, case: CheckResult) -> bool:
    """Whether the call draws random numbers that have no slope by the library's word. Normal ones with the
    deviation 0 are drawn, too, though they are the same each time.
    """
    return (call.seeded or call.function == "torch.normal") and case.kind is Class.MISSING


def _is_not_triangular(call: Call, case: CheckResult) -> bool:
    """Whether the last square matrix has entries in the triangle that is not read, or reverse mode is off by
    one of these. It is the upper one, unless the flag `upper` is on.
    """
    squares = [x for one in call.arrays() if is_square(x := seen(one))][-1:]
    is_upper = any(a.literal == "True" for a in call.arguments)
    if any(np.any(np.tril(x, -1) if is_upper else np.triu(x, 1)) for x in squares):
        return True
    if case.question.modes[-1] != "rev":
        return False
    *_, row, column = (0, 0, *(case.worst[1] if case.worst else ()))
    return bool(row > column if is_upper else row < column)


def _has_a_complex_diagonal(call: Call, case: CheckResult) -> bool:
    """Whether the last matrix has a diagonal that is not real, or the answer is off by the imaginary part of
    an entry of a diagonal.
    """
    complex_ones = [x for one in call.differentiated() if is_complex(one) and (x := seen(one)).ndim > 1]
    if any(np.any(np.imag(np.diagonal(x, axis1=-2, axis2=-1))) for x in complex_ones[-1:]):
        return True
    if not complex_ones or case.worst is None or len(case.worst[1]) < 2:
        return False
    name, (*_, row, column) = case.worst
    return row == column and case.question.wrt.index(name) % 2 == 1


def _has_other_channels(call: Call, case: CheckResult) -> bool:
    """Whether the first array has no second axis, the channels, or one of the others another length."""
    first, *others = [np.shape(seen(one)) for one in call.arrays()]
    return len(first) < 2 or any(shape != first[1:2] for shape in others)


def _scatters_a_part(call: Call, case: CheckResult) -> bool:
    """Whether the array of the numbers has another shape than that of their places."""
    _, *shapes = [np.shape(seen(one)) for one in call.arrays()]
    return len(set(shapes)) > 1


def _is_singular(call: Call, case: CheckResult) -> bool:
    """Whether a matrix has no full rank."""
    matrices = [x for one in call.differentiated() if (x := seen(one)).ndim > 1 and x.size]
    return any(np.any(np.linalg.matrix_rank(x.astype(np.complex128)) < min(x.shape[-2:])) for x in matrices)


def is_square(x: Array) -> bool:
    """Whether it is a square matrix, or a stack of them, larger than 1x1."""
    return x.ndim > 1 and x.shape[-1] == x.shape[-2] > 1


def _is_full(call: Call, case: CheckResult) -> bool:
    """Whether all singular vectors of a matrix that is not square are asked for: `torch.linalg.svd` has them
    by default, and `torch.svd` where its flag `some` is off.
    """
    shapes = [np.shape(seen(one)) for one in call.differentiated()]
    flags = [a.literal for a in call.arguments if a.keyword in ("", "some", "full_matrices")]
    is_off = "False" in [flag for flag in flags if flag in ("True", "False")][:1]
    is_full = not is_off if call.function.startswith("torch.linalg.") else is_off
    return is_full and any(len(s) > 1 and s[-1] != s[-2] for s in shapes)


def _is_scaled(call: Call, case: CheckResult) -> bool:
    """Whether the gradient is scaled on purpose: the flag is on, by name or by place."""
    place = 4 if call.function.endswith("embedding_bag") else 3
    return _is_on(call, "scale_grad_by_freq", None if call.function.startswith("torch.nn") else place)


def _pads(call: Call, case: CheckResult) -> bool:
    """Whether the gradient is 0 in the row at padding_idx, and the derivative in every other row."""
    given = enumerate(call.arguments)
    told = [a.literal or "" for k, a in given if a.keyword == "padding_idx" or (k, a.keyword) == (2, "")]
    rows = [int(text) for text in told if text.lstrip("-").isdigit()]
    truth, got = case.truth, case.answer.gradient
    if len(rows) != 1 or truth is None or truth.gradient.keys() != got.keys():
        return False
    for name, slope in truth.gradient.items():
        wanted = np.array(slope)
        wanted[rows[0]] = 0.0
        if not np.all(np.abs(got[name] - wanted) <= case.allowed[name]):
            return False
    return True


def _is_on(call: Call, keyword: str, place: int | None) -> bool:
    """Whether a flag is True, by name or by place."""
    by_place = call.arguments[place : place + 1] if place is not None else ()
    flags = [a for a in call.arguments if a.keyword == keyword]
    return any(a.literal == "True" for a in [*flags, *by_place])


def _is_no_color(call: Call, case: CheckResult) -> bool:
    """Whether a number is not in [0, 1]."""
    return any(np.any(((x := seen(one)) < 0) | (x > 1)) for one in call.differentiated())


def _failed(call: Call, case: CheckResult) -> bool:
    """Whether the library says that its factorization failed."""
    library = library_named(call.library)
    arrays = [library.array(value) for value in values_of(call)]
    info = getattr(returned(call, library, arrays), "info", None)
    return info is not None and bool(np.any(library.numpy(info) != 0))


def _has_a_projector(call: Call, case: CheckResult) -> bool:
    """Whether a matrix I - tau v v^H has no inverse: tau |v|^2 is 1."""
    a, taus = [seen(one).astype(np.complex128) for one in call.arrays()][:2]
    below = np.sum(np.tril(np.abs(a) ** 2, -1), axis=-2)[..., : taus.shape[-1]]
    return bool(np.any(np.isclose(taus * (1 + below), 1, rtol=1e-9)))


def _has_no_pivots(call: Call, case: CheckResult) -> bool:
    """Whether numbers of rows are none of the n rows of a matrix of factors, or not n of them."""
    _, factors, pivots = [seen(one) for one in call.arrays()][:3]
    n = factors.shape[-1]
    return pivots.shape[-1:] != (n,) or bool(np.any((pivots < 1) | (pivots > n)))


def _ends_before(call: Call, case: CheckResult) -> bool:
    """Whether the last group of a product of matrices in groups ends before the last row or column that is
    cut: what stands beyond is not written, neither of the result nor of the gradient.
    """
    left, right = [np.shape(seen(one)) for one in call.arrays()][:2]
    cut = {(2, 2): (left[-1], right[0]), (2, 3): (left[0],), (3, 2): (right[-1],)}
    ends = [x.flat[-1] for one in call.arrays() if (x := seen(one)).dtype.kind in "iu" and x.size]
    return any(length != end for length in cut.get((len(left), len(right)), ()) for end in ends)


def _overlaps(call: Call, case: CheckResult) -> bool:
    """Whether two entries of a strided view are one number in memory."""
    lists = [ast.literal_eval(text) for a in call.arguments if (text := a.literal or "").startswith("(")]
    if len(lists) < 2:
        return False
    size, stride = lists[:2]
    places = [sum(k * s for k, s in zip(index, stride, strict=False)) for index in np.ndindex(*size)]
    return len(set(places)) < len(places)


def _is_no_distribution(call: Call, case: CheckResult) -> bool:
    """Whether the labels, that of the keyword or by its place, do not have the sum 1."""
    arrays = [one for one in call.arrays() if one.array is not None]
    place = 1 if call.library == "mlx" else 0
    labels = next((one for one in arrays if one.keyword in ("labels", "targets")), arrays[place])
    return not np.allclose(np.sum(seen(labels), axis=-1), 1.0)


def _is_not_hermitian(call: Call, case: CheckResult) -> bool:
    """Whether a square matrix is not its own conjugate transpose."""
    squares = [x for one in call.differentiated() if is_square(x := seen(one))]
    return any(not np.array_equal(x, np.conj(np.swapaxes(x, -1, -2))) for x in squares)


def _is_iterated(call: Call, case: CheckResult) -> bool:
    """Whether the call says when to stop, or the answer is as near as the library's own tolerance makes it:
    a residual of sqrt(eps) by `torch.lobpcg`, of 1e-5 by JAX's solvers.
    """
    if any(argument.keyword in ("niter", "maxiter", "tol", "atol") for argument in call.arguments):
        return True
    residual = 1e-5 if call.library == "jax" else float(np.finfo(case.question.precision).eps) ** 0.5
    true, got = {} if case.truth is None else case.truth.gradient, case.answer.gradient
    if not set(case.question.wrt) <= set(true) & set(got):
        return False
    off = [np.max(np.abs(got[name] - true[name]), initial=0.0) for name in case.question.wrt]
    largest = max((np.max(np.abs(true[name]), initial=0.0) for name in case.question.wrt), default=0.0)
    return bool(max(off, default=0.0) <= 1e3 * residual * largest)


def _has_symmetric_part(call: Call, case: CheckResult) -> bool:
    """Whether the answer is right as that by the Hermitian part of each square matrix."""
    true, got = {} if case.truth is None else case.truth.gradient, case.answer.gradient
    parts = [sign for one in call.differentiated() for sign in ((1, -1) if is_complex(one) else (1,))]
    if len(parts) != len(case.question.wrt) or not set(case.question.wrt) <= set(true) & set(got):
        return False
    for name, sign in zip(case.question.wrt, parts, strict=True):
        right = true[name]
        if is_square(right):
            right = (right + sign * np.swapaxes(right, -1, -2)) / 2.0
        scale = float(np.max(np.abs(right), initial=0.0))
        if not np.allclose(got[name], right, rtol=0.0, atol=1e-6 * scale):
            return False
    return True


def is_complex(argument: Argument) -> bool:
    """Whether it is an array of complex numbers."""
    return argument.array is not None and argument.array.dtype.kind == "c"


def _has_a_phase(call: Call, case: CheckResult) -> bool:
    """Whether a matrix is complex: its singular vectors and eigenvectors may be turned by any phase."""
    return any(map(is_complex, call.differentiated()))


def _has_complex_eigenvectors(call: Call, case: CheckResult) -> bool:
    """Whether a matrix is complex, or a real one has eigenvalues that are not real. Of a call between smooth
    functions the matrix that arrives is looked at, too.
    """
    if _has_a_phase(call, case):
        return True
    matrices = [seen(one).astype(np.float64) for one in call.differentiated()]
    matrices += [x * (1 + np.sin(x) / 16) for x in matrices]
    return any(np.any(np.linalg.eigvals(x).imag) for x in matrices)


def _has_a_zero(call: Call, case: CheckResult) -> bool:
    return any(np.any(seen(one) == 0) for one in call.differentiated())


def _is_outside(call: Call, case: CheckResult) -> bool:
    """Whether the gradient raises because an index lies outside of what is returned."""
    return "out of bounds" in case.message


def _has_crossed_bounds(call: Call, case: CheckResult) -> bool:
    """Whether a lower bound, the second of three arrays, is above the upper one, the third."""
    _, *bounds = [seen(one) for one in call.arrays()]
    return len(bounds) == 2 and bool(np.any(bounds[0] > bounds[1]))


def _chooses_nothing(call: Call, case: CheckResult) -> bool:
    """Whether the first argument, a choice between the others, is none of their numbers."""
    first, *cases = call.arrays()
    which = seen(first).astype(np.int64)
    return bool(np.any((which < 0) | (which >= len(cases))))


def _scipy_has_no_value(call: Call, case: CheckResult) -> bool:
    """Whether a number is complex, or SciPy's function of the same name returns NaN or refuses the numbers.

    It does so where no distribution has such parameters.
    """
    if any(map(is_complex, call.differentiated())):
        return True
    if any(one.items is not None or ":" in (one.literal or "") for one in call.arguments):
        return False  # a list, a dtype or a record is no number
    built = [(a.keyword, ast.literal_eval(a.literal) if a.literal else seen(a)) for a in call.arguments]
    name = call.function[call.function.index("scipy.") :]
    try:
        value = function_of(name)(*[x for key, x in built if not key], **{key: x for key, x in built if key})
    except (AttributeError, ImportError, TypeError):  # it has no such function or parameter
        return False
    except ValueError:
        return True
    return bool(np.any(np.isnan(value)))


def _has_no_spread(call: Call, case: CheckResult) -> bool:
    """Whether the numbers of an array are all equal along an axis."""
    arrays = [x for one in call.differentiated() if (x := seen(one)).size]
    return any(np.any(np.ptp(np.abs(x), axis=axis) == 0) for x in arrays for axis in (None, *range(x.ndim)))


CONVENTIONS = (
    Row(
        "failed factorization",
        "the factorization failed, as `info` says, and what is returned is undefined",
        ("torch.*_ex",),
        _failed,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.cholesky_ex.html",
    ),
    Row(
        "scaled by frequency",
        "with scale_grad_by_freq the gradient is divided by the count of each index, as documented",
        ("torch.nn.functional.embedding*", "torch.embedding*"),
        _is_scaled,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html",
    ),
    Row(
        "padded row",
        "the row of weights at padding_idx takes no gradient, as documented",
        ("torch.nn.functional.embedding",),
        _pads,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html",
    ),
    Row(
        "renormed in place",
        "with max_norm the weights are renormalized in place, which is not differentiated",
        ("torch.nn.functional.embedding*", "torch.embedding*"),
        lambda call, case: any(a.keyword == "max_norm" for a in call.arguments),
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html",
    ),
    Row(
        "singular matrix",
        "the factorization of a matrix without full rank has no derivative by the documents",
        ("torch.lu*", "torch.Tensor.lu*", "torch.linalg.lu*", "torch.linalg.ldl*"),
        _is_singular,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.lu.html",
    ),
    Row(
        "dependent columns",
        "the factors of a matrix whose first columns are dependent have no derivative by the documents",
        ("torch.qr", "torch.Tensor.qr", "torch.linalg.qr"),
        _is_singular,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.qr.html",
    ),
    Row(
        "projector among reflectors",
        "a factor I - tau v v^H without an inverse has no gradient by the documents",
        ("torch.linalg.householder_product", "torch.*orgqr", "torch.*ormqr"),
        _has_a_projector,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.householder_product.html",
    ),
    Row(
        "phase of singular vectors",
        "the singular vectors of a complex matrix may be turned by any phase, so they have no derivative",
        (
            *("torch.svd", "torch.Tensor.svd", "torch.svd_lowrank", "torch.pca_lowrank"),
            *("torch.linalg.svd", "jax.*.svd", "tensorflow.linalg.svd", "tensorflow.raw_ops.Svd"),
        ),
        _has_a_phase,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.svd.html",
    ),
    Row(
        "phase of eigenvectors",
        "the eigenvectors of a complex matrix may be turned by any phase, so they have no derivative",
        (
            *("tensorflow.*eigh", "tensorflow.raw_ops.SelfAdjointEigV2", "paddle.linalg.eigh", "mlx.*eigh"),
            *("jax.*.eigh", "torch.linalg.eigh"),
        ),
        _has_a_phase,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html",
    ),
    Row(
        "phase of eigenvectors",
        "complex eigenvectors may be turned by any phase, so they have no derivative",
        (
            *("tensorflow.eig", "tensorflow.linalg.eig", "tensorflow.raw_ops.Eig", "jax.*.eig"),
            *("torch.linalg.eig", "autograd.numpy.linalg.eig", "paddle.linalg.eig"),
        ),
        _has_complex_eigenvectors,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.eig.html",
    ),
    Row(
        "pool of zeros",
        "where the sum of the powers is 0 the gradient is undefined and set to 0, as documented",
        ("torch.nn.functional.lp_pool*",),
        _has_a_zero,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.LPPool2d.html",
    ),
    Row(
        "index outside of the result",
        "an index lies outside of the result, which is not checked where the result is empty",
        ("torch.nn.functional.max_unpool*",),
        _is_outside,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html",
        raises=True,
    ),
    Row(
        "equal numbers",
        "the standard deviation is the square root of 0 where all numbers are equal, and has no derivative",
        ("torch.*std*", "jax.numpy.*std*", "autograd.numpy.*std*", "tensorflow.math.reduce_std"),
        _has_no_spread,
        "https://docs.pytorch.org/docs/stable/notes/autograd.html",
    ),
    Row(
        "log probabilities",
        "its gradient holds for logarithms of probabilities, which have the sum 1, and these are none",
        ("torch.*ctc_loss",),
        lambda call, case: True,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.ctc_loss.html",
    ),
    Row(
        "overlapping memory",
        "two entries of the view are one number in memory, and which of two values it gets is undefined",
        ("torch.*as_strided_scatter",),
        _overlaps,
        "https://docs.pytorch.org/docs/stable/generated/torch.as_strided.html",
    ),
    Row(
        "all singular vectors",
        "of a matrix that is not square the last singular vectors are any basis, without a gradient",
        ("torch.linalg.svd", "torch.svd", "torch.Tensor.svd"),
        _is_full,
        "https://docs.pytorch.org/docs/stable/generated/torch.linalg.svd.html",
    ),
    Row(
        "repeated index",
        "which of two values is written at a repeated index is undefined",
        (
            *("torch.*index_put*", "torch.*index_copy*", "torch.*scatter*", "torch.*put*"),
            *("torch.nn.functional.max_unpool*", "torch.Tensor.__setitem__", "jax.lax.scatter*"),
        ),
        _has_repeated_index,
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html",
    ),
    Row(
        "repeated index",
        "which of two values is written at a repeated index is undefined",
        ("tensorflow.tensor_scatter_nd_update", "tensorflow.raw_ops.TensorScatterUpdate"),
        _has_repeated_place,
        "https://www.tensorflow.org/api_docs/python/tf/tensor_scatter_nd_update",
    ),
    Row(
        "no pivots",
        "the pivots are as many numbers from 1 on as there are rows, which is not checked",
        ("paddle.linalg.lu_solve",),
        _has_no_pivots,
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/linalg/lu_solve_en.html",
        raises=None,
    ),
    Row(
        "beyond the last group",
        "what stands beyond the last group is ignored, and no number is written there",
        ("torch.nn.functional.grouped_mm",),
        _ends_before,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html",
        raises=None,
    ),
    Row(
        "other numbers of channels",
        "weight, bias and statistics have one number a channel, which this function does not check",
        ("torch.native_batch_norm", "torch.native_group_norm"),
        _has_other_channels,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html",
        raises=None,
    ),
    Row(
        "no affine map",
        "an affine map has 2 x 3 or 3 x 4 numbers, which is not checked where the grid is empty",
        ("torch.affine_grid_generator",),
        lambda call, case: np.shape(seen(next(call.differentiated())))[-2:] not in ((2, 3), (3, 4)),
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.affine_grid.html",
        raises=True,
    ),
    Row(
        "part of what is scattered",
        "its gradient holds where the numbers and the indices have one shape, by the documents",
        ("torch.*scatter", "torch.*scatter_add", "torch.*scatter_reduce"),
        _scatters_a_part,
        "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.scatter_.html",
        raises=True,
    ),
    Row(
        "random draw",
        "a random draw has no derivative by the parameters of its distribution, and the library says 0",
        ("torch.*",),
        _draws_without_slope,
        "https://docs.pytorch.org/docs/stable/distributions.html",
    ),
    Row(
        "symmetric part",
        "it reads one triangle, and its gradient is that by the symmetric part of the matrix",
        (
            *("paddle.*eigh", "paddle.*eigvalsh", "paddle.*cholesky", "tensorflow.*eigh", "mlx.*eigh"),
            *("tensorflow.*eigvalsh", "tensorflow.*cholesky*", "tensorflow.*Cholesky", "mlx.*cholesky"),
            *("tensorflow.raw_ops.SelfAdjointEig*", "tensorflow.linalg.logdet"),
        ),
        _has_symmetric_part,
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/linalg/eigh_en.html",
    ),
    Row(
        "symmetric part",
        "one triangle of the covariance is read, and its gradient is that by the symmetric part",
        ("autograd.scipy.stats.multivariate_normal.*",),
        _has_symmetric_part,
        "https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.multivariate_normal.html",
    ),
    Row(
        "symmetric part",
        "with hermitian=True one triangle is read, and its gradient is that by the symmetric part",
        ("paddle.*pinv",),
        lambda call, case: _is_on(call, "hermitian", 2) and _has_symmetric_part(call, case),
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/linalg/pinv_en.html",
    ),
    Row(
        "matrix that is not Hermitian",
        "the matrix is Hermitian by the documents, and one triangle of it is read",
        ("tensorflow.linalg.logdet",),
        _is_not_hermitian,
        "https://www.tensorflow.org/api_docs/python/tf/linalg/logdet",
    ),
    Row(
        "matrix that is not Hermitian",
        "the matrix is symmetric by the documents, and eigenvectors of another are not what is computed",
        ("torch.lobpcg",),
        _is_not_hermitian,
        "https://docs.pytorch.org/docs/stable/generated/torch.lobpcg.html",
        raises=None,
    ),
    Row(
        "iterated to a tolerance",
        "the result is iterated to a tolerance, sqrt(eps) by default, and the gradient is as near as that",
        ("torch.lobpcg",),
        _is_iterated,
        "https://docs.pytorch.org/docs/stable/generated/torch.lobpcg.html",
    ),
    Row(
        "matrix that is not Hermitian",
        "the matrix is Hermitian and positive definite by the documents",
        ("jax.scipy.sparse.linalg.cg",),
        _is_not_hermitian,
        "https://docs.jax.dev/en/latest/_autosummary/jax.scipy.sparse.linalg.cg.html",
    ),
    Row(
        "iterated to a tolerance",
        "the solution is iterated to a tolerance, 1e-5 by default, and the gradient is as near as that",
        tuple(f"jax.scipy.sparse.linalg.{name}" for name in ("cg", "gmres", "bicgstab")),
        _is_iterated,
        "https://docs.jax.dev/en/latest/_autosummary/jax.scipy.sparse.linalg.cg.html",
    ),
    Row(
        "rounding",
        "rounding to fewer digits is a step, which is differentiated as if the number stayed what it is",
        ("jax.lax.reduce_precision",),
        lambda call, case: True,
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.reduce_precision.html",
    ),
    Row(
        "choice out of range",
        "what is returned for a choice that is none of the cases is defined by the implementation",
        ("jax.lax.select_n",),
        _chooses_nothing,
        "https://docs.jax.dev/en/latest/_autosummary/jax.lax.select_n.html",
    ),
    Row(
        "bounds in the wrong order",
        "the lower bound needs to be at most the upper one, by the documents",
        (
            *("tensorflow.clip_by_value", "tensorflow.raw_ops.ClipByValue"),
            *("tensorflow.*fake_quant_with_min_max*", "tensorflow.raw_ops.FakeQuantWithMinMax*"),
        ),
        _has_crossed_bounds,
        "https://www.tensorflow.org/api_docs/python/tf/clip_by_value",
    ),
    Row(
        "no distribution",
        "no distribution has such parameters, and SciPy has no value for them",
        ("jax.scipy.stats.*", "autograd.scipy.stats.*"),
        _scipy_has_no_value,
        "https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.rv_continuous.html",
        raises=None,
    ),
    Row(
        "no matrix",
        "the argument is a matrix by the documents",
        ("autograd.scipy.linalg.sqrtm",),
        lambda call, case: any(seen(one).ndim < 2 for one in call.arrays()),
        "https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.sqrtm.html",
        raises=None,
    ),
    Row(
        "labels are a distribution",
        "its gradient holds for labels with the sum 1, by the documents",
        (
            *("tensorflow.*softmax_cross_entropy_with_logits", "tensorflow.*SoftmaxCrossEntropyWithLogits"),
            "mlx.nn.losses.cross_entropy",
        ),
        _is_no_distribution,
        "https://www.tensorflow.org/api_docs/python/tf/nn/softmax_cross_entropy_with_logits",
    ),
    Row(
        "implicit reparameterization",
        "a draw from a gamma distribution is differentiated as if it were made by the inverse of its"
        " distribution, and it is made by rejection",
        ("tensorflow.raw_ops.*RandomGamma*",),
        lambda call, case: True,
        "https://www.tensorflow.org/api_docs/python/tf/random/gamma",
    ),
    Row(
        "implicit reparameterization",
        "a draw from a truncated normal distribution is differentiated as if it were made by the inverse of"
        " its distribution, and it is made by rejection",
        ("tensorflow.*arameterized*runcated*ormal",),
        lambda call, case: True,
        "https://www.tensorflow.org/api_docs/python/tf/random/stateless_parameterized_truncated_normal",
    ),
    Row(
        "colors outside of [0, 1]",
        "hue, saturation and value are defined for colors from 0 to 1 only, by the documents",
        ("tensorflow.image.rgb_to_hsv", "tensorflow.raw_ops.RGBToHSV"),
        _is_no_color,
        "https://www.tensorflow.org/api_docs/python/tf/image/rgb_to_hsv",
    ),
    Row(
        "diagonal that is not real",
        "the argument is a Cholesky factor by the documents, and its diagonal is real",
        ("torch.*cholesky_inverse", "torch.*cholesky_solve"),
        _has_a_complex_diagonal,
        "https://docs.pytorch.org/docs/stable/generated/torch.cholesky_inverse.html",
    ),
    Row(
        "triangle that is not read",
        "the argument is a triangular matrix by the documents, and its other triangle is not read",
        ("torch.*cholesky_inverse", "torch.*cholesky_solve", "paddle.*cholesky_solve"),
        _is_not_triangular,
        "https://docs.pytorch.org/docs/stable/generated/torch.cholesky_inverse.html",
    ),
)
"""The rows, in order; the first that fits counts."""
