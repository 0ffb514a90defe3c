"""Every excuse has a plant: the registry names each place of the package that excuses an answer, and beside
each of them a wrong answer is found.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from fnmatch import fnmatchcase

import pytest

pytest.importorskip("autograd")
pytest.importorskip("jax")
pytest.importorskip("torch")

from tests.excuses import calls, functions, lacks, large, roundings, tolerances, verdicts
from tests.excuses.planted import is_wrong, told
from tests.excuses.registry import EXCUSES, NOT_EXCUSES, Excuse
from tests.excuses.sites import PACKAGE, sites, sites_in

PLANTS = (calls, functions, lacks, large, roundings, tolerances, verdicts)

WITHOUT_PLANT = """
{count} time(s) more in the package than in the registry: {site}
  An answer that seems wrong ends there as anything but a finding, and no plant shows what that hides.
  Write in tests/excuses, in the module that is about it:

      @excuse("What it excuses, in a sentence, and what is found beside it.", "{site}")
      def the_name_of_the_excuse() -> Planted:
          return Planted(excused, "words of its message", (wrong, ...))

  `excused` is an answer that this very excuse lets pass, `wrong` are wrong ones beside it that are findings.
  If it excuses nothing, say why in NOT_EXCUSES of tests/excuses/registry.py."""


def unnamed(found: Counter[str]) -> Counter[str]:
    """The sites that no row names, of those that may excuse something."""
    rest = found - Counter(site for row in EXCUSES for site in row.sites)
    return Counter(
        {s: n for s, n in rest.items() if not any(fnmatchcase(s, pattern) for pattern, _ in NOT_EXCUSES)}
    )


def test_every_excuse_has_a_row() -> None:
    missing = unnamed(sites())
    assert not missing, "".join(WITHOUT_PLANT.format(site=s, count=n) for s, n in missing.items())


def test_every_row_is_about_an_excuse_that_there_is() -> None:
    gone = Counter(site for row in EXCUSES for site in row.sites) - sites()
    assert not gone, f"these rows name what is no longer in the package; delete them: {dict(gone)}"
    idle = [pattern for pattern, _ in NOT_EXCUSES if not any(fnmatchcase(s, pattern) for s in sites())]
    assert not idle, f"nothing in the package fits these patterns of NOT_EXCUSES: {idle}"


def test_a_new_excuse_is_seen() -> None:
    """Lines that a stranger might write, each in a module that judges."""
    lines = (
        'return case.unsettled(Reason.NOISE, "perhaps")',
        'return Truth.unknown(Doubt.WIDE, "who knows")',
        "return replace(case, verdict=Verdict.CONVENTION)",
        'return Answer("unsupported", message=words)',
        "return doubted(case)",
        "allowed = np.where(odd, np.inf, allowed)",
    )
    for line in lines:
        (site,) = sites_in("fuzzer/verdict/judge.py", f"def new(case):\n    {line}\n")
        assert unnamed(sites() + Counter([site])) == Counter([site])
    (constant,) = sites_in("fuzzer/measuring/measure.py", "_MORE = 12.0\n")
    assert unnamed(Counter([constant]))
    known = "fuzzer/verdict/judge.py joined: Reason.REFERENCES"
    assert unnamed(sites() + Counter([known])) == Counter([known]), "a second one in the same function"


@functools.cache
def _tests_of(path: str) -> frozenset[str]:
    tree = ast.parse((PACKAGE.parent / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_plants_that_stand_elsewhere_are_there() -> None:
    for row in EXCUSES:
        assert row.plant or row.tests, f"{row.name} has no plant"
        assert row.excuses.endswith(tuple(".")) or row.sites[0].startswith("convention"), row.name
        for test in row.tests:
            path, _, name = test.partition("::")
            assert name in _tests_of(path), f"{test} is gone, and with it the plant of {row.name}"


@pytest.mark.parametrize("row", [row for row in EXCUSES if row.plant], ids=lambda row: row.name)
def test_a_wrong_answer_beside_an_excuse_is_found(row: Excuse) -> None:
    assert row.plant is not None
    planted = row.plant()
    assert not is_wrong(planted.excused), told(planted.excused)
    assert planted.words in told(planted.excused)
    assert planted.reached, f"the excuse had no part in it: {told(planted.excused)}"
    assert planted.wrong
    for wrong in planted.wrong:
        assert is_wrong(wrong), told(wrong)
