"""Hypothesis finds gradfuzz by itself: profiles and types, whatever is imported first, at next to no cost."""

from __future__ import annotations

import json
import math
import os
import tomllib
from pathlib import Path

import hypothesis
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from gradfuzz.programs import Program
from gradfuzz.strategies import GeneratedCase, cases, climb, draw_many, programs
from tests.shell import PYTEST, ROOT, python


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that says what an installed gradfuzz would say: its entry points, out of pyproject.toml."""
    folder = tmp_path_factory.mktemp("site")
    facts = folder / "gradfuzz_as_installed-0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: gradfuzz-as-installed\nVersion: 0\n")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["hypothesis"]
    (facts / "entry_points.txt").write_text(
        "[hypothesis]\n" + "".join(f"{name} = {where}\n" for name, where in points.items())
    )
    return folder


def answer(installed: Path, code: str, **variables: str) -> object:
    """What `code` prints as JSON in a fresh interpreter, where warnings are errors."""
    whole = f"import json, sys\n{code}"
    how = {"cwd": installed, "path": (installed, ROOT), "exit_code": 0}
    return json.loads(python("-W", "error", "-c", whole, **how, **variables).stdout)


def test_importing_hypothesis_loads_next_to_nothing(installed: Path) -> None:
    code = (
        "import hypothesis\nprint(json.dumps(sorted(m for m in sys.modules if m.split('.')[0] in ('gradfuzz',"
        " 'numpy', 'jax', 'torch'))))"
    )
    assert answer(installed, code) == ["gradfuzz", "gradfuzz.hypothesis_plugin", "gradfuzz.version"]


def test_the_strategies_need_neither_jax_nor_torch(installed: Path) -> None:
    code = (
        "sys.modules.update(jax=None, torch=None, flint=None)\n"
        "from gradfuzz.strategies import *\n"
        "drawn = draw_many(programs(), 20, 0)\n"
        "for program in drawn: draw_many(points(program), 2, 0), draw_many(cotangents(program), 2, 0)\n"
        "print(json.dumps(len(drawn)))"
    )
    assert answer(installed, code) == 20


FROM_TYPE = "import hypothesis.strategies as st\nprint(json.dumps(repr(st.from_type(Program))))"


@pytest.mark.parametrize(
    "imports",
    [
        "import hypothesis\nfrom gradfuzz.programs import Program",
        "from gradfuzz.programs import Program\nimport hypothesis",
        "from gradfuzz import Program",
        "import gradfuzz.strategies\nfrom gradfuzz.programs import Program",
    ],
    ids=["hypothesis first", "programs first", "by gradfuzz", "strategies"],
)
def test_a_program_is_drawn_from_its_type(installed: Path, imports: str) -> None:
    assert answer(installed, f"{imports}\n{FROM_TYPE}") == "programs()"


def test_a_program_is_drawn_from_its_type_where_plugins_are_off(installed: Path) -> None:
    code = f"from gradfuzz.programs import Program\nfrom gradfuzz.strategies import programs\n{FROM_TYPE}"
    assert answer(installed, code, HYPOTHESIS_NO_PLUGINS="1") == "programs()"


PROFILES = """
import hypothesis
from hypothesis.database import ExampleDatabase
from hypothesis import settings
shown = {}
for name in ("quick", "ci", "nightly"):
    one = settings.get_profile(f"gradfuzz-{name}")
    phases = [phase.name for phase in one.phases]
    kept = isinstance(one.database, ExampleDatabase)
    shown[name] = [one.max_examples, one.derandomize, kept, one.deadline, one.print_blob, phases]
