"""Answers that a library's own documents choose where a call has no derivative, and calls they exclude.

A row predicts which answers it accepts at a call: these are a convention, and any other one stays wrong.
Where nothing can be predicted, since the documents exclude the call, it is inconclusive: "not defined by its
documents". A call is excluded by the documents of its own function only. Elsewhere what a function returns
defines its derivative, also at unusual arguments: bounds of a clip that cross are excluded by TensorFlow, and
are not by JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from gradfuzz.calls.drawing.views import seen
from gradfuzz.calls.judging import excluded, limits, predicted
from gradfuzz.calls.judging.accepted import RAISES, UNDEFINED, Accepts, fits
from gradfuzz.calls.judging.phases import turned
from gradfuzz.calls.judging.written import written_twice
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """A convention, or calls that are excluded. No two rows have one name."""

    name: str
    why: str
    sources: Mapping[str, str]
    """Where it is documented, by patterns of public names, separated by blanks."""
    accepts: Accepts
    raises: bool | None = False
    """Whether it is about exceptions, and not about numbers; None where it is about both."""

    def source(self, function: str) -> str | None:
        """The document of a function; None where the row is not about it."""
        of = (
            url for names, url in self.sources.items() for one in names.split() if fnmatchcase(function, one)
        )
        return next(of, None)


def excused(call: Call, case: CheckResult) -> CheckResult:
    """The case; a convention where a row accepts its answer, inconclusive where one excludes the call."""
    raised, kind = case.verdict is Verdict.CRASHED, case.kind
    is_of_numbers = kind is None or (kind.of_numbers and kind is not Class.WRONG_PRIMAL)
    if not case.verdict.is_wrong or not (raised or is_of_numbers):
        return case
    for row in CONVENTIONS:
        source = row.source(call.function)
        if source is None or row.raises not in (None, raised):
            continue
        accepted = row.accepts(call, case)
        if accepted is None:
            continue
        message = f"{row.why}: {source}"
        if accepted == UNDEFINED:
            return case.unsettled(Reason.UNDEFINED, f"not defined by its documents: {message}")
        if accepted == RAISES or (not raised and fits(accepted, case)):
            return replace(case, verdict=Verdict.CONVENTION, kind=None, message=message, conventions=())
    return case


def _without(predicate: Callable[[Call], bool]) -> Accepts:
    """Nothing is predicted of the calls for which this holds."""
    return lambda call, case: UNDEFINED if predicate(call) else None


_TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
_TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/"
_PADDLE = "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/linalg/"
_SCIPY = "https://docs.scipy.org/doc/scipy/reference/generated/scipy."
_AUTOGRAD = "https://github.com/HIPS/autograd/blob/v1.9.1/"
_JAX = "https://docs.jax.dev/en/latest/_autosummary/jax."

_SVD, _EIG = f"{_TORCH}linalg.svd.html", f"{_TORCH}linalg.eig.html"
_MLX = "https://ml-explore.github.io/mlx/build/html/python/"

CONVENTIONS = (
    # Nothing is predicted
    Row(
        "failed factorization",
        "the factorization failed, as `info` says, and what is returned is undefined",
        {"torch.*_ex": f"{_TORCH}linalg.cholesky_ex.html"},
        _without(excluded.failed),
    ),
    Row(
        "dependent columns",
        "the factors of a matrix whose first columns are dependent have no derivative by the documents",
        {"torch.qr torch.Tensor.qr torch.linalg.qr": f"{_TORCH}linalg.qr.html"},
        _without(excluded.has_dependent_columns),
    ),
    Row(
        "no pivots",
        "the pivots are as many numbers from 1 on as there are rows, which is not checked",
        {"paddle.linalg.lu_solve": f"{_PADDLE}lu_solve_en.html"},
        _without(excluded.has_no_pivots),
        raises=None,
    ),
    Row(
        "beyond the last group",
        "what stands beyond the last group is ignored, and no number is written there",
        {"torch.nn.functional.grouped_mm": f"{_TORCH}nn.functional.grouped_mm.html"},
        _without(excluded.ends_before),
        raises=None,
    ),
    Row(
        "other numbers of channels",
        "weight, bias and statistics have one number a channel, which this function does not check",
        {"torch.native_batch_norm torch.native_group_norm": f"{_TORCH}nn.BatchNorm1d.html"},
        _without(excluded.has_other_channels),
        raises=None,
    ),
    Row(
        "no affine map",
        "an affine map has 2 x 3 or 3 x 4 numbers, which is not checked where the grid is empty",
        {"torch.affine_grid_generator": f"{_TORCH}nn.functional.affine_grid.html"},
        _without(excluded.is_no_affine_map),
        raises=True,
    ),
    Row(
        "no matrix",
        "the argument is a matrix by the documents",
        {"autograd.scipy.linalg.sqrtm": f"{_SCIPY}linalg.sqrtm.html"},
        _without(lambda call: any(seen(one).ndim < 2 for one in call.arrays())),
        raises=None,
    ),
    Row(
        "matrix that is not Hermitian",
        "the matrix is Hermitian by the documents",
        {
            "torch.lobpcg": f"{_TORCH}lobpcg.html",
            "tensorflow.linalg.logdet": f"{_TENSORFLOW}linalg/logdet",
            "jax.scipy.sparse.linalg.cg": f"{_JAX}scipy.sparse.linalg.cg.html",
        },
        _without(excluded.is_not_hermitian),
        raises=None,
    ),
    Row(
        "colors outside of [0, 1]",
        "hue, saturation and value are defined for colors from 0 to 1 only, by the documents",
        {"tensorflow.image.rgb_to_hsv tensorflow.raw_ops.RGBToHSV": f"{_TENSORFLOW}image/rgb_to_hsv"},
        _without(excluded.is_no_color),
    ),
    Row(
        "no range of a quantization",
        "the lower bound needs to be at most the upper one, by the documents",
        {
            "tensorflow.*fake_quant_with_min_max* tensorflow.raw_ops.FakeQuantWithMinMax*": (
                f"{_TENSORFLOW}quantization/fake_quant_with_min_max_args"
            )
        },
        _without(excluded.has_crossed_bounds),
    ),
    Row(
        "no distribution",
        "no distribution has such parameters, and SciPy has no value for them",
        {"jax.scipy.stats.* autograd.scipy.stats.*": f"{_SCIPY}stats.rv_continuous.html"},
        _without(excluded.scipy_has_no_value),
        raises=None,
    ),
    Row(
        "overlapping memory",
        "two entries of the view are one number in memory, and it is not to be written",
        {"torch.*as_strided_scatter": f"{_TORCH}as_strided.html"},
        _without(excluded.overlaps),
    ),
    Row(
        "index outside of the result",
        "an index lies outside of the result, which is not checked where the result is empty",
        {"torch.nn.functional.max_unpool*": f"{_TORCH}nn.MaxUnpool2d.html"},
        predicted.lies_outside,
        raises=True,
    ),
    # Nothing is predicted where autograd documents a limit, in its tutorial or where a rule ends
    Row(
        "list of arrays",
        "a list that is passed to a primitive is not differentiated: an array is to be made of it first",
        {"autograd.*": f"{_AUTOGRAD}docs/tutorial.md#dont-use"},
        _without(excluded.lists_arrays),
        raises=None,
    ),
    Row(
        "array by its keyword",
        "a primitive looks for what is differentiated among its positional arguments alone",
        {"autograd.*": f"{_AUTOGRAD}autograd/tracer.py#L52"},
        _without(excluded.names_arrays),
        raises=True,
    ),
    Row(
        "limit of a rule",
        "the rule says where it ends that there is no such derivative",
        {one.functions: f"{_AUTOGRAD}autograd/{one.source}" for one in limits.LIMITS},
        lambda call, case: UNDEFINED if limits.is_beyond(call, case.question.modes) else None,
        raises=True,
    ),
    # No number, or an exception
    Row(
        "singular matrix",
        "the gradient by the factors of a matrix without full rank may not be finite, by the documents",
        {"torch.lu torch.Tensor.lu torch.linalg.lu torch.linalg.lu_factor*": f"{_TORCH}linalg.lu.html"},
        predicted.by_zero_pivots,
    ),
    Row(
        "projector among reflectors",
        "a factor I - tau v v^H without an inverse has no gradient by the documents",
        {
            "torch.linalg.householder_product torch.*orgqr torch.*ormqr": (
                f"{_TORCH}linalg.householder_product.html"
            )
        },
        predicted.by_projectors,
    ),
    Row(
        "equal numbers",
        "the standard deviation is the square root of 0 where all numbers are equal, and has no derivative",
        {
            "torch.*std* jax.numpy.*std* autograd.numpy.*std* tensorflow.math.reduce_std": (
                "https://docs.pytorch.org/docs/stable/notes/autograd.html"
            )
        },
        predicted.of_equal_numbers,
    ),
    Row(
        "part of what is scattered",
        "its gradient holds where the numbers and the indices have one shape, by the documents",
        {"torch.*scatter torch.*scatter_add torch.*scatter_reduce": f"{_TORCH}Tensor.scatter_.html"},
        predicted.raises_by_a_part,
        raises=True,
    ),
    # A choice
    Row(
        "phase of vectors",
        "complex singular vectors and eigenvectors may be turned by any phase, so they have no derivative",
        {
            "torch.svd torch.Tensor.svd torch.svd_lowrank torch.pca_lowrank": _SVD,
            "torch.linalg.svd jax.*.svd tensorflow.linalg.svd tensorflow.raw_ops.Svd": _SVD,
            "torch.linalg.eigh jax.*.eigh mlx.*eigh paddle.linalg.eigh": f"{_TORCH}linalg.eigh.html",
            "tensorflow.*eigh tensorflow.raw_ops.SelfAdjointEigV2": f"{_TORCH}linalg.eigh.html",
            "torch.linalg.eig jax.*.eig autograd.numpy.linalg.eig paddle.linalg.eig": _EIG,
            "tensorflow.eig tensorflow.linalg.eig tensorflow.raw_ops.Eig": _EIG,
        },
        turned,
    ),
    Row(
        "all singular vectors",
        "of a matrix that is not square the last singular vectors are any basis, without a gradient",
        {"torch.linalg.svd torch.svd torch.Tensor.svd": _SVD},
        predicted.of_first_vectors,
    ),
    Row(
        "written twice",
        "which of two values is written at one place is undefined",
        {
            "torch.index_put torch.Tensor.index_put* torch.index_copy torch.Tensor.index_copy*": (
                f"{_TORCH}Tensor.index_put_.html"
            ),
            "torch.scatter torch.Tensor.scatter torch.Tensor.scatter_": f"{_TORCH}Tensor.scatter_.html",
            "torch.put torch.Tensor.put torch.Tensor.put_": f"{_TORCH}Tensor.put_.html",
            "torch.nn.functional.max_unpool*": f"{_TORCH}nn.MaxUnpool2d.html",
            "tensorflow.tensor_scatter_nd_update tensorflow.raw_ops.TensorScatterUpdate": (
                f"{_TENSORFLOW}tensor_scatter_nd_update"
            ),
        },
        written_twice,
    ),
    Row(
        "bounds in the wrong order",
        "the lower bound needs to be at most the upper one, by the documents",
        {"tensorflow.clip_by_value tensorflow.raw_ops.ClipByValue": f"{_TENSORFLOW}clip_by_value"},
        predicted.of_crossed_bounds,
    ),
    Row(
        "choice out of range",
        "what is returned for a choice that is none of the cases is defined by the implementation",
        {
            "jax.lax.select_n": f"{_JAX}lax.select_n.html",
            "jax.lax.select": f"{_JAX}lax.select.html",  # by which the choice is a boolean
        },
        predicted.of_no_case,
    ),
    Row(
        "symmetric part",
        "one triangle of the matrix is read, and the gradient is that by the symmetric part",
        {
            "paddle.*eigh paddle.*eigvalsh paddle.*cholesky": f"{_PADDLE}eigh_en.html",
            "paddle.*pinv": f"{_PADDLE}pinv_en.html",
            "tensorflow.*eigh tensorflow.*eigvalsh": f"{_TENSORFLOW}linalg/eigh",
            "tensorflow.raw_ops.SelfAdjointEig*": f"{_TENSORFLOW}linalg/eigh",
            "tensorflow.*cholesky* tensorflow.*Cholesky": f"{_TENSORFLOW}linalg/cholesky",
            "tensorflow.linalg.logdet": f"{_TENSORFLOW}linalg/logdet",
            "mlx.*eigh mlx.*cholesky": f"{_MLX}linalg.html",
            "autograd.scipy.stats.multivariate_normal.*": f"{_SCIPY}stats.multivariate_normal.html",
        },
        predicted.by_the_symmetric_part,
    ),
    Row(
        "factor of Cholesky",
        "by the documents the argument is a triangular matrix with a real diagonal, and no more is read",
        {
            "torch.*cholesky_inverse torch.*cholesky_solve": f"{_TORCH}cholesky_inverse.html",
            "paddle.*cholesky_solve": f"{_PADDLE}cholesky_solve_en.html",
        },
        predicted.of_a_factor,
    ),
    # Another derivative, on purpose
    Row(
        "rows of weights",
        "the row at padding_idx takes no gradient, and with scale_grad_by_freq that of each row is divided by"
        " the count of its index, as documented",
        {"torch.nn.functional.embedding* torch.embedding*": f"{_TORCH}nn.functional.embedding.html"},
        predicted.by_rows,
    ),
    Row(
        "renormed in place",
        "with max_norm the weights are renormalized in place, which is not differentiated",
        {"torch.nn.functional.embedding* torch.embedding*": f"{_TORCH}nn.functional.embedding.html"},
        predicted.not_renormed,
    ),
    Row(
        "variance below eps",
        "variances are clamped to eps, and the gradient ignores that, by the documents",
        {"torch.*gaussian_nll_loss": f"{_TORCH}nn.GaussianNLLLoss.html"},
        predicted.of_clamped_variances,
    ),
    Row(
        "pool of zeros",
        "where the sum of the powers is 0 the gradient is undefined and set to 0, as documented",
        {"torch.nn.functional.lp_pool*": f"{_TORCH}nn.LPPool2d.html"},
        predicted.without_zeros,
    ),
    Row(
        "log probabilities",
        "its gradient is that of logarithms of probabilities, which have the sum 1",
        {"torch.*ctc_loss": f"{_TORCH}nn.functional.ctc_loss.html"},
        predicted.of_log_probabilities,
    ),
    Row(
        "labels are a distribution",
        "its gradient holds for labels with the sum 1, by the documents",
        {
            "tensorflow.*softmax_cross_entropy_with_logits tensorflow.*SoftmaxCrossEntropyWithLogits": (
                f"{_TENSORFLOW}nn/softmax_cross_entropy_with_logits"
            ),
            "mlx.nn.losses.cross_entropy": (
                f"{_MLX}nn/_autosummary_functions/mlx.nn.losses.cross_entropy.html"
            ),
        },
        predicted.of_logits,
    ),
    Row(
        "random draw",
        "a random draw has no derivative by the parameters of its distribution, and the library says 0",
        {
            "torch.normal torch.poisson torch.binomial torch.bernoulli torch.Tensor.bernoulli": (
                "https://docs.pytorch.org/docs/stable/distributions.html"
            )
        },
        predicted.zero,
    ),
    Row(
        "iterated to a tolerance",
        "the result is iterated to a tolerance, and the gradient is as near as that",
        {
            "torch.lobpcg": f"{_TORCH}lobpcg.html",
            "jax.scipy.sparse.linalg.cg jax.scipy.sparse.linalg.gmres jax.scipy.sparse.linalg.bicgstab": (
                f"{_JAX}scipy.sparse.linalg.cg.html"
            ),
        },
        predicted.to_a_tolerance,
    ),
    Row(
        "rounding",
        "rounding to fewer digits is a step, which is differentiated as if the number stayed what it is",
        {"jax.lax.reduce_precision": f"{_JAX}lax.reduce_precision.html"},
        predicted.straight_through,
    ),
    Row(
        "draw by rejection",
        "a draw from a gamma distribution is differentiated as if it were made by the inverse of its"
        " distribution, and it is made by rejection",
        {
            "tensorflow.raw_ops.RandomGamma tensorflow.raw_ops.StatelessRandomGamma*": (
                f"{_TENSORFLOW}random/gamma"
            )
        },
        predicted.by_the_inverse(predicted.gamma),
    ),
    Row(
        "truncated draw by rejection",
        "a draw from a truncated normal distribution is differentiated as if it were made by the inverse of"
        " its distribution, and it is made by rejection",
        {
            "tensorflow.*arameterized*runcated*ormal": (
                f"{_TENSORFLOW}random/stateless_parameterized_truncated_normal"
            )
        },
        predicted.by_the_inverse(predicted.truncated_normal),
    ),
)
"""The rows, in order. The first that excludes a call, or that accepts its answer, counts."""
