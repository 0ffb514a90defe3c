"""A finding of a call is told by the function that is called, and never by the program that stands for it."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradfuzz.adapters.catalogue import DIFFERENTIABLE, Function
from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.findings.calls.clusters import clusters as of_calls
from gradfuzz.fuzzer.findings.calls.prove import _rules
from gradfuzz.fuzzer.findings.clusters import clusters
from gradfuzz.fuzzer.results import records
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.finding import Class, Cluster, Finding
from gradfuzz.fuzzer.results.identity import signature
from gradfuzz.fuzzer.results.known_reports import reports_of
from gradfuzz.fuzzer.results.ranking import rank
from gradfuzz.fuzzer.results.review import Accepted, Baseline, BaselineEntry, Pattern, Rule
from gradfuzz.fuzzer.results.shown import functions
from gradfuzz.fuzzer.results.trigger import Trigger
from gradfuzz.fuzzer.store import baseline
from gradfuzz.fuzzer.store.baseline import standing
from gradfuzz.fuzzer.sweep.reviewing import review
from gradfuzz.fuzzer.turns.totals import FunctionTotals
from gradfuzz.fuzzer.turns.turn import Result
from gradfuzz.programs.text.parse import parse
from gradfuzz.reports.common.standing import news
from tests.report_data import CODE, SOFTPLUS, call_finding, finished

DET = parse('def f(x: "float[2, 2]"):\n    return det(x)\n')


def of_call(*arguments: Argument) -> Finding:
    return call_finding(call=Call("torch", SOFTPLUS, arguments))


def test_the_trigger_is_the_function() -> None:
    assert Trigger.of_finding(call_finding()).ops == {SOFTPLUS}
    assert Trigger.of_finding(call_finding(culprits=())).ops == {SOFTPLUS}
    assert functions(call_finding(call=None)) == ()
    assert Trigger.of_finding(call_finding(call=None, culprits=())).ops == {"cos"}, "that of a program"


def test_the_signature_does_not_depend_on_the_stand_in() -> None:
    assert signature(call_finding()) == signature(call_finding(program=DET, original=DET))
    other = "torch.nn.functional.softmin"
    assert signature(call_finding()) != signature(call_finding(culprits=(other,)))


def of(function: str, *rules: str, **more: Any) -> Finding:
    """A finding of a call of a function, which these rules differentiate."""
    call = Call("torch", function, (Argument(literal="2.0"),))
    made = call_finding(call=call, culprits=(function,), rules=rules, target="torch", **more)
    return replace(made, signature=signature(made))


def test_one_rule_is_one_bug_whatever_function_is_called() -> None:
    softmin = "torch.nn.functional.softmin"
    one, two = of(SOFTPLUS, "SoftplusBackward0"), of(softmin, "SoftplusBackward0")
    assert signature(one) == signature(two)
    assert signature(one) != signature(of(SOFTPLUS, "NegBackward0"))
    assert signature(one) != signature(of(SOFTPLUS, "SoftplusBackward0", modes=("fwd",)))
    assert signature(of(SOFTPLUS, "A", "B")) != signature(of(softmin, "A", "B")), "one of the two is wrong"
    value = {"kind": Class.WRONG_PRIMAL, "modes": ()}
    assert signature(of(SOFTPLUS, "A", **value)) != signature(of(softmin, "A", **value)), "no rule is run"


@pytest.mark.parametrize(
    "names",
    [
        ("torch.slogdet", "torch.linalg.slogdet"),
        ("torch.digamma", "torch.special.digamma", "torch.special.psi"),
        ("torch.softmax", "torch.special.softmax", "torch.nn.functional.softmax", "torch.Tensor.softmax"),
    ],
)
def test_the_names_of_one_function_of_torch_are_one_bug(names: tuple[str, ...]) -> None:
    pytest.importorskip("torch")
    arguments = (Argument(array=np.eye(2)), *[Argument(literal="-1")] * ("softmax" in names[0]))
    found = []
    for name in names:
        call = Call("torch", name, arguments)
        rules = _rules(call)
        assert rules, name
        made = call_finding(call=call, culprits=(name,), rules=rules, target="torch")
        found.append(signature(made))
    assert len(set(found)) == 1


def test_a_baseline_of_functions_holds_now_that_a_rule_is_one_bug() -> None:
    finding = call_finding(rules=("SoftplusBackward0",))
    before = signature(replace(finding, rules=()))
    entry = BaselineEntry("GF-0000", before, "torch", "reported")
    known, _ = standing(Baseline((Accepted(entry),)), [finding], datetime.date(2026, 3, 1))
    assert [one.signature for one in known] == [finding.signature]


ALONE = of("torch.log_softmax", "LogSoftmaxBackward0")
BOTH = "torch.nn.functional.cross_entropy", "LogSoftmaxBackward0", "NllLossBackward0"
ALIKE = of(*BOTH, modes=("fwd",), alike=(("rev",),))
"""Wrong in forward mode, and in the same way in reverse mode."""

OTHERS = [
    of(*BOTH, modes=("fwd",)),
    of(*BOTH, kind=Class.NON_FINITE),
    of(*BOTH, kind=Class.WRONG_PRIMAL, modes=()),
    of("torch.nn.functional.nll_loss", "NllLossBackward0"),
]


@pytest.mark.parametrize("same", [of(*BOTH), ALIKE], ids=["several rules", "another mode"])
def test_the_bug_of_a_rule_is_known_in_a_later_night(same: Finding) -> None:
    """What is asked otherwise, another kind of mistake and another rule are new."""
    known = Baseline((Accepted(BaselineEntry("GF-0000", ALONE.signature, "torch", "reported")),))
    found = [same, *(one for one in OTHERS if one.signature != same.signature)]
    accepted, _ = standing(known, found, datetime.date(2026, 3, 1))
    assert [one.signature for one in accepted] == [same.signature]
    end = finished(found)
    result = review(end, known, today=datetime.date(2026, 3, 1))
    assert news(end.findings, result) == f"{len(found) - 1} new, 1 known: 1 accepted."


@pytest.mark.parametrize("order", [1, -1])
def test_one_rule_is_one_finding_of_a_sweep_with_its_functions(order: int) -> None:
    found = [ALONE, ALIKE, of(*BOTH), *OTHERS[1:]][::order]
    functions = [Function((one.culprits[0],), "", DIFFERENTIABLE, "") for one in found]
    totals = FunctionTotals({"torch": ("2.13.0", functions)})
    for number, one in enumerate(found):
        totals.add(("torch", number), Result(findings=(one,)))
    told = {one.signature: one for one in totals.findings()}
    assert set(told) == {ALONE.signature, *(one.signature for one in OTHERS[1:])}
    one = told[ALONE.signature]
    assert one.seen == 3 * ALONE.seen
    assert f"the same rule is wrong in {BOTH[0]}" in one.facts
    assert one.id in {id for row in totals.functions() if row.name == BOTH[0] for id in row.findings}


def test_findings_of_one_known_bug_or_of_one_rule_have_one_cause() -> None:
    digamma, lgamma = of("torch.digamma", "DigammaBackward0"), of("torch.lgamma", "LgammaBackward0")
    known = [
        replace(digamma, id="GF-1", kind=Class.PRECISION),
        replace(lgamma, id="GF-2", kind=Class.PRECISION, modes=("rev", "rev")),
    ]
    ruled = [replace(ALONE, id="GF-3"), replace(ALONE, id="GF-4", modes=("fwd", "rev"))]
    others = [replace(ALONE, id="GF-5", modes=("fwd",)), replace(digamma, id="GF-6"), of(*BOTH)]
    assert of_calls([*known, *ruled, *others]) == (
        Cluster(
            "torch: trigamma has nine right digits (entry 21 of docs/trophies/torch.md)", ("GF-1", "GF-2")
        ),
        Cluster("torch: the rule LogSoftmaxBackward0", ("GF-3", "GF-4")),
    )


@pytest.mark.parametrize(
    ("accept", "fits_it"),
    [
        (Pattern(function=SOFTPLUS), True),
        (Pattern(function="torch.nn.*"), True),
        (Pattern(function="torch.softplus"), False),
        (Pattern(cause="*SoftplusBackward0"), True),
        (Pattern(cause="torch:functions: the rule SoftplusBackward0"), True),
        (Pattern(cause="*SoftmaxBackward0"), False),
        (Pattern(report="pytorch#*"), False),
    ],
)
def test_a_rule_about_calls(accept: Pattern, fits_it: bool) -> None:
    finding = call_finding(rules=("SoftplusBackward0",))
    assert baseline.fits(finding, accept) is fits_it
    if accept.report is None and not fits_it:
        with pytest.raises(UsageError, match=r"no recorded finding has the .*; the nearest are .*oft"):
            baseline.check_rule(Rule(accept, "r"), [finding])


def test_known_reports_of_programs_claim_no_call() -> None:
    """pytorch#104675 is about det, and the call is of softplus."""
    missing = call_finding(program=DET, kind=Class.MISSING)
    assert reports_of(missing) == ()
    assert "pytorch#104675" in {row.name for row in reports_of(replace(missing, call=None, culprits=()))}


