"""Functions that are called in the environment of a target."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradfuzz.adapters.catalogue import ARRAY, DIFFERENTIABLE, Function, Parameter
from gradfuzz.errors import MissingExtraError, TargetProcessError
from gradfuzz.fuzzer.turns import homes
from gradfuzz.fuzzer.turns.process import CallProcess
from gradfuzz.fuzzer.turns.turn import Result, Turn
from gradfuzz.oracles.foreign import launcher, lending, managed

X = Parameter("x", (ARRAY,), required=True)
TURN = Turn(
    "autograd",
    Function(("autograd.numpy.sin",), "sin(x)", DIFFERENTIABLE, "", (X,)),
    1,
    0,
    1,
    home="autograd==1.8",
)
TENSORFLOW = managed.Environment("tensorflow==2.18.0", "tensorflow", "2.18.0", (), "pip", 1.0)


def test_a_library_is_beside_gradfuzz_or_in_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes.registry, "beside", lambda name: "1.8.0" if name == "autograd" else None)
    monkeypatch.setattr(managed, "find", lambda name: TENSORFLOW if name == TENSORFLOW.target else None)
    assert homes.home_of("autograd") == ""
    assert homes.home_of("mypackage.module") == ""
    assert homes.home_of("tensorflow==2.18.0") == "tensorflow==2.18.0"
    where = re.escape(str(managed.root()))
    with pytest.raises(MissingExtraError, match=f"{where}; .*gradfuzz targets install 'tensorflow'"):
        homes.home_of("tensorflow")


def here(lent: dict[str, str]) -> list[str]:
    """This Python, as if it were that of an environment."""
    return [
        sys.executable,
        "-E",
        "-s",
        str(launcher.__file__),
        "--lend",
        json.dumps(lent),
        homes.WORKER,
        "autograd",
    ]


def test_a_turn_in_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("autograd")
    monkeypatch.setattr(homes, "command", lambda library, home: here({}))
    process = CallProcess()
    try:
        result = process.run(TURN)
    finally:
        process.close()
    assert isinstance(result, Result)
    assert result.asked["rev"] == 1


def test_an_environment_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no library')"]
    monkeypatch.setattr(homes, "command", lambda library, home: command)
    process = CallProcess()
    try:
        with pytest.raises(TargetProcessError, match="exit code 1; its stderr ends with: no library"):
            process.run(TURN)
    finally:
        process.close()


def test_an_environment_is_lent_what_it_lacks_and_nothing_else(tmp_path: Path) -> None:
    """The Python of an environment without any package imports gradfuzz and what that requires."""
    places = lending.places()
    assert {"numpy", "mpmath", "hypothesis"} <= set(places)
    assert "pytest" not in places
    code = "import gradfuzz.testing, importlib.util as u\n"
    code += "print(*map(bool, map(u.find_spec, ['numpy', 'pytest'])))"
    (tmp_path / "shown.py").write_text(code, encoding="utf-8")
    start = f"import sys; sys.path.append({str(tmp_path)!r}); sys.argv[:] = sys.argv[1:]; import runpy; "
    start += f"runpy.run_path({launcher.__file__!r}, run_name='__main__')"
    command = [sys.executable, "-E", "-S", "-c", start, "launcher", "--lend", json.dumps(places), "shown"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.stdout == "True False\n", ended.stderr
