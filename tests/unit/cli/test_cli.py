"""The command line: exit codes, what goes where, errors in one paragraph."""

from __future__ import annotations

import functools
import json
import os
import pty
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from gradfuzz.cli import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, OWN_FAULT, USAGE
from gradfuzz.cli.sweeping.running import _exit_code
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.oracles.registry import IN_PROCESS
from tests import shell
from tests.report_data import called

ROOT = Path(__file__).parents[3]

MUTANT = "mutant:nx-1747"

pytestmark = pytest.mark.usefixtures("elsewhere")

run = functools.partial(shell.run, exit_code=None)


def document(*arguments: str, exit_code: int = CLEAN) -> dict:
    return json.loads(shell.run(*arguments, "--format", "json", exit_code=exit_code).stdout)


def check(*arguments: str, exit_code: int = FINDINGS, oracles: tuple[str, ...] = ("engine",)) -> list[dict]:
    only = [part for name in oracles for part in ("--only", name)]
    return document("check", *arguments, *only, exit_code=exit_code)["points"]


# Start ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["sweep", "--help"], ["check", "-h"], ["probe", "--help"], ["targets", "--help"]],
)
def test_help(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == CLEAN
    assert result.stdout.startswith("Usage: ")
    assert not result.stderr


def test_version() -> None:
    from gradfuzz import __version__

    assert run("--version").stdout == f"gradfuzz {__version__}\n"


def test_help_starts_fast() -> None:
    """What help costs beyond a bare interpreter, in processor time: 200 ms are promised, and a quarter of
    that is the interpreter's.
    """
    code = "import resource, sys\nfrom gradfuzz.cli import main\ntry:\n    main(['--help'])\nfinally:\n"
    code += "    print('CPU', resource.getrusage(resource.RUSAGE_SELF).ru_utime, file=sys.stderr)"
    seconds = [float(shell.python("-c", code).stderr.split("CPU")[1]) for _ in range(3)]
    assert min(seconds) < 0.2


def test_help_on_a_terminal_is_drawn_by_rich_click(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    code = "from gradfuzz.cli import main; main(['sweep', '--help'])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=child, stderr=child, env=environment, cwd=tmp_path
    ) as process:
        os.close(child)
        text = b""
        while True:
            try:
                part = os.read(parent, 4096)
            except OSError:  # the terminal is closed when the program ends
                break
            if not part:
                break
            text += part
    os.close(parent)
    assert process.returncode == CLEAN
    assert "╭".encode() in text, "rich-click draws boxes"
    assert b"--max-examples" in text


# Check ------------------------------------------------------------------------------------------------------


def test_check_is_the_document_of_the_contract() -> None:
    points = check("acc*x", "--trips", "3", "--at", "x=0.5", oracles=("engine", MUTANT))
    (point,) = points
    truth = point["truth"]
    assert (point["inputs"], truth["value"], truth["gradient"], truth["references"]) == (
        {"x": 0.5},
        0.125,
        {"x": 0.75},
        ["arb", "mpmath"],
    )
    assert 0 <= truth["bound"]["x"] < 1e-15
    answers = {(a["oracle"], a["loop"]): a for a in point["answers"]}
    assert set(answers) == {
        (oracle, loop) for oracle in ("engine", MUTANT) for loop in ("for", "while", "repeat")
    }
    for loop in ("for", "while", "repeat"):
        right, wrong = answers["engine", loop], answers[MUTANT, loop]
        assert (right["verdict"], right["class"], right["gradient"], right["ratio"]) == (
            "agree",
            None,
            {"x": 0.75},
            {"x": 1.0},
        )
        assert (wrong["verdict"], wrong["class"], wrong["gradient"], wrong["ratio"]) == (
            "disagree",
            "wrong_value",
            {"x": 1.3125},
            {"x": 1.75},
        )


def test_with_adds_to_what_is_asked() -> None:
    points = document(
        "check", "acc*x", "--only", "engine", "--with", MUTANT, "--at", "x=0.5", exit_code=FINDINGS
    )["points"]
    assert {a["oracle"] for a in points[0]["answers"]} == {"engine", MUTANT}


def test_a_sign_flip() -> None:
    (point,) = check("acc*(x-2)", "--trips", "2", "--at", "x=0.5", "--loop", "for", oracles=(MUTANT,))
    (answer,) = point["answers"]
    assert (point["truth"]["gradient"], answer["gradient"], answer["class"]) == (
        {"x": -3.0},
        {"x": 3.25},
        "sign_flip",
    )


def test_a_blowup_is_told_with_separators() -> None:
    result = run("check", "acc*x", "--at", "x=0.001", "--only", MUTANT, "--loop", "for")
    assert result.exit_code == FINDINGS
    assert "333,334×" in result.stdout
    assert "ratio_blowup" in result.stdout


def test_zero_trips_have_no_body_first_form() -> None:
    (point,) = check("acc*x", "--trips", "0", exit_code=CLEAN)
    assert [a["loop"] for a in point["answers"]] == ["for", "while"]


def test_several_points_and_inputs() -> None:
    points = check("acc*x + y", "--at", "x=0.5,y=2", "--at", "x=1,y=-0.25", "--loop", "for", exit_code=CLEAN)
    assert [p["inputs"] for p in points] == [{"x": 0.5, "y": 2.0}, {"x": 1.0, "y": -0.25}]
    assert [p["truth"]["gradient"] for p in points] == [
        {"x": 0.75 + 2 * 2, "y": 1.75},
        {"x": 3 - 0.25 * 3, "y": 3.0},
    ]


def test_arrays_are_lists() -> None:
    (point,) = check("acc*v", "--at", "v=[1,2,3]", "--loop", "for", exit_code=CLEAN)
    assert point["inputs"] == {"v": [1.0, 2.0, 3.0]}
    assert point["answers"][0]["gradient"] == {"v": [3.0, 12.0, 27.0]}


def test_the_first_value_of_a_carry_may_be_an_expression() -> None:
    (number,) = check("acc*2", "--init", "acc=x", "--at", "x=0.5", "--loop", "for", exit_code=CLEAN)
    assert number["truth"]["gradient"] == {"x": 8.0}
    (expression,) = check("acc*2", "--init", "acc=sin(x)", "--at", "x=0", "--loop", "for", exit_code=CLEAN)
    assert expression["truth"]["gradient"] == {"x": 8.0}


@pytest.mark.parametrize(
    ("order", "value"), [("0", {}), ("1", {"x": 0.75}), ("2", {"x": 3.0}), ("3", {"x": 6.0})]
)
def test_orders(order: str, value: dict[str, float]) -> None:
    (point,) = check("acc*x", "--order", order, "--at", "x=0.5", "--loop", "for", exit_code=CLEAN)
    assert point["answers"][0]["gradient"] == value
    assert point["answers"][0]["verdict"] == "agree"


def test_the_value_has_a_table_of_its_own() -> None:
    result = run("check", "acc*x", "--order", "0", "--at", "x=0.5", "--only", "engine", "--loop", "for")
    row = next(line for line in result.stdout.splitlines() if line.startswith("engine"))
    assert row.split() == ["engine", "for", "value", "output", "0", "0.125", "exact", "0.125", "1×", "agree"]


def test_modes_tell_the_order() -> None:
    (point,) = check("acc*x", "--mode", "rev,fwd", "--at", "x=0.5", "--loop", "for", exit_code=CLEAN)
    assert point["answers"][0]["modes"] == ["rev", "fwd"]
    assert point["answers"][0]["gradient"] == {"x": 3.0}


def test_wrt_leaves_the_others_constant() -> None:
    (point,) = check("acc*x + y", "--wrt", "y", "--at", "x=0.5,y=2", "--loop", "for", exit_code=CLEAN)
    assert point["answers"][0]["gradient"] == {"y": 1.75}


def test_float32_points_are_exact_in_float32() -> None:
    (point,) = check("acc*x", "--dtype", "float32", "--at", "x=0.1", "--loop", "for", exit_code=CLEAN)
    assert point["inputs"] == {"x": 0.10000000149011612}


def test_defaults_are_told_on_stderr() -> None:
    result = run("check", "acc*x + y", "--at", "x=2", "--only", "engine", "--loop", "for")
    assert "taken as: y = 0.5" in result.stderr
    assert "y = 0.5" in result.stdout


def test_an_input_that_does_not_occur_is_told() -> None:
    assert (
        "x does not occur" in run("check", "acc*2", "--at", "x=2", "--only", "engine", "--loop", "for").stderr
    )


def test_a_file_has_its_own_loops(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "def f(x, n: 'int'):\n    acc = 1.0\n    for i in range(n):\n        acc = acc * x\n    return acc\n"
    )
    (point,) = check(str(file), "--at", "x=0.5,n=3", exit_code=CLEAN)
    assert point["inputs"] == {"x": 0.5, "n": 3}
    assert [(a["loop"], a["gradient"]) for a in point["answers"]] == [(None, {"x": 0.75})]


def test_a_python_function_is_traced(tmp_path: Path) -> None:
    (tmp_path / "mine_to_trace.py").write_text("def cube(x):\n    return x * x * x\n")
    (point,) = check("mine_to_trace:cube", "--at", "x=0.5", exit_code=CLEAN)
    assert point["answers"][0]["gradient"] == {"x": 0.75}


# Bad input --------------------------------------------------------------------------------------------------

LOOP = "def f(x):\n    while x < 2.0:\n        x = x * 1.0\n    return x\n"

BAD = [
    pytest.param(["check", "acc*frobnicate(x)"], ["frobnicate"], id="unknown op"),
    pytest.param(["check", "def f(x):\n    return x * y\n"], ["line 2", "y"], id="unbound name"),
    pytest.param(["check", "acc*x +"], ["line 1"], id="syntax"),
    pytest.param(
        ["check", "def f(v: 'float[2]', w: 'float[3]'):\n    return sum(v * w)\n"],
        ["float[2]", "float[3]"],
        id="shapes",
    ),
    pytest.param(["check", LOOP, "--at", "x=0.5"], ["trip"], id="endless loop"),
    pytest.param(["check", "acc*log(x)", "--at", "x=-1"], ["log"], id="domain"),
    pytest.param(["check", "acc*x", "--only", "engin"], ["'engin'", "engine"], id="unknown target"),
    pytest.param(["sweep", "engin"], ["'engin'", "engine"], id="unknown target of a sweep"),
    pytest.param(["probe", "mutant:nx-1748"], ["nx-1748", "nx-1747"], id="unknown mutant"),
    pytest.param(["probe", "engine", "--suite", "loop"], ["'loop'", "loops"], id="unknown suite"),
    pytest.param(
        ["probe", "engine", "--suite", "linalg", "--op", "lu,cholesk"],
        ["'cholesk'", "cholesky"],
        id="unknown op",
    ),
    pytest.param(["probe", "engine", "--op", "lu"], ["loops", "linalg"], id="ops of a suite without"),
    pytest.param(
        ["probe", "engine", "--suite", "linalg", "--op", "outer", "--script", "1"],
        ["no script 1"],
        id="a script of nothing",
    ),
    pytest.param(
        ["probe", "engine", "--suite", "linalg", "--scripts", "/dev/null/x"],
        ["/dev/null"],
        id="scripts to no folder",
    ),
    pytest.param(["check", "acc*x", "--at", "x"], ["--at", "x=0.5"], id="a point without a value"),
    pytest.param(["check", "acc*x", "--at", "x=abc"], ["'abc'"], id="a value that is none"),
    pytest.param(["check", "acc*v", "--at", "v=[1,[2,3]]"], ["v"], id="a ragged array"),
    pytest.param(["check", "acc*x", "--init", "acc"], ["--init"], id="a first value without a value"),
    pytest.param(["check", "acc*x", "--wrt", "z"], ["'z'", "x"], id="wrt of a name that is none"),
    pytest.param(["check", "acc*x", "--mode", "reverse"], ["'reverse'", "rev"], id="unknown mode"),
    pytest.param(
        ["check", "acc*x", "--mode", "rev", "--order", "2"], ["--order"], id="modes that do not fit the order"
    ),
    pytest.param(["check", "acc*x", "--trips", "-1"], ["--trips"], id="negative trips"),
    pytest.param(
        ["check", "acc*x", "--trips", "0", "--loop", "repeat"], ["body-first"], id="body-first without a trip"
    ),
    pytest.param(["check", "nowhere.py"], ["nowhere.py"], id="a file that is not there"),
    pytest.param(["check", "no_such_module:f"], ["no_such_module"], id="a module that is not there"),
    pytest.param(["check", "math:cosh_"], ["cosh_", "cosh"], id="a function that is not there"),
    pytest.param(
        ["check", "def f(x):\n    return x\n", "--trips", "3"], ["--trips"], id="trips of a whole program"
    ),
    pytest.param(["check", "def f(x):\n    return x\n", "--at", "y=1"], ["'y'"], id="an input that is none"),
    pytest.param(["check", "acc*y", "--at", "x=1"], ["x does not occur", "--at y="], id="a slip in a name"),
    pytest.param(
        ["sweep", "engine", "--family", "lops"], ["'lops'", "loops", "functions"], id="unknown family"
    ),
    pytest.param(["sweep", "engine", "--checks", "grad"], ["'grad'", "vjp"], id="unknown check"),
    pytest.param(["sweep", "engine", "--dtypes", "float8"], ["'float8'", "bfloat16"], id="unknown dtype"),
    pytest.param(["sweep", "engine", "--orders", "one"], ["'one'"], id="an order that is no number"),
    pytest.param(["sweep", "engine", "--max-examples", "0"], ["max_examples"], id="no programs"),
    pytest.param(["sweep", "engine", "--report", "pdf"], ["'pdf'", "json", "html"], id="unknown report"),
    pytest.param(
        ["sweep", "engine", "--report", "json=no/such/folder/x.json"],
        ["no/such/folder"],
        id="a report in no folder",
    ),
    pytest.param(["sweep", "--no-such-flag"], ["--no-such-flag"], id="unknown flag"),
    pytest.param(["sweep", "engine", "--jobs", "0"], ["jobs is 0", "at least one process"], id="no worker"),
    pytest.param(["sweep", "engine", "--seed", "a"], ["--seed", "'a'", "integer"], id="a seed that is none"),
    pytest.param(["sweep", "engine", "--max-time", "5x"], ["'5x'", "90s"], id="a time that is none"),
    pytest.param(["sweep", "engine", "--shard", "5/4"], ["5/4", "1/4 to 4/4"], id="a part that is none"),
    pytest.param(["sweep", "json"], ["'json' is a module", "--family functions"], id="a module as a target"),
    pytest.param(
        ["sweep", "nowhere", "--family", "functions"],
        ["functions of 'nowhere' cannot be called", "a module that Python finds"],
        id="a module that is not there, to sweep",
    ),
    pytest.param(
        ["sweep", "torch", "--calls", "no.json"], ["no.json", "No such file"], id="no recorded calls"
    ),
    pytest.param(["record", "nowhere.py"], ["no script 'nowhere.py'", "-m"], id="no script to record"),
    pytest.param(["record", "-m", "nowhere"], ["no module 'nowhere'"], id="no module to record"),
    pytest.param(["record", "--library", "np", __file__], ["'np' is not one of torch"], id="unknown library"),
    pytest.param(["replay", "nowhere.json"], ["nowhere.json", "No such file"], id="no file to replay"),
    pytest.param(["prove", "torch"], ["'torch' is not a function of torch and jax"], id="a library to prove"),
    pytest.param(["prove", "torch.sinn"], ["did you mean 'torch.sin'"], id="a function to prove, misspelt"),
    pytest.param(
        ["write", "math"], ["'math' names no function", "MODULE:FUNC"], id="no function to write for"
    ),
    pytest.param(["write", "math:cosh_"], ["no function 'cosh_'", "'cosh'"], id="a function to write for"),
    pytest.param(
        ["write", "math:cosh", "-o", "no/x.py"], ["--output", "'no' does not exist"], id="a test in no folder"
    ),
    pytest.param(["swep"], ["swep"], id="unknown command"),
]


@pytest.mark.parametrize(("arguments", "parts"), BAD)
def test_bad_input_is_one_paragraph_and_exit_code_2(arguments: list[str], parts: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == USAGE, result.output
    assert not result.stdout
    error = result.stderr[result.stderr.index("Error: ") :]
    assert "\n" not in error.rstrip("\n"), "one paragraph"
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in error, error


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_PROCESS, "1")
    monkeypatch.setitem(sys.modules, "jax", None)
    for name in [name for name in sys.modules if name.startswith("gradfuzz.oracles.jax.ways")]:
        monkeypatch.delitem(sys.modules, name)
    result = run("probe", "jax")
    assert result.exit_code == USAGE
    assert "pip install 'gradfuzz[jax]'" in result.stderr


# Sweep ------------------------------------------------------------------------------------------------------


def test_a_clean_sweep() -> None:
    result = run("sweep", "engine", "--max-examples", "16", "--orders", "1", "--jobs", "1")
    assert result.exit_code == CLEAN, result.output
    assert "No findings in 16 programs" in result.stdout
    assert "Seed 0. Again: gradfuzz sweep engine --seed 0 --max-examples 16" in result.stdout.replace(
        "\n", " "
    )
    first, second, *_ = result.stderr.splitlines()
    assert first.startswith("Starting: loading engine.")
    assert second.startswith("Sweep of engine")
    assert not Path(".gradfuzz/scripts").exists()


def untimed(of: dict) -> dict:
    """A sweep's document without what the clock says."""
    return {**of, "seconds": 0, "environment": {**of["environment"], "started": ""}}


def test_the_same_seed_draws_the_same() -> None:
    arguments = ("sweep", "engine", "--max-examples", "16", "--orders", "1", "--jobs", "1", "--seed", "3")
    first, second = (untimed(document(*arguments)) for _ in range(2))
    assert first == second


def test_a_time_limit_leaves_a_sweep_incomplete() -> None:
    result = run("sweep", "engine", "--max-time", "0.001", "--max-examples", "100000", "--jobs", "1")
    assert result.exit_code == INCOMPLETE, result.output
    assert "Incomplete" in result.stdout


def test_a_fault_of_gradfuzz_is_exit_code_4_whatever_else_was_found() -> None:
    broken = FunctionSummary("torch.cdist", "cdist(x1, x2)", "broken", "IndexError: list index out of range")
    asked = replace(broken, outcome="asked", why="")
    assert _exit_code(called(findings=(), functions=(asked,)), 0) == CLEAN
    assert _exit_code(called(findings=(), functions=(asked, broken)), 0) == OWN_FAULT
    assert _exit_code(called(functions=(broken,)), 1) == OWN_FAULT
    fault = OwnFault("shrinking it", "IndexError: list index out of range", "Traceback")
    end = called(functions=(asked,))
    assert _exit_code(end, 1) == FINDINGS
    assert _exit_code(replace(end, findings=(replace(end.findings[0], own_faults=(fault,)),)), 1) == OWN_FAULT
    assert _exit_code(replace(end, own_faults=(fault,), complete=False), 0) == OWN_FAULT
    assert _exit_code(replace(end, own_faults=(fault,), interrupted=True), 0) == INTERRUPTED


def test_ctrl_c_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradfuzz.fuzzer.results.events import SweepFinished, SweepStarted

    rerun = "gradfuzz sweep engine --seed 0"
    events = [
        SweepStarted(0, (("engine", "0"),), ("loops",), 10, None, rerun),
        SweepFinished(0, 1.0, 3, 12, (), (), complete=False, interrupted=True, rerun=rerun),
    ]
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.plans.sweep", lambda config, memo: iter(events))
    result = run("sweep", "engine", "--format", "json")
    assert result.exit_code == INTERRUPTED
    assert json.loads(result.stdout)["programs"] == 3


# Settings ---------------------------------------------------------------------------------------------------


def test_flags_come_from_the_file_the_environment_and_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.gradfuzz]\nseed = 1\nmax-examples = 5\n[tool.gradfuzz.sweep]\norders = [1, 2]\ndtypes ="
        ' "float32"\n'
    )
    config = shell.config_of(monkeypatch)
    assert (config.seed, config.max_examples, config.orders) == (1, 5, (1, 2))
    assert config.precisions == ("float32",)
    monkeypatch.setenv("GRADFUZZ_SEED", "2")
    assert shell.config_of(monkeypatch).seed == 2
    monkeypatch.setenv("GRADFUZZ_SWEEP_SEED", "3")
    assert shell.config_of(monkeypatch).seed == 3
    assert shell.config_of(monkeypatch, "--seed", "4").seed == 4


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[tool.gradfuzz\n", "cannot be read"),
        ('[tool.gradfuzz]\nseed = "one"\n', "--seed"),
    ],
)
def test_bad_settings_are_usage_errors(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    result = run("sweep", "engine")
    assert result.exit_code == USAGE
    assert part in result.stderr


def test_settings_of_other_tools_are_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 99\n")
    assert run("targets").exit_code == CLEAN


# Targets and what people see --------------------------------------------------------------------------------


def test_targets() -> None:
    rows = document("targets", "list")["targets"]
    names = [row["name"] for row in rows]
    assert {"engine", "arb", "mpmath"} <= set(names)
    text = run("targets").stdout
    assert all(name in text for name in names)


def test_planted_bugs_are_listed_where_they_are_asked_for() -> None:
    result = run("targets")
    assert MUTANT not in result.stdout
    rows = document("targets", "--planted")["targets"]
    planted = [row["name"] for row in rows if row["role"] == "mutant"]
    assert MUTANT in planted
    assert f"{len(planted)} planted bugs are left out; --planted lists them." in result.stderr


def test_the_ledger_of_conventions() -> None:
    rows = document("targets", "conventions")["conventions"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["abs-at-0"]["examples"][0]["answers"] == {"engine": 0.0, "jax": 1.0, "torch": 0.0}
    assert by_name["norm-at-0"]["examples"][0]["answers"]["jax"] == ["NaN", "NaN"]
    both = by_name["symmetric-part"]
    assert both["ops"] == ["cholesky", "eigh", "eigvalsh"]
    assert both["functions"]["paddle.*pinv"].startswith("https://")
    text = run("targets", "conventions").stdout
    assert all(name in text for name in by_name)
    assert "[nan, nan]" in text


def test_a_convention_is_named_where_it_explains_a_verdict() -> None:
    arguments = ("check", "def f(x):\n    return abs(x)\n", "--at", "x=0", "--only", "engine")
    (answer,) = document(*arguments)["points"][0]["answers"]
    assert (answer["verdict"], answer["conventions"]) == ("convention", ["abs-at-0"])
    assert "abs-at-0" in run(*arguments).stdout


SEEN = {
    "check": ("check", "acc*x", "--at", "x=0.001", "--only", "engine", "--with", MUTANT),
    "check_domain": ("check", "acc*log(x)", "--at", "x=-1"),
    "unknown_target": ("sweep", "engin"),
    "misplaced_flag": ("check", "def f(x):\n    return x\n", "--trips", "3"),
}


def normalised(text: str) -> str:
    """Without what changes from run to run and from version to version."""
    text = re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text)
    return re.sub(r"± \S+", "± BOUND", text)


@pytest.mark.parametrize("name", SEEN)
def test_what_people_see(name: str) -> None:
    result = run(*SEEN[name])
    text = (
        f"$ gradfuzz {' '.join(SEEN[name])}\n--- exit code {result.exit_code}\n--- stdout\n{result.stdout}---"
        f" stderr\n{result.stderr}"
    )
    shell.assert_kept(name, normalised(text))


def test_a_pipe_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "")
    result = run("check", "acc*x", "--at", "x=0.5", "--only", "engine", "--loop", "for")
    assert "\x1b" not in result.output
    assert result.stdout == textwrap.dedent(result.stdout)
