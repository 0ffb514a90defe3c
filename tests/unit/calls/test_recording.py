"""The calls that a program makes, noted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import autograd.numpy as anp
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from gradfuzz.cli import main
from gradfuzz.errors import RecordError
from gradfuzz.fuzzer.calling import recording
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.libraries.detect import library_named

PROGRAM = """
import sys
import autograd.numpy as anp
import numpy as np

anp.tanh(np.array([0.5, 1.0]))
anp.sum(np.ones((2, 3)), axis=0)
anp.tanh(np.array([0.25, 2.0]))
sys.exit(int(sys.argv[1]))
"""


def noted(call: Call) -> tuple[str, list[object]]:
    return call.function, [a.literal if a.array is None else a.array.tolist() for a in call.arguments]


def test_calls_are_noted_by_their_public_names() -> None:
    names = ["autograd.numpy.tanh", "autograd.numpy.sum"]
    before = anp.tanh
    with recording.recording(library_named("autograd"), names) as found:
        anp.tanh(np.array([0.5]))
        anp.sum(np.array([[1.0], [2.0]]), axis=(0, 1))
        anp.cosh(np.array([0.5]))
    assert anp.tanh is before
    assert [noted(call) for call in found.calls] == [
        ("autograd.numpy.tanh", [[0.5]]),
        ("autograd.numpy.sum", [[[1.0], [2.0]], "(0, 1)"]),
    ]
    assert found.calls[1].arguments[1].keyword == "axis"


def test_a_call_of_the_same_kind_is_noted_once() -> None:
    with recording.recording(library_named("autograd"), ["autograd.numpy.tanh"]) as found:
        for x in (0.5, 1.0, 2.0):
            anp.tanh(np.array([x]))
        anp.tanh(np.array([0.5, 1.0]))
    assert [np.shape(call.arguments[0].array) for call in found.calls] == [(1,), (2,)]


def test_methods_and_operators_of_torch_are_noted() -> None:
    names = ["torch.Tensor.add", "torch.Tensor.cumsum", "torch.nn.functional.softplus"]
    with recording.recording(library_named("torch"), names) as found:
        x = torch.tensor([0.5, -1.0], dtype=torch.float64)
        torch.nn.functional.softplus(x, beta=2.0).cumsum(0) + x
    assert [call.function for call in found.calls] == [
        "torch.nn.functional.softplus",
        "torch.Tensor.cumsum",
        "torch.Tensor.add",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.ones(100),), "an array has more than 64 entries"),
        ((np.array([1, 2]),), "no array of floats is among the arguments"),
        (
            (np.ones(2), print),
            "builtins.print is not of a known library, and is recorded with --pickle only",
        ),
    ],
)
def test_what_is_no_data_is_counted_with_its_reason(arguments: tuple[object, ...], words: str) -> None:
    found = recording.Recording(library_named("autograd"))
    found.note("autograd.numpy.tanh", arguments, {})
    assert found.calls == []
    assert found.skipped == {words: 1}


def test_a_file_has_the_calls_again(tmp_path: Path) -> None:
    call = Call("torch", "torch.sin", (Argument(array=np.array([0.5])), Argument("out", literal="None")))
    path = tmp_path / "calls.json"
    recording.write(path, [call])
    (again,) = recording.read(path)
    assert noted(again) == noted(call)
    assert recording.by_function([again]) == {"torch.sin": (again,)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON at line 1"),
        ('{"type": "finding"}', "no recorded calls"),
        ('{"type": "calls", "schema": 9}', "reads 1 to 2"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "calls.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=words):
        recording.read(path)


def test_the_command_runs_a_script_as_it_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM, encoding="utf-8")
    shown = CliRunner().invoke(main, ["record", "--library", "autograd", "-o", "c.json", "program.py", "3"])
    assert shown.exit_code == 3
    assert "Recorded 2 calls of 2 functions in c.json." in " ".join(shown.stderr.split())
    functions = [call["function"] for call in json.loads(Path("c.json").read_text(encoding="utf-8"))["calls"]]
    assert functions == ["autograd.numpy.tanh", "autograd.numpy.sum"]


def test_the_command_needs_a_script() -> None:
    shown = CliRunner().invoke(main, ["record"])
    assert shown.exit_code == 2
    assert "record needs a script" in " ".join(shown.stderr.split())


def told(*arguments: str) -> tuple[int, str]:
    shown = CliRunner().invoke(main, ["record", *arguments])
    return shown.exit_code, " ".join(shown.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nofile.py"], "there is no script 'nofile.py'; a module is run by -m, as in -m pytest"),
        (["-m", "nosuchmodule"], "there is no module 'nosuchmodule'"),
        (["--package", "nosuchpackage", "-m", "json.tool"], "Python finds no package of this name"),
        (["--package", "json", "--library", "torch", "-m", "json.tool"], "give one"),
    ],
)
def test_what_cannot_be_recorded_is_a_clear_error(arguments: list[str], words: str) -> None:
    code, text = told(*arguments)
    assert code == 2
    assert words in text
    assert "Traceback" not in text


def test_a_program_that_makes_no_call_is_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quiet.py").write_text("import json\njson.dumps(1)\n", encoding="utf-8")
    code, text = told("--package", "json", "quiet.py")
    assert code == 2
    assert "times its arrays are of no library that differentiates" in text
    assert "made no call of json that can be recorded; calls.json was not written" in text
    assert not Path("calls.json").exists()


def test_what_stands_behind_a_module_belongs_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shown.py").write_text("import sys\nprint(sys.argv[1:])\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    shown = CliRunner().invoke(main, ["record", "--package", "json", "-m", "shown", "-o", "a", "--pickle"])
    assert shown.stdout == "['-o', 'a', '--pickle']\n"


def test_a_suite_whose_warnings_are_errors_is_recorded(tmp_path: Path) -> None:
    """pytest warns of plugins that were imported before it could rewrite them."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    (tmp_path / "test_sine.py").write_text(
        "import autograd.numpy as anp\n\n\ndef test_sine():\n    assert not anp.sin(anp.zeros(1))\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "gradfuzz", "record", "--library", "autograd", "-m", "pytest", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Recorded 1 call of 1 function" in done.stderr


def test_a_file_that_would_run_something_is_refused(tmp_path: Path) -> None:
    evil = Call("torch", "mypackage.f", (Argument(literal="name:os.system"), Argument(array=np.ones(1))))
    path = tmp_path / "calls.json"
    recording.write(path, [evil])
    with pytest.raises(RecordError, match=r"call 0, of mypackage.f: .* would run os.system; give --trust"):
        recording.read(path)


def test_an_older_file_is_read(tmp_path: Path) -> None:
    call = Call("torch", "torch.sin", (Argument(array=np.array([0.5])),))
    path = tmp_path / "calls.json"
    recording.write(path, [call])
    path.write_text(path.read_text(encoding="utf-8").replace('"schema": 2', '"schema": 1'), encoding="utf-8")
    assert [one.function for one in recording.read(path)] == ["torch.sin"]
