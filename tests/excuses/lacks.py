"""Plants beside what JAX and Torch lack of programs by their lists: the same words of what they have, and
other words of what they lack.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any
from unittest.mock import patch

import numpy as np

from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.oracles import resolve
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.jax import answers
from gradfuzz.oracles.lacks import Lack
from tests.excuses.planted import Planted, asked, judged
from tests.excuses.registry import EXCUSES, Excuse, planted_elsewhere
from tests.excuses.sites import sites

TERMS = {
    "": "x",
    "complex": "real(complex(x, x) * complex(x, x))",
    "eigvals": "real(sum(eigvals(A[0:2])))",
    "floor_divide": "floor_divide(1.0, x)",
    "index_update": "sum(index_update(stack(x, x), x, 0))",
    "qr": 'sum(qr(A, mode="complete")[1])',
    "silu": "silu(x)",
    "svd": "sum(svd(A, full_matrices=True)[1])",
}
"""By the op of a row a term with it."""
PLAIN = {"jax": "jax:scan:nojit", "torch": "torch:eager"}
"""By library a way that no row names."""


def _met(library: str, way: str, op: str, modes: tuple[Mode, ...], error: Exception) -> CheckResult:
    """The verdict on a way whose derivatives raise."""

    def raising(*_: Any) -> Any:
        raise error

    (target,) = resolve(way)
    place = (answers, "derivative") if library == "jax" else (type(target), "differentiate")
    text = f"""def f(x, A: "float[3, 2]"):
    acc = x
    for i in range(2):
        acc = acc * x
    return acc + {TERMS[op]}
"""
    question = asked(text, modes, x=0.5, A=np.array([[2.0, 0.5], [0.25, 1.0], [0.5, 0.75]]))
    with patch.object(*place, staticmethod(raising)):
        return judged(question, target)


@functools.cache
def _of_lack(library: str, row: Lack) -> Planted:
    said = RuntimeError(f"it says: {row.words}") if row.words else AssertionError("of the rule")
    way, op = row.ways.split(" ")[0] or PLAIN[library], row.ops.split(" ")[0]
    modes: tuple[Mode, ...] = ("rev", "rev") if row.many else ("fwd",) if row.fwd else ("rev",)
    met = functools.partial(_met, library)
    others = () if row.why else (RuntimeError("of the rule"), NotImplementedError("of the rule"))
    wrong = [met(way, op, modes, other) for other in others]
    if row.ways:
        wrong.append(met(PLAIN[library], op, modes, said))
    if row.ops:
        wrong.append(met(way, "", modes, said))
    if (row.fwd or row.many) and not row.rev:
        wrong.append(met(way, op, ("rev",), said))
    return Planted(met(way, op, modes, said), row.why or row.words, tuple(wrong))


for _site in sites():
    _where, _, _what = _site.partition(": ")
    if _where.startswith("oracles/") and _what.startswith("Lack("):
        _file = _where.removesuffix(" module")
        _module = importlib.import_module(f"gradfuzz.{_file.removesuffix('.py').replace('/', '.')}")
        _plant = functools.partial(_of_lack, _file.split("/")[1], eval(_what, vars(_module)))
        _told = "The library lacks this by its documents or source. Other ops, modes, ways and words are not."
        EXCUSES.append(Excuse(_site, _told, (_site,), _plant))

planted_elsewhere(
    "An adapter lists what its library says of a rule that its source does not have. The same type with other"
    " words is told, and so are these words of another function.",
    (
        "tests/unit/foreign/test_kit.py::test_no_exception_is_a_refusal_by_its_type",
        "tests/unit/foreign/test_kit.py::test_autograd_lacks_by_its_list_alone",
    ),
    *(site for site in sites() if site.startswith("adapters/")),
)