shown["current"] = settings.get_current_profile_name()
print(json.dumps(shown))
"""


@pytest.mark.parametrize("on_ci", [False, True])
def test_the_profiles(installed: Path, on_ci: bool) -> None:
    """The example database is used, on CI, too, but where every run is the same; the phase that explains is
    off.
    """
    outside = {name: "" for name in os.environ if name in ("CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILDKITE")}
    code = (
        "import os\nfor name in list(os.environ):\n    if not os.environ[name]: del os.environ[name]\n"
        + PROFILES
    )
    shown = answer(installed, code, **({"CI": "true"} if on_ci else outside))
    phases = ["explicit", "reuse", "generate", "target", "shrink"]
    assert shown == {
        "quick": [25, False, True, None, False, phases],
        "ci": [200, True, False, None, True, phases],
        "nightly": [2000, False, True, None, True, phases],
        "current": "ci" if on_ci else "default",
    }


def test_a_profile_is_chosen_by_pytest(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "from hypothesis import given\n"
        "from gradfuzz.programs import Program\n"
        "seen = []\n"
        "@given(...)\n"
        "def test_drawn(program: Program):\n"
        "    seen.append(program)\n"
        "def test_count():\n"
        "    assert len(seen) == 25\n"
    )
    arguments = *PYTEST, "--hypothesis-profile=gradfuzz-quick", str(tmp_path)
    run = python(*arguments, cwd=tmp_path, path=(installed, ROOT), exit_code=0)
    assert "2 passed" in run.stdout


def test_what_somebody_makes_of_a_profile_stays(installed: Path) -> None:
    code = (
        "from hypothesis import settings\n"
        "settings.register_profile('gradfuzz-quick', max_examples=7)\n"
        "import gradfuzz.strategies\n"
        "print(json.dumps(settings.get_profile('gradfuzz-quick').max_examples))"
    )
    assert answer(installed, code) == 7


def test_types_in_this_process() -> None:
    assert repr(st.from_type(Program)) == "programs()"
    assert repr(st.from_type(GeneratedCase)) == "cases()"
    assert draw_many(st.from_type(Program), 5, 1) == draw_many(programs(), 5, 1)
    assert [c.program for c in draw_many(st.from_type(GeneratedCase), 5, 1)] == [
        c.program for c in draw_many(cases(), 5, 1)
    ]


# The worst --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "allowed", "score"),
    [
        (1e3, 1.0, 3.0),
        (1e-9, 1e-6, -3.0),
        (0.0, 1.0, -20.0),
        (0.0, 0.0, -20.0),
        (1e-300, 1e-300, 0.0),
        (1.0, 0.0, 20.0),
        (float("inf"), 1.0, 20.0),
        (float("nan"), 1.0, 20.0),
        (1.0, float("inf"), -20.0),
        (None, 1.0, -20.0),
    ],
)
def test_how_bad_an_example_is(error: float | None, allowed: float, score: float) -> None:
    assert climb(error, allowed) == pytest.approx(score)


def test_hypothesis_climbs_to_the_worst() -> None:
    """Six numbers are all as large as they can be by climbing, and never at random."""

    def worst(*, aim: bool) -> float:
        seen: list[float] = []

        @settings(max_examples=1500, derandomize=True, database=None, phases=[Phase.generate, Phase.target])
        @given(st.tuples(*[st.integers(0, 999)] * 6))
        def test(numbers: tuple[int, ...]) -> None:
            seen.append(math.prod(n + 1 for n in numbers))
            if aim:
                climb(seen[-1], 1e9)

        test()
        return max(seen)

    assert worst(aim=True) == 1e18
    assert worst(aim=False) < 1e18


def test_one_example_climbs_once_for_a_label() -> None:
    @settings(max_examples=1, derandomize=True, database=None)
    @given(st.just(1))
    def test(_: int) -> None:
        climb(1.0, label="value")
        climb(2.0, label="gradient")
        with pytest.raises(InvalidArgument):
            climb(3.0, label="value")

    test()


def test_shrinking_ends_with_a_margin() -> None:
    """An assertion with a margin shrinks to an example that is as simple as can be and still wrong by the
    whole margin.
    """

    def wrong_by(n: int) -> float:
        return n / 10.0

    found = hypothesis.find(
        st.integers(0, 10_000),
        lambda n: climb(wrong_by(n)) > 1.0,
        settings=settings(database=None, derandomize=True),
    )
    assert found == 101
