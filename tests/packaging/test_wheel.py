"""The wheel holds the package and nothing else, and works in a fresh environment far from the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.xdist_group("wheel")  # one worker builds it, once


def run(*command: str | Path, cwd: Path) -> str:
    """What `command` prints, run without this session's Python settings; its whole output is shown where it
    fails.
    """
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"{' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that the checkout stays clean and no old build folder leaks in."""
    source = tmp_path_factory.mktemp("source") / "gradfuzz"
    shutil.copytree(ROOT / "gradfuzz", source / "gradfuzz", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    out = source.parent / "dist"
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, cwd=source)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment with the wheel and what it requires, no extras."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home / "venv", with_pip=True)
    scripts = home / "venv" / "bin"
    run(scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=home)
    return scripts


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / "gradfuzz").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert names == files
    assert "gradfuzz/py.typed" in names


@pytest.mark.slow  # pip, and a process that imports what was installed
def test_the_wheel_is_installed_and_checks_without_a_network(wheel: Path, tmp_path: Path) -> None:
    """Into an empty folder, by pip and from no index. What gradfuzz requires is that of this Python."""
    home, empty = tmp_path / "home", tmp_path / "empty"
    empty.mkdir()
    pip = sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"
    run(*pip, "--no-index", "--no-deps", "--target", home, wheel, cwd=empty)
    code = "import gradfuzz, gradfuzz.cli as cli; print(gradfuzz.__file__); cli.main(prog_name='gradfuzz')"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(home)!r}); {code}"]
    file, text = run(*command, "check", "acc*x", "--only", "engine", cwd=empty).split("\n", 1)
    assert Path(file) == home / "gradfuzz" / "__init__.py"
    rows = [line for line in text.splitlines() if line.startswith("engine")]
    assert [(row.split()[1], row.split()[-1]) for row in rows] == [
        ("for", "agree"),
        ("while", "agree"),
        ("repeat", "agree"),
    ]
    assert (home / "bin" / "gradfuzz").exists()


def test_the_documents_say_how_it_is_installed(wheel: Path) -> None:
    """From the clone or its wheel, for no index has it."""
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for command in (
            "git clone",
            "make sweep",
            "pip install .",
            "pip install '.[jax]'",
            f"{wheel.name}[jax]",
        ):
            assert command in text, page
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert not [page for page in pages if "pip install gradfuzz" in page.read_text(encoding="utf-8")]


def test_the_readme_begins_with_what_is_typed_on_an_empty_machine() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.split("  #")[0].strip() for line in text.splitlines() if line.startswith("$ ")]
    clone = "$ git clone https://github.com/OWNER/gradfuzz && cd gradfuzz"
    assert commands[:3] == [clone, "$ make sweep", "$ make test"]


@pytest.mark.slow
def test_the_console_script_works_outside_the_repository(fresh: Path, tmp_path: Path) -> None:
    from gradfuzz import __version__

    assert __version__ in run(fresh / "gradfuzz", "--version", cwd=tmp_path)
    text = run(fresh / "gradfuzz", "--help", cwd=tmp_path)
    for command in ("check", "probe", "sweep", "targets"):
        assert command in text


@pytest.mark.slow
def test_a_check_works_without_the_extras(fresh: Path, tmp_path: Path) -> None:
    text = run(
        fresh / "gradfuzz",
        "check",
        "acc*x",
        "--trips",
        "3",
        "--at",
        "x=0.5",
        "--format",
        "json",
        cwd=tmp_path,
    )
    (point,) = json.loads(text)["points"]
    # acc = x^3 at x = 0.5, and its derivative 3 x^2: both exact in binary.
    assert point["truth"]["value"] == 0.125
    assert point["truth"]["gradient"] == {"x": 0.75}
    assert 0.0 <= point["truth"]["bound"]["x"] < 1e-15
    answers = [a for a in point["answers"] if a["oracle"] == "engine"]
    assert answers
    for answer in answers:
        assert (answer["verdict"], answer["gradient"]) == ("agree", {"x": 0.75})


WITHOUT_LIBRARIES = """
import sys
import numpy as np
from hypothesis import given, settings, strategies as st
import gradfuzz
from gradfuzz import GradientMismatch, check_gradient, check_program, engine
from gradfuzz.errors import MissingExtraError
from gradfuzz.strategies import arrays, linalg_programs, loops, points

@settings(max_examples=15, database=None, derandomize=True)
@given(loops(max_trips=4) | linalg_programs(max_side=2), st.data())
def programs_and_points(program, data):
    check_program(program, "engine", data.draw(points(program)))

@settings(max_examples=15, database=None, derandomize=True)
@given(arrays((2,)))
def own_gradient(x):
    check_gradient(lambda x: np.sum(np.tanh(x)), x, grad=lambda x: 1.0 - np.tanh(x) ** 2)

import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore", gradfuzz.testing.InconclusiveWarning)
    programs_and_points()
    own_gradient()
assert engine.grad(lambda x: x * engine.sin(x))(0.0) == 0.0
try:
    check_gradient(lambda x: np.sum(x**3), np.array([1.0, 2.0]), grad=lambda x: 3.0 * x)
except GradientMismatch as error:
    print(error)
for library in ("jax", "torch"):
    try:
        check_gradient(lambda x: x, 1.0, framework=library)
    except MissingExtraError as error:
        print(error)
assert "jax" not in sys.modules and "torch" not in sys.modules
"""


@pytest.mark.slow
def test_strategies_engine_and_check_gradient_need_neither_jax_nor_torch(fresh: Path, tmp_path: Path) -> None:
    text = run(fresh / "python", "-c", WITHOUT_LIBRARIES, cwd=tmp_path)
    assert "by x[1] is wrong" in text  # 3 x^2 is 3 at 1 and 12 at 2, where 3 x is 3 and 6
    assert "pip install 'gradfuzz[jax]'" in text
    assert "pip install 'gradfuzz[torch]'" in text


@pytest.mark.slow
def test_a_target_that_is_not_installed_names_its_extra(fresh: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [fresh / "gradfuzz", "check", "acc*x", "--only", "jax"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "gradfuzz[jax]" in done.stderr
