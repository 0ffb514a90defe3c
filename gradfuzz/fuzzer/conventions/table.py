"""The table of conventions: of programs, and of calls of libraries' functions.

A row about ops of programs has examples. They say what the engine, JAX and Torch answer in reverse mode, and
in forward mode where that differs. tests/unit/fuzzer/test_conventions.py asks the installed libraries
(measured with jax 0.10.2 and torch 2.13.0). `ties` tells which rows a program meets at a point. An answer
between the slopes on both sides is a convention; one outside is a finding, whatever this table says. NaN is
an answer only in the rows with `or_nan`, where the makers of a library have said that they mean it. The last
of these rows are limits of differentiation that the documentation of a library states.

A call is excluded by the documents of its own function only. Elsewhere what a function returns defines its
derivative, also at unusual arguments: bounds of a clip that cross are excluded by TensorFlow, and are not by
JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from gradfuzz.fuzzer.conventions import excluded, limits, predicted
from gradfuzz.fuzzer.conventions.accepted import RAISES, UNDEFINED, Accepts
from gradfuzz.fuzzer.conventions.convention import Convention, Example, Numbers, Slopes
from gradfuzz.fuzzer.conventions.phases import turned
from gradfuzz.fuzzer.conventions.written import written_twice
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.views import seen
from gradfuzz.programs.language.functions import FUNCTIONS

NAN, INF = math.nan, math.inf


def _row(
    heading: str, why: str, *examples: Example, accepts: Accepts = predicted.between, source: str = ""
) -> Convention:
    """A row; the heading is its name and its ops, as in "maximum-tie: maximum minimum"."""
    name, _, ops = heading.partition(": ")
    return Convention(name, why, {ops: source}, accepts, examples=examples)


def _without(predicate: Callable[[Call], bool]) -> Accepts:
    """Nothing is predicted of the calls for which this holds."""
    return lambda at: UNDEFINED if predicate(at.call) else None


def _example(
    statements: str,
    at: Mapping[str, Numbers],
    engine: Numbers | str,
    jax: Numbers | str,
    torch: Numbers | str,
    /,
    slopes: Slopes = None,
    **forward: Numbers,
) -> Example:
    return Example(statements, at, {"engine": engine, "jax": jax, "torch": torch}, slopes, forward)


def _everybody(
    statements: str, at: Mapping[str, Numbers], answer: Numbers, slopes: Slopes = None, **forward: Numbers
) -> Example:
    return _example(statements, at, answer, answer, answer, slopes, **forward)


def _library(what: str, at: Mapping[str, Numbers], jax: Numbers, torch: Numbers) -> Example:
    return Example("", at, {"jax": jax, "torch": torch}, library=what)


_ZERO, _ONE, _MINUS, _NANS = (0.0, 0.0), (1.0, 1.0), (-1.0, -1.0), (NAN, NAN)
_ZERO2, _ONE2, _MINUS2, _NAN2 = (_ZERO,) * 2, (_ONE,) * 2, (_MINUS,) * 2, (_NANS,) * 2
_CORNER, _IDENTITY, _RANK1 = ((1.0, 0.0), _ZERO), ((1.0, 0.0), (0.0, 1.0)), ((1.0, 2.0), (2.0, 4.0))
_HALF2, _QUARTER2 = ((0.5, 0.0), (0.0, 0.5)), ((0.25, 0.0), (0.0, 0.25))
_QUARTER = ((0.25, 0.0), _ZERO)
_UPPER, _LOWER = ((1.0, 0.5), (0.5, 1.0)), ((0.0, -0.5), (-0.5, 0.0))
_OFF_NAN, _OFF_INF = ((0.0, NAN), (NAN, 0.0)), ((NAN, INF), (INF, NAN))

_BOUNDED = [f.name for f in FUNCTIONS.values() if not f.reserved and f.domain != (-INF, INF)]
_PYTORCH = "PyTorch docs, notes/autograd, gradients for non-differentiable functions"
_TAICHI = "https://docs.taichi-lang.org/docs/differentiable_programming#global-data-access-rules"
_QUADRANTS = (
    "https://genesis-embodied-ai.github.io/quadrants/user_guide/autodiff.html"
    "#global-data-access-rules-and-the-validation-checker"
)
_WARP = "https://nvidia.github.io/warp/user_guide/differentiability.html"
_TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
_TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/"
_PADDLE = "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/linalg/"
_FUNCTIONAL = _PADDLE.replace("linalg", "nn/functional")
_SCIPY = "https://docs.scipy.org/doc/scipy/reference/generated/scipy."
_CUT = "https://numpy.org/doc/stable/reference/generated/numpy.arccos.html"
_AUTOGRAD = "https://github.com/HIPS/autograd/blob/v1.9.1/"
_JAX = "https://docs.jax.dev/en/latest/_autosummary/jax."

_SVD, _EIG = f"{_TORCH}linalg.svd.html", f"{_TORCH}linalg.eig.html"
_MLX = "https://ml-explore.github.io/mlx/build/html/python/"

CONVENTIONS: tuple[Convention, ...] = (
    # One selection: a kink
    _row(
        "abs-at-0: abs vector_norm matrix_norm",
        "the slopes of |x| at 0 are -1 and 1; norms of order 1 and inf are made of |x|",
        _example("abs(x)", {"x": 0.0}, 0.0, 1.0, 0.0, (-1.0, 1.0)),
        _example(
            "vector_norm(x, ord=1)", {"x": (0.0, 1.0)}, (0.0, 1.0), _ONE, (0.0, 1.0), ((-1.0, 1.0), _ONE)
        ),
        source="jax-ml/jax#37820",
    ),
    _row(
        "modulus-at-0: abs",
        "|z| is a cone at 0: its slope is 1 in every direction",
        _everybody("abs(complex(x, y))", {"x": 0.0, "y": 0.0}, 0.0, (-1.0, 1.0)),
        source="jax-ml/jax#10515",
    ),
    _row(
        "maximum-tie: maximum minimum",
        "either argument may be the greater one; a rectifier maximum(x, 0) is the case with a constant",
        _everybody("maximum(x, 0.0)", {"x": 0.0}, 0.5, (0.0, 1.0)),
        _everybody("minimum(x, y)", {"x": 0.5, "y": 0.5}, 0.5, (1.0, 0.0)),
        source="jax-ml/jax#37821",
    ),
    _row(
        "clip-at-its-edge: clip",
        "at an edge the slopes are 0 and 1",
        _example("clip(x, 0.0, 1.0)", {"x": 0.0}, 0.5, 0.5, 1.0, (0.0, 1.0)),
        _example("clip(x, 0.0, 1.0)", {"x": 1.0}, 0.5, 0.5, 1.0, (1.0, 0.0)),
        _example("clip(0.5, x, 1.0)", {"x": 0.5}, 0.5, 0.5, 0.0, (0.0, 1.0)),
    ),
    _row(
        "extreme-tie: amax amin",
        "each of the equal entries may be the extreme one; shares add up to 1",
        _everybody("amax(x)", {"x": (1.0, 1.0, 0.0)}, (0.5, 0.5, 0.0), ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))),
        _everybody("amin(x)", {"x": (1.0,) * 4}, (0.25,) * 4, ((1.0,) * 4, (0.0,) * 4)),
        source=_PYTORCH,
    ),
    _row(
        "sort-tie: sort",
        "equal entries may stand in any order; all keep the one they came in",
        _everybody("sort(x)[0]", {"x": (2.0, 1.0, 1.0)}, (0.0, 1.0, 0.0), ((0.0, 1.0, 1.0), (0.0, 0.0, 0.0))),
    ),
    _row(
        "cumulative-max-tie: cumulative_max",
        "each of the equal entries may be the greatest so far; Torch takes the latest, JAX halves from pair"
        " to pair",
        _example(
            "cumulative_max(x)[2]",
            {"x": (2.0, 2.0, 2.0)},
            *((1 / 3, 1 / 3, 1 / 3), (0.25, 0.25, 0.5), (0.0, 0.0, 1.0)),
            slopes=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        ),
    ),
    # Norms
    _row(
        "norm-at-0: vector_norm matrix_norm",
        "a norm is a cone at 0; JAX gives 0 / 0 on purpose, Torch and the engine give the smallest"
        " subgradient",
        _example("vector_norm(x)", {"x": _ZERO}, _ZERO, _NANS, _ZERO, (_MINUS, _ONE)),
        _example("vector_norm(x, ord=3)", {"x": _ZERO}, _ZERO, _NANS, _ZERO, (_MINUS, _ONE)),
        _example("matrix_norm(x)", {"x": _ZERO2}, _ZERO2, _NAN2, _ZERO2, (_MINUS2, _ONE2)),
        _example("n = vector_norm(x); n * n", {"x": _ZERO}, _ZERO, _NANS, _ZERO, (_ZERO, _ZERO)),
        accepts=predicted.or_nan,
        source="jax-ml/jax#21723, #3058; pytorch/pytorch#2421, #2775",
    ),
    _row(
        "largest-of-a-norm: vector_norm matrix_norm",
        "several entries or lines have the largest size (norms of order inf, -inf, 1, -1)",
        _everybody('vector_norm(x, ord="inf")', {"x": (1.0, -1.0)}, (0.5, -0.5), ((0.0, -1.0), (1.0, 0.0))),
        _everybody(
            "matrix_norm(x, ord=1)", {"x": ((1.0, 2.0), (2.0, 1.0))}, ((0.5, 0.5),) * 2, (_ZERO2, _ONE2)
        ),
    ),
    _row(
        "spectral-norm: matrix_norm",
        "a norm made of singular values has kinks where they are 0 or meet",
        _everybody('matrix_norm(x, ord="nuc")', {"x": _ZERO2}, _IDENTITY, (_MINUS2, _ONE2)),
        _example("matrix_norm(x, ord=2)", {"x": _ZERO2}, _HALF2, _QUARTER2, _HALF2, (_MINUS2, _ONE2)),
        _everybody("matrix_norm(x, ord=2)", {"x": _IDENTITY}, _HALF2, (_LOWER, _UPPER)),
    ),
    _row(
        "count-of-nonzeros: vector_norm",
        "the norm of order 0 counts: it jumps where an entry is 0, and its derivative is 0 elsewhere",
        _everybody("vector_norm(x, ord=0)", {"x": (0.0, 1.0)}, _ZERO),
    ),
    # Jumps
    _row(
        "threshold: if while where less less_equal greater greater_equal equal not_equal",
        "both sides of a comparison are equal: the derivative is that of the side taken",
        _everybody("where(x > 0.0, x, 0.0)", {"x": 0.0}, 0.0, (0.0, 1.0)),
        _everybody("where(x >= 0.0, x, 0.0)", {"x": 0.0}, 1.0, (0.0, 1.0)),
        accepts=predicted.of_the_side_taken,
        source="jax-ml/jax#37821",
    ),
    _row(
        "sign-at-0: sign",
        "the sign jumps at 0, and its derivative is 0 elsewhere",
        _everybody("sign(x)", {"x": 0.0}, 0.0),
    ),
    _row(
        "index-tie: argmax argmin argsort",
        "an index jumps where entries are equal",
        _everybody("argmax(x) * x[1]", {"x": _ONE}, _ZERO),
    ),
    _row(
        "branch-cut: log sqrt pow",
        "complex logarithms, roots and powers jump across the negative real axis; the sign of the imaginary"
        " part chooses the side, and the derivative is that of this side",
        _everybody("real(sqrt(complex(x, y)))", {"y": 0.0, "x": -1.0}, 0.5),
    ),
    _row(
        "pivot-tie: lu",
        "two entries may be the pivot, and the factors jump from one to the other",
        _everybody("p, l, u = lu(x); u[1, 1]", {"x": ((1.0, 2.0), (1.0, 4.0))}, ((2.0, -1.0), (-2.0, 1.0))),
    ),
    # Ends of domains
    _row(
        "sqrt-at-0: sqrt",
        "the slope is infinite, and a chain rule multiplies it by 0: sqrt(x * x) is |x|, and its"
        " derivative NaN",
        _everybody("sqrt(x)", {"x": 0.0}, INF),
        _everybody("sqrt(x * x)", {"x": 0.0}, NAN),
        source="jax-ml/jax#8893; pytorch/pytorch#6394",
    ),
    _row(
        "log-at-0: log log1p",
        "the value and the slope are infinite",
        _everybody("log(x)", {"x": 0.0}, INF),
        _everybody("log1p(x)", {"x": -1.0}, INF),
    ),
    _row(
        f"end-of-domain: {' '.join(_BOUNDED)}",
        "the value or the slope is infinite, or there is no slope",
        _everybody("acos(x)", {"x": 1.0}, -INF),
        _everybody("log2(x)", {"x": 0.0}, INF),
    ),
    _row(
        "beyond-the-domain: log log1p sqrt pow",
        "the value is NaN; the derivative may be a number all the same",
        _everybody("log(x)", {"x": -1.0}, -1.0),
        _everybody("sqrt(x)", {"x": -1.0}, NAN),
        _everybody("x ** y", {"x": -1.0, "y": 2.0}, -2.0),
        _everybody("x ** y", {"y": 2.0, "x": -1.0}, NAN),
    ),
    _row(
        "pow-at-0: pow",
        "x**y is exp(y log x), defined for x > 0; at x = 0 it is continued, and the derivatives there are"
        " whatever a rule makes of log 0",
        _example("x ** 0.0", {"x": 0.0}, NAN, NAN, 0.0),
        _everybody("x ** 0.5", {"x": 0.0}, INF),
        _everybody("x ** 1.5", {"x": 0.0}, 0.0),
        _example("x ** y", {"y": 2.0, "x": 0.0}, NAN, 0.0, 0.0),
        _example("x ** y", {"y": 0.0, "x": 0.0}, -INF, 0.0, 0.0),
    ),
    _row(
        "division-by-0: divide integer_pow",
        "the value and the slope are infinite; the quotient of two zeros is NaN",
        _everybody("1.0 / x", {"x": 0.0}, -INF),
        _everybody("x / x", {"x": 0.0}, NAN),
        _everybody("x ** -2", {"x": 0.0}, -INF),
    ),
    _row(
        "dead-branch: where",
        "`where` computes both sides, and 0 times the infinite slope of the unused one is NaN in reverse"
        " mode; to gradfuzz a program is undefined where one of its operations is undefined",
        _everybody("where(x > 0.0, sqrt(x), 0.0)", {"x": -1.0}, NAN, engine=0.0, jax=0.0, torch=0.0),
        _everybody("where(x > 0.0, log(x), 0.0)", {"x": -1.0}, 0.0),
        _everybody("where(x > 0.0, 1.0 / x, x)", {"x": 0.0}, NAN, engine=1.0, jax=1.0, torch=1.0),
        source="JAX docs, jax.numpy.where and FAQ; pytorch/pytorch#23395",
    ),
    # Linear algebra
    _row(
        "repeated-eigenvalue: eigh eigvalsh eig eigvals",
        "equal eigenvalues have kinks (their sum has none), and any basis of their vectors is right",
        _everybody("eigvalsh(x)[0]", {"x": _IDENTITY}, _CORNER, (_UPPER, _LOWER)),
        _everybody(
            "w, v = eigh(x); v[0, 1]", {"x": _IDENTITY}, _NAN2, engine=_OFF_NAN, jax=_OFF_INF, torch=_OFF_INF
        ),
        source="jax-ml/jax#669; PyTorch docs, torch.linalg.eigh",
    ),
    _row(
        "repeated-singular-value: svd svdvals",
        "singular values that are equal or 0 have kinks, and any basis of their vectors is right",
        _everybody(
            "svdvals(x)[1]", {"x": _CORNER}, (_ZERO, (0.0, 1.0)), ((_ZERO, (0.0, -1.0)), (_ZERO, (0.0, 1.0)))
        ),
        _everybody("u, s, vh = svd(x); u[0, 0] * vh[0, 1]", {"x": _IDENTITY}, _NAN2, engine=_OFF_NAN),
        source="jax-ml/jax#2311; PyTorch docs, torch.linalg.svd",
    ),
    _row(
        "not-positive-definite: cholesky",
        "no factor exists",
        _example("cholesky(x)[1, 1]", {"x": _ONE2}, _NAN2, _NAN2, RAISES),
    ),
    # How a library is asked
    _row(
        "conjugate: abs conj",
        "JAX's gradient by a complex z is the conjugate of Torch's; programs are asked about by real and"
        " imaginary parts, which leaves no choice",
        _everybody("z = complex(x, y); real(z * conj(z))", {"x": 1.0, "y": 2.0}, 2.0, (2.0, 2.0)),
        _library("the gradient of |z|^2", {"z_re": 1.0, "z_im": 2.0}, (2.0, -4.0), (2.0, 4.0)),
        source="PyTorch docs, notes/autograd, autograd for complex numbers; JAX docs, the autodiff cookbook",
    ),
    # Limits that the documentation of a target states: its adapter says where a program meets one
    _row(
        "fields-read-and-changed: for while index_update",
        "in Taichi and Quadrants the way back reads fields as they are at the end of the kernel: an entry"
        " that was read may not change afterwards, and one that was written may only change by +=",
        source=f"{_TAICHI}; {_QUADRANTS}",
    ),
    _row(
        "dynamic-loop: for while",
        "Warp replays no loop that it does not unroll: what such a loop computes is missing on the way back",
        source=f"{_WARP}#dynamic-loops",
    ),
    _row(
        "array-overwritten: for while index_update",
        "in Warp the way back reads arrays as they are at the end of the kernel",
        source=f"{_WARP}#array-overwrites",
    ),
    _row(
        "vector-entry-assigned: index_update",
        "in Warp an entry of a local vector or matrix may be assigned once, and changed by += and -=",
        source=f"{_WARP}#vector-matrix-and-quaternion-component-assignment",
    ),
    # Calls of which nothing is predicted
    Convention(
        "failed factorization",
        "the factorization failed, as `info` says, and what is returned is undefined",
        {"torch.*_ex": f"{_TORCH}linalg.cholesky_ex.html"},
        predicted.of_failed,
    ),
    Convention(
        "rank-deficient",
        "pinv and lstsq jump where the rank does, and have the derivative along matrices of equal rank; qr"
        " divides by a diagonal entry that is 0, and its factors have no derivative",
        {"pinv lstsq qr": "", "torch.qr torch.Tensor.qr torch.linalg.qr": f"{_TORCH}linalg.qr.html"},
        _without(excluded.has_dependent_columns),
        examples=(_everybody("q, r = qr(x); r[1, 1] * r[1, 1]", {"x": _CORNER}, _NAN2),),
    ),
    Convention(
        "no pivots",
        "there is one pivot for each row, a number from 1 on, which the function does not check",
        {"paddle.linalg.lu_solve paddle.linalg.lu_unpack": f"{_PADDLE}lu_solve_en.html"},
        _without(excluded.has_no_pivots),
        raises=None,
    ),
    Convention(
        "beyond the last group",
        "what stands beyond the last group is ignored, and no number is written there",
        {"torch.nn.functional.grouped_mm": f"{_TORCH}nn.functional.grouped_mm.html"},
        _without(excluded.ends_before),
        raises=None,
    ),
    Convention(
        "other numbers of channels",
        "weight, bias and statistics have one number a channel, which this function does not check",
        {
            "torch.native_batch_norm torch.native_group_norm": f"{_TORCH}nn.BatchNorm1d.html",
            "paddle.nn.functional.batch_norm": f"{_FUNCTIONAL}batch_norm_en.html",
        },
        _without(excluded.has_other_channels),
        raises=None,
    ),
    Convention(
        "no affine map",
        "an affine map has 2 x 3 or 3 x 4 numbers, which is not checked where the grid is empty",
        {"torch.affine_grid_generator": f"{_TORCH}nn.functional.affine_grid.html"},
        _without(excluded.is_no_affine_map),
        raises=True,
    ),
    Convention(
        "another number of images",
        "the shape of the result begins with the number of maps, which is not checked",
        {"paddle.nn.functional.affine_grid": f"{_FUNCTIONAL}affine_grid_en.html"},
        _without(excluded.has_other_maps),
        raises=None,
    ),
    Convention(
        "another number of axes",
        "an array has another number of axes than the documents say, which is not checked",
        {
            "tensorflow.raw_ops.IsotonicRegression": f"{_TENSORFLOW}raw_ops/IsotonicRegression",
            "tensorflow.raw_ops.Conv3DBackpropFilterV2": f"{_TENSORFLOW}raw_ops/Conv3DBackpropFilterV2",
            "paddle.mm paddle.Tensor.mm": _PADDLE.replace("linalg/", "mm_en.html"),
        },
        _without(excluded.has_another_rank),
        raises=None,
    ),
    Convention(
        "no matrix",
        "the argument is a matrix by the documents",
        {
            "autograd.scipy.linalg.sqrtm": f"{_SCIPY}linalg.sqrtm.html",
            "paddle.linalg.det paddle.Tensor.det paddle.det": f"{_PADDLE}det_en.html",
        },
        _without(lambda call: any(seen(one).ndim < 2 for one in call.arrays())),
        raises=None,
    ),
    Convention(
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
    Convention(
        "colors outside of [0, 1]",
        "hue, saturation and value are defined for colors from 0 to 1 only, by the documents",
        {"tensorflow.image.rgb_to_hsv tensorflow.raw_ops.RGBToHSV": f"{_TENSORFLOW}image/rgb_to_hsv"},
        _without(excluded.is_no_color),
    ),
    Convention(
        "no range of a quantization",
        "the lower bound needs to be at most the upper one, by the documents",
        {
            "tensorflow.*fake_quant_with_min_max* tensorflow.raw_ops.FakeQuantWithMinMax*": (
                f"{_TENSORFLOW}quantization/fake_quant_with_min_max_args"
            )
        },
        _without(excluded.has_crossed_bounds),
    ),
    Convention(
        "no distribution",
        "no distribution has such parameters, and SciPy has no value for them",
        {"jax.scipy.stats.* autograd.scipy.stats.*": f"{_SCIPY}stats.rv_continuous.html"},
        _without(excluded.scipy_has_no_value),
        raises=None,
    ),
    Convention(
        "overlapping memory",
        "two entries of the view are one number in memory, and it is not to be written",
        {"torch.*as_strided_scatter": f"{_TORCH}as_strided.html"},
        _without(excluded.overlaps),
    ),
    Convention(
        "index out of bounds",
        "an index beyond the end of an axis is not checked, and what is read there is undefined",
        {
            "mlx.nn.losses.nll_loss mlx.nn.losses.cross_entropy mlx.core.fast.cross_entropy": (
                _MLX.replace("python/", "usage/indexing.html")
            )
        },
        _without(excluded.has_no_class),
    ),
    Convention(
        "index outside of the result",
        "an index lies outside of the result, which is not checked where the result is empty",
        {
            "torch.nn.functional.max_unpool*": f"{_TORCH}nn.MaxUnpool2d.html",
            "paddle.nn.functional.max_unpool*": f"{_FUNCTIONAL}max_unpool2d_en.html",
        },
        predicted.lies_outside,
        raises=True,
    ),
    # Nothing is predicted where autograd documents a limit, in its tutorial or where a rule ends
    Convention(
        "list of arrays",
        "a list that is passed to a primitive is not differentiated; make an array of it first",
        {"autograd.*": f"{_AUTOGRAD}docs/tutorial.md#dont-use"},
        _without(excluded.lists_arrays),
        raises=None,
    ),
    Convention(
        "array by its keyword",
        "a primitive is differentiated by its positional arguments only",
        {"autograd.*": f"{_AUTOGRAD}autograd/tracer.py#L52"},
        _without(excluded.names_arrays),
        raises=True,
    ),
    Convention(
        "limit of a rule",
        "the source of the rule states that there is no such derivative",
        {one.functions: f"{_AUTOGRAD}autograd/{one.source}" for one in limits.LIMITS},
        lambda at: UNDEFINED if limits.is_beyond(at.call, at.case.question.modes) else None,
        raises=True,
    ),
    Convention(
        "argument that is given away",
        "the caller allows the function to overwrite its argument",
        {"autograd.scipy.linalg.*": f"{_SCIPY}linalg.solve_triangular.html"},
        _without(limits.overwrites),
        raises=None,
    ),
    # No number, or an exception
    Convention(
        "singular-matrix",
        "no inverse: log |det| is -inf, and its derivative an infinity of either sign; the gradient by the"
        " factors of LU may not be finite",
        {
            "inv solve slogdet": "",
            "torch.lu torch.Tensor.lu torch.linalg.lu torch.linalg.lu_factor*": f"{_TORCH}linalg.lu.html",
        },
        predicted.by_zero_pivots,
        examples=(
            _example("inv(x)[0, 0]", {"x": _RANK1}, _NAN2, _NAN2, RAISES),
            Example(
                "s, l = slogdet(x); l",
                {"x": _RANK1},
                {"engine": _NAN2, "jax": ((INF, -INF), (-INF, INF)), "torch": ((-INF, INF), (INF, -INF))},
                forward={"torch": _NAN2},
            ),
        ),
    ),
    Convention(
        "projector among reflectors",
        "a factor I - tau v v^H without an inverse has no gradient by the documents",
        {
            "torch.linalg.householder_product torch.*orgqr torch.*ormqr": (
                f"{_TORCH}linalg.householder_product.html"
            )
        },
        predicted.by_projectors,
    ),
    Convention(
        "equal numbers",
        "the standard deviation is the square root of 0 where all numbers are equal, and has no derivative",
        {
            "torch.*std* jax.numpy.*std* autograd.numpy.*std* tensorflow.math.reduce_std": (
                "https://docs.pytorch.org/docs/stable/notes/autograd.html"
            )
        },
        predicted.of_equal_numbers,
    ),
    Convention(
        "part of what is scattered",
        "by the documents, its gradient is right only where the numbers and the indices have the same shape",
        {"torch.*scatter torch.*scatter_add torch.*scatter_reduce": f"{_TORCH}Tensor.scatter_.html"},
        predicted.raises_by_a_part,
        raises=True,
    ),
    # A choice
    Convention(
        "side of a branch cut",
        "the function jumps across the real axis there; its derivative has the opposite sign beyond it",
        {"autograd.numpy.acos autograd.numpy.arccos autograd.numpy.asin autograd.numpy.arcsin": _CUT},
        predicted.of_either_side,
    ),
    Convention(
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
    Convention(
        "all singular vectors",
        "the last singular vectors of a matrix that is not square are any basis, and have no gradient",
        {"torch.linalg.svd torch.svd torch.Tensor.svd": _SVD},
        predicted.of_first_vectors,
    ),
    Convention(
        "written twice",
        "two values are written to the same place, and which of them stays is undefined",
        {
            "torch.index_put torch.Tensor.index_put* torch.index_copy torch.Tensor.index_copy*": (
                f"{_TORCH}Tensor.index_put_.html"
            ),
            "torch.scatter torch.Tensor.scatter torch.Tensor.scatter_": f"{_TORCH}Tensor.scatter_.html",
            "torch.put torch.Tensor.put torch.Tensor.put_": f"{_TORCH}Tensor.put_.html",
            "torch.nn.functional.max_unpool*": f"{_TORCH}nn.MaxUnpool2d.html",
            "paddle.nn.functional.max_unpool*": f"{_FUNCTIONAL}max_unpool2d_en.html",
            "tensorflow.tensor_scatter_nd_update tensorflow.raw_ops.TensorScatterUpdate": (
                f"{_TENSORFLOW}tensor_scatter_nd_update"
            ),
        },
        written_twice,
    ),
    Convention(
        "bounds in the wrong order",
        "the lower bound needs to be at most the upper one, by the documents",
        {"tensorflow.clip_by_value tensorflow.raw_ops.ClipByValue": f"{_TENSORFLOW}clip_by_value"},
        predicted.of_crossed_bounds,
    ),
    Convention(
        "choice out of range",
        "what is returned for a choice that is not one of the cases is defined by the implementation",
        {
            "jax.lax.select_n": f"{_JAX}lax.select_n.html",
            "jax.lax.select": f"{_JAX}lax.select.html",  # by which the choice is a boolean
        },
        predicted.of_no_case,
    ),
    Convention(
        "symmetric-part",
        "one triangle of the matrix is read (JAX reads (a + a^T) / 2). The gradient is the one by the"
        " symmetric part, as in all ops of a program",
        {
            "cholesky eigh eigvalsh": "",
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
        examples=(
            _everybody("cholesky(x)[0, 0]", {"x": ((4.0, 2.0), (0.0, 3.0))}, _QUARTER, (_QUARTER, _QUARTER)),
            _library("cholesky(a)[1, 0]", {"a": ((4.0, 9.0), (1.0, 3.0))}, NAN, 0.5),
        ),
    ),
    Convention(
        "factor of Cholesky",
        "by the documents the argument is a triangular matrix with a real diagonal, and no more is read",
        {
            "torch.*cholesky_inverse torch.*cholesky_solve": f"{_TORCH}cholesky_inverse.html",
            "paddle.*cholesky_solve": f"{_PADDLE}cholesky_solve_en.html",
        },
        predicted.of_a_factor,
    ),
    # Another derivative, on purpose
    Convention(
        "rows of weights",
        "as documented, the row at padding_idx gets no gradient, and with scale_grad_by_freq the gradient of"
        " each row is divided by the count of its index",
        {
            "torch.nn.functional.embedding* torch.embedding*": f"{_TORCH}nn.functional.embedding.html",
            "paddle.nn.functional.embedding": f"{_FUNCTIONAL}embedding_en.html",
        },
        predicted.by_rows,
    ),
    Convention(
        "renormed in place",
        "with max_norm the weights are renormalized in place, which is not differentiated",
        {"torch.nn.functional.embedding* torch.embedding*": f"{_TORCH}nn.functional.embedding.html"},
        predicted.not_renormed,
    ),
    Convention(
        "variance below eps",
        "variances are clamped to eps, and the gradient ignores that, by the documents",
        {"torch.*gaussian_nll_loss": f"{_TORCH}nn.GaussianNLLLoss.html"},
        predicted.of_clamped_variances,
    ),
    Convention(
        "pool of zeros",
        "where the sum of the powers is 0 the gradient is undefined and set to 0, as documented",
        {"torch.nn.functional.lp_pool*": f"{_TORCH}nn.LPPool2d.html"},
        predicted.without_zeros,
    ),
    Convention(
        "log probabilities",
        "its gradient is that of logarithms of probabilities, which have the sum 1",
        {"torch.*ctc_loss": f"{_TORCH}nn.functional.ctc_loss.html"},
        predicted.of_log_probabilities,
    ),
    Convention(
        "labels are a distribution",
        "its gradient holds for labels with the sum 1, by the documents",
        {
            "tensorflow.*softmax_cross_entropy_with_logits tensorflow.*SoftmaxCrossEntropyWithLogits": (
                f"{_TENSORFLOW}nn/softmax_cross_entropy_with_logits"
            ),
            "paddle.*softmax_with_cross_entropy": f"{_FUNCTIONAL}softmax_with_cross_entropy_en.html",
            "mlx.nn.losses.cross_entropy": (
                f"{_MLX}nn/_autosummary_functions/mlx.nn.losses.cross_entropy.html"
            ),
        },
        predicted.of_logits,
    ),
    Convention(
        "random draw",
        "a random draw has no derivative by the parameters of its distribution, and the library says 0",
        {
            "torch.normal torch.poisson torch.binomial torch.bernoulli torch.Tensor.bernoulli": (
                "https://docs.pytorch.org/docs/stable/distributions.html"
            )
        },
        predicted.zero,
    ),
    Convention(
        "iterated to a tolerance",
        "the result is found by iteration to a tolerance, and the gradient is no more accurate than that",
        {
            "torch.lobpcg": f"{_TORCH}lobpcg.html",
            "jax.scipy.sparse.linalg.cg jax.scipy.sparse.linalg.gmres jax.scipy.sparse.linalg.bicgstab": (
                f"{_JAX}scipy.sparse.linalg.cg.html"
            ),
        },
        predicted.to_a_tolerance,
    ),
    Convention(
        "rounding",
        "rounding to fewer digits is a step function, and is differentiated as if it did not round",
        {"jax.lax.reduce_precision": f"{_JAX}lax.reduce_precision.html"},
        predicted.straight_through,
    ),
    Convention(
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
    Convention(
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

NAN_IS_LEGAL = frozenset(row.name for row in CONVENTIONS if row.nan)
"""The situations in which NaN is one of the answers."""


def explaining(names: frozenset[str]) -> tuple[str, ...]:
    """`names` in the order of the conventions table."""
    return tuple(row.name for row in CONVENTIONS if row.name in names)
