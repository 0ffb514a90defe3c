"""Catalogues of functions: does each account for everything that its library lists, and is it true?"""

import fnmatch
import importlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, LEFT_OUT, NOT_DIFFERENTIABLE, OUTCOMES, Function
from gradfuzz.cli import USAGE, main
from gradfuzz.errors import TargetProcessError
from gradfuzz.fuzzer.results.functions import REFUSED
from gradfuzz.fuzzer.turns.totals import FunctionTotals
from gradfuzz.oracles import catalogues
from gradfuzz.oracles.foreign import managed
from tests.releases import is_from


@pytest.fixture(scope="module")
def torch_functions() -> list[Function]:
    pytest.importorskip("torch")
    return catalogues.catalogue("torch").functions


@pytest.fixture(scope="module")
def jax_functions() -> list[Function]:
    pytest.importorskip("jax")
    return catalogues.catalogue("jax").functions


@pytest.fixture(scope="module")
def autograd_functions() -> list[Function]:
    pytest.importorskip("autograd")
    return catalogues.catalogue("autograd").functions


def public_names(namespaces: dict[str, object]) -> set[str]:
    return {
        f"{space}.{name}"
        for space, owner in namespaces.items()
        for name in dir(owner)
        if not name.startswith("_") and callable(getattr(owner, name, None))
    }


def all_names(functions: list[Function]) -> set[str]:
    return {name for function in functions for name in function.names}


def outcome_of(functions: list[Function], name: str) -> set[str]:
    return {function.outcome for function in functions if name in function.names}


def operator(function: Function) -> str:
    return function.signature.partition("(")[0]


# Torch ------------------------------------------------------------------------------------------------------


def schemas(file: str, key: str) -> list[str]:
    """The schemas of a file, from its text."""
    torchgen = pytest.importorskip("torchgen")
    text = (Path(torchgen.__file__).parent / "packaged" / file).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(f"- {key}: ")]
    return [line.partition(": ")[2].strip() for line in lines]


@pytest.mark.parametrize(
    ("file", "key"), [("autograd/derivatives.yaml", "name"), ("ATen/native/native_functions.yaml", "func")]
)
def test_every_operator_of_torch_is_a_row(torch_functions: list[Function], file: str, key: str) -> None:
    wanted = schemas(file, key)
    names = {schema.partition("(")[0] for schema in wanted}
    assert len(names) == len(wanted) > 600
    rows = Counter(map(operator, operators(torch_functions)))
    assert {name: rows[name] for name in names if rows[name] != 1} == {}


def operators(torch_functions: list[Function]) -> list[Function]:
    """The rows with a schema of the two files; a function of Python may have the same name."""
    native = schemas("ATen/native/native_functions.yaml", "func")
    known = {*native, *schemas("autograd/derivatives.yaml", "name")}
    return [function for function in torch_functions if function.signature in known]


def test_every_public_name_of_torch_is_in_a_row(torch_functions: list[Function]) -> None:
    import torch

    owners = [torch, torch.special, torch.linalg, torch.fft, torch.nn.functional, torch.Tensor]
    spaces = ["torch", "torch.special", "torch.linalg", "torch.fft", "torch.nn.functional", "torch.Tensor"]
    assert public_names(dict(zip(spaces, owners, strict=True))) - all_names(torch_functions) == set()


def test_what_the_table_of_torch_says_of_outputs_is_heeded(torch_functions: list[Function]) -> None:
    yaml = pytest.importorskip("yaml")
    import torchgen

    text = (Path(torchgen.__file__).parent / "packaged/autograd/derivatives.yaml").read_text(encoding="utf-8")
    rows = {operator(function): function for function in operators(torch_functions)}
    outcomes: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for entry in yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        has_any = any(entry.get("output_differentiability", [True]))
        outcomes[has_any][rows[entry["name"].partition("(")[0]].outcome] += 1
    assert outcomes[False][DIFFERENTIABLE] == 0
    assert outcomes[False][NOT_DIFFERENTIABLE] > 20
    assert outcomes[True][DIFFERENTIABLE] > 200


