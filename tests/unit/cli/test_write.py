"""`gradfuzz write`: the test that it writes is one that runs, fails where the gradient is wrong, and says
where it could not be helped.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.cli import USAGE, main
from gradfuzz.errors import UsageError
from gradfuzz.testing.starter import starter
from tests.shell import PYTEST, ROOT, python

MODULE = """
import numpy as np

def norm(x):
    return np.sqrt(np.sum(x * x))

def norm_grad(x):
    return x / norm(x)

def log_sum(x):
    return np.sum(np.log(x))

def twice_the_slope(x):
    return 2 / x

def product(m, v):
    return np.sum(m @ v, axis=0) @ np.ones(2)

def grad_product(m, v):
    return np.ones((2, 2)) @ v.T, m.T @ np.ones((2, 2))

def row_sums(m, times):
    if not isinstance(times, (int, np.integer)):
        raise TypeError("times is an int")
    return times * np.sum(m, axis=1)

def row_sums_vjp(m, times, cotangent):
    return times * np.broadcast_to(cotangent[:, None], m.shape)

def picky(x):
    raise ValueError("never satisfied")

dpicky = norm_grad

def alone(x):
    return x

def nothing():
    return 1.0
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the current directory."""
    name = f"functions_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a written test, with few examples."""
    quick = (
        "max_examples=3, database=None, derandomize=True, phases=[__import__('hypothesis').Phase.generate]"
    )
    (folder / "test_written.py").write_text(text.replace("max_examples=20", quick))
    return python(*PYTEST, "test_written.py", cwd=folder, path=(ROOT, folder))


def test_a_right_gradient_passes(functions: str, tmp_path: Path) -> None:
    text = starter(f"{functions}:norm")
    assert f"from {functions} import norm, norm_grad" in text
    assert "check_gradient(norm, np.array([0.5, 0.75, 1.0]), grad=norm_grad)" in text
    assert "x=arrays((3,), min_value=-2.0, max_value=2.0, extremes=False)" in text
    done = run(text, tmp_path)
    assert "2 passed" in done.stdout, done.stdout


def test_a_wrong_gradient_fails_where_the_function_is_defined(functions: str, tmp_path: Path) -> None:
    """The logarithm takes no negative numbers, so none are drawn. The gradient is 1/x, and 2/x is told."""
    text = starter(f"{functions}:log_sum", grad="twice_the_slope")
    assert "x=arrays((3,), min_value=0.25, max_value=2.0, extremes=False)" in text
    done = run(text, tmp_path)
    assert "2 failed" in done.stdout, done.stdout
    assert "2 times as much" in done.stdout


def test_shapes_that_fit_each_other_are_found(functions: str) -> None:
    text = starter(f"{functions}:product")
    assert (
        "check_gradient(product, np.array([[2.5, 0.875], [0.875, 3.25]]), np.array([[2.625, 1.0], [1.0,"
        " 3.375]]), grad=grad_product)" in text
    )


def test_arguments_that_are_given_stay_as_they_are(functions: str, tmp_path: Path) -> None:
    text = starter(f"{functions}:row_sums", inputs={"times": np.asarray(3), "m": np.asarray([[1.0, 2.0]])})
    assert "check_gradient(row_sums, np.array([[1.0, 2.0]]), 3, grad=row_sums_vjp)" in text
    assert "where_it_is_drawn(m) -> None:\n    check_gradient(row_sums, m, 3, grad=row_sums_vjp)" in text
    compile(text, "test_written.py", "exec")
    done = run(text, tmp_path)
    assert "2 passed" in done.stdout, done.stdout


def test_a_function_that_takes_nothing_that_was_tried_gets_a_test_that_says_so(functions: str) -> None:
    text = starter(f"{functions}:picky")
    assert "No arguments were found that the function accepts (ValueError: never satisfied): replace" in text
    compile(text, "test_written.py", "exec")


