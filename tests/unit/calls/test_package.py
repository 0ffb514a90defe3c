"""The functions, classes and methods of a package: listed, made, called, and told where nothing was asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradfuzz.adapters.catalogue import (
    ARRAY,
    DIFFERENTIABLE,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    OBJECT,
    Function,
    read,
    write,
)
from gradfuzz.cli import main
from gradfuzz.fuzzer.calling.drawing.draw import drawn
from gradfuzz.fuzzer.calling.drawing.learned import Learned
from gradfuzz.fuzzer.calling.invocation import returned, values_of
from gradfuzz.fuzzer.calling.objects import modules
from gradfuzz.fuzzer.calling.package import functions
from gradfuzz.fuzzer.findings.calls.code import expression
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.fuzzer.results.ranking import ON_PURPOSE, rank
from gradfuzz.fuzzer.turns.turn import Result, Turn, run
from gradfuzz.libraries.detect import library_named
from gradfuzz.reports.common import titles
from gradfuzz.strategies.drawing.dice import Seeded

pytest.importorskip("torch")

TOP = """
import abc, enum
from collections.abc import Callable
import torch
from torch import Tensor
from planted_pack import more

class Kind(enum.Enum):
    ONE = 1

class NoSuch(Exception):
    pass

class Operator(abc.ABC):
    @abc.abstractmethod
    def mv(self, x: Tensor) -> Tensor: ...

    def twice(self, x: Tensor) -> Tensor:
        return self.mv(self.mv(x))

class Matrix(Operator):
    def __init__(self, matrix: Tensor):
        self.matrix = matrix

    def mv(self, x: Tensor) -> Tensor:
        return self.matrix @ x

    def size(self) -> int:
        return len(self.matrix)

class Normal:
    def __init__(self, loc: float = 0.0, scale: float = 1.0):
        self.loc, self.scale = loc, scale

    def log_prob(self, value):
        return -(((value - self.loc) / self.scale) ** 2) / 2

class Layer(torch.nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(out_features, in_features, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x @ self.weight.T)

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor):
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g

class Solver:
    def __init__(self, step: Callable[[Tensor], Tensor]):
        self.step = step

    def run(self, x: Tensor) -> Tensor:
        return self.step(x)

    @staticmethod
    def residual(x: Tensor) -> Tensor:
        return torch.sin(x)

class Needs:
    def __init__(self, solver: Kind):
        self.solver = solver

    def run(self, x: Tensor) -> Tensor:
        return x

def solve(operator: Operator, x: Tensor) -> Tensor:
    return operator.mv(x)
"""

MORE = """
def wrong(x):
    from planted_pack import Wrong
    return Wrong.apply(x)