def unary(functions: list[Function]) -> Iterator[tuple[Function, Callable[..., Any]]]:
    """The functions of one tensor that stand in the namespaces, with what they are."""
    for function in functions:
        if re.fullmatch(r"\w+\(Tensor self\) -> Tensor", function.signature):
            for name in function.names:
                space, _, last = name.rpartition(".")
                if space != "torch.Tensor":
                    yield function, getattr(importlib.import_module(space), last)
                    break


def test_torch_differentiates_what_is_called_differentiable(torch_functions: list[Function]) -> None:
    """Asked of Torch itself, for every function of one tensor."""
    import torch

    asked: Counter[str] = Counter()
    for function, called in unary(torch_functions):
        if function.outcome == LEFT_OUT:
            continue
        x = torch.tensor([[0.5, 0.25], [0.25, 0.75]], dtype=torch.float64, requires_grad=True)
        try:
            y = called(x)
        except (RuntimeError, TypeError):  # it wants complex numbers, or integers
            continue
        try:
            (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y))
            has_gradient = gradient is not None
        except RuntimeError as error:  # or NotImplementedError, which is one
            has_gradient = not re.search("not implemented|does not require grad", str(error))
        assert has_gradient == (function.outcome == DIFFERENTIABLE), function
        asked[function.outcome] += 1
    assert asked[DIFFERENTIABLE] > 50
    # From 2.15 on more of them refuse floats.
    assert asked[NOT_DIFFERENTIABLE] > (8 if is_from("torch", "2.15") else 10)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("aten::add.Tensor", DIFFERENTIABLE),
        ("aten::add_.Tensor", LEFT_OUT),
        ("aten::add.out", LEFT_OUT),
        ("aten::transpose_copy.int", DIFFERENTIABLE),  # by the entry of the view, as code generation does it
        ("aten::chunk", DIFFERENTIABLE),  # its entry is for nested tensors; else it is a composition
        ("aten::eq.Tensor", NOT_DIFFERENTIABLE),
        ("aten::heaviside", NOT_DIFFERENTIABLE),
        ("aten::_cdist_forward", LEFT_OUT),
        ("aten::cudnn_convolution", LEFT_OUT),
        ("torch.nn.functional.elu", DIFFERENTIABLE),
        ("torch.nn.functional.cross_entropy", DIFFERENTIABLE),
        ("torch.load", LEFT_OUT),
        ("torch.zeros", LEFT_OUT),
        ("torch.Tensor.T", DIFFERENTIABLE),
    ],
)
def test_what_becomes_of_a_function_of_torch(
    torch_functions: list[Function], name: str, outcome: str
) -> None:
    if name.startswith("aten::"):
        is_it = [f for f in operators(torch_functions) if f"aten::{operator(f)}" == name]
    else:
        is_it = [f for f in torch_functions if name in f.names and "(a!)" not in f.signature]
    assert {function.outcome for function in is_it} == {outcome}


def stale(reasons: dict[str, str], names: set[str]) -> list[str]:
    """The patterns that fit nothing."""
    patterns = " ".join(reasons.values()).split()
    return [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]


def test_no_reason_of_torch_is_stale(torch_functions: list[Function]) -> None:
    from gradfuzz.oracles.torch import left_out

    bases = {operator(function).partition(".")[0] for function in torch_functions}
    assert stale(left_out.OPERATORS, bases) == []
    assert stale(left_out.PUBLIC, all_names(torch_functions)) == []


# autograd ---------------------------------------------------------------------------------------------------


def test_everything_of_autograd_is_in_a_row(autograd_functions: list[Function]) -> None:
    from autograd.core import primitive_jvps, primitive_vjps

    spaces = ["numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.stats.norm"]
    modules: dict[str, ModuleType] = {
        f"autograd.{space}": importlib.import_module(f"autograd.{space}") for space in spaces
    }
    names = public_names({**modules})
    assert names - all_names(autograd_functions) == set()
    rules = {**primitive_vjps, **primitive_jvps}
    for name in names:
        space, _, last = name.rpartition(".")
        value = getattr(modules[space], last)
        if callable(value) and not isinstance(value, type) and value in rules:
            assert outcome_of(autograd_functions, name) == {DIFFERENTIABLE}, name