def test_a_torch_function_is_seen_by_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    (tmp_path / "torch_functions_here.py").write_text(
        "import torch\n\nclass Square(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx,"
        " x):\n        ctx.save_for_backward(x)\n        return x * x\n    @staticmethod\n    def"
        " backward(ctx, g):\n        (x,) = ctx.saved_tensors\n        return 2 * x * g\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = starter("torch_functions_here:Square")
    assert 'check_gradient(Square.apply, np.array([0.5, 0.75, 1.0]), framework="torch")' in text
    assert "def test_gradient_of_square_where_it_is_drawn(x) -> None:" in text
    compile(text, "test_written.py", "exec")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        (
            ":alone",
            {},
            ("is a NumPy function and needs a hand-written gradient: name it with --grad MODULE:FUNC"),
        ),
        (":nothing", {"grad": "norm_grad"}, "nothing has no argument that must be given"),
        (":absent", {}, "has no function 'absent'"),
        (":norm", {"grad": "nowhere:f"}, "cannot import 'nowhere'"),
        (
            ":norm",
            {"inputs": {"y": np.asarray(1.0)}},
            "--at names 'y', which is not a required argument of norm; those are x",
        ),
        (
            ":norm",
            {"inputs": {"x": np.asarray([1, 2])}},
            "norm is given ints only, and has no derivative by them; write floats: x=[1.0, 2.0]",
        ),
        ("", {}, "names no function; write MODULE:FUNC"),
    ],
)
def test_what_cannot_be_written_is_told(
    functions: str, name: str, options: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        starter(f"{functions}{name}", **options)  # type: ignore[arg-type]


def test_the_command_writes_to_stdout_or_to_a_new_file(functions: str, tmp_path: Path) -> None:
    printed = CliRunner().invoke(main, ["write", f"{functions}:norm"])
    assert printed.exit_code == 0, printed.output
    assert printed.stdout == starter(f"{functions}:norm")
    written = CliRunner().invoke(main, ["write", f"{functions}:norm", "-o", "test_norm.py"])
    assert (written.exit_code, written.stdout) == (0, "")
    assert (tmp_path / "test_norm.py").read_text() == printed.stdout
    again = CliRunner().invoke(main, ["write", f"{functions}:norm", "-o", "test_norm.py"])
    assert again.exit_code == USAGE
    assert "'test_norm.py' exists and is not overwritten" in again.output
    given = CliRunner().invoke(main, ["write", f"{functions}:row_sums", "--at", "m=[[1.0, 2.0]],times=3"])
    assert "np.array([[1.0, 2.0]]), 3, grad=row_sums_vjp)" in given.stdout


JAX = """\
import jax
import jax.numpy as jnp

@jax.custom_vjp
def square(x):
    return jnp.sum(x**2)

square.defvjp(lambda x: (square(x), x), lambda x, g: (g * x,))
"""
TORCH = """\
import torch

class square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return x * g
"""
NUMPY = """\
import numpy as np

def square(x):
    return np.sum(x**2)

def square_grad(x):
    return x
"""


@pytest.mark.slow  # a process of its own, without the few examples of the other tests
@pytest.mark.parametrize("library", ["numpy", "jax", "torch"])
def test_a_written_test_fails_soon_with_the_mismatch_first(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has half of the derivative of x**2. Ten seconds are those of this process, which may have to
    wait; the import of the library is among them.
    """
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    name = f"wrong_in_{library}"
    (tmp_path / f"{name}.py").write_text({"numpy": NUMPY, "jax": JAX, "torch": TORCH}[library])
    written = CliRunner().invoke(main, ["write", f"{name}:square", "-o", "test_written.py"])
    assert written.exit_code == 0, written.output
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = python(*PYTEST, "test_written.py", cwd=tmp_path, path=(tmp_path, ROOT))
    assert "2 failed in " in done.stdout, done.stdout
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10
    errors = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    assert re.search(r"GradientMismatch: the derivative of square by x\[[0-2]\] is wrong", errors[0])
    assert "0.5 times what is right" in errors[0]
    assert "gradfuzz/testing" not in done.stdout, "no frame of ours"
    assert "always and only run by" not in done.stdout


MATRICES = """
import jax.numpy as jnp
import torch

def det(a):
    return jnp.linalg.det(a)

def solve(a, b):
    return torch.linalg.solve(a, b)
"""


def test_a_function_of_matrices_has_tests_that_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix of zeros, which Hypothesis draws first, is singular."""
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    (tmp_path / "own_matrices.py").write_text(MATRICES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    heavy = ".map(lambda a: a + 5 * np.eye(2, dtype=a.dtype))"
    for name, count in (("det", 0), ("solve", 1)):
        text = starter(f"own_matrices:{name}")
        assert text.count("(2, 2)") == (2 if name == "solve" else 1), text
        assert text.count(heavy) == count, text
        written = {"__name__": "written"}
        quick = "max_examples=2, database=None, derandomize=True"
        exec(compile(text.replace("max_examples=20", quick), "test_written.py", "exec"), written)
        for test in (f"test_gradient_of_{name}", f"test_gradient_of_{name}_where_it_is_drawn"):
            written[test]()
