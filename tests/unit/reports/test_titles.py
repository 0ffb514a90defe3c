"""The title of a finding says what is wrong, how it was asked and how far off it is, the same everywhere."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping

import numpy as np
import pytest

from gradfuzz.fuzzer.results.finding import Class, Finding
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.oracles.base import in_words
from gradfuzz.programs.text.parse import parse
from gradfuzz.reports.common import tables, titles
from gradfuzz.reports.formats import FORMATS
from gradfuzz.reports.markdown.issue import issue
from tests.report_data import finding, finished

DET = parse('def f(A: "float[2, 2]"):\n    return det(A)\n')
SHORT = "import torch\n\ndef f(A):\n    return torch.linalg.det(A)\n\ngot = torch.func.grad(f)(A)\n"


def shown(kind: Class, expected: float, got: float, **changes: object) -> Finding:
    clearest = dataclasses.replace(
        finding(0).clearest,
        entry_expected=expected,
        entry_got=got,
        ratio=got / expected if expected else None,
    )
    asked = {"target": "torch:func", "program": DET, "modes": ("rev", "fwd"), "ports": {"short": SHORT}}
    return dataclasses.replace(finding(0, kind=kind, clearest=clearest), **{**asked, **changes})


def test_modes_in_words() -> None:
    assert in_words(("rev", "fwd")) == "forward over reverse"
    assert in_words(("fwd", "rev", "rev")) == "reverse over reverse over forward"


@pytest.mark.parametrize(
    ("kind", "expected", "got", "told"),
    [
        (Class.WRONG_VALUE, 0.5, 0.17, "wrong by a factor of 0.34"),
        (Class.RATIO_BLOWUP, 0.5, 500.0, "wrong by a factor of 1,000"),
        (Class.SIGN_FLIP, 0.5, -0.5, "wrong sign"),
        (Class.SIGN_FLIP, 0.5, -0.25, "wrong sign, and a factor of 0.5"),
        (Class.MISSING, 0.5, 0.0, "0 instead of 0.5"),
        (Class.SPURIOUS, 0.0, 0.5, "0.5 instead of 0"),
        (Class.NON_FINITE, 0.5, float("nan"), "nan instead of 0.5"),
        (Class.PRECISION, 1.0, 1.0002, "3 digits are right"),
        (Class.PRECISION, 1.0, 1.02, "1 digit is right"),
        (Class.WRONG_SHAPE, 1.0, 1.0, "wrong shape"),
    ],
)
def test_a_title(kind: Class, expected: float, got: float, told: str) -> None:
    assert titles.title(shown(kind, expected, got)) == f"torch.linalg.det, forward over reverse: {told}"


def test_ops_that_make_and_take_apart_complex_numbers_are_no_subject() -> None:
    parts = "def f(x, y):\n    return imag({}(complex(x, y)))\n"
    found = shown(Class.SIGN_FLIP, 1.0, -1.0, program=parse(parts.format("exp")), ports={})
    assert titles.title(found) == "exp, forward over reverse: wrong sign"
    bare = shown(Class.SIGN_FLIP, 1.0, -1.0, program=parse(parts.format("conj")), ports={})
    assert titles.title(bare) == "complex, conj, imag, forward over reverse: wrong sign"


def test_an_error_and_a_value() -> None:
    raised = shown(Class.ERROR, 1.0, float("nan"), note="ValueError: no such axis.")
    assert titles.title(raised) == "torch.linalg.det, forward over reverse: exception"
    assert titles.title(shown(Class.WRONG_PRIMAL, 1.0, 2.0)) == "torch.linalg.det, value: 2 instead of 1"


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        ({"ports": {}, "script": ""}, "det"),
        (
            {"ports": {"short": SHORT.replace("torch.linalg", "jnp.linalg")}, "target": "jax:scan"},
            "jax.numpy",
        ),
        ({"target": "mutant:inv-batch"}, "det"),
    ],
)
def test_the_library_s_own_name_where_its_script_has_it(changes: Mapping[str, object], subject: str) -> None:
    own = titles.subject(shown(Class.SIGN_FLIP, 1.0, -1.0, **changes))
    assert own == (f"{subject}.linalg.det" if "." in subject else subject)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("def f(x):\n    t = x > 1.0\n    return 1.0\n", "greater"),
        ("def f(x):\n    return x\n", "identity"),
        ("def f(x):\n    for i in range(2):\n        x = x * x\n    return x\n", "for loop"),
    ],
)
def test_a_program_without_a_telling_op(text: str, subject: str) -> None:
    assert titles.subject(dataclasses.replace(shown(Class.ERROR, 1.0, 1.0), program=parse(text))) == subject


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("json", "ndjson")])
def test_it_is_the_same_everywhere(name: str) -> None:
    text = FORMATS[name].render(finished([shown(Class.WRONG_VALUE, 0.5, 0.17)]), None)
    text = html.unescape(text).replace("%2C", ",").replace("%3A", ":").replace("\\.", ".")
    title = "torch.linalg.det, forward over reverse: wrong by a factor of 0.34"
    assert title in " ".join(text.split())
    assert "rev, fwd" not in text
    assert "second order (" not in text


def test_an_issue_begins_with_it() -> None:
    text = issue(shown(Class.WRONG_VALUE, 0.5, 0.17)).splitlines()[0]
    title = "torch.linalg.det, forward over reverse: wrong by a factor of 0.34"
    assert text == f"# {title} (torch:func 2.13.0, float64)".replace("2.13.0", finding(0).version)


def test_the_signature_does_not_hang_on_words() -> None:
    """What a check is called was once "second order (rev, fwd)": an old record is the same finding."""
    new = shown(Class.WRONG_VALUE, 0.5, 0.17, check="forward over reverse")
    assert signature(new) == signature(dataclasses.replace(new, check="second order (rev, fwd)", ports={}))


# Tautologies ------------------------------------------------------------------------------------------------


def test_a_wrong_shape_is_told_by_shapes() -> None:
    point = dataclasses.replace(
        finding(0).clearest,
        inputs={"A": np.zeros((2, 2))},
        got={"A": np.zeros((2,))},
        entry=("A", (0, 0)),
        entry_expected=0.0,
        entry_got=0.0,
    )
    one = shown(Class.WRONG_SHAPE, 0.0, 0.0, smallest=point, worst=point)
    one = dataclasses.replace(one, clearest=point)
    (row,) = tables.points(one)
    assert (row.expected, row.got, row.ratio) == ("shape (2, 2)", "shape (2,)", "-")
