"""The known reports: bugs that a library's tracker has already, a row each.

A finding that fits a row is shown with the report, so that nobody files it again. A row holds what is known
of the bug and no more: what has another op, mode, class or version than it names may be another bug. The
reports are those of `docs/trophies`. A row of ops or loops is about programs, one of functions or of the
library's rules about calls of functions, and a row may be about both.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import FINITE, Class, Finding
from gradfuzz.fuzzer.results.trigger import PLAIN, loops_in, ops_in
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import to_text

TRACKERS: Mapping[str, str] = {
    "pytorch": "pytorch/pytorch",
    "jax": "jax-ml/jax",
    "tensorflow": "tensorflow/tensorflow",
    "Paddle": "PaddlePaddle/Paddle",
    "mlx": "ml-explore/mlx",
    "tinygrad": "tinygrad/tinygrad",
    "warp": "NVIDIA/warp",
    "taichi": "taichi-dev/taichi",
    "pytensor": "pymc-devs/pytensor",
    "HIPS/autograd": "HIPS/autograd",
    "tfjs": "tensorflow/tfjs",
    "nx": "elixir-nx/nx",
    "swift": "swiftlang/swift",
    "CppAD": "coin-or/CppAD",
}
"""The repositories on GitHub of the trackers, by the names that reports are cited with."""

NUMBERS = (*FINITE, Class.NON_FINITE)
"""Classes of wrong derivatives, NaN and infinity among them."""

FIRST: tuple[tuple[Mode, ...], ...] = (("rev",), ("fwd",))
SECOND: tuple[tuple[Mode, ...], ...] = (("rev", "rev"), ("rev", "fwd"), ("fwd", "rev"), ("fwd", "fwd"))


@dataclass(frozen=True, slots=True)
class KnownReport:
    """A row. What is empty is not asked for; loops and ops that are not named make it another bug."""

    name: str
    """As it is cited: "pytorch#192540"."""
    system: str
    """The library, as a target is named."""
    versions: str
    """The versions that have the bug as far as known, as Python packages specify them: ">=2.13.0"."""
    what: str
    """What is wrong, in a few words."""
    classes: tuple[Class, ...]
    ops: tuple[str, ...] = ()
    """The ops that are wrong, of which the program has one."""
    beside: tuple[str, ...] = ()
    """Ops that may stand beside them, as `trigger.PLAIN` ones always may."""
    loops: tuple[str, ...] = ()
    """The forms of loops that are wrong: "for", "while", "repeat"."""
    modes: tuple[tuple[Mode, ...], ...] = ()
    """The derivatives that are wrong, innermost mode first."""
    precisions: tuple[Precision, ...] = ()
    ways: tuple[str, ...] = ()
    """The ways into the library that are wrong."""
    sizes: tuple[float, float] = (0.0, math.inf)
    """Bounds of the largest entry, in absolute value, of the inputs at the smallest point."""
    text: str = ""
    """A regular expression that is found in the program's text, or, in a row of functions, in the code of the
    call.
    """
    says: str = ""
    """What an error's message contains. Of a row without ops and loops it is all that tells."""
    rules: tuple[str, ...] = ()
    """How the names begin of the library's own rules that are wrong: one of them differentiates a call."""
    functions: tuple[str, ...] = ()
    """The public names of functions that are wrong: a call is one of them."""
    real: bool = False
    """Whether it is about calls with real arrays only."""

    @property
    def link(self) -> str:
        """The address of the report. GitHub leads on from an issue's to that of a proposed change."""
        tracker, _, number = self.name.partition("#")
        return f"https://github.com/{TRACKERS[tracker]}/issues/{number}"

    def fits(self, finding: Finding) -> bool:
        """Whether the finding is the bug of this report, as far as can be told."""
        target = TargetName.of(finding.target)
        return (
            target.owner == self.system
            and finding.kind in self.classes
            and (not self.modes or finding.modes in self.modes)
            and (not self.precisions or finding.precision in self.precisions)
            and (not self.ways or target.way in self.ways)
            and (finding.kind is not Class.ERROR or self.says in finding.note)
            and _is_in(finding.version, self.versions)
            and self._fits_program(finding)
        )

    def _fits_program(self, finding: Finding) -> bool:
        if finding.call is not None:
            return self._fits_call(finding.call, finding)
        if not (self.ops or self.loops):
            return bool(self.says) and not (self.functions or self.rules)
        ops, loops = ops_in(finding.program), loops_in(finding.program)
        low, high = self.sizes
        return (
            ops - PLAIN <= {*self.ops, *self.beside}
            and (not self.ops or not ops.isdisjoint(self.ops))
            and loops <= set(self.loops)
            and bool(loops) == bool(self.loops)
            and low <= _largest(finding) <= high
            and re.search(self.text, to_text(finding.program), re.DOTALL) is not None
        )

    def _fits_call(self, call: Call, finding: Finding) -> bool:
        """It is a call of one of the functions, or one of the rules differentiates it."""
        is_named = call.function in self.functions
        is_ruled = bool(self.rules) and any(rule.startswith(self.rules) for rule in finding.rules)
        is_complex = any(a.array is not None and a.array.dtype.kind == "c" for a in call.differentiated())
        return (
            (is_named or is_ruled)
            and not (self.real and is_complex)
            and (not self.functions or re.search(self.text, finding.code or "", re.DOTALL) is not None)
        )


