"""A seed means the same programs from one version to the next: sweeps, findings and baselines name seeds."""

from __future__ import annotations

import hashlib

import pytest

from gradfuzz.strategies import FAMILIES, draw_many

DRAWN = {
    "loops": "fea5d2ebd4b3349b",
    "linalg": "79ef8e6382bce36f",
    "tensor": "ed101e8c22834d34",
    "complex": "6781544d519b0043",
    "vectorize": "678c49d5fc184849",
    "elementwise": "77bea976760aa44a",
}
"""What the first forty cases of each family are, as a hash; it changes only with an entry in the
changelog.
"""


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_seed_draws_the_same_cases_as_before(family: str) -> None:
    """Programs, what is asked, and the points of loops; those of matrices hold what LAPACK rounded."""
    lines = []
    for case in draw_many(FAMILIES[family].cases(("float64", "float32")), 40, 7):
        points = [
            [(name, v.shape, v.tolist() if family == "loops" else "") for name, v in p.items()]
            for p in case.points
        ]
        lines.append(repr((str(case.program), case.wrt, case.modes, case.precision, points)))
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == DRAWN[family]
