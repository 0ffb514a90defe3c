"""Linear algebra in torch, in JAX and in mpmath source: the same numbers, the same derivatives, and
reproducers that run.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("jax", reason="the jax extra is not installed")

from gradfuzz.oracles.base import Answer, Mode, Point, Question  # noqa: E402
from gradfuzz.oracles.emit import script_linalg  # noqa: E402
from gradfuzz.oracles.emit.op_source import is_linalg  # noqa: E402
from gradfuzz.oracles.emit.plain_source import called  # noqa: E402
from gradfuzz.oracles.emit.script import MpmathEmitter, inputs_source, reference_source  # noqa: E402
from gradfuzz.oracles.jax import ways as jax_ways  # noqa: E402 - after both are known to be there
from gradfuzz.oracles.jax.lowered import program_source  # noqa: E402
from gradfuzz.oracles.torch import ways as torch_ways  # noqa: E402
from gradfuzz.oracles.torch.emit import HELPERS, TorchEmitter  # noqa: E402
from gradfuzz.oracles.torch.loops import loop_source  # noqa: E402
from gradfuzz.oracles.torch.namespace import TorchNamespace  # noqa: E402
from gradfuzz.programs.arithmetic.numpy_namespace import NumpyNamespace  # noqa: E402
from gradfuzz.programs.evaluation.interpret import interpret  # noqa: E402
from gradfuzz.programs.graphs.lower import lower  # noqa: E402
from gradfuzz.programs.language.ops import OPS  # noqa: E402
from gradfuzz.programs.language.program import Program, walk  # noqa: E402
from gradfuzz.programs.language.syntax import Call  # noqa: E402
from gradfuzz.programs.language.typecheck import typecheck  # noqa: E402
from gradfuzz.programs.text.parse import parse  # noqa: E402
from tests.running import run_script  # noqa: E402

WAYS = {oracle.name: oracle for oracle in (*torch_ways.ways(), *jax_ways.ways())}

Shape = tuple[int, ...]

SHAPES: dict[str, Shape] = {"a": (3, 3), "p": (3, 3), "t": (4, 3), "s": (3, 2), "w": (2, 3)}
"""Matrices with batch axes: square, positive definite, tall, tall, wide."""
SINGLE: dict[str, Shape] = {"n": (3, 3), "v": (3,)}
"""A matrix and a vector that have none, whatever the batch."""

CASES: dict[str, tuple[str, ...]] = {
    "qr": (
        "qr(t)[0] @ qr(t)[1] + qr(t)[0]",
        "qr(a)[0]",
        "qr(a)[1]",
        "qr(t)[1]",
        "qr(w)[0]",
        "qr(w)[1]",
        'qr(w, mode="complete")[1]',
    ),
    "lu": ("lu(a)[1] * 2 + lu(a)[2]", "lu(a)[0] @ a", "lu(t)[1]", "lu(t)[2]", "lu(w)[1]", "lu(w)[2]"),
    "svd": ("svd(t)[0] ** 2 @ svd(t)[2] ** 2", "svd(a)[0] ** 2", "svd(w)[2] ** 2", "svd(t)[1]"),
    "svdvals": ("svdvals(t)",),
    "eigh": ("eigh(a)[1] ** 2 @ reshape(eigh(a)[0], ({b}3, 1))", "eigh(a)[0]", "eigh(a)[1] ** 2"),
    "eigvalsh": ("eigvalsh(a)",),
    "cholesky": ("cholesky(p)", "cholesky(p, upper=True)"),
    "solve": ("solve(a, s)", "solve(a, v)", "solve(a, n)", "solve(n, s)"),
    "triangular_solve": (
        "triangular_solve(a, s)",
        "triangular_solve(a, s, lower=False, transposed=True)",
        "triangular_solve(a, n, transposed=True, unit_diagonal=True)",
        "triangular_solve(n, w, left=False)",
        "triangular_solve(a, w, left=False, lower=False, transposed=True, unit_diagonal=True)",
    ),
    "inv": ("inv(a)",),
    "pinv": ("pinv(t)", "pinv(w)"),
    "lstsq": ("lstsq(t, t)", "lstsq(w, w)", "lstsq(a, n)", "lstsq(a, v)", "lstsq(n, s)"),
    "det": ("det(a)",),
    "slogdet": ("slogdet(a)[0] * slogdet(a)[1]",),
    "matrix_norm": (
        "matrix_norm(t)",
        'matrix_norm(t, ord="nuc")',
        "matrix_norm(w, ord=1)",
        "matrix_norm(w, ord=-1)",
        "matrix_norm(w, ord=2, keepdims=True)",
        "matrix_norm(w, ord=-2)",
        'matrix_norm(w, ord="inf")',
        'matrix_norm(w, ord="-inf", keepdims=True)',
    ),
    "vector_norm": (
        "vector_norm(t)",
        "vector_norm(t, ord=1)",
        "vector_norm(t, ord=3, axis=-1)",
        'vector_norm(t, ord="inf", axis=-2, keepdims=True)',
        'vector_norm(v, ord="-inf")',
        "vector_norm(v, ord=-2)",
        "vector_norm(v[0])",
    ),
    "matrix_power": ("matrix_power(a, 3)", "matrix_power(a, -2)", "matrix_power(a, 1)"),
    "expm": ("expm(a)",),
    "trace": ("trace(a)", "trace(t, offset=-1)"),
    "diagonal": ("diagonal(w, offset=1)",),
    "tril": ("tril(w)", "tril(t, k=-1)"),
    "triu": ("triu(t, k=1)",),
    "outer": ("outer(v, v)",),
    "kron": ("kron(a, t)", "kron(n, w)"),
    "eig": (
        "real(sum(eig(a)[0] * eig(a)[0], axis=-1))",
        "sum(real(eig(a)[1] * conj(eig(a)[1])), axis=-1)",
    ),
    "eigvals": ("imag(sum(eigvals(complex(a, n)), axis=-1))", "sum(abs(eigvals(a)), axis=-1)"),
    "einsum": ('einsum("ij,j->i", n, v)', 'einsum("ij->ji", n)', 'einsum("ii->", n)'),
}
"""Expressions in which every op has a value that depends on no choice of signs."""

EXPRESSIONS = [expression for expressions in CASES.values() for expression in expressions]
FIRST = [expressions[0] for expressions in CASES.values()]
COSTLY = ("expm(a)", "lstsq(t, t)", "pinv(t)")
"""What JAX takes several seconds to compile."""
BATCHES: tuple[Shape, ...] = ((), (2,), (0,))

slow = pytest.mark.slow


def program_of(*expressions: str, batch: Shape = ()) -> Program:
    """The expressions as outputs of a function of what they read."""
    text = ", ".join(e.replace("{b}", "".join(f"{n}, " for n in batch)) for e in expressions)
    shapes = {name: (*batch, *shape) for name, shape in SHAPES.items()} | SINGLE
    used = [
        f'{name}: "float[{", ".join(map(str, shape))}]"'
        for name, shape in shapes.items()
        if re.search(rf"\b{name}\b", text)
    ]
    return parse(f"def f({', '.join(used)}):\n    return {text}\n")


def inputs_of(program: Program, seed: int) -> dict[str, Any]:
    """Well-conditioned random matrices."""
    random = np.random.default_rng(seed)
    inputs = {}
    for p in program.params:
        x = random.normal(size=p.type.shape)
        if len(x.shape) > 1:
            x += 2 * np.eye(*x.shape[-2:])
        inputs[p.name] = x @ np.swapaxes(x, -1, -2) if p.name == "p" else x
    return inputs


def question_of(program: Program, seed: int, modes: tuple[Mode, ...] = ("rev",)) -> Question:
    inputs, random = inputs_of(program, seed), np.random.default_rng(seed + 1)
    weights = tuple(random.normal(size=output.shape) for output in typecheck(program).outputs)
    directions = {name: random.normal(size=x.shape) for name, x in inputs.items()}
    return Question(program, (Point(inputs),), "float64", tuple(inputs), modes, weights, directions)


def gradient_by(way: str, question: Question) -> Answer:
    (answer,) = WAYS[way].answer(question)
    assert answer.status == "ok", f"{way}: {answer.message}"
    return answer


def assert_near(got: Any, right: Any) -> None:
    """The shapes, and the entries to 1e-9 of the largest one."""
    got, right = np.asarray(got), np.asarray(right)
    assert got.shape == right.shape
    if right.size:
        assert np.max(np.abs(got.astype(float) - right)) <= 1e-9 * np.max(np.abs(right)) + 1e-14


def assert_same_gradient(got: Answer, right: Answer) -> None:
    for a, b in zip(got.values, right.values, strict=True):
        assert_near(a, b)
    assert set(got.gradient) == set(right.gradient)
    for name, slope in right.gradient.items():
        assert got.gradient[name].dtype == slope.dtype
        assert_near(got.gradient[name], slope)


# Values -----------------------------------------------------------------------------------------------------


def by_torch_namespace(program: Program, inputs: dict[str, Any]) -> Any:
    return interpret(
        program, {name: torch.tensor(x) for name, x in inputs.items()}, TorchNamespace("float64")
    )[0]


def run_torch(source: str, inputs: dict[str, Any]) -> Any:
    names: dict[str, Any] = {"torch": torch, "dtype": torch.float64}
    exec("\n".join([*HELPERS.values(), source]), names)
    return names["f"](*(torch.tensor(x) for x in inputs.values()))


def by_torch_source(program: Program, inputs: dict[str, Any]) -> Any:
    return run_torch(TorchEmitter("float64").function(program, "f"), inputs)


def by_tensor_source(program: Program, inputs: dict[str, Any]) -> Any:
    return run_torch(loop_source(lower(program), "float64", "while_loop")[1], inputs)


def by_mpmath_source(program: Program, inputs: dict[str, Any]) -> Any:
    source = MpmathEmitter("float64").function(program, "f")
    names: dict[str, Any] = {"np": np, "mp": mpmath.mp, "mpf": mpmath.mpf}
    exec("\n".join([*called(source, script_linalg.HELPERS), source]), names)
    exactly = np.frompyfunc(mpmath.mpf, 1, 1)
    return names["f"](*(exactly(x) for x in inputs.values()))


def test_every_op_has_a_case() -> None:
    assert set(CASES) == {name for name in OPS if is_linalg(name)}
    for op, expressions in CASES.items():
        for expression in expressions:
            assert op in {node.op for node in walk(program_of(expression)) if isinstance(node, Call)}


@pytest.mark.parametrize("run", [by_torch_namespace, by_torch_source, by_tensor_source, by_mpmath_source])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_values_are_numpys(expression: str, run: Any, seed: int) -> None:
    for batch in BATCHES:
        program = program_of(expression, batch=batch)
        inputs = inputs_of(program, seed)
        assert_near(run(program, inputs), interpret(program, inputs, NumpyNamespace("float64"))[0])


# Derivatives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_torch_is_right_by_differences_in_mpmath(expression: str, seed: int) -> None:
    question = question_of(program_of(expression), seed)
    names: dict[str, Any] = {}
    with mpmath.workdps(15):  # the script sets its own
        exec(
            "import numpy as np\nfrom mpmath import mp,"
            f" mpf\n{inputs_source(question, 0)}\n{reference_source(question, 0)}",
            names,
        )
        expected = names["expected_gradient"]()
    answer = gradient_by("torch:eager", question)
    for name, slope in expected.items():
        assert_near(answer.gradient[name], slope)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_torchs_ways_agree(expression: str, seed: int) -> None:
    for batch in BATCHES:
        question = question_of(program_of(expression, batch=batch), seed)
        assert_same_gradient(gradient_by("torch:func", question), gradient_by("torch:eager", question))


@pytest.mark.slow
@pytest.mark.parametrize("expression", [pytest.param(e, marks=slow if e in COSTLY else ()) for e in FIRST])
def test_jax_agrees_with_torch_on_a_batch(expression: str, seed: int) -> None:
    question = question_of(program_of(expression, batch=(2,)), seed)
    right = gradient_by("torch:eager", question)
    assert_same_gradient(gradient_by("jax:scan:nojit", question), right)
    assert_same_gradient(gradient_by("jax:unrolled", question), right)


@pytest.mark.parametrize(
    "batch", [(0,), pytest.param((), marks=slow), pytest.param((1, 2, 1), marks=slow)], ids=str
)
def test_jax_compiled_agrees_with_torch(batch: Shape, seed: int) -> None:
    several = (
        "qr(t)[0] + t",
        "lu(a)[2]",
        "lstsq(a, n)",
        "kron(n, w)",
        "triangular_solve(n, w, left=False)",
        "eigvalsh(a)",
    )
    question = question_of(program_of(*several, batch=batch), seed)
    assert_same_gradient(gradient_by("jax:scan", question), gradient_by("torch:eager", question))


@pytest.mark.parametrize(
    "modes",
    [("fwd",), pytest.param(("rev", "rev"), marks=slow), pytest.param(("fwd", "rev"), marks=slow)],
    ids=str,
)
def test_step_by_step_agrees_with_torch(modes: tuple[Mode, ...], seed: int) -> None:
    question = question_of(program_of("qr(s)[0]", "cholesky(p)", batch=(2,)), seed, modes)
    ((answer,),) = WAYS["jax:scan:nojit"].answer_all([question])
    assert answer.status == "ok", answer.message
    assert_same_gradient(answer, gradient_by("torch:eager", question))


@pytest.mark.parametrize("way", ["torch:eager", "jax:unrolled"])
def test_a_symmetric_decomposition_is_of_the_symmetric_part(way: str) -> None:
    """d w_k / d x = v_k v_k^T of the symmetric part (Giles 2008, section 3.1), whichever triangle a library
    reads.
    """
    x = np.array([[3.0, 1.0], [-0.5, 1.0]])
    program = parse('def f(x: "float[2, 2]"):\n    return eigh(x)[0], cholesky(x)\n')
    symmetric = (x + x.T) / 2
    _, v = np.linalg.eigh(symmetric)
    question = Question(
        program,
        (Point({"x": x}),),
        "float64",
        ("x",),
        ("rev",),
        (np.array([1.0, -2.0]), np.zeros((2, 2))),
        {},
    )
    answer = gradient_by(way, question)
    assert_near(answer.gradient["x"], np.outer(v[:, 0], v[:, 0]) - 2 * np.outer(v[:, 1], v[:, 1]))
    assert_near(answer.values[1], np.linalg.cholesky(symmetric))


@pytest.mark.parametrize("way", ["torch:eager", "torch:func"])
def test_torch_has_no_derivative_of_a_complete_qr_of_a_tall_matrix(way: str, seed: int) -> None:
    (answer,) = WAYS[way].answer(question_of(program_of('qr(t, mode="complete")[1]'), seed))
    assert answer.status == "unsupported"


@pytest.mark.parametrize("way", ["torch:eager", "torch:func"])
def test_torch_is_not_asked_about_the_vectors_that_it_documents_to_leave_out(way: str, seed: int) -> None:
    """The one row of vh past the singular values is a function of the matrix, up to its sign; torch ignores
    its gradient.
    """
    for expression, asked in (
        ("svd(w, full_matrices=True)[2] ** 2", False),
        ("svd(t, full_matrices=True)[0] ** 2", False),
        ("svd(t, full_matrices=True)[1]", True),
        ("svd(w, full_matrices=True)[0] ** 2", True),
        ("svd(a, full_matrices=True)[2] ** 2", True),
    ):
        question = question_of(program_of(expression), seed)
        (answer,) = WAYS[way].answer(question)
        assert (answer.status, "documents" in answer.message) == (
            ("ok", False) if asked else ("unsupported", True)
        ), expression
        assert WAYS[way].supports(dataclasses.replace(question, modes=())) is None
    dropped = parse('def f(t: "float[3, 2]"):\n    u, s, vh = svd(t, full_matrices=True)\n    return s\n')
    assert WAYS[way].supports(question_of(dropped, seed)) is None


@pytest.mark.parametrize("way", ["torch:eager", "torch:scan", "jax:scan:nojit", "jax:unrolled"])
def test_an_op_of_derivatives_is_unsupported(way: str, seed: int) -> None:
    (answer,) = WAYS[way].answer(
        question_of(parse('def f(a: "float[3, 3]"):\n    return cofactor(a)\n'), seed)
    )
    assert (answer.status, "libraries" in answer.message) == ("unsupported", True)


# Results together -------------------------------------------------------------------------------------------

TOGETHER = (
    'def f(a: "float[2, 2]"):\n    q, r = qr(a)\n    for i in range(2):\n        a = qr(a)[1] @ qr(a)[0]\n   '
    " return q @ r + a\n"
)


def test_results_are_computed_once_in_statements() -> None:
    source = TorchEmitter("float64").function(parse(TOGETHER), "f")
    assert source.count("torch.linalg.qr(a)") == 2, source
    assert by_torch_source(parse(TOGETHER), {"a": np.eye(2)}).shape == (2, 2)


def test_a_decomposition_is_forgotten_when_its_operand_changes() -> None:
    program = parse(
        'def f(a: "float[2, 2]"):\n    q = qr(a)[0]\n    a = a + 1.0\n    return q @ qr(a)[1] + qr(a)[0]\n'
    )
    x = np.array([[3.0, 1.0], [-0.5, 1.0]])
    (right,) = interpret(program, {"a": x}, NumpyNamespace("float64"))
    assert_near(by_torch_source(program, {"a": x}), right)
    assert_near(by_mpmath_source(program, {"a": x}), right)


def test_results_are_computed_once_in_functions() -> None:
    program = parse(TOGETHER)
    assert loop_source(lower(program), "float64", "scan")[1].count("torch.linalg.qr(") == 2
    assert program_source(program, "float64", "scan", 1).count("jnp.linalg.qr(") == 2


@pytest.mark.slow
@pytest.mark.parametrize("way", ["torch:scan", "torch:while_loop", "jax:scan", "jax:fori_loop:nojit"])
def test_a_decomposition_in_a_loop(way: str, seed: int) -> None:
    loop = (
        "    for i in range(2):\n        q, r = qr(a)\n        w, v = eigh(r @ q)\n        a = v * v + w\n   "
        " return a\n"
    )
    question = question_of(parse(f'def f(a: "float[3, 3]"):\n{loop}'), seed)
    assert_same_gradient(gradient_by(way, question), gradient_by("torch:eager", question))


# Reproducers ------------------------------------------------------------------------------------------------


def exit_code(source: str) -> Any:
    """What a script exits with, run here: importing a library takes seconds."""
    with mpmath.workdps(15), pytest.raises(SystemExit) as exited:  # a script sets its own precision
        exec(compile(source, "reproducer", "exec"), {"__name__": "__main__"})
    return exited.value.code


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "batch", "expressions"),
    [
        ("torch:eager", (2,), ("qr(s)[0] @ qr(s)[1] + qr(s)[0]", "slogdet(s[:, :2, :])[1]")),
        pytest.param("torch:func", (), ("cholesky(p)", "pinv(w)"), marks=slow),
        pytest.param("jax:scan:nojit", (2,), ("eigh(a)[1] ** 2", "triangular_solve(n, s)"), marks=slow),
        ("jax:unrolled", (), ("lu(a)[2]",)),
    ],
)
def test_a_reproducer_runs(
    way: str, batch: Shape, expressions: tuple[str, ...], seed: int, tmp_path: Path
) -> None:
    question = question_of(program_of(*expressions, batch=batch), seed)
    library = torch_ways if way.startswith("torch") else jax_ways
    answer = gradient_by(way, question)
    done = run_script(library.script(question, 0, way, answer.gradient), tmp_path, "-W", "ignore")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_parameter_may_have_any_name() -> None:
    program = parse("def f(signs, mp, torch):\n    return signs * mp + torch\n")
    inputs = {"signs": np.array(2.0), "mp": np.array(3.0), "torch": np.array(4.0)}
    question = Question(program, (Point(inputs),), "float64", tuple(inputs), ("rev",), (np.array(1.0),), {})
    source = torch_ways.script(question, 0, "torch:eager", gradient_by("torch:eager", question).gradient)
    assert exit_code(source) == 0


def test_the_determinant_of_a_script_where_no_row_has_a_pivot() -> None:
    """A column of zeros is left over by the elimination of a matrix of rank 1 or 0."""
    for matrix in (
        np.zeros((2, 2)),
        np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]]),
        np.outer([1, 2, 4], [1, 2, 4]),
    ):
        exact = np.frompyfunc(mpmath.mpf, 1, 1)(matrix)
        assert script_linalg.det(exact) == 0