def test_calls_are_clustered_by_function_and_question() -> None:
    other = call_finding(id="GF-aaaa", program=DET, check="jvp")
    same = call_finding(id="GF-bbbb", program=DET)
    found = clusters([call_finding(), other, same])
    assert [c.label for c in found] == [f"torch: {SOFTPLUS}, vjp", f"torch: {SOFTPLUS}, jvp"]
    assert found[0].findings == (call_finding().id, "GF-bbbb")


@pytest.mark.parametrize(
    ("argument", "absurdity"),
    [
        (Argument(literal="2.0"), 0),
        (Argument(literal="(0, -3)"), 0),
        (Argument(literal="'mean'"), 0),
        (Argument(literal="dtype:float64"), 0),
        (Argument(literal="True"), 0),
        (Argument(literal="(1e30, ... (9 more characters)"), 0),
        (Argument(literal="1e4"), 1),
        (Argument(literal="-1e30"), 2),
        (Argument(array=np.array([0, 3])), 0),
        (Argument(array=np.array([0, 10**9])), 2),
        (Argument(items=(Argument(array=np.array([10**9])),)), 2),
        (Argument(array=np.array([1e300])), 0),
        (Argument(array=np.array([1e300j]), constant=True), 2),
    ],
    ids=repr,
)
def test_absurd_numbers_of_a_call_come_last(argument: Argument, absurdity: int) -> None:
    """The arrays that are differentiated are those of the three points, which are ordinary here."""
    assert rank(of_call(argument))[2] == absurdity


