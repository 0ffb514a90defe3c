"""The store: what is written is there for others and after a kill; one writes; what cannot be opened says
why.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import zlib
from pathlib import Path

import pytest

from gradfuzz.errors import RecordError, StoreError, UsageError
from gradfuzz.fuzzer.findings.prove import FindingProof
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.fuzzer.results.events import FindingFound, Progress, SweepFinished, SweepStarted
from gradfuzz.fuzzer.results.finding import Finding
from gradfuzz.fuzzer.results.functions import FunctionSummary, united
from gradfuzz.fuzzer.results.records import from_document, load
from gradfuzz.fuzzer.results.review import Review
from gradfuzz.fuzzer.store.runs import Store
from gradfuzz.fuzzer.sweep.batch import WorkItem
from gradfuzz.fuzzer.sweep.config import SweepConfig, settings_of
from gradfuzz.fuzzer.sweep.memo import key, pack
from gradfuzz.fuzzer.sweep.recorder import Recorder
from gradfuzz.oracles.base import Doubt, Truth

ROOT = Path(__file__).parents[3]
ONE = from_document(load(ROOT / "tests" / "data" / "finding.json"), Finding, "one")
RERUN = "gradfuzz sweep mutant:nx-1747"
STARTED = SweepStarted(0, (("mutant:nx-1747", "0.1.0"),), ("loops",), 16, None, RERUN)
CONFIG = SweepConfig(("mutant:nx-1747",))


def finding(letter: str, **changes: object) -> Finding:
    return dataclasses.replace(ONE, id=f"GF-{letter * 4}", signature=letter * 64, **changes)  # type: ignore[arg-type]


def finished(*findings: Finding, complete: bool = True) -> SweepFinished:
    return SweepFinished(0, 1.0, 16, 100, (), findings, complete, not complete, RERUN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".gradfuzz" / "store.sqlite"


def record(path: Path, *findings: Finding, complete: bool = True, fixed: tuple[Finding, ...] = ()) -> int:
    """One run that found these."""
    with Store(path, write=True) as store:
        run = store.begin(STARTED, {})
        store.finish(run, finished(*findings, complete=complete))
        store.review(run, Review(fixed=fixed), complete=complete)
    return run


# Runs and findings ------------------------------------------------------------------------------------------


def test_a_run_is_read_as_it_was_written(path: Path) -> None:
    run = record(path, finding("b"), finding("a"))
    with Store(path) as store:
        end, review = store.finished(run)
        assert [f.id for f in end.findings] == ["GF-bbbb", "GF-aaaa"], "in the order of the sweep"
        assert (end.programs, end.rerun, end.complete, review) == (16, RERUN, True, Review())
        assert [r.number for r in store.runs()] == [run]


def test_a_finding_is_there_before_its_run_ends(path: Path) -> None:
    with Store(path, write=True) as store:
        run = store.begin(STARTED, {})
        store.progress(run, Progress(2.5, 4, 32, "judging"))
        store.found(run, finding("a"))
        store.found(run, finding("a", seen=4))
        with Store(path) as reader:
            end, _ = reader.finished(run)
        assert [(f.id, f.seen) for f in end.findings] == [("GF-aaaa", 4)]
        assert (end.complete, end.interrupted, end.programs, end.checks, end.seconds) == (
            False,
            True,
            4,
            32,
            2.5,
        )


def test_the_newest_record_of_a_finding_counts(path: Path) -> None:
    record(path, finding("a", seen=1), finding("b"))
    record(path, finding("a", seen=2))
    with Store(path) as store:
        assert [(r.run, r.finding.id, r.finding.seen) for r in store.recorded()] == [
            (2, "GF-aaaa", 2),
            (1, "GF-bbbb", 3),
        ]
        assert store.recorded()[0].first == store.runs()[0].began
        latest = store.latest("GF-aaaa")
        assert latest is not None
        assert latest.seen == 2
        assert store.latest("GF-cccc") is None
        assert store.ids() == ["GF-aaaa", "GF-bbbb"]
        assert set(store.first_seen(2)) == {"a" * 64, "b" * 64}
        assert store.first_seen(1) == {}


def test_a_fixed_finding_drops_out_until_it_comes_again(path: Path) -> None:
    record(path, finding("a"), finding("b"))
    record(path, fixed=(finding("a"),))
    with Store(path) as store:
        assert [r.finding.id for r in store.recorded()] == ["GF-bbbb"]
        assert store.ids() == ["GF-aaaa", "GF-bbbb"], "it can still be shown"
    record(path, finding("a"))
    with Store(path) as store:
        assert [r.finding.id for r in store.recorded()] == ["GF-aaaa", "GF-bbbb"]


def test_a_finding_without_a_signature_gets_one(path: Path) -> None:
    record(path, ONE)
    with Store(path) as store:
        (signature,) = store.first_seen(99)
    assert len(signature) == 64


def test_an_unknown_run(path: Path) -> None:
    record(path)
    with Store(path) as store, pytest.raises(RecordError, match="no run 7; its runs are 1 to 1"):
        store.finished(7)


def test_git_overlooks_the_usual_folder(path: Path) -> None:
    record(path)
    assert (path.parent / ".gitignore").read_text() == "*\n"


# Work -------------------------------------------------------------------------------------------------------


def summary(name: str, outcome: str, **asked: int) -> FunctionSummary:
    lacks = {mode: "no rule" for mode in ("rev", "fwd") if outcome == "asked" and mode not in asked}
    return FunctionSummary(
        name, f"{name}(x)", outcome, "", judged=sum(asked.values()), asked=asked, lacks=lacks
    )


def test_what_sweeps_of_functions_asked_adds_up(path: Path) -> None:
    """Of one release, by sweeps of its functions alone: those of loops and of other releases do not count."""
    swept = [
        ("1.8.0", "functions", (summary("f", "asked", rev=2), summary("g", "not reached"))),
        ("1.8.0", "functions", (summary("f", "asked", rev=1, fwd=1), summary("g", "refused"))),
        ("1.9.0", "functions", (summary("f", "asked", rev=9),)),
        ("1.8.0", "loops", ()),
    ]
    with Store(path, write=True) as store:
        for version, family, functions in swept:
            config = SweepConfig(("autograd",), (family,))
            run = store.begin(STARTED, settings_of(config, [("autograd", version)]))
            store.finish(run, dataclasses.replace(finished(), functions=functions))
        assert list(store.functions("autograd", "1.8.0")) == [swept[1][2], swept[0][2]]
        assert list(store.functions("autograd", "1.8.0", before=2)) == [swept[0][2]]
        f, g = united(store.functions("autograd", "1.8.0"))
    assert (f.outcome, f.judged, f.asked, f.lacks) == ("asked", 4, {"rev": 3, "fwd": 1}, {})
    assert g.outcome == "refused"


def test_work_is_kept_until_the_run_is_complete(path: Path) -> None:
    with Store(path, write=True) as store:
        run = store.begin(STARTED, {})
        store.keep(run, "batch:1", b"one")
        store.keep(run, "batch:1", b"again")
        assert store.work(run, "batch:1") == b"one"
        assert store.work(run, "batch:2") is None
        store.finish(run, finished(complete=False))
        store.review(run, Review(), complete=False)
        assert store.work(run, "batch:1") == b"one"
        store.finish(run, finished())
        assert store.work(run, "batch:1") == b"one", "nobody has been told yet"
        store.review(run, Review(), complete=True)
        assert store.work(run, "batch:1") is None


def test_work_has_the_names_in_the_store_that_it_had_in_gradfuzz_0_1() -> None:
    assert key(WorkItem(0, 0, 4, "loops", 0, ("engine",))).startswith("order:")
    document = json.loads(zlib.decompress(pack(FindingProof(None))))
    assert list(document) == ["finding", "reason", "message", "kinds", "wrong_ways", "specimen"]
    assert decode(FindingProof, document).candidate is None


def test_the_doubt_of_a_truth_may_be_missing_in_the_store() -> None:
    plain, doubtful = Truth("ok"), Truth.unknown(Doubt.KINK, "here", kink=True)
    assert "doubt" not in encode(Truth, plain)
    assert decode(Truth, encode(Truth, plain)).doubt is None
    assert decode(Truth, encode(Truth, doubtful)).doubt is Doubt.KINK
    assert encode(Truth, doubtful)["message"] == "kink: here"


def test_work_of_runs_that_nobody_resumed_is_forgotten(path: Path) -> None:
    with Store(path, write=True) as store:
        for _ in range(20):
            store.keep(store.begin(STARTED, {}), "batch:1", b"one")
        assert [store.work(run, "batch:1") is not None for run in range(1, 21)] == [False] * 12 + [True] * 8


# Resuming ---------------------------------------------------------------------------------------------------


def started(path: Path, config: SweepConfig, event: SweepStarted = STARTED, *, resume: bool = False) -> int:
    with Store(path, write=True) as store:
        recorder = Recorder(store, config, resume=resume)
        recorder.handle(event)
        recorder.handle(FindingFound(finding("a")))
        return recorder.run


def test_the_last_unfinished_run_of_the_same_settings_is_resumed(path: Path) -> None:
    assert started(path, CONFIG) == 1
    assert started(path, dataclasses.replace(CONFIG, seed=1)) == 2
    assert started(path, dataclasses.replace(CONFIG, jobs=2, max_time=60.0), resume=True) == 1, (
        "which is no matter of the result"
    )
    with Store(path) as store:
        assert [f.id for f in store.findings(1)] == ["GF-aaaa"], "nothing is there twice"


@pytest.mark.parametrize(
    ("config", "event", "words"),
    [
        (dataclasses.replace(CONFIG, seed=3), STARTED, "seed was 0 and is 3"),
        (dataclasses.replace(CONFIG, orders=(1,)), STARTED, "orders was 1,2,3 and is 1"),
        (
            CONFIG,
            dataclasses.replace(STARTED, targets=(("mutant:nx-1747", "0.2"),)),
            "mutant:nx-1747 was 0.1.0 and is 0.2",
        ),
    ],
)
def test_what_differs_from_the_unfinished_run_is_told(
    path: Path, config: SweepConfig, event: SweepStarted, words: str
) -> None:
    started(path, CONFIG)
    with pytest.raises(UsageError, match=words) as caught:
        started(path, config, event, resume=True)
    assert "gradfuzz sweep mutant:nx-1747 --seed 0" in str(caught.value)


def test_another_gradfuzz_does_not_resume(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(path, CONFIG)
    monkeypatch.setattr("gradfuzz.fuzzer.sweep.config.__version__", "9.9")
    with pytest.raises(UsageError, match=r"gradfuzz was .* and is 9\.9"):
        started(path, CONFIG, resume=True)


def test_there_may_be_nothing_to_resume(path: Path) -> None:
    record(path)
    with pytest.raises(UsageError, match="no unfinished sweep"):
        started(path, CONFIG, resume=True)


# Several writers --------------------------------------------------------------------------------------------


def test_several_sweeps_write_and_others_read(path: Path) -> None:
    with Store(path, write=True) as one, Store(path, write=True) as other, Store(path) as reader:
        runs = [store.begin(STARTED, {}) for store in (one, other)]
        one.found(runs[0], finding("a"))
        other.found(runs[1], finding("b"))
        assert [run.number for run in reader.runs()] == runs
        assert [[f.id for f in reader.findings(run)] for run in runs] == [["GF-aaaa"], ["GF-bbbb"]]


def test_a_run_has_one_writer(path: Path) -> None:
    with Store(path, write=True) as one:
        run = one.begin(STARTED, {})
        one.write(run)
        with Store(path, write=True) as other:
            assert other.is_written(run)
            with pytest.raises(StoreError, match=f"is at work on run {run}; wait for its end"):
                other.write(run)
            other.write(other.begin(STARTED, {}))
    with Store(path, write=True) as third:
        assert not third.is_written(run)
        third.write(run)
    assert [file.name for file in path.parent.iterdir() if file.suffix == ".lock"] == []


def test_a_run_that_is_at_work_is_not_resumed(path: Path) -> None:
    """Nor is it told that it did not end."""
    with Store(path, write=True) as one:
        recorder = Recorder(one, CONFIG)
        recorder.handle(STARTED)
        with Store(path, write=True) as other:
            with pytest.raises(StoreError, match="another gradfuzz is at work on run 1"):
                Recorder(other, CONFIG, resume=True).handle(STARTED)
            second = Recorder(other, CONFIG)
            second.handle(STARTED)
            assert (second.run, second.unfinished) == (2, None)


def in_a_process(code: str, *arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **settings,  # type: ignore[call-overload]
    )


def test_a_writer_that_was_killed_leaves_all_that_it_said_and_no_lock(path: Path) -> None:
    done = in_a_process(
        """
        import os, pathlib, signal, sys
        from tests.unit.fuzzer.test_store import STARTED, Store, finding
        store = Store(pathlib.Path(sys.argv[1]), write=True)
        store.found(store.begin(STARTED, {}), finding("a"))
        store._database._connection.execute("BEGIN IMMEDIATE")
        store._database._connection.execute("DELETE FROM findings")
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        path,
    )
    assert done.returncode == -9, done.stderr
    with Store(path, write=True) as store:
        assert [f.id for f in store.findings(1)] == ["GF-aaaa"]


