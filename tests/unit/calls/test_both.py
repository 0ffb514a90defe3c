"""A sweep of programs and of functions at once: one stream, one store, and the results of each alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.cli import main
from gradfuzz.fuzzer.calling.drawing.search import Search
from gradfuzz.fuzzer.calling.invocation import values_of
from gradfuzz.fuzzer.results.events import SweepFinished, SweepStarted
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep import functions as plan
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.sweep.function_targets import dtypes_of, modes_of
from gradfuzz.fuzzer.sweep.merging import Parts, SweepPart
from gradfuzz.fuzzer.sweep.plans import CALLS_EACH, divided, sweep
from gradfuzz.strategies.drawing.dice import Seeded

LISTED = [
    Function((name,), f"{name}(x)", DIFFERENTIABLE, "", (Parameter("x", (ARRAY,), required=True),))
    for name in ("autograd.numpy.sin", "autograd.numpy.exp")
]
BOTH = SweepConfig(
    ("engine", "autograd"),
    ("loops", "functions"),
    max_examples=2,
    jobs=2,
    orders=(1,),
    precisions=("float32",),
)


@pytest.fixture(autouse=True)
def two_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("autograd")
    monkeypatch.setattr(plan, "functions", lambda name: ("1.8.0", LISTED))


def ended(config: SweepConfig) -> SweepFinished:
    *_, end = sweep(config)
    assert isinstance(end, SweepFinished)
    return end


def test_each_family_finds_what_it_finds_alone() -> None:
    first, *_, end = sweep(BOTH)
    assert isinstance(first, SweepStarted)
    assert isinstance(end, SweepFinished)
    assert end.complete
    alone = [ended(one) for one in divided(BOTH) if one is not None]
    assert end.summaries == tuple(one for part in alone for one in part.summaries)
    assert end.checks == sum(part.checks for part in alone) > 0
    assert end.functions == alone[1].functions
    assert {one.asked.keys() == {"rev", "fwd"} for one in end.functions} == {True}
    assert end.tested == alone[0].tested
    assert set(dict(first.targets)) >= {"engine", "autograd"}


def test_the_parts_of_both_make_the_whole() -> None:
    parts = [ended(replace(BOTH, shard=(k, 2))).shard for k in (1, 2)]
    found = Parts([SweepPart(str(k), part) for k, part in enumerate(parts) if part is not None])
    *_, merged = sweep(replace(found.config, jobs=1), found)
    whole = ended(BOTH)
    assert isinstance(merged, SweepFinished)
    assert (merged.summaries, merged.functions) == (whole.summaries, whole.functions)


def test_the_command_keeps_both_in_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "engine", "autograd", "--family", "loops", "--family", "functions"]
    done = CliRunner().invoke(main, [*command, "--max-examples", "1", "--dtypes", "float32", "--orders", "1"])
    assert done.exit_code in (0, 1), done.output
    assert "functions" in done.output
    with Store(Path(".gradfuzz/store.sqlite")) as store:
        (run,) = store.runs()
    assert run.settings["config"]["families"] == ["loops", "functions"]
    assert run.complete


@pytest.mark.parametrize(
    ("config", "families", "targets", "examples", "jobs"),
    [
        (BOTH, [("loops",), ("functions",)], [("engine", "autograd"), ("autograd",)], [2, 2], [1, 1]),
        (
            replace(BOTH, max_examples=96, jobs=5),
            [("loops",), ("functions",)],
            [("engine", "autograd"), ("autograd",)],
            [96, CALLS_EACH],
            [3, 2],
        ),
        (replace(BOTH, families=("loops",)), [("loops",)], [("engine", "autograd")], [2], [2]),
    ],
)
def test_how_a_sweep_is_divided(
    config: SweepConfig,
    families: Sequence[tuple[str, ...]],
    targets: Sequence[tuple[str, ...]],
    examples: Sequence[int],
    jobs: Sequence[int],
) -> None:
    plans = [one for one in divided(config) if one is not None]
    assert [one.families for one in plans] == families
    assert [one.targets for one in plans] == targets
    assert [one.max_examples for one in plans] == examples
    assert [one.jobs for one in plans] == jobs


def test_what_is_asked_of_functions() -> None:
    usual = SweepConfig(("jax",), ("functions",))
    assert (modes_of(usual), dtypes_of(usual)) == ((), ())
    second = replace(usual, orders=(2,), checks=("vjp",), precisions=("float32", "bfloat16"))
    assert modes_of(second) == (("rev", "rev"),)
    assert dtypes_of(second) == ("float32", "complex64", "bfloat16")


def test_calls_have_the_dtypes_that_are_asked(seed: int) -> None:
    search = Search(
        "autograd", LISTED[0], Seeded(str(seed)), lambda call: None, dtypes=("float32", "complex64")
    )
    calls = list(itertools.islice(search.calls(), 60))
    assert {str(value.dtype) for call in calls for value in values_of(call)} == {"float32", "complex64"}
