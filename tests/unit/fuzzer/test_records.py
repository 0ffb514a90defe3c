"""Records: every value survives being written and read, older schemas are brought up to date, and what is no
record says why.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays
from typing_extensions import TypeAliasType

from gradfuzz.errors import RecordError
from gradfuzz.fuzzer.results import codec, records
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.events import (
    FindingFound,
    Progress,
    Shard,
    SweepFinished,
    SweepStarted,
    TargetSummary,
)
from gradfuzz.fuzzer.results.evidence import Aspect, Curve, Evidence, Sample, Variant
from gradfuzz.fuzzer.results.finding import (
    Cause,
    Class,
    Cluster,
    Finding,
    FindingPoint,
    Likelihood,
    Reason,
    Verdict,
)
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.own_fault import OwnFault
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.results.review import Accepted, Baseline, BaselineEntry, Pattern, Review, Rule
from gradfuzz.programs import Program, parse
from gradfuzz.strategies import FAMILIES

DATA = Path(__file__).parents[2] / "data"
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1]


def there_and_back(hint: Any, value: Any) -> Any:
    return codec.decode(hint, json.loads(json.dumps(codec.encode(hint, value), allow_nan=False)))


def bits(value: Any) -> Any:
    """What two values must have in common: every bit of their floats, every dtype and shape."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return array.dtype.name, array.shape, array.tobytes()
    if dataclasses.is_dataclass(value) and not isinstance(value, type | Program):
        return type(value), [bits(getattr(value, f.name)) for f in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return [(key, bits(item)) for key, item in value.items()]
    return [bits(item) for item in value] if isinstance(value, tuple) else value


def array(*values: float, dtype: str = "float64") -> np.ndarray:
    return np.array(values, dtype)


def finding(**changes: Any) -> Finding:
    """One with something in every field."""
    program = parse(
        'def f(x: "float[2]", n: "int"):\n    for i in range(n):\n        x = x * -0.0\n    return sum(x)\n'
    )
    point = FindingPoint(
        inputs={"x": array(0.5, -0.0, dtype="float32"), "n": np.array(3)},
        expected={"x": array(math.inf, 1.0)},
        got={"x": array(math.nan, -math.inf, dtype="float32")},
        bound={"x": array(0.0, 1e-300)},
        entry=("x", (1,)),
        entry_expected=-0.0,
        entry_got=math.nan,
        ratio=None,
        error_over_allowed=math.inf,
        allowed={"x": array(1e-9, 1e-8)},
    )
    sample = Sample(-1.0, 0.5, 0.0, math.nan, 1e-12, Label.DIFFERS)
    value = Finding(
        id="GF-7c1e",
        target="mutant:nx-1747",
        version="0.1.0",
        check="vjp",
        kind=Class.SIGN_FLIP,
        family="loops",
        precision="float32",
        modes=("rev",),
        wrt=("x",),
        program=program,
        original=program,
        weights=(array(), None, np.array(0.5)),
        directions={"x": array(-0.5, 2.0)},
        smallest=point,
        clearest=point,
        worst=dataclasses.replace(point, ratio=-1.0833),
        seen=3,
        references=("arb", "mpmath"),
        reproduced=(5, 5),
        note='<script>"\x00\x1b[31m\u202e\udc80',
        cause=Cause("nx-1747", Likelihood.CERTAIN, "swept forward", "Nx #1747", ("a", "b")),
        script="print(1)\n",
        ports={"jax": "import jax\n"},
        evidence=Evidence(
            Curve(("x", (0,)), ("x", (1,)), (sample,)),
            (Variant(Aspect.DTYPE, "float32", "", 0.5, None, math.inf, None, Label.CRASHED),),
        ),
        signature="7c1e" * 16,
        others=({"x": array(1.0, 2.0, dtype="float32"), "n": np.array(0)},),
        place=1,
        facts=("divide alone is wrong: x / y, at all 6 points tried",),
        culprits=("divide",),
    )
    return dataclasses.replace(value, **changes)


SUMMARY = TargetSummary(
    "engine", "0.1.0", "loops", 10, 9, inconclusive={Reason.KINK: 1}, worst_agreeing=math.inf
)
DAY = datetime.date(2027, 3, 1)
ENTRY = BaselineEntry("GF-7c1e", "7c1e" * 16, "mutant:nx-1747", "known", "https://example.org/1", DAY)
DOCUMENTS = [
    finding(),
    finding(evidence=None, cause=None, ports={}, others=()),
    SweepStarted(0, (("engine", "0.1.0"),), ("loops",), 16, None, "gradfuzz sweep engine"),
    Progress(1.5, 16, 100, "judging", "def f(x): ...", (SUMMARY,), "", 4, 8, 0.5, "http://127.0.0.1:8787"),
    FindingFound(finding()),
    finding(
        call=Call("torch", "torch.where", (Argument(array=array(0.5)), Argument("x", literal="(0, 1)"))),
        drawn=Call("torch", "torch.where", (Argument("z", items=(Argument(array=np.array(True)),)),), "loop"),
        code="y = torch.where(x)\n",
        drawn_code="y = torch.where(x, z)\n",
    ),
    SweepFinished(
        *(0, 1.5, 16, 100, (SUMMARY,), (finding(),), True, False, "gradfuzz sweep engine"),
        coverage={"nested loops": 3},
        clusters=(Cluster("engine: loop", ("GF-7c1e",)),),
        tested={"op": {"sin": 3}},
        conventions={"abs-at-0": 2},
        environment={"python": "3.11"},
        functions=(
            FunctionSummary(
                "torch.where", "where(c)", "asked", "", drawn=9, asked=Counter(rev=7), lacks={"fwd": "no"}
            ),
        ),
        shard=Shard(1, 4, '{"gradfuzz": "1"}', {"order:1": "eA=="}),
    ),
    Review(
        (ENTRY,), (), (dataclasses.replace(ENTRY, expires=None),), (finding(),), (("GF-7c1e", "2026-03-01"),)
    ),
    Baseline(
        (Accepted(ENTRY, finding()), Accepted(ENTRY, what="sign_flip in for, vjp")),
        (Rule(Pattern(target="torch*", op="solve"), "known"), Rule(Pattern(kind="error"), "r", "l", DAY)),
    ),
]


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda v: type(v).__name__)
def test_a_document_reads_as_what_was_written(value: Any) -> None:
    text = json.dumps(records.to_document(value), allow_nan=False)
    assert bits(records.from_document(records.loads(text, "it"), type(value), "it")) == bits(value)