def test_autograd_differentiates_what_is_called_differentiable(autograd_functions: list[Function]) -> None:
    """Asked of autograd itself, for every function of its NumPy that maps an array of floats to one."""
    import autograd
    import autograd.numpy as anp
    import numpy as np

    x = np.array([[0.5, 0.25], [0.25, 0.75]])
    asked: Counter[str] = Counter()
    for name in ("sin", "exp", "cbrt", "i0", "tanh", "abs", "sqrt", "flip", "spacing", "sinc", "cumprod"):
        (outcome,) = outcome_of(autograd_functions, f"autograd.numpy.{name}")
        try:
            autograd.elementwise_grad(getattr(anp, name))(x)
            has_gradient = True
        except NotImplementedError:
            has_gradient = False
        assert has_gradient == (outcome == DIFFERENTIABLE), name
        asked[outcome] += 1
    assert len(asked) == 2


# JAX --------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # JAX follows about 700 functions
def test_everything_of_jax_is_in_a_row(jax_functions: list[Function]) -> None:
    from gradfuzz.oracles.jax import left_out

    spaces = ["numpy", "numpy.linalg", "numpy.fft", "nn", "lax", "scipy.special", "scipy.stats.norm"]
    names = public_names({f"jax.{space}": importlib.import_module(f"jax.{space}") for space in spaces})
    assert names - all_names(jax_functions) == set()
    assert stale(left_out.PUBLIC, all_names(jax_functions)) == []


@pytest.mark.slow  # it needs the same catalogue
@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("jax.numpy.sin", DIFFERENTIABLE),
        ("jax.lax.sin", DIFFERENTIABLE),
        ("jax.numpy.take", DIFFERENTIABLE),
        ("jax.lax.select", DIFFERENTIABLE),
        ("jax.numpy.argmax", NOT_DIFFERENTIABLE),
        ("jax.lax.eq", NOT_DIFFERENTIABLE),
        ("jax.numpy.bitwise_and", NOT_DIFFERENTIABLE),
        ("jax.numpy.nextafter", NOT_DIFFERENTIABLE),  # no rule for its primitive
        ("jax.scipy.linalg.schur", NOT_DIFFERENTIABLE),
        ("jax.numpy.load", LEFT_OUT),
        ("jax.lax.scan", LEFT_OUT),
        ("jax.numpy.float32", LEFT_OUT),
    ],
)
def test_what_becomes_of_a_function_of_jax(jax_functions: list[Function], name: str, outcome: str) -> None:
    assert outcome_of(jax_functions, name) == {outcome}


# The command ------------------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Makes the catalogue of autograd come from a script with these last lines."""
    pytest.importorskip("autograd")

    def settle(lines: str) -> None:
        script = tmp_path / "small.py"
        folder = Path(catalogues.adapters.__file__).parent
        head = f"import os, sys\nsys.path.insert(0, {str(folder)!r})\nimport catalogue as c\n"
        script.write_text(head + lines, encoding="utf-8")
        monkeypatch.setitem(catalogues.CATALOGUES, "autograd", str(script))

    return settle


TWO = """
print("a library greets its user; the folder has", os.listdir())
rows = [c.Function(("a.f", "a.g"), "f(x)", c.DIFFERENTIABLE, "a rule")]
rows += [c.Function((), "_h(x)", c.LEFT_OUT, "internal")]
if os.listdir() == []:
    c.write(sys.argv[1], rows)
"""


def test_a_script_and_a_row_are_a_catalogue(small: Callable[[str], None]) -> None:
    small(TWO)
    shown = CliRunner().invoke(main, ["targets", "functions", "autograd", "--format", "json"])
    document = json.loads(shown.stdout)
    assert document["total"] == 2
    assert document["counts"] == {"differentiable": 1, "not differentiable": 0, "left out": 1}
    assert document["functions"][0] == {
        "names": ["a.f", "a.g"],
        "signature": "f(x)",
        "outcome": "differentiable",
        "why": "a rule",
        "parameters": [],
    }


def test_the_page_has_every_function_and_counts_that_add_up(small: Callable[[str], None]) -> None:
    small(TWO)
    shown = CliRunner().invoke(main, ["targets", "functions", "autograd"]).stdout
    assert "a.f, a.g" in shown
    assert "_h(x)" in shown
    assert "lists 2 functions" in shown
    assert "1 differentiable, 0 not differentiable, 1 left out" in " ".join(shown.split())
    assert "gradfuzz sweep autograd --family functions" in " ".join(shown.split())