# What is no store -------------------------------------------------------------------------------------------


def test_there_is_no_store(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store; a sweep makes one"):
        Store(path)


def test_a_folder_means_the_store_in_it(path: Path) -> None:
    run = record(path)
    with Store(path.parent) as store:
        assert [r.number for r in store.runs()] == [run]


@pytest.mark.parametrize("write", [False, True])
def test_a_file_that_is_no_database(path: Path, write: bool) -> None:
    path.parent.mkdir()
    path.write_text("never mind " * 1000)
    with pytest.raises(StoreError, match="this is no database"):
        Store(path, write=write)


@pytest.mark.parametrize("write", [False, True])
def test_a_database_of_something_else(path: Path, write: bool) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="no store of gradfuzz"):
        Store(path, write=write)
    assert path.read_bytes() == before


def test_a_store_whose_maker_was_killed_at_once_is_an_empty_one(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with Store(path) as store:
        assert store.runs() == []


def test_a_damaged_store(path: Path) -> None:
    for letter in "abcdef":
        record(path, finding(letter))
    data = bytearray(path.read_bytes())
    data[4096 : len(data)] = b"\x55" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), Store(path) as store:
        store.recorded()


# Versions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    "older",
    ["PRAGMA user_version = 1", """UPDATE runs SET started = '{"schema": 2, "type": "sweep started"}'"""],
)
def test_a_store_before_0_2_is_refused(path: Path, write: bool, older: str) -> None:
    record(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(older)
    with pytest.raises(StoreError, match=r"this store is of a gradfuzz before 0\.2.*sweep or accept again"):
        Store(path, write=write)


def test_a_newer_database_is_refused(path: Path) -> None:
    record(path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"a newer gradfuzz made this store \(version 99"):
        Store(path)


# Disk and permissions ---------------------------------------------------------------------------------------


def test_no_space_left(path: Path) -> None:
    with Store(path, write=True) as store:
        run = store.begin(STARTED, {})
        store.found(run, finding("a"))
        pages = store._database.rows("PRAGMA page_count")[0][0]
        store._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match=r"no space left for it; free some, then go on with --resume"):
            store.found(run, finding("b", note="long " * 10_000))
        assert [f.id for f in store.findings(run)] == ["GF-aaaa"]
    with Store(path, write=True) as store:
        store.found(run, finding("b"))
        assert [f.id for f in store.findings(run)] == ["GF-aaaa", "GF-bbbb"]


needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can make another user try"
)

TRY = """
import os, pathlib, sys
from gradfuzz.errors import StoreError
from gradfuzz.fuzzer.store.runs import Store
os.setuid(65534)
print(len(Store(pathlib.Path(sys.argv[1])).runs()))
try:
    Store(pathlib.Path(sys.argv[1]), write=True)
except StoreError as error:
    print(error)
"""


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="give another one with --store"):
        Store(tmp_path / "file" / ".gradfuzz" / "store.sqlite", write=True)


def test_a_folder_that_may_not_be_written_can_be_read(path: Path, tmp_path: Path) -> None:
    record(path)
    path.parent.chmod(0o555)
    path.chmod(0o444)
    try:
        with Store(path) as store:
            assert len(store.runs()) == 1
    finally:
        path.parent.chmod(0o755)


@needs_root
def test_a_folder_that_may_not_be_written() -> None:
    """Root may write everywhere, so somebody else tries, who may not enter the folders of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        record(folder / "store.sqlite")
        done = in_a_process(TRY, folder / "store.sqlite", cwd="/")
    runs, words = done.stdout.splitlines()
    assert runs == "1", done.stderr
    assert "give another one with --store" in words