def test_a_finding_has_its_text_beside_for_the_reader() -> None:
    document = records.to_document(finding())
    assert (document["schema"], document["type"]) == (records.SCHEMA, "finding")
    assert document["text"].startswith("def f(x")
    assert document["smallest"]["inputs"]["x"] == {"dtype": "float32", "shape": [2], "values": [0.5, "-0.0"]}


# Any value --------------------------------------------------------------------------------------------------

DTYPES = ["bool", "int8", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128"]


@given(st.data())
@settings(max_examples=100)
def test_arrays_of_every_dtype_and_shape(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    value = data.draw(
        arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    )
    value = (
        np.where(np.isnan(value), np.array(math.nan, dtype), value).astype(dtype)
        if dtype.kind in "fc"
        else value
    )
    if dtype.kind == "c":  # one NaN: which bits a NaN has is not kept
        value = np.where(np.isnan(value), np.array(1.0, dtype), value).astype(dtype)
    assert bits(there_and_back(np.ndarray, value)) == bits(value)


@given(st.sampled_from(SPECIAL) | st.floats(allow_nan=False))
def test_floats(value: float) -> None:
    assert bits(there_and_back(float, value)) == bits(value)


@given(st.data())
@settings(max_examples=20)
def test_findings_of_drawn_programs_and_points(data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(list(FAMILIES)))
    case = data.draw(FAMILIES[family].cases(("float64", "float32")))
    point = dataclasses.replace(finding().smallest, inputs=case.points[0])
    value = finding(
        program=case.program,
        original=case.program,
        family=family,
        smallest=point,
        others=tuple(case.points[1:]),
    )
    back = records.from_document(records.loads(json.dumps(records.to_document(value)), "it"), Finding, "it")
    assert back.program == case.program
    assert bits(back) == bits(value)


@dataclasses.dataclass(frozen=True)
class Everything:
    counts: Counter[Verdict]
    pairs: Mapping[tuple[str, Class], int]
    kinds: frozenset[Class]
    day: datetime.date | None
    flag: bool


def test_the_other_types() -> None:
    value = Everything(
        Counter({Verdict.AGREE: 3}),
        {("a", Class.MISSING): 1},
        frozenset({Class.ERROR, Class.MISSING}),
        datetime.date(2026, 1, 2),
        True,
    )
    back = there_and_back(Everything, value)
    assert back == value
    assert isinstance(back.counts, Counter)


def test_an_alias_of_an_array_is_an_array() -> None:
    """As NDArray is one from NumPy 2.5 on."""
    scalar = TypeVar("scalar", bound=np.generic)
    alias = TypeAliasType("NDArray", np.ndarray[Any, np.dtype[scalar]], type_params=(scalar,))
    array = np.array([0.5, np.nan])
    for hint in (alias, alias[np.float64], alias[Any] | None):
        np.testing.assert_array_equal(codec.decode(hint, codec.encode(hint, array)), array)


# Schemas ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [FindingFound(finding()), DOCUMENTS[6]], ids=["found", "finished"])
def test_schema_3_had_more_evidence(value: Any) -> None:
    document = copy.deepcopy(records.to_document(value)) | {"schema": 3}
    inner = document["finding"] if "finding" in document else document["findings"][0]
    inner["evidence"] |= {
        "differences": {"entry": ["x", []], "steps": [{"h": 0.1, "error": 0.25}]},
        "adjoints": {"carry": "acc", "expected": [1.0, "NaN"], "got": [0.5, "-0.0"]},
    }
    assert bits(records.from_document(document, type(value), "old")) == bits(value)


@pytest.mark.parametrize(
    ("kind", "got"),
    [("sign_flip", -0.015), ("sign_flip", -22.5), ("ratio_blowup", 22.5), ("missing", 0.0625)],
)
def test_a_finding_keeps_the_class_that_it_was_written_with(kind: str, got: float) -> None:
    """-0.02 and -30 times the truth used to be a sign_flip; a twelfth was missing if rounding is as large."""
    document = records.load(DATA / "finding.json")
    document["kind"] = kind
    document["clearest"] |= {"entry_expected": 0.75, "entry_got": got, "ratio": got / 0.75}
    value = records.from_document(document, Finding, "finding.json")
    assert (value.kind.value, value.clearest.entry_got) == (kind, got)


FIELDS = {
    "Finding": (
        "id target version check kind family precision modes wrt program original weights directions smallest"
        " clearest worst seen references reproduced note cause script ports evidence signature others place"
        " facts culprits call drawn code drawn_code rules proof alike own_faults"
    ),
    "FindingPoint": (
        "inputs expected got bound entry entry_expected entry_got ratio error_over_allowed allowed"
    ),
    "OwnFault": "doing error traceback",
    "SweepFinished": (
        "seed seconds programs checks summaries findings complete interrupted rerun coverage clusters tested"
        " conventions environment functions shard own_faults"
    ),
    "Shard": "part parts settings work",
    "Call": "library function arguments form seeded results is_recorded way",
    "Argument": "keyword array layout items literal constant made",
    "FunctionSummary": (
        "drawn valid judged asked lacks verdicts answers inconclusive proofs open wrong_rules"
        " name signature outcome why findings"
    ),
    "Review": "known expired stale fixed first_seen",
    "Evidence": "curve variants",
    "Baseline": "accepted rules",
    "Rule": "accept reason link expires",
    "Pattern": "id target op cause kind function report",
}


@pytest.mark.parametrize(
    "of",
    [
        *(Finding, FindingPoint, OwnFault, SweepFinished, Review, Evidence, Baseline, Rule, Pattern),
        *(Call, Argument, FunctionSummary, Shard),
    ],
)
def test_a_schema_has_these_fields(of: Any) -> None:
    """Whoever adds a field gives the schema a new number and a migration, and then this list the field."""
    assert records.SCHEMA == 4
    assert [f.name for f in dataclasses.fields(of)] == FIELDS[of.__name__].split()


def changed(path: str, value: Any) -> Any:
    document = copy.deepcopy(records.to_document(finding()))
    *way, last = path.split(".")
    inner = document
    for step in way:
        inner = inner[step]
    if value is KeyError:
        del inner[last]
    else:
        inner[last] = value
    return document


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (changed("schema", 5), ["schema 5", "newer gradfuzz"]),
        (changed("schema", "3"), ["schema '3'", "3 to 4"]),
        (changed("schema", 2), ["schema 2", "3 to 4", "before 0.2", "sweep or accept again"]),
        (changed("type", "review"), ["'review'", "'finding'"]),
        (changed("seen", KeyError), ["'seen' is missing"]),
        (changed("sene", 3), ["'sene' is unknown"]),
        (changed("seen", "3"), ["seen: '3' is not a whole number"]),
        (changed("seen", True), ["seen: True"]),
        (changed("kind", "sign"), ["kind: 'sign' is not one of sign_flip"]),
        (changed("precision", "float8"), ["precision", "bfloat16"]),
        (changed("modes", "rev"), ["modes", "a list"]),
        (changed("reproduced", [1, 2, 3]), ["reproduced", "a list of 2"]),
        (changed("smallest.entry_got", "nan"), ["smallest.entry_got", "'nan'"]),
        (changed("smallest.inputs.x.shape", [3]), ["smallest.inputs.x", "shape"]),
        (changed("program.body", 3), ["program", "body"]),
        (changed("smallest", []), ["smallest", "an object"]),
        (changed("evidence.curve.samples", {}), ["evidence.curve.samples", "a list"]),
        ([], ["not a JSON object"]),
        (None, ["not a JSON object"]),
    ],
)
def test_what_is_no_record_says_where_and_why(data: Any, parts: list[str]) -> None:
    with pytest.raises(RecordError) as caught:
        records.from_document(data, Finding, "mine.json")
    assert str(caught.value).startswith("mine.json: ")
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('{\n  "schema" 2\n}', ["line 2, column 12"]),
        ("", ["line 1"]),
        ('{"x": NaN}', ["NaN is not JSON", '"NaN"']),
        ('{"x": -Infinity}', ["-Infinity is not JSON"]),
        ("[" * 100_000, ["not JSON"]),
    ],
)
def test_bad_json_names_the_file_and_the_place(tmp_path: Path, text: str, parts: list[str]) -> None:
    path = tmp_path / "finding.json"
    path.write_text(text)
    with pytest.raises(RecordError) as caught:
        records.load(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        records.load(tmp_path / "nowhere.json")
    (tmp_path / "latin.json").write_bytes(b'{"x": "\xe9"}')
    with pytest.raises(RecordError, match="not UTF-8 at byte 7"):
        records.load(tmp_path / "latin.json")
