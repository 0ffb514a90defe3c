"""Replaying: a planted bug fails, the engine in its place is fixed, and what cannot be told says why. The
baseline and the review of a sweep.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import MissingExtraError, RecordError, StoreError, UsageError
from gradfuzz.fuzzer.results.events import Progress, SweepFinished, SweepStarted, TargetSummary
from gradfuzz.fuzzer.results.finding import Class, Finding, FindingPoint
from gradfuzz.fuzzer.results.identity import signature_of
from gradfuzz.fuzzer.results.records import from_document, load, to_document
from gradfuzz.fuzzer.results.review import Accepted, Baseline
from gradfuzz.fuzzer.store import baseline, lookup
from gradfuzz.fuzzer.store.run_diff import difference
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.store.stream import read as read_stream
from gradfuzz.fuzzer.sweep import replaying
from gradfuzz.fuzzer.sweep.replaying import Status, replay, replay_all
from gradfuzz.fuzzer.sweep.reviewing import counted, review
from gradfuzz.programs import parse
from gradfuzz.reports.machine.json import sweep_document
from gradfuzz.reports.machine.ndjson import line, render
from gradfuzz.version import __version__

DATA = Path(__file__).parents[2] / "data"
MUTANT = from_document(load(DATA / "finding.json"), Finding, "one")
"""A sign flip of mutant:nx-1747, written by hand: (x - 2)^2 has the derivative -3 at 0.5, and its
swept-forward adjoint is 3.25.
"""


def finding(**changes: Any) -> Finding:
    return dataclasses.replace(MUTANT, **changes)


def point(inputs: Mapping[str, Any], dtype: str = "float64") -> FindingPoint:
    return dataclasses.replace(
        MUTANT.smallest, inputs={name: np.array(value, dtype) for name, value in inputs.items()}
    )


def at(inputs: Mapping[str, Any], dtype: str = "float64") -> dict[str, Any]:
    return dict.fromkeys(("smallest", "clearest", "worst"), point(inputs, dtype))


# Replay -----------------------------------------------------------------------------------------------------


def test_a_bug_that_is_still_there_fails() -> None:
    outcome = replay(MUTANT)
    assert outcome.status is Status.FAILED
    assert outcome.message == f"mutant:nx-1747 {__version__} at x = 0.5: expected -3.0, got 3.25"


def test_its_fixed_twin_is_fixed() -> None:
    outcome = replay(finding(target="engine"))
    assert (outcome.status, outcome.message) == (
        Status.FIXED,
        f"engine {__version__} is right at each of its points",
    )


def test_wrong_at_one_point_is_failed() -> None:
    """One trip is the same in either order: at the smallest point the answer is right."""
    program = parse(
        "def f(x, n: 'int'):\n    acc = 1.0\n    for i in range(n):\n        acc = acc * x\n    return acc\n"
    )

    def n_trips(n: int) -> FindingPoint:
        return dataclasses.replace(MUTANT.smallest, inputs={"x": np.array(0.5), "n": np.array(n)})

    once = finding(program=program, smallest=n_trips(1), clearest=n_trips(1), worst=n_trips(1))
    assert replay(once).status is Status.FIXED
    assert "n = 3" in replay(dataclasses.replace(once, worst=n_trips(3))).message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": "mutant:nx-1748"}, "unknown target"),
        ({"target": "engine:nowhere"}, "unknown target"),
        ({"wrt": ("y",)}, "wrt names 'y'"),
        ({"directions": {}}, "the direction of x is missing"),
        ({"weights": ()}, "there are 0 weights for 1 outputs"),
        (
            {"weights": (np.zeros(2),)},
            "the weight of output 0 is float64 of shape [2], and must be float64 of shape []",
        ),
        (at({"x": 0.5}, "float32"), "the input x is float32 of shape [], and must be float64"),
        (at({"y": 0.5}), "the inputs y are not those of the program, x"),
        ({"place": 3}, "place is 3 among 0 others"),
        ({"program": parse("def f(x):\n    return y\n")}, "y"),
        ({"program": parse("def f(x):\n    return abs(x)\n"), "target": "engine", **at({"x": 0.0})}, None),
        (
            {"program": parse("def f(x):\n    return log(x)\n"), "target": "engine", **at({"x": -1.0})},
            "inconclusive: ",
        ),
        (
            {"program": parse("def f(x):\n    while x < 1.0:\n        x = x * 1.0\n    return x\n")},
            "inconclusive: a loop runs longer",
        ),
    ],
)
def test_what_cannot_be_told_is_an_error_with_its_reason(changes: dict[str, Any], words: str | None) -> None:
    outcome = replay(finding(**changes))
    assert outcome.status is (Status.FIXED if words is None else Status.ERROR), outcome.message
    assert (words or "") in outcome.message


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, **_: object) -> list[Any]:
        raise MissingExtraError("jax is not installed: pip install 'gradfuzz[jax]'")

    monkeypatch.setattr(replaying, "resolve", missing)
    outcome = replay(finding(target="jax:scan"))
    assert (outcome.status, outcome.message) == (
        Status.ERROR,
        "jax is not installed: pip install 'gradfuzz[jax]'",
    )


def test_a_finding_of_a_call_is_asked_with_the_other_points() -> None:
    """The instance of three trips is wrong only where one of five stands in the same call: alone nothing can
    be.
    """
    program = parse(
        "def f(x, n: 'int'):\n    acc = 1.0\n    for i in range(n):\n        acc = acc * x\n    return acc\n"
    )
    one, other = ({"x": np.array(0.5), "n": np.array(n)} for n in (3, 5))
    points = dict.fromkeys(
        ("smallest", "clearest", "worst"), dataclasses.replace(MUTANT.smallest, inputs=one)
    )
    batched = finding(target="mutant:done-lane", program=program, others=(other,), place=1, **points)
    assert replay(batched).status is Status.FAILED
    assert replay(dataclasses.replace(batched, others=(), place=0)).status is Status.FIXED
    assert replay(dataclasses.replace(batched, target="engine:vmap")).status is Status.FIXED


def test_one_that_is_flaky_is_asked_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        replaying, "asked", lambda *given, **settings: asked.append(given) or original(*given, **settings)
    )
    replay(finding(reproduced=(3, 5)))
    assert len(asked) == 5


original = replaying.asked


def test_outcomes_come_in_order() -> None:
    assert [o.status for o in replay_all([MUTANT, finding(target="engine"), MUTANT])] == [
        Status.FAILED,
        Status.FIXED,
        Status.FAILED,
    ]


# Files ------------------------------------------------------------------------------------------------------

RERUN = "gradfuzz sweep mutant:nx-1747"
SUMMARIES = (TargetSummary("mutant:nx-1747", "0.1.0", "loops"), TargetSummary("engine", "0.1.0", "loops"))


def finished(*findings: Finding, interrupted: bool = False) -> SweepFinished:
    return SweepFinished(0, 1.0, 16, 100, SUMMARIES, findings, not interrupted, interrupted, RERUN)


def write(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data, allow_nan=False))
    return path


def test_findings_are_read_from_each_kind_of_file(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", to_document(MUTANT))
    sweep = write(tmp_path / "sweep.json", sweep_document(finished(MUTANT, finding(id="GF-aaaa"))))
    (tmp_path / "events.ndjson").write_text(render(finished(MUTANT), None))
    old = Baseline((Accepted(baseline.entry_of(MUTANT, "known"), MUTANT),))
    baseline.write(old, tmp_path / "accepted.json")
    counts = {"one.json": 1, "sweep.json": 2, "events.ndjson": 1, "accepted.json": 1}
    for name, count in counts.items():
        found = lookup.findings_in(tmp_path / name)
        assert len(found) == count
        assert replay(found[0]).status is Status.FAILED, name
    assert len(lookup.findings_in(tmp_path)) == sum(counts.values())
    assert lookup.is_path(str(one))
    assert lookup.is_path(str(sweep))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "not JSON at line 1"),
        ("a.json", "{}", "it has no schema, so it is not a record"),
        ("a.json", '{"findings": [{"id": "GF-7c1e"}]}', "findings[0]: it has no record to replay"),
        (
            "a.ndjson",
            '{"type": "probe"}\n',
            "line 1: a line of an event stream is an event, and this is 'probe'",
        ),
        ("a.ndjson", "", "no sweep starts in it"),
    ],
)
def test_a_file_that_is_none_of_these(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RecordError) as caught:
        lookup.findings_in(tmp_path / name)
    assert words in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no file whose name ends in \.json"):
        lookup.findings_in(tmp_path)


def test_a_stream_that_was_cut_off_says_what_it_had_said(tmp_path: Path) -> None:
    events = [
        SweepStarted(0, (("engine", "0.1.0"),), ("loops",), 16, None, RERUN),
        Progress(2.0, 4, 9, "judging", "", SUMMARIES),
    ]
    path = tmp_path / "events.ndjson"
    found = render(finished(MUTANT), None).splitlines(keepends=True)[0]
    path.write_text("".join(map(line, events)) + found + found[:100])
    end, known = read_stream(path)
    assert ([f.id for f in end.findings], end.programs, end.checks, end.complete) == (
        [MUTANT.id],
        4,
        9,
        False,
    )
    assert (end.summaries, known) == (SUMMARIES, None)


# Ids --------------------------------------------------------------------------------------------------------

IDS = ["GF-7c1e", "GF-7c1f2", "GF-aaaa", "GF-aaaa1"]


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("GF-7c1e", "GF-7c1e"),
        ("7c1e", "GF-7c1e"),
        ("gf-7C1F", "GF-7c1f2"),
        ("aaaa", "GF-aaaa"),
        ("aaaa1", "GF-aaaa1"),
    ],
)
def test_the_start_of_an_id_is_enough(text: str, id: str) -> None:
    assert lookup.chosen(text, IDS, "there") == id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7c1", "'7c1' may be GF-7c1e, GF-7c1f2; write more of the id"),
        ("GF-7c2e", "no finding 'GF-7c2e' is in there; the nearest are GF-7c1e"),
    ],
)
def test_an_id_that_is_none(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        lookup.chosen(text, IDS, "there")
    assert words in str(caught.value)


def test_there_may_be_no_ids_at_all() -> None:
    with pytest.raises(UsageError, match="none is in it"):
        lookup.chosen("GF-7c1e", [], "there")


# Difference -------------------------------------------------------------------------------------------------


def signed(letter: str, **changes: Any) -> Finding:
    return finding(**{"id": f"GF-{letter * 4}", "signature": letter * 64, **changes})


def test_the_same_signature_is_the_same_finding() -> None:
    result = difference([signed("a"), signed("b")], [signed("b", id="GF-bbbbb", seen=7), signed("c")])
    assert [[f.id for f in part] for part in (result.new, result.gone, result.still)] == [
        ["GF-cccc"],
        ["GF-aaaa"],
        ["GF-bbbbb"],
    ]


def test_one_mistake_that_looks_otherwise_has_changed() -> None:
    """A wrong sign that became a wrong factor; NaN that became a wrong number, which is another finding."""
    sign, factor = signed("a"), signed("a", kind=Class.WRONG_VALUE)
    result = difference([sign], [factor])
    assert [(c.before.kind, c.after.kind) for c in result.changed] == [(sign.kind, Class.WRONG_VALUE)]
    assert (result.new, result.gone, result.still, result.worse) == ((), (), (), False)
    result = difference([signed("a", kind=Class.NON_FINITE)], [signed("b", kind=Class.WRONG_VALUE)])
    assert len(result.changed) == 1
    assert (result.new, result.gone, result.worse) == ((), (), True)
    others = (
        signed("b", kind=Class.WRONG_VALUE, check="jvp", modes=("fwd",)),
        signed("b", kind=Class.WRONG_VALUE, target="jax"),
    )
    for other in others:
        result = difference([signed("a", kind=Class.NON_FINITE)], [other])
        assert (len(result.new), len(result.gone), result.changed) == (1, 1, ())


# Baseline ---------------------------------------------------------------------------------------------------

TODAY = datetime.date(2026, 3, 1)
TOMORROW = datetime.date(2026, 3, 2)


def accepting(*findings: Finding, expires: datetime.date | None = None) -> Baseline:
    result = Baseline()
    for item in findings:
        entry = dataclasses.replace(baseline.entry_of(item, "known"), expires=expires)
        result = baseline.added(result, item, entry)
    return result


def test_a_baseline_reads_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    assert baseline.read(path) == Baseline()
    known = accepting(signed("b"), signed("a"), expires=TOMORROW)
    baseline.write(known, path)
    again = baseline.read(path)
    assert [item.entry for item in again.accepted] == [item.entry for item in known.accepted]
    assert [item.entry.id for item in again.accepted] == ["GF-aaaa", "GF-bbbb"], (
        "sorted, so that two of them can be merged"
    )
    assert path.read_text().endswith("}\n")
    assert list(tmp_path.iterdir()) == [path]


def test_an_accepted_finding_is_a_few_lines(tmp_path: Path) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    baseline.write(accepting(MUTANT), path)
    assert len(path.read_text().splitlines()) < 20
    (accepted,) = json.loads(path.read_text())["accepted"]
    assert (accepted["what"], accepted["entry"]["reason"]) == ("sign_flip in for, vjp", "known")
    with pytest.raises(
        UsageError, match="has only the ids of findings that are kept in a store, and no store is given"
    ):
        lookup.findings_in(path)


def test_what_a_baseline_names_is_asked_again_from_the_store(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    baseline.write(accepting(signed("a")), path)
    recorded(store, finished(signed("a")))
    assert [item.id for item in lookup.findings_in(path, store.path)] == ["GF-aaaa"]
    baseline.write(accepting(signed("b")), path)
    with pytest.raises(UsageError, match="no finding 'GF-bbbb'"):
        lookup.findings_in(path, store.path)


def test_a_baseline_of_an_older_gradfuzz_has_the_finding_and_still_accepts_it() -> None:
    """Such a file has it in each entry; the signature of the entry may be of a kind that is no more."""
    item = Accepted(dataclasses.replace(baseline.entry_of(MUTANT, "known"), signature="0" * 64), MUTANT)
    old = from_document(to_document(Baseline((item,))), Baseline, "old")
    assert [e.id for e in review(finished(MUTANT), old, today=TODAY).known] == [MUTANT.id]


def test_adding_again_replaces_and_removing_removes() -> None:
    known = accepting(signed("a"), signed("b"))
    entry = baseline.entry_of(signed("a"), " another reason ", "https://example.org")
    known = baseline.added(known, signed("a"), entry)
    assert [item.entry.reason for item in known.accepted] == ["another reason", "known"]
    assert [item.entry.id for item in baseline.removed(known, entry).accepted] == ["GF-bbbb"]


@pytest.mark.parametrize(("reason", "expires"), [("  ", None), ("known", datetime.date(2020, 1, 1))])
def test_an_entry_must_say_why_and_accept_something(reason: str, expires: datetime.date | None) -> None:
    with pytest.raises(UsageError):
        baseline.entry_of(MUTANT, reason, expires=expires)


def test_a_baseline_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        baseline.write(Baseline(), tmp_path / "nowhere" / "gradfuzz-baseline.json")


def test_a_baseline_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "gradfuzz-baseline.json"
    path.write_text('{"schema": 4, "type": "baseline", "accepted": [{"entry": 3, "finding": {}}]}')
    with pytest.raises(RecordError, match=r"accepted\[0\].entry"):
        baseline.read(path)


# Review -----------------------------------------------------------------------------------------------------


def test_what_the_baseline_accepts_does_not_count() -> None:
    end = finished(signed("a"), signed("b"))
    known = accepting(signed("a", id="GF-aaaaa"), expires=TOMORROW)
    result = review(end, known, today=TODAY)
    assert [entry.id for entry in result.known] == ["GF-aaaa"], "by the id that this sweep gave it"
    assert [f.id for f in counted(end, result)] == ["GF-bbbb"]


def test_an_entry_that_has_expired_accepts_nothing() -> None:
    end = finished(signed("a"))
    result = review(end, accepting(signed("a"), expires=TODAY), today=TODAY)
    assert ([e.id for e in result.expired], result.known) == (["GF-aaaa"], ())
    assert counted(end, result) == end.findings


def test_an_entry_whose_finding_is_fixed_is_stale() -> None:
    findings = signed("a", target="engine"), signed("b"), signed("c", target="jax:scan")
    old = Baseline(tuple(Accepted(baseline.entry_of(f, "known"), f) for f in findings))
    assert [e.id for e in review(finished(), old, today=TODAY).stale] == ["GF-aaaa"], (
        "b is still wrong, and c is no target"
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite", write=True) as opened:
        yield opened


def test_an_entry_is_stale_in_every_later_sweep(store: Store) -> None:
    known = accepting(signed("a", target="engine"), signed("b"))
    recorded(store, finished(signed("a", target="engine"), signed("b")))
    for _ in range(2):
        run = recorded(store, end := finished())
        result = review(end, known, store, run, today=TODAY)
        assert [e.id for e in result.stale] == ["GF-aaaa"]
        store.review(run, result, complete=True)
    assert review(finished(), known, None, today=TODAY).stale == (), "nobody has the finding"


def recorded(store: Store, end: SweepFinished) -> int:
    run = store.begin(SweepStarted(0, (), ("loops",), 16, None, RERUN), {})
    store.finish(run, end)
    return run


def test_a_finding_that_is_fixed_drops_out(store: Store) -> None:
    said: list[str] = []
    recorded(store, finished(signed("a", target="engine"), signed("b"), signed("c", target="jax:scan")))
    run = recorded(store, end := finished())
    result = review(end, Baseline(), store, run, tell=said.append)
    assert [f.id for f in result.fixed] == ["GF-aaaa"]
    assert said == ["Asking again about 2 earlier findings that did not come up."]
    store.review(run, result, complete=True)
    assert [r.finding.id for r in store.recorded()] == ["GF-bbbb", "GF-cccc"]
    assert review(end, Baseline(), store, run).fixed == ()


def test_one_that_came_up_is_not_asked_again_and_says_since_when(store: Store) -> None:
    recorded(store, finished(signed("a", target="engine")))
    run = recorded(store, end := finished(signed("a", target="engine"), signed("b")))
    result = review(end, Baseline(), store, run)
    assert result.fixed == ()
    assert result.first_seen == (("GF-aaaa", store.runs()[0].began[:10]),)


def test_after_an_interrupt_nothing_is_asked_again(store: Store) -> None:
    recorded(store, finished(signed("a", target="engine")))
    run = recorded(store, end := finished(interrupted=True))
    known = accepting(signed("b", target="engine"))
    assert review(end, known, store, run, today=TODAY) == review(end, Baseline(), None)


def test_no_more_than_a_few_are_asked_again_the_newest_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.reviewing._AT_MOST", 2)
    for letter in "abc":
        recorded(store, finished(signed(letter, target="engine")))
    run = recorded(store, end := finished())
    assert [f.id for f in review(end, Baseline(), store, run).fixed] == ["GF-cccc", "GF-bbbb"]


def test_a_finding_has_a_signature_wherever_it_comes_from() -> None:
    assert (
        signature_of(MUTANT)
        == signature_of(finding(kind=Class.MISSING))
        != signature_of(finding(target="engine"))
    )
