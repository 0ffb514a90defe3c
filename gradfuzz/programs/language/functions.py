"""Elementwise functions: one row says all that is known of one, and everything else follows from it.

A row has the function's name in the array API standard, its slopes as texts of the program language, where it
is defined, how the two references call it, and what libraries call it where they use another name. The rules
of the engine in both modes and at every order, the allowed error, the systematic mutants, what JAX, Torch and
adapters are asked, the tracers, the scripts and the draws read it. `add` adds a row while gradfuzz runs.

The two references stay independent: a row says what each of them calls, not how that is computed.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gradfuzz.errors import UsageError

INF = math.inf


@functools.cache
def _arguments(slopes: tuple[str, ...], composition: str) -> tuple[str, ...]:
    texts = (*slopes, composition)
    return ("x", "y") if len(slopes) == 2 or any(re.search(r"\by\b", t) for t in texts) else ("x",)


@dataclass(frozen=True, slots=True)
class Function:
    """One elementwise function of one or two arguments, `x` and `y`.

    `slopes` has the derivative by each argument as an expression of `x`, `y` and the result `ans`; `forward`
    has the same written otherwise, for forward mode, where libraries write it in two ways; `otherwise` has
    what libraries write that loses more, which is allowed and not computed. `composition` is
    the function as an expression of other ops: its meaning where `arb` and `mpmath` are empty, its derivative
    where `slopes` is, and what a library is asked that has no such function.
    """

    name: str
    slopes: tuple[str, ...] = ()
    composition: str = ""
    forward: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    arb: str = ""
    """The call in ball arithmetic (see `oracles.references.arb_functions`); the default is `NAME(x)`."""
    mpmath: str = ""
    """The call in mpmath; the default is `mp.NAME(x)`."""
    numpy: str = ""
    """Its path in NumPy or SciPy; the default is `numpy.NAME`. Empty with a composition: that is computed."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Library -> its path there, or a call with {x}, {y} and parameters; "" where the library has none.

    "jax" and "torch" default to `jnp.NAME` and `torch.NAME`. "jax primitive", "aten" and "ufunc" say what the
    tracers meet, several names apart by spaces; the default is the name itself.
    """
    domain: tuple[float, float] = (-INF, INF)
    """The last argument lies between these; outside the function has no value."""
    closed: bool = False
    """Whether the function has a value, if no derivative, at the finite ends of its domain."""
    complex: bool = False
    """Whether complex arguments are taken."""
    step: bool = False
    """Whether the function is constant between jumps, so that its derivative is 0."""
    conditioned: bool = True
    """Whether a library may err by what a rounding of the arguments changes, besides that of the result."""
    params: tuple[str, ...] = ()
    """Static int parameters. A slope may have {n}, {next} (n + 1) and {last} (n - 1)."""
    drawn: str = ""
    """Any number `e` in the domain, as an expression; the default follows from the domain."""
    weight: int = 1
    """How often loop programs draw it, beside the patterns that name it."""
    reserved: bool = False
    """Whether no variable may have its name: so it is for the functions that are as old as the language."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """("x",) or ("x", "y")."""
        return _arguments(self.slopes, self.composition)

    @property
    def inside(self) -> str:
        """An expression of `e` that is in the domain whatever `e` is."""
        if self.drawn:
            return self.drawn
        low, high = self.domain
        if math.isinf(low) and math.isinf(high):
            return "e"
        if math.isinf(high):
            return f"{low + 1.0} + e * e"
        return f"{(low + high) / 2} + {0.875 * (high - low) / 2} * tanh(e)"  # away from the ends

    @property
    def where(self) -> str:
        """The domain in words: "positive", "above -1", "between -1 and 1"."""
        low, high = self.domain
        if math.isinf(high):
            return "positive" if low == 0.0 else f"above {low:g}"
        return f"between {low:g} and {high:g}"

    def called(self, library: str, args: Mapping[str, str], default: str = "") -> str:
        """The text of a call in a library; "" where the row says that it has none."""
        path = self.names.get(library, default.format(name=self.name))
        if not path or "{" in path:
            return path.format(**args)
        return f"{path}({', '.join(args[a] for a in self.arguments)})"

    def lacked(self, library: str) -> bool:
        """Whether a library has neither the function nor what it is composed of."""
        return self.names.get(library) == "" and not self.composition

    def spelled(self, where: str) -> tuple[str, ...]:
        """The names that a tracer meets."""
        return tuple(self.names.get(where, self.name).split())


def _elementary(name: str, slope: str, **more: object) -> Function:
    """A function that every library has and computes to a few roundings of its result."""
    return Function(name, (slope,), complex=True, conditioned=False, weight=0, reserved=True, **more)  # type: ignore[arg-type]


def _real(name: str, slope: str, **more: object) -> Function:
    return Function(name, (slope,), conditioned=False, weight=0, reserved=True, **more)  # type: ignore[arg-type]


def _step(name: str, composition: str, **more: object) -> Function:
    return Function(name, ("0.0",), composition, step=True, conditioned=False, weight=0, **more)  # type: ignore[arg-type]


_ROOT = "1.0 / sqrt((1.0 - x) * (1.0 + x))"
_NN = "torch.nn.functional."

_ROWS = (
    # Those that are as old as the language
    _elementary("sin", "cos(x)"),
    _elementary("cos", "-sin(x)"),
    _elementary("tan", "1.0 + ans * ans"),
    _elementary("tanh", "1.0 - ans * ans", forward=("(1.0 - ans) * (1.0 + ans)",)),
    _elementary("exp", "ans"),
    _elementary("log", "1.0 / x", domain=(0.0, INF)),
    _elementary("sqrt", "0.5 / ans", domain=(0.0, INF), closed=True),
    _real("log1p", "1.0 / (1.0 + x)", domain=(-1.0, INF)),
    _real("expm1", "exp(x)", otherwise=("ans + 1.0",)),
    # Inverse and hyperbolic functions
    Function("asin", (_ROOT,), names={"ufunc": "arcsin"}, domain=(-1.0, 1.0), closed=True),
    Function("acos", (f"-{_ROOT}",), names={"ufunc": "arccos"}, domain=(-1.0, 1.0), closed=True),
    Function("atan", ("1.0 / (1.0 + x * x)",), names={"ufunc": "arctan"}),
    Function("sinh", ("cosh(x)",), arb='exact("sinh", x, (exp(x) - exp(-x)) / 2)', drawn="2.0 * sin(e)"),
    Function("cosh", ("sinh(x)",), arb="(exp(x) + exp(-x)) / 2", drawn="2.0 * sin(e)"),
    Function("asinh", ("1.0 / sqrt(1.0 + x * x)",), names={"ufunc": "arcsinh"},
             arb='exact("asinh", x, odd(lambda t: log(t + sqrt(t * t + 1)))(x))'),
    Function("acosh", ("1.0 / sqrt((x - 1.0) * (x + 1.0))",), names={"ufunc": "arccosh"},
             arb='exact("acosh", x, log(x + sqrt((x - 1) * (x + 1))))', domain=(1.0, INF), closed=True),
    Function("atanh", ("1.0 / ((1.0 - x) * (1.0 + x))",), names={"ufunc": "arctanh"},
             arb='exact("atanh", x, log((1 + x) / (1 - x)) / 2)', domain=(-1.0, 1.0)),
    Function("atan2", ("y / (x * x + y * y)", "-x / (x * x + y * y)"), names={"ufunc": "arctan2"},
             drawn="2.0 + sin(e)"),
    Function("hypot", ("x / ans", "y / ans"), arb="sqrt(x * x + y * y)", names={"jax primitive": ""},
             drawn="1.0 + e * e"),
    # Logarithms, powers and roots
    Function("log2", ("1.4426950408889634 / x",), arb="log(x) / log(2)", mpmath="mp.log(x, 2)",
             names={"jax primitive": ""}, domain=(0.0, INF)),
    Function("log10", ("0.4342944819032518 / x",), arb="log(x) / log(10)", names={"jax primitive": ""},
             domain=(0.0, INF)),
    Function("exp2", ("0.6931471805599453 * ans",), arb="exp(x * log(2))", mpmath="mp.mpf(2) ** x"),
    Function("rsqrt", ("-0.5 * ans / x",), "1.0 / sqrt(x)", mpmath="1 / mp.sqrt(x)",
             names={"jax": "jax.lax.rsqrt"}, domain=(0.0, INF)),
    Function("cbrt", ("ans / (3.0 * x)",), "sign(x) * pow(abs(x), 0.3333333333333333)",
             arb="odd(lambda t: exp(log(t) / 3))(x)", mpmath="mp.sign(x) * mp.cbrt(abs(x))",
             numpy="numpy.cbrt", names={"torch": ""}, drawn="2.0 + sin(e)"),
    Function("square", ("2.0 * x",), "x * x", numpy="numpy.square", names={"aten": ""}),
    Function("reciprocal", (), "1.0 / x", names={"jax primitive": ""}, drawn="2.0 + sin(e)"),
    Function("positive", (), "x", names={"jax primitive": "", "aten": ""}, weight=0),
    # Special functions
    Function("erf", ("1.1283791670955126 * exp(-(x * x))",), numpy="scipy.special.erf",
             names={"jax": "jax.lax.erf", "aten": "erf special_erf", "ufunc": "erf"}),
    Function("erfc", ("-1.1283791670955126 * exp(-(x * x))",), numpy="scipy.special.erfc",
             names={"jax": "jax.lax.erfc", "aten": "erfc special_erfc"}),
    Function("erfinv", ("0.8862269254527579 * exp(ans * ans)",), arb='inverse(erf, "erfinv")(x)',
             numpy="scipy.special.erfinv", domain=(-1.0, 1.0), drawn="0.875 * sin(e)",
             names={"jax": "jax.lax.erf_inv", "jax primitive": "erf_inv", "aten": "erfinv special_erfinv"}),
    Function("lgamma", ("digamma(x)",), mpmath="mp.re(mp.loggamma(x))", numpy="scipy.special.gammaln",
             names={"jax": "jax.lax.lgamma", "aten": "lgamma special_gammaln", "ufunc": "gammaln loggamma"},
             drawn="1.0 + e * e"),
    Function("digamma", ("polygamma(x, n=1)",), arb="derivative(lgamma)(x)", numpy="scipy.special.digamma",
             names={"jax": "jax.lax.digamma", "aten": "digamma special_digamma psi special_psi",
                    "ufunc": "psi digamma"}, drawn="1.0 + e * e"),
    Function("polygamma", ("polygamma(x, n={next})",), arb="derivative(lgamma, n + 1)(x)",
             mpmath="mp.psi(n, x)", numpy="scipy.special.polygamma", params=("n",), weight=0,
             drawn="1.0 + e * e",
             names={"jax": "jax.scipy.special.polygamma({n}, {x})", "torch": "torch.polygamma({n}, {x})",
                    "jax primitive": "", "aten": "", "ufunc": ""}),
    Function("bessel_j", ("0.5 * (bessel_j(x, n={last}) - bessel_j(x, n={next}))",), params=("n",),
             arb="bessel(x, n, -1)", mpmath="mp.besselj(n, x)", numpy="scipy.special.jv", weight=0,
             names={"jax": "", "torch": "", "jax primitive": "", "aten": "", "ufunc": ""}),
    Function("bessel_i", ("0.5 * (bessel_i(x, n={last}) + bessel_i(x, n={next}))",), params=("n",),
             arb="bessel(x, n, 1)", mpmath="mp.besseli(n, x)", numpy="scipy.special.iv", weight=0,
             names={"jax": "", "torch": "", "jax primitive": "", "aten": "", "ufunc": ""}),
    *(Function(f"i{n}", (), f"bessel_i(x, n={n})", numpy=f"scipy.special.i{n}", weight=0,
               names={"jax": f"jax.scipy.special.i{n}", "torch": f"torch.special.i{n}",
                      "jax primitive": "", "aten": f"i{n} special_i{n}",
                      "ufunc": f"i{n}"})
      for n in (0, 1)),
    Function("bessel_ie", ("0.5 * (bessel_ie(x, n={last}) + bessel_ie(x, n={next})) - sign(x) * ans",),
             params=("n",), arb="exp(-size(x)) * bessel(x, n, 1)",
             mpmath="mp.exp(-abs(x)) * mp.besseli(n, x)", numpy="scipy.special.ive", weight=0,
             names={"jax": "", "torch": "", "jax primitive": "", "aten": "", "ufunc": ""}),
    *(Function(f"i{n}e", (f"{slope} - sign(x) * ans",), f"exp(-abs(x)) * i{n}(x)",
               numpy=f"scipy.special.i{n}e", weight=0,
               names={"jax": f"jax.scipy.special.i{n}e", "torch": f"torch.special.i{n}e",
                      "jax primitive": f"bessel_i{n}e", "aten": f"special_i{n}e", "ufunc": f"i{n}e"})
      for n, slope in enumerate(("i1e(x)", "0.5 * (i0e(x) + bessel_ie(x, n=2))"))),
    Function("expit", ("ans * expit(-x)",), "1.0 / (1.0 + exp(-x))", otherwise=("ans * (1.0 - ans)",),
             arb="1 / (1 + exp(-x))", mpmath="1 / (1 + mp.exp(-x))", numpy="scipy.special.expit",
             names={"jax": "jax.nn.sigmoid", "torch": "torch.sigmoid", "jax primitive": "logistic",
                    "aten": "sigmoid special_expit"}),
    Function("logaddexp", ("exp(x - ans)", "exp(y - ans)"), mpmath="mp.log(mp.exp(x) + mp.exp(y))",
             names={"jax primitive": ""}),
    Function("xlogy", ("log(y)", "x / y"), arb="x * log(y)", mpmath="x * mp.log(y)",
             numpy="scipy.special.xlogy", domain=(0.0, INF),
             names={"jax": "jax.scipy.special.xlogy", "jax primitive": "", "aten": "xlogy special_xlogy"}),
    Function("xlog1py", ("log1p(y)", "x / (1.0 + y)"), arb="x * log(1 + y)", mpmath="x * mp.log1p(y)",
             numpy="scipy.special.xlog1py", domain=(-1.0, INF),
             names={"jax": "jax.scipy.special.xlog1py", "torch": "torch.special.xlog1py", "jax primitive": "",
                    "aten": "special_xlog1py"}),
    Function("sinc", ("(cos(3.141592653589793 * x) - ans) / x",), arb="sin_pi(x) / (x * pi)",
             mpmath="mp.sincpi(x)", names={"jax primitive": "", "ufunc": ""}, drawn="2.0 + sin(e)"),
    # Functions of neural networks and of statistics
    Function("relu", (), "maximum(x, 0.0)", names={"jax": "jax.nn.relu", "jax primitive": "", "ufunc": ""}),
    Function("silu", (), "x * expit(x)",
             names={"jax": "jax.nn.silu", "torch": f"{_NN}silu", "jax primitive": "", "ufunc": ""}),
    Function("softplus", (), "logaddexp(x, 0.0)",  # Torch's is x itself from 20 on, as its manual says
             names={"jax": "jax.nn.softplus", "torch": "", "jax primitive": "", "aten": "", "ufunc": ""}),
    Function("gelu", (), "0.5 * x * (1.0 + erf(0.7071067811865476 * x))",
             names={"jax": "jax.nn.gelu({x}, approximate=False)", "torch": f"{_NN}gelu", "jax primitive": "",
                    "aten": "", "ufunc": ""}),
    Function("gelu_tanh", (),
             "0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))",
             names={"jax": "jax.nn.gelu({x})", "torch": f'{_NN}gelu({{x}}, approximate="tanh")',
                    "jax primitive": "", "aten": "", "ufunc": ""}),
    Function("ndtr", (), "0.5 * (1.0 + erf(0.7071067811865476 * x))",
             names={"jax": "jax.scipy.special.ndtr", "torch": "torch.special.ndtr", "jax primitive": "",
                    "aten": ""}),
    Function("normal_density", (), "0.3989422804014327 * exp(-0.5 * (x * x))",
             names={"jax": "", "torch": "", "jax primitive": "", "aten": "", "ufunc": ""}),
    # Signs and whole numbers
    Function("copysign", (), "where(y < 0.0, -abs(x), abs(x))", otherwise=("ans / x", "0.0"),
             names={"jax primitive": ""}),
    _step("floor", ""),
    _step("ceil", "-floor(-x)"),
    _step("trunc", "where(x < 0.0, -floor(-x), floor(x))", names={"jax primitive": "", "aten": "trunc fix"}),
    _step("round", "", mpmath="mp.nint(x)", names={"ufunc": "rint"}),
    _step("floor_divide", "floor(x / y)", names={"jax primitive": "", "aten": "", "ufunc": ""}),
    Function("fmod", (), "x - trunc(x / y) * y", names={"jax primitive": "rem"}, drawn="2.0 + sin(e)",
             weight=0),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {row.name: row for row in _ROWS}
"""All elementwise functions by name."""

_listeners: list[Callable[[Function], object]] = []


def for_each(listener: Callable[[Function], object]) -> Callable[[Function], object]:
    """Calls `listener` with every function: now with those that there are, later with each that is added."""
    _listeners.append(listener)
    for row in FUNCTIONS.values():
        listener(row)
    return listener


def add(row: Function) -> None:
    """Makes an op of a function, everywhere in this process. `UsageError` where the name is taken."""
    if row.name in FUNCTIONS or not row.name.isidentifier():
        raise UsageError(f"the function {row.name!r} cannot be added: the name is taken, or is no identifier")
    if not row.slopes and not row.composition:
        raise UsageError(f"the function {row.name!r} has neither slopes nor a composition; give it one")
    FUNCTIONS[row.name] = row
    for listener in _listeners:
        listener(row)