def test_a_complex_point_has_a_rank() -> None:
    point = replace(call_finding().smallest, inputs={"z": np.array([3.0 + 4.0j])})
    assert rank(call_finding(smallest=point, clearest=point, worst=point))[2] == 0


def test_a_record_keeps_the_call_bit_for_bit() -> None:
    arguments = (
        Argument(array=np.array([[1.0, -0.0]], np.float32), layout="transposed"),
        Argument("others", items=(Argument(array=np.array([True])), Argument(array=np.array(1.5 - 2j)))),
        Argument("dtype", literal="dtype:float64"),
    )
    call = Call("torch", SOFTPLUS, arguments, "between", seeded=True)
    written = json.dumps(records.to_document(call_finding(call=call)), allow_nan=False)
    back = records.from_document(json.loads(written), Finding, "it")
    assert back.call is not None
    first, others, dtype = back.call.arguments
    assert (back.call.form, back.call.seeded, back.call.function) == ("between", True, SOFTPLUS)
    assert first.array is not None
    assert (first.layout, first.array.dtype, first.array.tobytes()) == (
        *("transposed", np.float32),
        np.array([[1.0, -0.0]], np.float32).tobytes(),
    )
    assert others.items is not None
    assert [item.array.tolist() for item in others.items if item.array is not None] == [[True], 1.5 - 2j]
    assert (dtype.keyword, dtype.literal) == ("dtype", "dtype:float64")
    assert (back.code, back.drawn_code) == (call_finding().code, call_finding().drawn_code)
    assert json.loads(written)["text"] == CODE
