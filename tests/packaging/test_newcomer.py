"""A newcomer with an empty clone and README.md: a first finding, a test that fails, a run in CI."""

from __future__ import annotations

import os
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.docs_code import Block, blocks

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,  # a virtual environment with Torch and JAX is made, and swept in
    pytest.mark.xdist_group("newcomer"),
]


def shell(command: str, cwd: Path, expected: int = 0) -> str:
    """What a command prints in a shell in which nothing of this session is set, and .venv is active."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("PYTEST")}
    environment["PATH"] = f"{cwd / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        command, shell=True, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    said = f"{command} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == expected, said
    return done.stdout


def commands(page: Iterable[Block], word: str) -> list[str]:
    """The commands of a page that have a word in them."""
    lines = [
        line.removeprefix("$ ")
        for block in page
        if block.language == "console"
        for line in block.text.replace("\\\n", " ").splitlines()
        if line.startswith("$ ")
    ]
    return [line for line in lines if word in line]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone: there is no .git")
    folder = tmp_path_factory.mktemp("newcomer") / "gradfuzz"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def swept(clone: Path) -> str:
    """What the first command that README.md names for a clone prints."""
    (command,) = commands(blocks(clone / "README.md"), "make sweep")
    return shell(command, clone)


def test_the_first_finding(clone: Path, swept: str) -> None:
    found = re.findall(r"^(GF-\w+)", swept, re.MULTILINE)
    assert found
    assert re.search(r"^\d+ (findings?|wrong derivatives?|errors?) in [\d,]+ programs", swept, re.MULTILINE)
    shown = shell(f"gradfuzz show {found[0]}", clone)
    assert shown.startswith(found[0])
    (clone / "build").mkdir(exist_ok=True)
    shell(f"gradfuzz show {found[0]} --as native > build/finding.py", clone)
    shell("python build/finding.py", clone, expected=1)  # it needs no gradfuzz


@pytest.mark.usefixtures("swept")
def test_a_test_that_fails(clone: Path) -> None:
    """The example of README.md as a test, and then with the mistake that it names."""
    page = blocks(clone / "README.md")
    (example,) = (block.text for block in page if "check_gradient(" in block.text)
    lines = example.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("A = "))
    body = "\n".join(f"    {line}" for line in lines[start:])
    right = "\n".join([*lines[:start], "def test_loss():", body, ""])
    assert "A.T @" in right
    test = clone / "build" / "test_loss.py"
    test.parent.mkdir(exist_ok=True)
    pytest_here = f"pytest -q -p no:cacheprovider -c /dev/null --rootdir {test.parent} {test}"
    test.write_text(right, encoding="utf-8")
    assert "1 passed" in shell(pytest_here, clone)
    test.write_text(right.replace("A.T @", "A @"), encoding="utf-8")
    said = shell(pytest_here, clone, expected=1)
    assert "GradientMismatch" in said
    assert "1 failed" in said
    assert "gradfuzz/testing" not in said  # no frames but those of the test


@pytest.mark.usefixtures("swept")
def test_a_run_in_ci(clone: Path) -> None:
    """The command of the page that README.md names: exit codes, JUnit and SARIF."""
    assert "docs/howto/ci.md" in (clone / "README.md").read_text(encoding="utf-8")
    (command, *_) = commands(blocks(clone / "docs" / "howto" / "ci.md"), "--report sarif=")
    shell(command, clone)
    assert (clone / "gradients.sarif").exists()
    assert not ET.parse(clone / "gradients.xml").findall(".//failure")
    shell(command.replace(" engine ", " mutant:nx-1747 "), clone, expected=1)
    assert ET.parse(clone / "gradients.xml").findall(".//failure")
