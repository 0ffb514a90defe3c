"""A finding is the same in sweeps with other seeds and from other folders, and another bug is another one:
what the baseline of one sweep accepts, it accepts in the next.
"""

from __future__ import annotations

import datetime
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from gradfuzz.fuzzer.results.events import SweepFinished
from gradfuzz.fuzzer.results.review import Baseline
from gradfuzz.fuzzer.store import baseline
from gradfuzz.fuzzer.sweep import SweepConfig, sweep
from gradfuzz.fuzzer.sweep.reviewing import counted, review

TODAY = datetime.date(2026, 3, 1)
TOY = Path(__file__).parents[2] / "gradfuzz" / "adapters"
SIN = "math.cos(x.value) * x.slope", "math.cos(x.value)"
PRODUCT = "+ self.value * other.slope", "- self.value * other.slope"


def swept(target: str, seed: int) -> SweepFinished:
    """The end of a sweep that found something."""
    config = SweepConfig((target,), seed=seed, max_examples=24, orders=(1,), jobs=1)
    (end,) = (event for event in sweep(config) if isinstance(event, SweepFinished))
    assert end.findings
    return end


def accepting(end: SweepFinished) -> Baseline:
    known = Baseline()
    for finding in end.findings:
        known = baseline.added(known, finding, baseline.entry_of(finding, "known"))
    return known


def toy(folder: Path, right: str, wrong: str) -> str:
    """The toy library with a wrong rule, as a command."""
    folder.mkdir()
    shutil.copy(TOY / "kit.py", folder)
    text = (TOY / "toy_adapter.py").read_text(encoding="utf-8")
    assert right in text
    (folder / "toy_adapter.py").write_text(text.replace(right, wrong), encoding="utf-8")
    return f"cmd:{shlex.join([sys.executable, str(folder / 'toy_adapter.py')])}"


@pytest.mark.slow
def test_the_baseline_of_a_planted_bug_holds_for_other_seeds_and_folders(tmp_path: Path) -> None:
    """A `sin` that forgets the inner slope; a product with a wrong sign is not accepted."""
    known = accepting(swept(toy(tmp_path / "one", *SIN), 2))
    again = swept(toy(tmp_path / "two", *SIN), 0)
    assert counted(again, review(again, known, today=TODAY)) == ()
    other = swept(toy(tmp_path / "three", *PRODUCT), 0)
    assert counted(other, review(other, known, today=TODAY)) == other.findings


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["nx-1747", "stale-primal", "swift-78264"])
def test_the_baseline_of_a_mutant_holds_for_other_seeds(mutant: str) -> None:
    known = accepting(swept(f"mutant:{mutant}", 2))
    for seed in (3, 4):
        again = swept(f"mutant:{mutant}", seed)
        assert counted(again, review(again, known, today=TODAY)) == ()
        assert [f.id for f in again.findings] == [item.entry.id for item in known.accepted]
    other = swept("mutant:last-trip-only", 0)
    assert counted(other, review(other, known, today=TODAY)) == other.findings
