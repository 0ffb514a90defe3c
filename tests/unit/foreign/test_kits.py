"""Adapters in other languages than Python: what `gradfuzz targets new` writes works as it is, and the parts
that need no library.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from gradfuzz.adapters import path
from gradfuzz.cli import main
from gradfuzz.cli.target_actions import LANGUAGES
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Point
from gradfuzz.oracles.engine.oracle import EngineOracle
from gradfuzz.oracles.foreign.conformance import conformance
from gradfuzz.oracles.foreign.schema import document
from gradfuzz.oracles.foreign.wire import to_wire
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs import FLOAT, loop_program, parse
from gradfuzz.programs.evaluation.layout import layout_of
from gradfuzz.strategies import FAMILIES, draw_many

NEEDS = {
    "python": "python",
    "elixir": "elixir",
    "js": "node",
    "cpp": "g++",
    "julia": "julia",
    "swift": "swiftc",
}
elixir = pytest.mark.skipif(shutil.which("elixir") is None, reason="elixir is not installed")


def begun(lang: str, folder: Path) -> str:
    """The command of the adapter that `targets new` writes, built where it has to be; skips where the
    language is not installed.
    """
    if shutil.which(NEEDS[lang]) is None:
        pytest.skip(f"{NEEDS[lang]} is not installed")
    done = CliRunner().invoke(main, ["targets", "new", str(folder), "--lang", lang])
    assert done.exit_code == 0, done.output
    beginning = LANGUAGES[lang]
    script = folder / beginning.files[-1]
    parts = {"script": shlex.quote(str(script)), "program": shlex.quote(str(script.with_suffix("")))}
    if lang == "cpp" and "nlohmann/json.hpp" in preprocessed(script):
        pytest.skip("nlohmann/json is not installed")
    if beginning.build:
        subprocess.run(shlex.split(beginning.build.format(**parts)), check=True, timeout=300)
    return beginning.start.format(**parts)


def preprocessed(script: Path) -> str:
    """What the preprocessor complains about."""
    return subprocess.run(["g++", "-std=c++17", "-M", str(script)], capture_output=True, text=True).stderr


INTS = """
def f(x, n: "int", b: "bool"):
    acc = x
    k = 7
    for i in range(n):
        k = i * 5 - k
        if k < 0:
            if b:
                continue
        j = 0
        while j < i:
            j = j + 1
            if 10 < j * j:
                break
            acc = acc * x + acc
        if acc < -2.0:
            break
        m = 0
        while True:
            acc = sin(acc) - x
            m = m + 1
            if not m < 2:
                break
    return acc, k, b
"""


def says_what_the_engine_says(command: str) -> None:
    """Breaks and continues, nested loops, and ints of either sign."""
    (way,) = resolve(f"cmd:{command}")
    points = [
        {"x": np.asarray(x), "n": np.asarray(n), "b": np.asarray(b)}
        for x in (0.5, -1.5)
        for n in range(7)
        for b in (True, False)
    ]
    question = plain_question(parse(INTS), [Point(p) for p in points], "float64", ("x",), ("fwd",))
    for mine, engine in zip(way.answer(question), EngineOracle().answer(question), strict=True):
        assert mine.status == engine.status == "ok", mine.message
        assert [np.asarray(v).item() for v in mine.values[1:]] == [
            np.asarray(v).item() for v in engine.values[1:]
        ]
        np.testing.assert_allclose(float(mine.values[0]), float(engine.values[0]), rtol=1e-13)
        np.testing.assert_allclose(float(mine.gradient["x"]), float(engine.gradient["x"]), rtol=1e-12)


@pytest.mark.parametrize(
    "lang",
    [pytest.param(lang, marks=[pytest.mark.slow] if LANGUAGES[lang].build else []) for lang in LANGUAGES],
)
def test_what_is_written_works_as_it_is(lang: str, tmp_path: Path) -> None:
    command = begun(lang, tmp_path / "mine")
    assert {check.name: check.words for check in conformance(command, calls=20) if not check.passed} == {}
    if lang != "swift":
        says_what_the_engine_says(command)


@pytest.mark.parametrize("lang", ["python", "js"])
def test_a_tensor_that_does_not_hold_what_its_shape_says_is_an_answer(lang: str, tmp_path: Path) -> None:
    """It is the library's, as an exception is: the adapter keeps to the protocol."""
    command = begun(lang, tmp_path / "mine")
    script = Path(shlex.split(command)[-1])
    text = script.read_text(encoding="utf-8")
    changed = re.sub(r"\[value\.value\]", "[value.value, value.value]", text)
    assert changed != text
    script.write_text(changed, encoding="utf-8")
    (way,) = resolve(f"cmd:{command}")
    points = [Point({"x": np.float64(0.5)})]
    (answer,) = way.answer(
        plain_question(parse("def f(x):\n    return sin(x)"), points, "float64", ("x",), ())
    )
    assert answer.status == "error"
    assert answer.message.endswith("the library's tensor has the shape [] and holds 2 numbers")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_files_that_are_written(lang: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["targets", "new", str(tmp_path), "--lang", lang])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(LANGUAGES[lang].files)
    assert "Now: " in done.output