def test_a_library_that_cannot_list_says_why(small: Callable[[str], None]) -> None:
    small("raise ImportError('no such table in this release')\n")
    words = (
        "autograd cannot be made; its stderr says: ImportError: no such table in this release. The command"
    )
    with pytest.raises(TargetProcessError, match=words):
        catalogues.catalogue("autograd")


ODD = """
def row(thing):
    if thing.names == ("a.odd",):
        exec("def odd(x: ndarray[order='C']) -> array")
    return c.Function(thing.names, "f(x)", c.DIFFERENTIABLE, "a rule")
rows = c.read_rows([c.Public(("a.f",), len), c.Public(("a.odd",), len), c.Public(("a.g",), len)], row)
c.write(sys.argv[1], rows)
"""


def test_a_signature_that_cannot_be_read_loses_no_other(small: Callable[[str], None]) -> None:
    small(ODD)
    first, odd, last = catalogues.catalogue("autograd").functions
    assert (first.outcome, last.outcome) == (DIFFERENTIABLE, DIFFERENTIABLE)
    assert odd.outcome == LEFT_OUT
    assert odd.why == "its signature cannot be read: def odd(x: ndarray[order='C']) -> array"
    summary, *_ = FunctionTotals({"autograd": ("1.8.0", [odd])}).functions()
    assert (summary.outcome, summary.why) == (REFUSED, odd.why), "a sweep tells it with what was refused"


def test_a_schema_that_torch_does_not_parse_loses_no_other(
    torch_functions: list[Function], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_torch = importlib.import_module("gradfuzz.oracles.torch.catalogue")
    schemas = importlib.import_module("torchgen.model").FunctionSchema
    parse = schemas.parse

    def refusing(text: str) -> Any:
        assert not text.startswith("tril("), "what is that?"
        return parse(text)

    monkeypatch.setattr(schemas, "parse", refusing)
    found = of_torch.functions()
    odd = [one for one in found if one.why.startswith("its signature cannot be read: AssertionError")]
    assert {operator(one) for one in odd} == {"tril"}
    assert all_names(torch_functions) - all_names(found) <= {"torch.tril", "torch.Tensor.tril"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["drjit"],
            "no catalogue of the functions of 'drjit': there are catalogues of jax, torch, autograd",
        ),
        (["mutant:nx-1747"], "no catalogue of the functions"),
        (["torchh"], "did you mean torch"),
        (["torch:eager"], "ask for 'torch'"),
        (["torch==0.0.1"], "gradfuzz targets install 'torch==0.0.1'"),
        ([], "targets functions needs a library"),
        (["torch", "jax"], "takes no further argument"),
    ],
)
def test_what_has_no_catalogue(arguments: list[str], words: str) -> None:
    shown = CliRunner().invoke(main, ["targets", "functions", *arguments])
    assert shown.exit_code == USAGE
    assert words in " ".join(shown.stderr.split())


@pytest.mark.parametrize(
    ("target", "last"),
    [
        ("torch==2.6.0", ["launcher.py", "gradfuzz.oracles.torch.catalogue"]),
        ("autograd==1.5", ["autograd_catalogue.py"]),
    ],
)
def test_a_release_makes_its_catalogue_in_its_environment(
    target: str, last: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(managed.VARIABLE, str(tmp_path))
    library, version = target.split("==")
    made = managed.Environment(target, library, version, (), "uv", 1.0)
    monkeypatch.setattr(managed, "find", {target: made}.get)
    asked: list[list[str]] = []
    monkeypatch.setattr(catalogues, "made", lambda what, command, told: asked.append(command) or [])
    assert catalogues.catalogue(target).version == version
    (command,) = asked
    assert Path(command[0]).is_relative_to(tmp_path / target.replace("==", "-"))
    assert [Path(word).name for word in command[-len(last) :]] == last


def test_outcomes_of_rows(torch_functions: list[Function]) -> None:
    assert {function.outcome for function in torch_functions} == set(OUTCOMES)
    assert [function for function in torch_functions if not function.why or not function.signature] == []
