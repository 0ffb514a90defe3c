"""The page of proofs: what counts as proved, and the tables that people wrote."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed; its rules are on the page")
pytest.importorskip("torch", reason="Torch is not installed; its rules are on the page")

import jax
import jax.numpy as jnp
import torch
from jax import lax
from jax.interpreters import ad

from benchmarks.proofs import calls_jax, calls_torch
from benchmarks.proofs.page import section, verdict
from benchmarks.proofs.proving import Rule, add, of_written
from benchmarks.proofs.reasons import REASONS
from benchmarks.proofs.rules import ONE_WAY, RULES, used_by_jax
from benchmarks.proofs.written import apart
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.libraries.detect import library_named
from gradfuzz.oracles.base import Mode

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"
VERSIONS = {"jax": jax.__version__, "torch": torch.__version__}


def of_the_page(library: str) -> pytest.MarkDecorator:
    """What is said of the rules of one release: another one has others."""
    (release,) = re.findall(rf"^## {library} (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    other = VERSIONS[library] != release
    return pytest.mark.skipif(other, reason=f"docs/proofs.md is of {library} {release}")


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
    rules = {"sin": rule(rev=20, fwd=30), "mystery": rule(), "composite": rule(), "stage": rule()}
    text = section("jax", rules)
    assert "1 of the 2 rules that can be asked (50%) are proved right" in text
    assert "2 rules cannot be asked.\nOf all 4 rules 25% are proved right." in text
    assert "| `sin` | proved right | 20 | 30 | 0 | 0 |  |" in text
    assert "| `mystery` | not reached | 0 | 0 | 0 | 0 |  |" in text
    assert "| `stage` |\n" in text


def test_a_record_counts_for_the_rules_that_take_part() -> None:
    rules = {"sin": rule(), "cos": rule()}
    record = {"function": "f", "mode": "rev", "rules": ["sin", "pjit"], "reasons": {}}
    add(rules, {**record, "outcomes": {"right": 9, "wrong rule": 1}})
    assert rules["sin"].right("rev") == 9
    assert dict(rules["sin"].wrong) == {"f": 1}
    assert rules["cos"].right("rev") == 0


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_a_rule_takes_part_where_jax_asks_for_it(mode: Mode) -> None:
    def f(x: jax.Array) -> jax.Array:
        return jnp.where((x > 0.5) ^ (x < -0.5), jnp.cumsum(x) * x, x)

    subject = subject_of(f, [np.array([0.3, 0.7])], None, None, "jax")
    for _ in range(2):  # JAX keeps what it has traced, and says so no second time
        found = used_by_jax(subject, (mode,))
        assert {"gt", "lt", "cumsum", "mul", "select_n"} <= found
        assert "xor" not in found  # bools do not move
        assert ("add_any" in found) == (mode == "rev")
    assert ad.primitive_jvps[lax.sin_p].__module__ != used_by_jax.__module__  # JAX has its own rules again


@of_the_page("jax")
@pytest.mark.slow  # a process of its own, since JAX divides the CPU before it does anything
def test_collectives_are_proved_on_two_devices() -> None:
    code = "from benchmarks.proofs.__main__ import main; main()"
    words = ["jax", "--only", "psum_invariant", "reduce_scatter of rows"]
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    for name in ("psum_invariant", "reduce_scatter"):
        assert f"| `{name}` | proved right | 20 | 20 | 0 | 0 |  |" in run.stdout
    assert "| `shard_map` | proved right | 40 | none | 0 | 0 |  |" in run.stdout


@pytest.mark.parametrize("library", [pytest.param(name, marks=of_the_page(name)) for name in RULES])
def test_the_rules_with_a_reason_are_rules_of_the_library(library: str) -> None:
    assert set(REASONS[library]()) <= set(RULES[library]())


@of_the_page("jax")
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
