"""Calls that a library's documents leave undefined are no findings, and their neighbours are."""

from __future__ import annotations

import numpy as np
import pytest

from gradfuzz.calls.judging.judge import judged
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Verdict


def array(*entries: object, dtype: str = "float64") -> Argument:
    return Argument(array=np.array(entries, dtype))


def call(function: str, *arguments: Argument) -> Call:
    return Call("torch", f"torch.{function}", arguments)


def literal(text: str, keyword: str = "") -> Argument:
    return Argument(keyword, literal=text)


def indices(*entries: int) -> Argument:
    return Argument(items=(array(*entries, dtype="int64"),))


FULL = array([2.0, 1.0], [0.5, 3.0])
TALL = array([0.33203125], [3.0])
WEIGHT = array([1.0, -1.0], [0.5, 2.0])


@pytest.mark.parametrize(
    ("undefined", "why"),
    [
        (call("index_put", array(2.0, 1.0), indices(0, 0), array(0.5, 3.0)), "repeated index"),
        (call("normal", array(1.0), array(2.0)), "no derivative by the parameters"),
        (call("cholesky_inverse", FULL), "triangle"),
        (call("linalg.svd", TALL, literal("True")), "any basis"),
        (call("linalg.cholesky_ex", array([-4.0])), "info"),
        (
            call(
                "nn.functional.embedding",
                array(0, 0, 1, dtype="int64"),
                WEIGHT,
                literal("True", "scale_grad_by_freq"),
            ),
            "divided by the count",
        ),
        (
            call("nn.functional.embedding", array(0, 1, dtype="int64"), WEIGHT, literal("1.0", "max_norm")),
            "renormalized in place",
        ),
    ],
)
def test_what_the_documents_leave_undefined_is_a_convention(undefined: Call, why: str) -> None:
    (found,) = judged(undefined, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.CONVENTION
    assert why in found.case.message
    assert "https://docs.pytorch.org/" in found.case.message


@pytest.mark.parametrize(
    "defined",
    [
        call("index_put", array(2.0, 1.0), indices(1, 0), array(0.5, 3.0)),
        call("cholesky_inverse", array([2.0])),
        call("linalg.svd", TALL, literal("False")),
        call("linalg.cholesky_ex", array([4.0])),
        call("nn.functional.embedding", array(0, 0, 1, dtype="int64"), WEIGHT),
    ],
)
def test_what_they_define_is_judged(defined: Call) -> None:
    (found,) = judged(defined, [("rev",)]).verdicts
    assert found.case.verdict is Verdict.AGREE
