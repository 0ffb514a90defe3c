"""Every elementwise function that a library has under a name of its own is traced to its own op."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import torch

from gradfuzz.errors import UntraceableError
from gradfuzz.programs.arithmetic.elementwise import computed, expression
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.language.functions import FUNCTIONS, Function
from gradfuzz.programs.language.program import Program, walk
from gradfuzz.programs.language.syntax import Call
from gradfuzz.tracing.jax.trace import traced as traced_jax
from gradfuzz.tracing.numpy.trace import traced as traced_numpy
from gradfuzz.tracing.torch.trace import traced as traced_torch

NUMPY = NumpyNamespace("float64")


def rows(where: str, library: str) -> list[Function]:
    """Those that a tracer meets, and that the library has under a name."""
    return [row for row in FUNCTIONS.values() if row.spelled(where) and called(row, library)]


def called(row: Function, library: str) -> str:
    default = {"jax": "jnp.{name}", "torch": "torch.{name}"}[library]
    return row.called(library, {"x": "x", "y": "y", "n": "2"}, default)


def written(row: Function, library: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The library's function by the text that the row has."""
    code = f"lambda {', '.join(row.arguments)}: {called(row, library)}"
    function: Callable[..., Any] = eval(code, names)
    return function


def point(row: Function) -> list[Any]:
    """Arrays inside of the domain, away from steps and kinks."""
    inside = computed(expression(row.inside), NUMPY, {"e": np.array([0.3, -0.7, 1.2])})
    return [np.array([0.9, 1.3, -0.8]), inside][-len(row.arguments) :]


def agrees(row: Function, program: Program, args: list[Any], expected: Any) -> None:
    """The program is this op and nothing else, and computes what the library does."""
    assert [e.op for e in walk(program) if isinstance(e, Call)] == [row.name]
    inputs = {p.name: a for p, a in zip(program.params, args, strict=True)}
    (value,) = interpret(program, inputs, NUMPY)
    np.testing.assert_allclose(value, np.asarray(expected), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("row", rows("jax primitive", "jax"), ids=lambda row: row.name)
def test_jax(row: Function) -> None:
    f, args = written(row, "jax", {"jax": jax, "jnp": jnp}), point(row)
    with jax.enable_x64(True):
        agrees(row, traced_jax(f, args), args, f(*map(jnp.asarray, args)))


@pytest.mark.parametrize("name", ["copysign", "hypot", "logaddexp", "xlog1py", "xlogy"])
def test_functions_that_jax_writes_in_steps(name: str) -> None:
    test_jax(FUNCTIONS[name])


@pytest.mark.parametrize("row", rows("aten", "torch"), ids=lambda row: row.name)
def test_torch(row: Function) -> None:
    f, args = written(row, "torch", {"torch": torch}), point(row)
    agrees(row, traced_torch(f, args), args, f(*map(torch.tensor, args)))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_of_torch(approximate: str) -> None:
    row = FUNCTIONS["gelu" if approximate == "none" else "gelu_tanh"]
    args = point(row)
    f = torch.nn.GELU(approximate)
    agrees(row, traced_torch(f, args), args, f(torch.tensor(args[0])))


def test_polygamma() -> None:
    row = FUNCTIONS["polygamma"]
    (x,) = point(row)
    expected = scipy.special.polygamma(2, x)
    agrees(row, traced_torch(lambda x: torch.polygamma(2, x), [x]), [x], expected)
    agrees(row, traced_jax(lambda x: jax.scipy.special.polygamma(2, x), [x]), [x], expected)


UFUNCS = [
    (row, name)
    for row in FUNCTIONS.values()
    for name in row.spelled("ufunc")
    if hasattr(np, name) or hasattr(scipy.special, name)
]


@pytest.mark.parametrize(("row", "name"), UFUNCS, ids=lambda part: part if isinstance(part, str) else "")
def test_numpy(row: Function, name: str) -> None:
    found = [f for module in (np, scipy.special) if isinstance(f := getattr(module, name, None), np.ufunc)]
    f, args = found[0], point(row)
    agrees(row, traced_numpy(f, args), args, f(*args))


def test_complex_operands_are_composed() -> None:
    def f(x: Any) -> Any:
        z = x + 0.5j * x
        return (np.cosh(z) * np.exp2(+z) + np.log2(z) / np.log10(z) + np.square(z) * np.reciprocal(z)).imag

    x = np.array([0.5, 2.0])
    (value,) = interpret(traced_numpy(f, [x]), {"x": x}, NUMPY)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)
    with pytest.raises(UntraceableError, match="asin of complex numbers"):
        traced_numpy(lambda x: np.arcsin(x * 1j).imag, [x])


ADDED = """
import jax, numpy, scipy.special, torch
from gradfuzz.programs.language.functions import Function, add
from gradfuzz.programs.language.syntax import Call
from gradfuzz.programs.language.program import walk
from gradfuzz.tracing.jax.trace import traced as of_jax
from gradfuzz.tracing.numpy.trace import traced as of_numpy
from gradfuzz.tracing.torch.trace import traced as of_torch

names = {"aten": "igamma", "ufunc": "gammainc"}
slopes = ("0.0 * x", "exp((x - 1.0) * log(y) - y - lgamma(x))")
add(Function("igamma", slopes, numpy="scipy.special.gammainc", names=names))
args = [numpy.array([0.5, 2.0]), numpy.array([1.5, 0.5])]
for traced, f in (
    (of_jax, jax.lax.igamma),
    (of_torch, torch.igamma),
    (of_numpy, scipy.special.gammainc),
):
    print(*(e.op for e in walk(traced(f, args)) if isinstance(e, Call)))
"""


@pytest.mark.slow
def test_functions_that_are_added_are_traced() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["igamma", "igamma", "igamma"]
