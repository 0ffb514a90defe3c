"""A library that is called is added by one file and one row: it is swept, checked, and scripted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gradfuzz
from gradfuzz.fuzzer.store.runs import Store
from tests.shell import python

HOME = Path(gradfuzz.__file__).parent

MINIGRAD = '''
"""Reverse mode on a tape of NumPy arrays."""

import numpy as np

__version__ = "0.1"


class Array:
    def __init__(self, value, parents=()):
        self.value, self.parents = np.asarray(value), parents
        self.dtype, self.shape, self.ndim = self.value.dtype, self.value.shape, self.value.ndim

    def __mul__(self, other):
        other = array(other)
        y, x = other.value, self.value
        return Array(x * y, ((self, lambda g: fold(g * y, x)), (other, lambda g: fold(g * x, y))))

    def __add__(self, other):
        other = array(other)
        parents = ((self, lambda g: fold(g, self.value)), (other, lambda g: fold(g, other.value)))
        return Array(self.value + other.value, parents)

    def __truediv__(self, number):
        return self * (1.0 / number)

    __rmul__, __radd__ = __mul__, __add__

    def __float__(self):
        return float(self.value)


def fold(g, x):
    """The sum over what was broadcast."""
    g = g.sum(axis=tuple(range(g.ndim - x.ndim)))
    return g.sum(axis=tuple(k for k, n in enumerate(x.shape) if n == 1), keepdims=True).reshape(x.shape)


def array(value):
    return value if isinstance(value, Array) else Array(value)


def sin(x: Array) -> Array:
    return Array(np.sin(x.value), ((x, lambda g: g * np.cos(x.value)),))


def matmul(x: Array, y: Array) -> Array:
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError("matmul takes two matrices")
    parents = (x, lambda g: g @ y.value.T), (y, lambda g: x.value.T @ g)
    return Array(x.value @ y.value, parents)


def cube(x: Array) -> Array:
    """Its rule is wrong: 3 x instead of 3 x^2."""
    return Array(x.value**3, ((x, lambda g: g * 3 * x.value),))


def total(x: Array) -> Array:
    return Array(np.sum(x.value), ((x, lambda g: np.broadcast_to(g, x.shape)),))


def stack(xs):
    parents = tuple((x, lambda g, k=k: g[k]) for k, x in enumerate(xs))
    return Array(np.stack([x.value for x in xs]), parents)


def gradient(y, xs):
    """The gradient of a scalar, a NumPy array for each of `xs`."""
    order, seen = [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for parent, _ in node.parents:
                visit(parent)
            order.append(node)

    visit(y)
    slopes = {id(y): np.ones_like(y.value)}
    for node in reversed(order):
        for parent, pull in node.parents if id(node) in slopes else ():
            slopes[id(parent)] = slopes.get(id(parent), 0.0) + pull(slopes[id(node)])
    return [np.asarray(slopes.get(id(x), np.zeros_like(x.value)), x.dtype) for x in xs]
'''

FILE = '''"""minigrad: reverse mode of first order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minigrad
import numpy as np

from gradfuzz.libraries.composed import ComposedLibrary
from gradfuzz.libraries.library import Forms, LibraryName, NoModeError
from gradfuzz.oracles.base import Array
from gradfuzz.tracing.common.leaves import leaves_of

NO_FORWARD = NoModeError("minigrad has reverse mode of first order")


def leaves(result: Any) -> list[Any]:
    found = result if isinstance(result, (list, tuple)) else [result]
    return [y for y in found if isinstance(y, minigrad.Array) and y.dtype.kind == "f"]


def total(y: Any) -> Any:
    return minigrad.total(y)


def real_parts(ys: Any) -> list[Any]:
    return list(ys)


def doubled(x: Any) -> Any:
    return minigrad.stack([x, 1.25 * x])


def gradient(g: Any, xs: Any) -> Any:
    own = [minigrad.Array(x.value) for x in xs]
    return [minigrad.Array(s) for s in minigrad.gradient(g(*own), own)]