def reports_of(finding: Finding) -> tuple[KnownReport, ...]:
    """The known reports that the finding fits, in the order of the table."""
    return tuple(report for report in KNOWN_REPORTS if report.fits(finding))


def _largest(finding: Finding) -> float:
    """The largest entry of the inputs at the smallest point, in absolute value."""
    arrays = (np.asarray(value, np.float64) for value in finding.smallest.inputs.values())
    return max((float(np.max(np.abs(array))) for array in arrays if array.size), default=0.0)


@functools.cache
def _is_in(version: str, versions: str) -> bool:
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


_FACTORIZATION = "forward mode, differentiated again, takes the factorization for a constant"
_PADDLE_SOLVE = "the gradient by one operand where the other one is a constant"
_EXPM1 = "the derivative cancels where x is negative"
_MLX_FUNCTIONS = "values of float64 have the accuracy of float32"

KNOWN_REPORTS: tuple[KnownReport, ...] = (
    *(
        KnownReport(
            *(name, "torch", ">=2.13.0", _FACTORIZATION, FINITE),
            ops=("solve", "det", "slogdet"),
            rules=("LinalgSolveEx", "LinalgDet", "LinalgSlogdet"),
            beside=("sin",),
            modes=(("fwd", "rev"), ("fwd", "fwd")),
        )
        for name in ("pytorch#192540", "pytorch#196695", "pytorch#196697")
    ),
    KnownReport(
        *("pytorch#104675", "torch", ">=2.13.0", "the gradient is 0 at singular matrices", (Class.MISSING,)),
        ops=("det",),
        rules=("LinalgDet",),
        modes=FIRST,
    ),
    KnownReport(
        *("pytorch#196701", "torch", ">=2.13.0", "a wrong number where an entry is 0", FINITE),
        ops=("cumulative_prod",),
        rules=("Cumprod",),
        modes=(("fwd", "fwd"),),
    ),
    KnownReport(
        *("pytorch#162350", "torch", ">=2.13.0", "autograd.grad over forward_ad raises", (Class.ERROR,)),
        ops=("softmax", "log_softmax", "logsumexp"),
        rules=("Softmax", "LogSoftmax", "Logsumexp", "Logcumsumexp"),
        modes=(("fwd", "rev"),),
        says="modified by an inplace operation",
    ),
    KnownReport(
        *("pytorch#158169", "torch", ">=2.13.0", "vmap raises for a vector", (Class.ERROR,)),
        ops=("lstsq",),
        says="input.size(-2) should match other.size(-2)",
    ),
    *(
        KnownReport(
            *(
                name,
                "torch",
                ">=2.13.0",
                "the forward derivative takes saved statistics for constants",
                FINITE,
            ),
            rules=(rule,),
            modes=(("fwd", "rev"), ("fwd", "fwd")),
        )
        for name, rule in (("pytorch#196700", "NativeLayerNorm"), ("pytorch#196699", "NativeBatchNorm"))
    ),
    KnownReport(
        *("pytorch#196698", "torch", ">=2.13.0", "the forward derivative takes the product for a constant"),
        FINITE,
        rules=("LinalgHouseholderProduct",),
        modes=(("fwd", "rev"), ("fwd", "fwd")),
    ),
    KnownReport(
        *("pytorch#196705", "torch", ">=2.13.0", "forward mode loses what stands before a larger entry"),
        (*FINITE, Class.PRECISION),
        rules=("Logcumsumexp",),
        modes=(("fwd",),),
        real=True,
    ),
    KnownReport(
        *("pytorch#196707", "torch", ">=2.13.0", "forward mode reads the other triangle", FINITE),
        rules=("TriangularSolve",),
        modes=(("fwd",),),
    ),
    KnownReport(
        *("pytorch#110009", "torch", ">=2.13.0", "wrong where singular values are cut off", FINITE),
        functions=("torch.linalg.pinv",),
        modes=FIRST,
        text=r"pinv\(.*, (?!hermitian|-2\))",
    ),
    KnownReport(
        *("pytorch#196702", "torch", ">=2.13.0", "forward mode is 0 by a product", FINITE),
        functions=("torch.scatter_reduce", "torch.Tensor.scatter_reduce"),
        modes=(("fwd",),),
        text="prod",
    ),
    KnownReport(
        *("pytorch#190063", "torch", ">=2.13.0", "a row is divided by the count of another", FINITE),
        functions=("torch.embedding_bag", "torch.nn.functional.embedding_bag"),
        modes=(("rev",),),
    ),
    KnownReport(
        *("pytorch#60197", "torch", ">=2.13.0", "the gradient raises", (Class.ERROR,)),
        functions=("torch.vander",),
        modes=(("rev",),),
        says="modified by an inplace operation",
    ),
    KnownReport(
        *("pytorch#95434", "torch", ">=2.13.0", "the gradient raises where dtypes differ", (Class.ERROR,)),
        functions=("torch.addr", "torch.Tensor.addr"),
        modes=(("rev",),),
        says="must have the same dtype",
    ),
    *(
        KnownReport(
            *(name, "torch", ">=2.13.0", "forward mode by the factor is a wrong number", FINITE),
            rules=(rule,),
            modes=(("fwd",),),
        )
        for name, rule in (("pytorch#196682", "CholeskyInverse"), ("pytorch#196694", "CholeskySolve"))
    ),
    KnownReport(
        *("pytorch#192723", "torch", ">=2.13.0", "forward mode raises for integer targets", (Class.ERROR,)),
        rules=("MseLoss", "SmoothL1Loss"),
        modes=(("fwd",),),
        says="can't be cast to the desired output type",
    ),
    KnownReport(
        *("pytorch#76646", "torch", ">=2.13.0", "raises where dtypes differ", (Class.ERROR,)),
        rules=("HuberLoss",),
        says="Found dtype",
    ),
    KnownReport(
        *("pytorch#192719", "torch", ">=2.13.0", "the gradient raises for a complex dtype", (Class.ERROR,)),
        rules=("Sum", "Mean", "Prod"),
        modes=(("rev",),),
        says="input_is_complex == grad_is_complex",
    ),
    KnownReport(
        *("pytorch#76786", "torch", ">=2.13.0", "the gradient raises for a complex dtype", (Class.ERROR,)),
        rules=("Cumprod",),
        modes=(("rev",),),
        says="input_is_complex == grad_is_complex",
    ),
    *(
        KnownReport(
            *(name, "torch", ">=2.13.0", "sizes are not checked, and the process ends", (Class.ERROR,)),
            functions=("torch.native_batch_norm",),
            says="the process ends: segmentation fault",
        )
        for name in ("pytorch#194014", "pytorch#169208", "pytorch#85217")
    ),
    KnownReport(
        *("pytorch#173946", "torch", ">=2.13.0", "states are not checked, and the process ends"),
        (Class.ERROR,),
        functions=("torch.lstm",),
        says="the process ends: segmentation fault",
    ),
    KnownReport(
        *("pytorch#193794", "torch", ">=2.13.0", "labels are not checked, and the process ends"),
        (Class.ERROR,),
        functions=("torch.ctc_loss", "torch.nn.functional.ctc_loss"),
        says="the process ends",
    ),
    KnownReport(
        *("pytorch#196704", "torch", ">=2.13.0", "NaN where one argument is far below", (Class.NON_FINITE,)),
        ops=("logaddexp",),
        rules=("Logaddexp",),
        modes=SECOND,
    ),
    KnownReport(
        *("pytorch#196703", "torch", ">=2.13.0", "NaN at 0", (Class.NON_FINITE,)),
        ops=("sinc",),
        rules=("Sinc",),
        modes=(("rev", "rev"), ("fwd", "rev")),
    ),
    KnownReport(
        *("pytorch#192406", "torch", ">=2.13.0", _EXPM1, (*FINITE, Class.PRECISION)),
        ops=("expm1",),
        rules=("Expm1",),
        modes=FIRST,
        sizes=(4.0, math.inf),
    ),
    KnownReport(
        *("jax#39794", "jax", "==0.10.2", _EXPM1, (*FINITE, Class.PRECISION)),
        ops=("expm1",),
        modes=FIRST,
        sizes=(4.0, math.inf),
    ),
    KnownReport(
        *("jax#25564", "jax", ">=0.10.2", "the tail of the logarithm loses its digits"),
        (*FINITE, Class.PRECISION, Class.WRONG_PRIMAL),
        functions=("jax.scipy.special.log_ndtr",),
    ),
    KnownReport(
        *("jax#40141", "jax", "==0.10.2", "wrong where an eigenvalue is so large that 1 + w rounds", NUMBERS),
        ops=("eigh",),
        modes=FIRST,
        sizes=(2.0**20, math.inf),
    ),
    KnownReport(
        *("pytorch#187411", "torch", ">=2.13.0", "by chance 0 where the first column is 0"),
        (Class.WRONG_PRIMAL,),
        ops=("lstsq",),
    ),
    KnownReport(
        *("jax#40412", "jax", "==0.10.2", "a compiled sum of rank 7 ends the process", (Class.ERROR,)),
        precisions=("float32",),
        ways=("scan", "fori_loop", "while_loop", "jacobian", "unrolled", "vmap", "grad_of_vmap"),
        says="SIGSEGV",
    ),
    KnownReport(
        *("jax#2821", "jax", ">=0.10.2", "NaN or wrong at singular matrices from 4 x 4 on", NUMBERS),
        ops=("det",),
        modes=SECOND,
        text=r"\[(?:\d+, )*([4-9]|\d\d+), \1\]",
    ),
    KnownReport(
        *("jax#40628", "jax", "==0.10.2", "derivatives at 0 are wrong, and cancel next to it", NUMBERS),
        ops=("i0", "i1"),
        sizes=(0.0, 1e-3),
    ),
    KnownReport(
        *("jax#37635", "jax", ">=0.10.2", "the derivative is wrong below about -7", NUMBERS),
        ops=("digamma", "polygamma"),
        sizes=(6.0, math.inf),
    ),
    KnownReport(
        *("tensorflow#127753", "tensorflow", ">=2.21.0", "an op used twice, first on one operand", FINITE),
        ops=("multiply",),
        beside=("sin",),
        modes=(("fwd", "fwd"),),
        ways=("eager",),
        text=r"\*.*\*",
    ),
    KnownReport(
        *("tensorflow#35011", "tensorflow", ">=2.21.0", "NaN at x = 0", (Class.NON_FINITE,)),
        ops=("pow",),
    ),
    KnownReport(
        *("tensorflow#119430", "tensorflow", "==2.21.0", "the gradient is 0 by an entry that is 0", FINITE),
        ops=("cumulative_prod",),
        modes=FIRST,
    ),
    KnownReport(
        *("tensorflow#61117", "tensorflow", ">=2.21.0", "half of the Hessian is 0 at an entry 0", FINITE),
        ops=("prod",),
        modes=SECOND,
    ),
    KnownReport(
        *("tensorflow#119477", "tensorflow", ">=2.21.0", "the gradient at a singular matrix"),
        (*FINITE, Class.ERROR),
        ops=("det",),
        modes=FIRST,
        says="InvalidArgumentError",
    ),
    KnownReport(
        *("Paddle#57863", "paddle", ">=3.3.1", _PADDLE_SOLVE, NUMBERS),
        ops=("triangular_solve",),
        modes=(("rev",),),
        text=r"\A(?!.*unit_diagonal)",
    ),
    KnownReport(
        *("Paddle#52836", "paddle", ">=3.3.1", _PADDLE_SOLVE, (Class.ERROR,)),
        ops=("solve",),
        modes=(("rev",),),
        says="SIGSEGV",
    ),
    *(
        KnownReport(
            *(name, "mlx", ">=0.32.4", _MLX_FUNCTIONS, (Class.WRONG_PRIMAL,)),
            ops=("sin", "cos", "exp", "erf"),
            precisions=("float64",),
        )
        for name in ("mlx#3047", "mlx#4158")
    ),
    KnownReport(
        *("tinygrad#17862", "tinygrad", "==0.14.0", "the derivative at 0 is 0", (Class.MISSING,)),
        ops=("asin", "acos", "atan"),
        modes=(("rev",),),
        sizes=(0.0, 0.0),
    ),
    KnownReport(
        *("tinygrad#17885", "tinygrad", ">=0.14.0", "cos loses the digits that pi/2 - x loses"),
        (*FINITE, Class.WRONG_PRIMAL),
        ops=("cos", "sin"),
        precisions=("float32",),
        sizes=(1e3, math.inf),
    ),
    KnownReport(
        *("warp#1552", "warp", ">=1.19.0", "the adjoint of a dynamic loop with `continue`", FINITE),
        loops=("for",),
        modes=(("rev",),),
        text=r"\bcontinue\b",
    ),
    KnownReport(
        *("taichi#8027", "taichi", ">=1.7.4", "a loop of more than 30 trips crashes", (Class.ERROR,)),
        beside=("sin",),
        loops=("for",),
        modes=(("rev",),),
        text=r"range\((?:3[1-9]|[4-9]\d|\d{3,})\)",
        says="SIGSEGV",
    ),
    KnownReport(
        *("pytensor#1911", "pytensor", ">=3.0.7", "NaN where an entry is 0", (Class.NON_FINITE,)),
        ops=("cumulative_prod",),
    ),
    KnownReport(
        *("pytensor#1050", "pytensor", ">=3.0.7", "32 operands without a compiler", (Class.ERROR,)),
        says="no attribute 'ufunc'",
    ),
    KnownReport(
        *("HIPS/autograd#93", "autograd", ">=1.9.1", "NaN where an entry is 0", (Class.NON_FINITE,)),
        ops=("prod",),
    ),
    KnownReport(
        *("tensorflow#120578", "tensorflow", ">=2.21.0", "the derivative at 0 is 1", NUMBERS),
        functions=(
            "tensorflow.math.bessel_i0",
            "tensorflow.math.bessel_i1",
            "tensorflow.math.special.bessel_i1",
        ),
    ),
    KnownReport(
        *("tensorflow#127243", "tensorflow", ">=2.21.0", "NaN at second order", (Class.NON_FINITE,)),
        functions=("tensorflow.math.cumulative_logsumexp",),
        modes=SECOND,
    ),
    KnownReport(
        *("tensorflow#127234", "tensorflow", ">=2.21.0", "a vector has the gradient of the identity", FINITE),
        functions=("tensorflow.nn.isotonic_regression",),
        modes=(("rev",),),
    ),
    KnownReport(
        *("tensorflow#127713", "tensorflow", ">=2.21.0", "a conjugate is missing", FINITE),
        functions=(
            *("tensorflow.math.xlogy", "tensorflow.math.xlog1py"),
            *("tensorflow.math.multiply_no_nan", "tensorflow.raw_ops.MulNoNan"),
        ),
        text="complex",
    ),
    KnownReport(
        *(
            "tensorflow#127690",
            "tensorflow",
            ">=2.21.0",
            "beta is taken for a scalar",
            (*FINITE, Class.WRONG_SHAPE),
        ),
        functions=("tensorflow.nn.silu", "tensorflow.nn.swish"),
    ),
    KnownReport(
        *("tensorflow#49946", "tensorflow", ">=2.21.0", "a conjugate is missing", FINITE),
        functions=("tensorflow.linalg.det", "tensorflow.raw_ops.MatrixDeterminant"),
        text="complex",
    ),
    KnownReport(
        *("tensorflow#119476", "tensorflow", "==2.21.0", "the derivative by x is 0 at 0", (Class.MISSING,)),
        functions=("tensorflow.math.xlogy", "tensorflow.math.xlog1py"),
        modes=FIRST,
        real=True,
    ),
    KnownReport(
        *("tensorflow#127238", "tensorflow", ">=2.21.0", "the derivative by x is 0 at 0", (Class.MISSING,)),
        functions=("tensorflow.math.xdivy",),
        modes=FIRST,
        real=True,
    ),
    KnownReport(
        *("tensorflow#20407", "tensorflow", ">=2.21.0", "mean and variance have no gradient", FINITE),
        functions=("tensorflow.raw_ops.FusedBatchNormV2", "tensorflow.raw_ops.FusedBatchNormV3"),
        modes=FIRST,
        text=r"is_training=True|\A(?!.*is_training)",
    ),
    KnownReport(
        *("Paddle#79718", "paddle", ">=3.3.1", "places that overlap lose cotangents", FINITE),
        functions=("paddle.as_strided", "paddle.Tensor.as_strided"),
        modes=(("rev",),),
    ),
    KnownReport(
        *("HIPS/autograd#549", "autograd", ">=1.9.1", "raises at a singular matrix", (Class.ERROR,)),
        ops=("det",),
        says="LinAlgError",
    ),
    KnownReport(
        *("HIPS/autograd#810", "autograd", ">=1.9.1", "the derivative does not heed `where`", FINITE),
        functions=tuple(f"autograd.numpy.{name}" for name in ("sum", "mean", "prod", "var", "std")),
        modes=FIRST,
        text=r"\bwhere=",
    ),
    KnownReport(
        *("HIPS/autograd#252", "autograd", ">=1.9.1", "the gradient raises for a list", (Class.ERROR,)),
        functions=("autograd.numpy.repeat",),
        modes=(("rev",),),
        says="cannot be interpreted as an integer",
    ),
    KnownReport(
        *("HIPS/autograd#115", "autograd", ">=1.9.1", "the gradient of a trace raises", (Class.ERROR,)),
        functions=("autograd.numpy.einsum",),
        modes=(("rev",),),
        says="multiple times",
    ),
    KnownReport(
        *("HIPS/autograd#510", "autograd", ">=1.9.1", "the gradient of a trace raises", (Class.ERROR,)),
        functions=("autograd.numpy.einsum",),
        modes=(("rev",),),
        says="multiple times",
    ),
    KnownReport(
        *("tfjs#3252", "tfjs", ">=4.22.0", "the second derivative raises", (Class.ERROR,)),
        ops=("tanh",),
        modes=(("rev", "rev"),),
    ),
    KnownReport(
        *("nx#1827", "nx", "==0.13.1", "the gradient of `while` in f64 is its bytes, read as f32"),
        (*NUMBERS, Class.WRONG_DTYPE),
        beside=("sin",),
        loops=("for", "while", "repeat"),
        modes=(("rev",),),
        precisions=("float64",),
    ),
    KnownReport(
        *("CppAD#252", "cppad", ">=20250000.2", "atan2 of a constant has no derivative", NUMBERS),
        ops=("atan2",),
    ),
    KnownReport(
        *("swift#78264", "swift", ">=6.0.3", "adjoints of a body-first loop are not reset in each iteration"),
        NUMBERS,
        beside=("cos", "exp", "sin", "tanh"),
        loops=("repeat",),
        modes=(("rev",),),
    ),
)
"""The rows, by system."""
