"""The page of proofs: what counts as proved, and the tables that people wrote."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed; its rules are on the page")
pytest.importorskip("torch", reason="Torch is not installed; its rules are on the page")

from benchmarks.proofs import calls_jax, calls_torch
from benchmarks.proofs.page import section, verdict
from benchmarks.proofs.proving import Rule, add, of_written
from benchmarks.proofs.reasons import REASONS
from benchmarks.proofs.rules import ONE_WAY, RULES
from benchmarks.proofs.written import apart
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.oracles.base import Mode


def rule(*modes: Mode, **right: int) -> Rule:
    """A rule that is proved right so often in each mode; rev_rev is reverse mode twice."""
    found = Rule(modes or ("rev", "fwd"))
    for mode, count in right.items():
        found.outcomes[mode.replace("_", " ")]["right"] = count
    return found


@pytest.mark.parametrize(
    ("one", "reason", "expected"),
    [
        (rule(rev=20, fwd=20), "", "proved right"),
        (rule(rev=20, fwd=19), "", "proved at fewer points"),
        (rule("rev", rev=20), "", "proved right"),
        (rule("rev", rev=19), "", "proved at fewer points"),
        (rule(rev_rev=20), "", "proved right"),
        (rule(rev=20, rev_rev=20), "", "proved at fewer points"),
        (rule(), "", "not reached"),
        (rule(), "it needs a device", "cannot be asked"),
        (rule(rev=20, fwd=20), "it needs a device", "proved right"),
    ],
)
def test_a_rule_is_proved_in_each_mode_that_it_has(one: Rule, reason: str, expected: str) -> None:
    assert verdict(one, reason) == expected


def test_the_page_has_both_shares() -> None:
    rules = {"sin": rule(rev=20, fwd=30), "mystery": rule(), "psum": rule(), "get": rule()}
    text = section("jax", rules)
    assert "1 of the 2 rules that can be asked (50%) are proved right" in text
    assert "2 rules cannot be asked.\nOf all 4 rules 25% are proved right." in text
    assert "| `sin` | proved right | 20 | 30 | 0 | 0 |  |" in text
    assert "| `mystery` | not reached | 0 | 0 | 0 | 0 |  |" in text
    assert "| `psum` |\n" in text


def test_a_record_counts_for_the_rules_that_take_part() -> None:
    rules = {"sin": rule(), "cos": rule()}
    record = {"function": "f", "mode": "rev", "rules": ["sin", "pjit"], "reasons": {}}
    add(rules, {**record, "outcomes": {"right": 9, "wrong rule": 1}})
    assert rules["sin"].right("rev") == 9
    assert dict(rules["sin"].wrong) == {"f": 1}
    assert rules["cos"].right("rev") == 0


@pytest.mark.parametrize("library", RULES)
def test_the_rules_with_a_reason_are_rules_of_the_library(library: str) -> None:
    assert set(REASONS[library]()) <= set(RULES[library]())


def test_primitives_with_one_mode_are_primitives() -> None:
    assert set(ONE_WAY) <= set(RULES["jax"]())


@pytest.mark.parametrize("calls", [calls_jax.CALLS, calls_torch.CALLS], ids=["jax", "torch"])
def test_written_calls_have_different_names(calls: tuple[calls_jax.Written, ...]) -> None:
    names = [one.name for one in calls]
    assert len(set(names)) == len(names)


def test_numbers_apart_stay_in_their_order() -> None:
    x = np.sort(apart(3, 4)(np.random.default_rng(0)).ravel())
    low, high = np.minimum(x * 0.75, x * 1.25), np.maximum(x * 0.75, x * 1.25)
    assert np.all(high[:-1] < low[1:])


@pytest.mark.parametrize(("library", "name"), [("jax", "acosh"), ("torch", "acos")])
def test_a_written_call_is_proved_at_enough_points(library: str, name: str) -> None:
    library_named(library).begin()
    calls = {"jax": calls_jax.CALLS, "torch": calls_torch.CALLS}[library]
    (one,) = (call for call in calls if call.name == name)
    rules = {key: Rule(modes) for key, modes in RULES[library]().items()}
    for record in of_written(library, one, 0):
        add(rules, record)
    reached = rules["acosh" if library == "jax" else "AcosBackward0"]
    assert verdict(reached, "") == "proved right"


def test_a_wrong_rule_is_named() -> None:
    library_named("torch").begin()
    (one,) = (call for call in calls_torch.CALLS if call.name == "as_strided_scatter")
    records = list(of_written("torch", one, 0))
    wrong = {record["mode"] for record in records if "wrong rule" in record["outcomes"]}
    assert wrong == {"rev"}
    assert all("AsStridedScatterBackward0" in record["rules"] for record in records)
