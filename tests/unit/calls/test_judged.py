"""Which derivatives of a call are judged, and of which call."""

from __future__ import annotations

import numpy as np

from gradfuzz.calls.judging.judge import Judgement, judged
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Verdict


def of(function: str, *entries: object) -> Judgement:
    return judged(Call("torch", f"torch.{function}", (Argument(array=np.array(entries)),)))


def test_a_call_that_draws_what_hardly_shows_is_seeded() -> None:
    """The first two singular vectors of a 2x2 matrix are the same whatever a search for them begins with."""
    found = of("svd_lowrank", [0.43359375, 0.58984375], [0.74609375, 0.90234375])
    assert found.call.seeded
    assert [one.case.verdict for one in found.verdicts] == 6 * [Verdict.AGREE]
    assert not of("linalg.svdvals", [0.43359375, 0.58984375], [0.74609375, 0.90234375]).call.seeded


def test_no_second_derivative_is_asked_for_where_an_entry_of_the_first_is_not_known() -> None:
    """At 1/2 a number is rounded to 0 or to 1. Beside it the second derivative is 0, and is judged."""
    assert [one.modes for one in of("round", 0.5, 0.25).verdicts] == [("rev",), ("fwd",)]
    assert [one.case.verdict for one in of("round", 0.375, 0.25).verdicts] == 6 * [Verdict.AGREE]