class Scaled:
    def __init__(self, factor: float = 2.0):
        self.factor = factor

    def __call__(self, x):
        return wrong(x) * self.factor
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Function]]:
    """The rows of a package with a public submodule, by name."""
    folder = tmp_path / "planted_pack"
    folder.mkdir()
    (folder / "__init__.py").write_text(TOP, encoding="utf-8")
    (folder / "more.py").write_text(MORE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield {one.names[0].removeprefix("planted_pack."): one for one in functions("planted_pack")}
    for name in [name for name in sys.modules if name.startswith("planted_pack")]:
        del sys.modules[name]


def asked(row: Function, calls: int = 2) -> Result:
    return run(Turn(row.why, row, seed=3, number=0, calls=calls, patience=1000), lambda call: None)


def test_every_public_callable_is_listed_with_what_becomes_of_it(
    rows: dict[str, Function], tmp_path: Path
) -> None:
    """And nothing that is imported from another package."""
    told = {name: row.outcome for name, row in rows.items()}
    able = ("Matrix.mv", "Matrix.twice", "Normal.log_prob", "Layer.forward", "Wrong.apply", "Solver.residual")
    assert {name for name, outcome in told.items() if outcome == DIFFERENTIABLE} == {
        *(*able, "solve", "more.wrong", "more.Scaled.__call__"),
    }
    assert told["Matrix.size"] == NOT_DIFFERENTIABLE
    reasons = {name: row.why for name, row in rows.items() if row.outcome == LEFT_OUT}
    assert reasons == {
        "Kind": "a class: an enumeration",
        "NoSuch": "a class: an exception",
        "Operator": "a class: abstract, so there are no objects of it",
        "Operator.mv": "a method: its class is abstract, so there are no objects of it",
        "Operator.twice": "a method: its class is abstract, so there are no objects of it",
        "Matrix": "a class, whose 3 methods are called",
        "Normal": "a class, whose 1 methods are called",
        "Layer": "a class, whose 1 methods are called",
        "Solver": "a class: one that needs step, which gradfuzz cannot make",
        "Solver.run": "a method: its class is one that needs step, which gradfuzz cannot make",
        "Needs": "a class: one that needs solver, which gradfuzz cannot make",
        "Needs.run": "a method: its class is one that needs solver, which gradfuzz cannot make",
        "more.Scaled": "a class, whose 1 methods are called",
    }
    write(str(tmp_path / "rows.json"), rows.values())
    assert read(tmp_path / "rows.json") == list(rows.values())


@pytest.mark.parametrize("name", ["Matrix.mv", "Matrix.twice", "Normal.log_prob", "Layer.forward", "solve"])
def test_a_right_method_is_called_on_an_object_that_is_made(name: str, rows: dict[str, Function]) -> None:
    """An operator of a matrix, a distribution of its parameters, a module of its sizes."""
    found = asked(rows[name])
    assert found.judged == 2, found.words
    assert not found.findings
    assert found.verdicts["agree"]


@pytest.mark.parametrize("name", ["Wrong.apply", "more.wrong", "more.Scaled.__call__"])
def test_a_planted_wrong_gradient_is_found(name: str, rows: dict[str, Function]) -> None:
    """The script of a method imports its modules and makes its object."""
    finding = asked(rows[name], calls=1).findings[0]
    assert finding.culprits == (f"planted_pack.{name}",)
    home = "planted_pack.more" if name.startswith("more.") else "planted_pack"
    assert finding.target == home
    assert f"import {home}\n" in finding.script
    assert ("planted_pack.more.Scaled(" in finding.script) == (name == "more.Scaled.__call__")


def test_the_parts_of_an_object_are_differentiated_too(rows: dict[str, Function]) -> None:
    row = rows["Matrix.mv"]
    assert row.parameters[0].kinds == (OBJECT,)
    assert [part.kinds for part in row.parameters[0].parts] == [(ARRAY,)]
    call = drawn(Seeded("3"), "torch", row, row.names[0], Learned()).call
    assert call.arguments[0].made == "planted_pack.Matrix()"
    assert expression(call).startswith("planted_pack.Matrix.mv(planted_pack.Matrix(x0")
    assert modules(call) == ["planted_pack"]
    same = decode(Call, encode(Call, call), "")
    assert same.arguments[0].made == call.arguments[0].made


def test_an_object_is_made_of_its_arguments_in_order(rows: dict[str, Function]) -> None:
    """-((3 - 1) / 4)^2 / 2 = -1/8."""
    import numpy as np

    parts = (Argument(array=np.array(1.0)), Argument("scale", array=np.array(4.0)))
    made = Argument(items=parts, made="planted_pack.Normal()")
    call = Call("torch", "planted_pack.Normal.log_prob", (made, Argument(array=np.array(3.0))))
    library = library_named("torch")
    assert [float(x) for x in values_of(call)] == [1.0, 4.0, 3.0]
    assert float(returned(call, library, [library.constant(x) for x in values_of(call)])) == -0.125


NOTHING = """
from collections.abc import Callable
import torch

def configured(options: Callable[[int], int]) -> torch.Tensor:
    return torch.zeros(2)

class Solver:
    def __init__(self, options: Callable[[int], int]):
        self.options = options

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return x
"""


def test_a_sweep_without_a_call_is_an_error_with_its_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, not "No findings"; and what became of each is listed."""
    (tmp_path / "nothing_asked.py").write_text(NOTHING, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    sweep = ["sweep", "nothing_asked", "--family", "functions", "--jobs", "1", "--store", "s.sqlite"]
    ended = CliRunner().invoke(main, sweep)
    text = " ".join(ended.output.split())
    assert ended.exit_code == 2, text
    assert "nothing_asked was not tested: no call of any of its 3 functions could be judged" in text
    assert "1 refused: its parameter options takes something that gradfuzz cannot make" in text
    assert "1 left out: a class: one that needs options, which gradfuzz cannot make" in text
    listing = CliRunner().invoke(main, ["targets", "functions", "nothing_asked", "--format", "json"])
    assert listing.exit_code == 0, listing.output
    assert all(name in listing.output for name in ("nothing_asked.Solver.run", "nothing_asked.configured"))
    sys.modules.pop("nothing_asked", None)


def test_the_release_of_a_package_is_that_of_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """dm-haiku has haiku."""
    from gradfuzz.oracles import registry

    monkeypatch.setattr(
        registry.importlib.metadata, "packages_distributions", lambda: {"haiku": ["dm-haiku"]}
    )
    monkeypatch.setattr(registry, "version_of", {"dm-haiku": "0.0.13", "numpy": "2.0"}.get)
    assert registry.release_of("haiku") == "0.0.13"
    assert registry.release_of("numpy") == "2.0"
    assert registry.release_of("own_module") is None


HELD = """
import torch

def held(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sin(x.detach())

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return 2.0 * g

def held_and_wrong(x: torch.Tensor) -> torch.Tensor:
    return Doubled.apply(x) * torch.sin(x.detach())
"""


def test_what_is_held_on_purpose_is_named_and_ranks_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x sin(c) at c = x has the slope sin(c). A rule that is wrong beside it is not meant. A module that is
    not installed has no release, and not that of its library.
    """
    (tmp_path / "held_pack.py").write_text(HELD, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    listed = {one.names[0].removeprefix("held_pack."): one for one in functions("held_pack")}
    meant, wrong = (asked(listed[name], calls=1).findings[0] for name in ("held", "held_and_wrong"))
    held = f"{ON_PURPOSE} (detach), and with that value held the derivative is right"
    assert meant.facts[0] == held
    assert not any(fact.startswith(ON_PURPOSE) for fact in wrong.facts)
    absurd = replace(wrong, reproduced=(1, 2))
    assert max(meant, wrong, absurd, key=rank) is meant
    assert titles.heading(meant).endswith("(held_pack, float64)")
    sys.modules.pop("held_pack", None)