@pytest.mark.parametrize("name", ["kit.js", "kit.exs", "kit.hpp", "swift_adapter.swift"])
def test_kits_have_every_request_and_every_field_of_it(name: str) -> None:
    """For the languages that nobody has here, too."""
    text = path(name).read_text(encoding="utf-8")
    definitions: dict[str, Any] = document()["$defs"]
    for word in (
        "hello",
        "define",
        "eval",
        "bye",
        "unsupported",
        "bad_request",
        "exception",
        "results",
        "values",
        "gradient",
    ):
        assert word in text
    fields = {field for message in ("Define", "Eval") for field in definitions[message]["required"]}
    # Swift has first derivatives only, and ends by the clock what does not end
    assert {field for field in fields if field not in text} == (
        {"directions", "trip_limit"} if "swift" in name else set()
    )


# Elixir -----------------------------------------------------------------------------------------------------


def in_elixir(code: str, text: str, **environment: str) -> str:
    """What `code` prints, with the kit loaded and `text` on stdin."""
    done = subprocess.run(
        ["elixir", "-r", str(path("kit.exs")), "-e", code],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@elixir
def test_json_in_elixir_is_read_and_written_as_in_python(seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2**64, 500, dtype=np.uint64).view(np.float64)
    floats = [float(v) for v in bits if np.isfinite(v)] + [
        5e-324,
        1.7976931348623157e308,
        1e22,
        1e-5,
        100.0,
        0.1,
        -0.0,
    ]
    values = [
        floats,
        np.random.default_rng(seed).standard_normal(100).astype(np.float32).tolist(),
        [0, -1, 2**53 + 1, -(2**63), 10**30],
        {"a": [], "b": {}, "": None, "ä": [True, False]},
        'quotes " and \\ and \n\t\r and \u0001 and ü and \U0001f600',
    ]
    lines = [json.dumps(v) for v in values] + [json.dumps(v, ensure_ascii=False) for v in values]
    lines += ["1E5", "-2e-3", '[ 1 , "\\/\\u00e9\\ud83d\\ude00" ] ']
    code = "for line <- IO.stream(:stdio, :line), do: IO.puts(Kit.Json.encode(Kit.Json.decode(line)))"
    got = [json.loads(line) for line in in_elixir(code, "\n".join(lines) + "\n").splitlines()]
    expected = [json.loads(line) for line in lines]
    assert got == expected
    assert [np.float64(v).tobytes() for v in got[0]] == [np.float64(v).tobytes() for v in floats]


@elixir
def test_a_protocol_error_in_elixir_is_a_reply() -> None:
    code = 'Kit.serve("t", "1", [Kit.way(%{ops: %{}, array: nil, entries: nil, differentiate: nil})])'
    lines = [
        "no json",
        '{"id": 4}',
        '{"id": 5, "do": "dance"}',
        '{"id": 6, "do": "eval", "way": "no"}',
        '{"id": 7, "do": "bye"}',
    ]
    replies = [json.loads(line) for line in in_elixir(code, "\n".join(lines) + "\n").splitlines()]
    assert [reply["id"] for reply in replies] == [0, 4, 5, 6, 7]
    assert [next(key for key in reply if key != "id") for reply in replies] == [
        "error",
        "unsupported",
        "unsupported",
        "error",
        "ok",
    ]


# Nx ---------------------------------------------------------------------------------------------------------


@elixir
def test_programs_for_nx_are_elixir() -> None:
    """Without Nx: what the adapter writes can be read by Elixir's parser, for every program that it takes."""
    families = "loops", "linalg", "tensor"
    drawn = [case for name in families for case in draw_many(FAMILIES[name].cases(("float64",)), 100, "nx")]
    forms = [to_wire(case.program) for case in drawn]
    written = 'NxSource.source("P", Kit.Json.decode(line), "float32", vectorized)'
    code = (
        f"Code.require_file({json.dumps(str(path('nx_adapter.exs')))})\n"
        "for line <- IO.stream(:stdio, :line) do\n"
        "  try do\n"
        f"    for vectorized <- [false, true], do: {{:ok, _}} = Code.string_to_quoted({written})\n"
        '    IO.puts("parsed")\n'
        "  rescue\n"
        '    error in Kit.Unsupported -> IO.puts("unsupported " <> error.message)\n'
        "  end\n"
        "end"
    )
    said = in_elixir(
        code, "".join(json.dumps(form) + "\n" for form in forms), NX_ADAPTER_SOURCE_ONLY="1"
    ).splitlines()
    assert len(said) == len(forms)
    refused = {line.removeprefix("unsupported ") for line in said if line != "parsed"}
    assert {why for why in refused if not why.startswith("there is no such form of ")} <= {
        "Nx has no arrays without entries",
        "Nx.LinAlg.lu takes square matrices",
        "Nx.LinAlg.least_squares takes one matrix and one vector",
    }
    assert said.count("parsed") > 240


@elixir
def test_the_points_of_a_call_of_nx_lie_as_those_of_gradfuzz() -> None:
    drawn = draw_many(FAMILIES["vectorize"].cases(("float64",)), 60, "layout")
    asked = [[{n: np.ravel(v).tolist() for n, v in p.items()} for p in case.points] for case in drawn]
    code = (
        f"Code.require_file({json.dumps(str(path('nx_adapter.exs')))})\n"
        "for line <- IO.stream(:stdio, :line) do\n"
        "  points = Kit.Json.decode(line)\n"
        "  columns = Map.new(Map.keys(hd(points)), fn name -> {name, Enum.map(points, & &1[name])} end)\n"
        "  {sizes, axes} = NxLayout.of(columns, length(points))\n"
        "  IO.puts(Kit.Json.encode(%{sizes: Map.new(sizes), axes: axes}))\n"
        "end"
    )
    said = in_elixir(
        code, "".join(json.dumps(p) + "\n" for p in asked), NX_ADAPTER_SOURCE_ONLY="1"
    ).splitlines()
    for line, case in zip(said, drawn, strict=True):
        layout = layout_of(case.points)
        axes = {name: list(own) for name, own in layout.axes.items()}
        assert json.loads(line) == {"sizes": layout.sizes, "axes": axes}


GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "nx_while.json").read_text(encoding="utf-8"))[
    "rows"
]


@pytest.mark.skipif(
    "GRADFUZZ_NX" not in os.environ,
    reason="GRADFUZZ_NX is not set: the command of the adapter, where there is Nx",
)
@pytest.mark.parametrize("loop", ["for", "while"])
def test_nx_says_what_was_recorded_of_it(loop: Any) -> None:
    """In a release with #1747 mended; the rounding of a handful of float32 operations is allowed."""
    way, *_ = resolve(f"cmd:{os.environ['GRADFUZZ_NX']}")
    for row in GOLDEN:
        start, _, body = row["body"].rpartition(": ")
        program = loop_program(
            body.replace("^", "**"),
            trips=row["n"],
            loop=loop,
            init={"acc": "x"} if start else None,
            params={"x": FLOAT},
        )
        question = plain_question(
            program, [Point({"x": np.asarray(row["x"], "float32")})], "float32", ("x",), ("rev",)
        )
        (answer,) = way.answer(question)
        assert answer.status == "ok", answer.message
        recorded = row["nx_fixed_gradient"] * float(question.weights[0])
        assert abs(float(answer.gradient["x"]) - recorded) <= 8 * 2.0**-24 * max(abs(recorded), 2.0**-10), row