def slope(g: Any, xs: Any, directions: Any) -> Any:
    raise NO_FORWARD


class MinigradLibrary(ComposedLibrary):
    name: LibraryName = "minigrad"
    version = minigrad.__version__
    forms = Forms(
        header="import minigrad\\nimport numpy as np",
        sin="minigrad.sin",
        array="minigrad.Array(np.array({entries}, {dtype}))",
        zeros="minigrad.Array(np.zeros({shape}, {dtype}))",
        dtype="np.{name}",
        pair="",
        transposed="{x}",
        expanded="{x}",
        stepped="{x}",
        cast="minigrad.Array(w.value.astype(x.dtype))",
    )

    def is_array(self, value: Any) -> bool:
        return isinstance(value, minigrad.Array)

    def array(self, value: Array, like: Any = None) -> Any:
        return minigrad.Array(np.asarray(value))

    def numpy(self, value: Any) -> Array:
        return np.asarray(value.value if isinstance(value, minigrad.Array) else value)

    def pair(self, re: Any, im: Any) -> Any:
        raise TypeError("minigrad has no complex numbers")

    def parts(self, z: Any) -> tuple[Any, Any]:
        raise TypeError("minigrad has no complex numbers")

    def is_complex(self, value: Any) -> bool:
        return self.numpy(value).dtype.kind == "c"

    def view(self, x: Any, layout: Any) -> Any:
        return x

    def derivative(self, f: Any, xs: Any, wanted: Any) -> Any:
        if tuple(wanted.modes) != ("rev",):
            raise NO_FORWARD
        return super().derivative(f, xs, wanted)

    def inner(self, xs: Sequence[Any], ys: Sequence[Any], like: Any) -> Any:
        terms = [minigrad.total(x * y) for x, y in zip(xs, ys, strict=True)]
        return sum(terms[1:], terms[0]) if terms else minigrad.Array(np.zeros((), like.dtype))
'''


@pytest.mark.slow  # the package is copied, and processes are started
def test_one_file_and_one_row(tmp_path: Path) -> None:
    package = tmp_path / "gradfuzz"
    shutil.copytree(HOME, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "minigrad.py").write_text(MINIGRAD, encoding="utf-8")
    (package / "libraries" / "minigrad.py").write_text(FILE, encoding="utf-8")
    table = package / "libraries" / "library.py"
    text = table.read_text(encoding="utf-8")
    table.write_text(
        text.replace('LibraryName = Literal["torch",', 'LibraryName = Literal["minigrad", "torch",')
    )
    flags = "--family", "functions", "--max-examples", "4", "--seed", "3"
    here = {"cwd": tmp_path, "path": [tmp_path]}
    python("-m", "gradfuzz", "sweep", "minigrad", *flags, exit_code=1, **here)
    with Store(tmp_path / ".gradfuzz/store.sqlite") as store:
        (run,) = store.runs()
        findings = store.findings(run.number)
        finished, _ = store.finished(run.number)
    asked = {one.name: one.asked for one in finished.functions}
    assert {name: set(asked[f"minigrad.{name}"]) for name in ("sin", "matmul")} == {
        "sin": {"rev"},
        "matmul": {"rev"},
    }
    assert {finding.call.function for finding in findings if finding.call} == {"minigrad.cube"}
    script = tmp_path / "script.py"
    script.write_text(findings[0].script, encoding="utf-8")
    ran = python(script, path=[tmp_path], exit_code=1)
    assert ran.stdout.splitlines()[-1:] == ["wrong"], ran.stderr
    checked = (
        "import gradfuzz, minigrad, numpy\n"
        "gradfuzz.check_gradient(minigrad.{}, minigrad.Array(numpy.array([0.5, 1.5])))"
    )
    for name, code in (("sin", 0), ("cube", 1)):
        ran = python("-W", "error", "-c", checked.format(name), exit_code=code, **here)
        assert ("GradientMismatch" in ran.stderr) == (name == "cube")
