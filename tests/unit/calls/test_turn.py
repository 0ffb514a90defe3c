"""The turn of a function: what is right is not blamed, what is wrong becomes a finding."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.core import primitive_jvps, primitive_vjps
from autograd.extend import defjvp, defvjp, primitive
from hypothesis import find

from gradfuzz.adapters.catalogue import ARRAY, INTEGER, NUMBER, Function, Parameter
from gradfuzz.fuzzer.calling.drawing.draw import calls_of, changed
from gradfuzz.fuzzer.calling.drawing.learned import Learned
from gradfuzz.fuzzer.calling.drawing.search import Search, _told
from gradfuzz.fuzzer.calling.invocation import values_of
from gradfuzz.fuzzer.calling.judge import Modes, judged, judged_by_some
from gradfuzz.fuzzer.findings.calls import prove
from gradfuzz.fuzzer.findings.calls.code import code
from gradfuzz.fuzzer.findings.calls.prove import _factor, _is_one_factor, proved
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.codec import decode, encode
from gradfuzz.fuzzer.results.finding import Class, Finding, Verdict
from gradfuzz.fuzzer.results.replayed import Status
from gradfuzz.fuzzer.shrinking.call_reductions import Wrong, _with_simpler_values, shrunk
from gradfuzz.fuzzer.sweep.replaying import replay
from gradfuzz.fuzzer.turns import turn as turns
from gradfuzz.fuzzer.turns.totals import FunctionTotals
from gradfuzz.fuzzer.turns.turn import Result, Turn, merged, run
from gradfuzz.libraries.detect import library_named
from gradfuzz.strategies.drawing.dice import Seeded

X = Parameter("x", (ARRAY,), required=True)
Y = Parameter("y", (ARRAY,), required=True)
RIGHT = primitive_vjps[anp.tanh]
TANH = Function(("autograd.numpy.tanh",), "tanh(x)", "differentiable", "", (X,))
SUM = Function(
    ("autograd.numpy.sum",),
    "sum(a, axis)",
    "differentiable",
    "",
    (X, Parameter("axis", (INTEGER,), default="None")),
)


@pytest.fixture
def doubled_tanh() -> Iterator[None]:
    """The reverse rule of tanh has a factor of 2."""
    with tanh_with(lambda ans, x: lambda g: 2.0 * g * (1.0 - ans**2)):
        yield


@pytest.fixture
def raising_tanh() -> Iterator[None]:
    """The reverse rule of tanh raises for more than one entry."""

    def rule(ans: Any, x: Any) -> Any:
        if np.size(x) > 1:
            raise ValueError("one entry only")
        return lambda g: g * (1.0 - ans**2)

    with tanh_with(rule):
        yield


@contextlib.contextmanager
def tanh_with(rule: Any) -> Iterator[None]:
    before = primitive_vjps[anp.tanh]
    defvjp(anp.tanh, rule)
    yield
    primitive_vjps[anp.tanh] = before


def ran(function: Function, **more: int) -> Result:
    return run(Turn("autograd", function, seed=5, number=0, calls=more.get("calls", 3)), lambda call: None)


def test_a_right_function_has_no_finding() -> None:
    result = ran(TANH, calls=4)
    assert result.judged == 4
    assert result.asked["rev"] == 4
    assert set(result.verdicts) == {"agree"}
    assert not result.findings
    assert result.words == ""


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([2.0, 2.0 + 1e-7], "2"),
        ([2.0, 2.1], None),
        ([1.0000000298, 1.0000000298], "1.00000003"),
        ([-0.0, 0.0, -0.0], "0"),
        ([1.000001, 1.0000002], None),  # lost digits, another number each
    ],
)
def test_the_factor_of_a_wrong_answer(ratios: list[float], expected: str | None) -> None:
    assert (_factor(ratios[0]) if _is_one_factor(ratios) else None) == expected


def test_a_wrong_rule_is_a_finding(doubled_tanh: None) -> None:
    (finding,) = ran(TANH).findings
    assert finding.kind is Class.WRONG_VALUE
    assert finding.modes == ("rev",)
    assert finding.culprits == ("autograd.numpy.tanh",)
    assert any(fact.startswith("right: jvp") for fact in finding.facts)
    assert "the answer is 2 times the derivative, also at other values" in finding.facts
    x = float(finding.smallest.inputs["x0"])
    weight = finding.weights[0]
    assert weight is not None
    assert finding.smallest.entry_expected == pytest.approx(
        float(weight) * (1.0 - np.tanh(x) ** 2), rel=1e-12
    )
    assert finding.code == f"x0 = np.array({x!r}, np.float64)\ny = autograd.numpy.tanh(x0)"


@pytest.mark.parametrize(("factor", "alike"), [(2.0, (("rev",),)), (3.0, ())])
def test_modes_that_are_wrong_alike_are_one_bug(
    factor: float, alike: tuple[Modes, ...], doubled_tanh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(primitive_jvps, anp.tanh, primitive_jvps[anp.tanh])
    defjvp(anp.tanh, lambda g, ans, x: factor * g * (1.0 - ans**2))
    result = ran(TANH)
    assert {one.modes: one.alike for one in result.findings[:2]} == {("rev",): (), ("fwd",): alike}
    totals = FunctionTotals({"autograd": ("1.9.1", [TANH])})
    totals.add(("autograd", 0), replace(result, findings=result.findings[:2]))
    assert len(totals.findings()) == (1 if alike else 2)


def test_a_valid_call_is_broadcast_in_one_array() -> None:
    """A gradient that is not summed over the axes that were repeated is a usual mistake."""
    pair = Call("autograd", "autograd.numpy.add", tuple(Argument(array=np.ones((2, 3))) for _ in range(2)))
    both = Function(("autograd.numpy.add",), "add(x, y)", "differentiable", "", (X, Y))
    shapes = set()
    for seed in range(200):
        found = changed(Seeded(str(seed)), pair, both, Learned()).call
        first, second = (np.shape(a.array) for a in found.arrays())
        assert (2, 3) in (first, second)
        shapes |= {first, second}
    assert shapes >= {(2, 3), (1, 3), (2, 1), (3,)}


def test_words_with_other_sizes_and_dtypes_are_the_same_words() -> None:
    first = _told("TypeError: add got incompatible shapes for broadcasting: (2, 3), (4,) of float32")
    assert first == _told("TypeError: add got incompatible shapes for broadcasting: (), (1, 5, 2) of float64")
    assert first != _told("TypeError: add got incompatible dtypes")


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("ValueError: expected 3D (unbatched) or 4D (batched) input, but got [2, 1]", {3, 4}),
        ("InvalidArgumentError: length for attr 'strides' must be at least minimum 5 (got (1, 2))", {5}),
        ("Error on device:CPU:0 at 1.5, line2", set()),
    ],
)
def test_the_numbers_that_a_library_names_are_ranks_and_lengths_to_try(
    message: str, numbers: set[int]
) -> None:
    learned = Learned()
    learned.read(message)
    assert set(learned.numbers) == numbers
    weights = {number: weight for weight, number in learned.said([(1, k) for k in range(6)])}
    assert {number for number, weight in weights.items() if weight > 1} == numbers


def test_a_turn_is_the_same_again(doubled_tanh: None) -> None:
    first, second = ran(TANH), ran(TANH)
    assert encode(Result, first) == encode(Result, second)
    assert encode(Result, decode(Result, encode(Result, first))) == encode(Result, first)


def raising(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("planted")


@pytest.mark.parametrize("step", ["shrunk", "_facts", "_script", "_short", "_proof", "code", "judged"])
def test_what_raises_on_the_way_to_a_finding_does_not_lose_it(
    step: str, doubled_tanh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(prove, step, raising)
        result = ran(TANH)
    (finding,) = result.findings
    assert finding.kind is Class.WRONG_VALUE
    assert finding.smallest.entry_got == pytest.approx(2.0 * finding.smallest.entry_expected)
    assert {fault.error for fault in finding.own_faults} == {"ZeroDivisionError: planted"}
    assert (finding.call == finding.drawn) is (step in ("shrunk", "judged"))
    assert ("ot shrunk." in finding.note) is (step in ("shrunk", "judged"))
    assert not result.error
    assert decode(Result, encode(Result, result)).findings[0].own_faults == finding.own_faults


def test_what_was_found_before_a_turn_breaks_off_is_kept(
    doubled_tanh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [judged_by_some]
    monkeypatch.setattr(
        turns, "judged_by_some", lambda *given: (answers.pop() if answers else raising)(*given)
    )
    result = ran(TANH)
    assert len(result.findings) == 1
    assert not result.findings[0].own_faults
    assert (result.judged, result.error) == (1, "ZeroDivisionError: planted")
    (fault,) = result.own_faults
    assert (fault.doing, fault.error) == ("calling autograd.numpy.tanh", result.error)
    assert "Traceback (most recent call last)" in fault.traceback
    totals = FunctionTotals({"autograd": ("1.9.1", [TANH])})
    totals.add(("autograd", 0), result)
    assert totals.own_faults() == (fault,)


def test_a_script_says_what_the_library_does(doubled_tanh: None, tmp_path: Path) -> None:
    """Run by itself it has the library as it is, which is right."""
    (finding,) = ran(TANH).findings
    script = tmp_path / "script.py"
    script.write_text(finding.script, encoding="utf-8")
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "right"


def test_a_function_that_takes_nothing_has_the_librarys_words() -> None:
    missing = Function(("autograd.numpy.linalg.inv",), "inv(a, b)", "differentiable", "", (X, X))
    result = ran(missing)
    assert result.judged == 0
    assert "positional argument" in result.words


def test_a_parameter_that_is_not_drawn_is_a_reason() -> None:
    closed = Function(
        ("autograd.numpy.tanh",), "f(g)", "differentiable", "", (Parameter("g", (), required=True),)
    )
    assert ran(closed).words == "its parameter g takes something that gradfuzz cannot make"


def test_the_search_learns_which_axes_there_are() -> None:
    search = Search("autograd", SUM, Seeded("a"), lambda call: None)
    calls = search.calls()
    found = [next(calls) for _ in range(80)]
    assert search.valid == 80
    assert search.valid / search.drawn > 0.6
    assert {"0", "-1"} <= {a.literal for call in found for a in call.arguments}
    assert all(any(value.size for value in values_of(call)) for call in found)


def test_results_of_turns_add_up() -> None:
    one, other = Result(drawn=3, valid=2, judged=1, asked={"rev": 1}), Result(drawn=1, words="no")
    whole = merged([other, one])
    assert (whole.drawn, whole.valid, whole.judged, whole.words) == (4, 2, 1, "")


def test_an_error_of_gradfuzz_is_told_though_other_turns_went_well() -> None:
    totals = FunctionTotals({"autograd": ("1.9.1", [TANH])})
    totals.add(("autograd", 0), Result(drawn=1, valid=1, judged=1, asked={"rev": 1}))
    assert [one.outcome for one in totals.functions()] == ["asked"]
    totals.add(("autograd", 0), Result(error="IndexError: list index out of range"))
    (told,) = totals.functions()
    assert (told.outcome, told.why, told.asked) == (
        "broken",
        "IndexError: list index out of range",
        {"rev": 1},
    )


# Calls ------------------------------------------------------------------------------------------------------


def call(function: str, *arguments: Argument, **more: object) -> Call:
    return Call("autograd", f"autograd.numpy.{function}", arguments, **more)  # type: ignore[arg-type]


def array(*entries: float) -> Argument:
    return Argument(array=np.array(entries))


@pytest.mark.parametrize("form", ["alone", "between", "loop", "twice"])
def test_whatever_stands_around_a_call_is_differentiated(form: str) -> None:
    found = judged(call("sin", array(0.5, -1.25), form=form))
    assert [one.case.verdict for one in found.verdicts] == [Verdict.AGREE] * 6


@contextlib.contextmanager
def large_with(factor: float) -> Iterator[Function]:
    """A function of autograd with values from 1e5 on; its reverse rule has a factor."""

    @primitive
    def large(x: Any) -> Any:
        return 1e5 * (x * x + 1.0)

    defvjp(large, lambda ans, x: lambda g: factor * 2e5 * x * g)
    anp.large = large
    yield Function(("autograd.numpy.large",), "large(x)", "differentiable", "", (X,))
    del anp.large


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_function_of_large_values_stands_in_no_sine(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = []

    def seen(call: Call, *more: Any) -> Any:
        forms.append(call.form)
        return judged_by_some(call, *more)

    monkeypatch.setattr(turns, "judged_by_some", seen)
    with large_with(factor) as function:
        result = ran(function, calls=20)
    assert set(forms) <= {"alone", "vectorized", "compiled"}
    assert bool(result.findings) is (factor != 1.0)


def test_a_form_that_a_library_lacks_is_refused() -> None:
    assert "autograd" in judged(call("sin", array(0.5), form="compiled")).refused


def test_arguments_are_written_as_a_user_writes_them() -> None:
    written = code(call("sum", array(1.0, 2.0), Argument("axis", literal="0")))
    assert written == "x0 = np.array([1.0, 2.0], np.float64)\ny = autograd.numpy.sum(x0, axis=0)"


def test_a_view_is_differentiated_by_the_array_it_is_taken_from() -> None:
    stepped = Argument(array=np.array([0.5, 3.0, -1.25, 4.0]), layout="stepped")
    found = judged(call("sin", stepped), [("rev",)])
    (one,) = found.verdicts
    assert one.case.verdict is Verdict.AGREE
    assert one.case.answer.gradient["x0"].shape == (4,)
    assert one.case.answer.gradient["x0"][[1, 3]].tolist() == [0.0, 0.0]


def test_numbers_are_drawn_for_a_parameter_that_takes_them() -> None:
    power = Function(
        ("autograd.numpy.power",),
        "power(x, p)",
        "differentiable",
        "",
        (X, Parameter("p", (NUMBER,), required=True)),
    )
    assert ran(power).judged == 3


def test_a_finding_is_asked_again(doubled_tanh: None) -> None:
    (finding,) = ran(TANH).findings
    again = replay(finding)
    assert again.status is Status.FAILED
    assert f"expected {finding.smallest.entry_expected:.9g}" in again.message
    primitive_vjps[anp.tanh] = RIGHT
    assert replay(finding).status is Status.FIXED


def test_hypothesis_draws_and_shrinks_calls() -> None:
    """The simplest call that still has a negative entry."""
    found = find(calls_of("autograd", SUM), lambda call: any(np.any(x < 0.0) for x in values_of(call)))
    (x,) = values_of(found)
    assert x.shape == ()
    assert x.dtype == np.float64
    assert found.arguments[1:] == ()


def test_an_operand_without_a_rule_is_held_fixed() -> None:
    """autograd has no rule for the first operand of the incomplete gamma function; for the second it has."""
    order = Argument(array=np.array(0.5))
    both = Call("autograd", "autograd.scipy.special.gammainc", (order, array(0.5, 1.25)))
    assert not judged(both).verdicts
    one = judged_by_some(both, 0)
    assert [argument.constant for argument in one.call.arguments] == [True, False]
    assert one.verdicts[0].case.verdict is Verdict.AGREE
    assert code(one.call).splitlines()[-1].endswith("gammainc(np.array(0.5, np.float64), x0)")


def test_a_gradient_that_raises_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library may say by a gradient which results it differentiates. Where that raises, it is asked for."""

    def followed(self: Any, f: Any, arrays: Any) -> Any:
        raise RuntimeError("the gradient was lost")

    monkeypatch.setattr(type(library_named("autograd")), "followed", followed)
    found = judged(Call("autograd", "autograd.numpy.tanh", (array(0.5),)), [("rev",)])
    assert found.refused == ""
    assert [one.case.verdict for one in found.verdicts] == [Verdict.AGREE]


def test_what_is_too_small_for_a_dtype_is_no_missing_derivative() -> None:
    """exp(-641) is 4e-279: single precision has no such number."""
    x = Argument(array=np.array([-641.0, -1.0], np.float32))
    exponential = Call("torch", "torch.special.ndtr", (x,))
    found = judged(exponential, [("rev",), ("fwd",)]).verdicts
    assert not any(one.case.verdict.is_wrong for one in found)


LOGSUMEXP = Call("jax", "jax.nn.logsumexp", (Argument(array=np.array([1.0, -15.0], np.float32)),))
"""Its second derivative in float32 is p - p**2, whose digits cancel where p is next to 1."""
SIGMOID = Call("jax", "jax.nn.sigmoid", (Argument(array=np.array(25.0)),))
"""Its rule y (1 - y) is right, and has lost more than half of the digits: 4e-6 of exp(-25)."""
BESSEL = Call(
    "jax",
    "jax.scipy.special.bessel_jn",
    (Argument(array=np.array([0.5, 0.125])), Argument("v", literal="1")),
)
"""A right rule whose quotients overflow: entry 28 of JAX."""


def test_the_rounding_of_a_right_rule_is_no_finding() -> None:
    pytest.importorskip("jax")
    assert not list(judged(LOGSUMEXP, [("rev", "rev")]).wrong())
    assert found_about(BESSEL, shrink=False) is not None


def test_a_right_rule_that_loses_half_of_the_digits_is_a_finding_of_precision() -> None:
    pytest.importorskip("jax")
    found = found_about(SIGMOID, ("rev",), shrink=False)
    assert found is not None
    assert found.kind is Class.PRECISION
    expected = math.exp(-25.0) / (1.0 + math.exp(-25.0)) ** 2
    assert found.smallest.entry_got == pytest.approx(expected * found.weights[0], rel=1e-5, abs=0.0)


def test_where_shrinking_ends_at_rounding_the_drawn_call_is_the_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jax")
    monkeypatch.setattr(prove, "shrunk", lambda *args, **options: LOGSUMEXP)
    found = found_about(BESSEL)
    assert found is not None
    assert found.call == found.drawn == BESSEL


def test_no_second_derivative_is_asked_at_a_kink_and_a_wrong_one_beside_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slope of |x| is its sign, whose derivative is 0 and here said to be 1."""
    sign, absolute = primitive(np.sign), primitive(np.abs)
    defvjp(sign, lambda ans, x: lambda g: g)
    defvjp(absolute, lambda ans, x: lambda g: g * sign(x))
    monkeypatch.setattr(anp, "abs", absolute)
    second = ("rev", "rev")
    at_the_kink = judged(Call("autograd", "autograd.numpy.abs", (array(0.0),)), [("rev",), second])
    beside = judged(Call("autograd", "autograd.numpy.abs", (array(0.5),)), [("rev",), second])
    assert [one.modes for one in at_the_kink.verdicts] == [("rev",)]
    assert [one.case.verdict for one in beside.verdicts] == [Verdict.AGREE, Verdict.DISAGREE]


def found_about(call: Call, modes: Modes = ("rev", "rev"), *, shrink: bool = True) -> Finding | None:
    """What is found about a derivative of a call."""
    (wrong,) = judged(call, [modes]).wrong()
    function = Function((call.function,), "", "differentiable", "", ())
    return proved(call, wrong, function, lambda call: None, shrink=shrink)


def test_what_a_library_raises_about_the_parts_of_its_array_is_a_finding() -> None:
    """The real part of what `lu_solve` returns raises in forward over forward mode: entry 57 of PyTorch."""
    one = Argument(array=np.array([[1.0 + 0.5j]]))
    pivots, left = Argument(array=np.array([1], np.int32)), Argument("left", literal="False")
    call = Call("torch", "torch.linalg.lu_solve", (one, pivots, one, left))
    found = judged(call, [("fwd", "fwd")]).of(("fwd", "fwd"))
    assert found is not None
    assert found.case.verdict is Verdict.CRASHED
    assert "INTERNAL ASSERT FAILED" in found.case.message


def test_infinity_in_the_place_of_more_than_the_largest_number_is_no_finding() -> None:
    """A second derivative of beta is beyond 65,504 here, the largest float16: its pole at -2 is near."""
    pair = [Argument(array=np.array(x, np.float16)) for x in ([[-1.9296875, 1.0], [1.0, 1.0]], -2.5)]
    call = Call("autograd", "autograd.scipy.special.beta", tuple(pair))
    found = judged(call, [("rev", "rev")]).of(("rev", "rev"))
    assert found is not None
    assert not found.case.verdict.is_wrong
    assert found.case.unjudged["x0"].tolist() == [[True, False], [False, False]]


def test_shrinking_makes_no_call_twice(doubled_tanh: None) -> None:
    """It ends where nothing is simpler, long before its trials do."""
    matrix = np.array([[0.3, -0.7], [1.1, 0.2]])
    call = Call("autograd", "autograd.numpy.tanh", (Argument(array=matrix, layout="transposed"),))
    made: list[Call] = []
    small = shrunk(call, Wrong(("rev",), Class.WRONG_VALUE), TANH, made.append, seconds=60.0, trials=10_000)
    assert code(small) == "x0 = np.array(0.5, np.float64)\ny = autograd.numpy.tanh(x0)"  # 0.3 in halves
    told = [str(encode(Call, one)) for one in [call, *made]]
    assert len(set(told)) == len(told) < 30


def test_what_no_longer_raises_is_not_judged(raising_tanh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a call whose derivative raises only those smaller ones are measured that raise as well."""
    asked: list[Call] = []
    monkeypatch.setattr(
        "gradfuzz.fuzzer.shrinking.call_reductions.judged",
        lambda call, modes: asked.append(call) or judged(call, modes),
    )
    made: list[Call] = []
    call = Call("autograd", "autograd.numpy.tanh", (array(*np.linspace(-1.0, 1.5, 6)),))
    small = shrunk(call, Wrong(("rev",), Class.ERROR), TANH, made.append, seconds=60.0, trials=10_000)
    (x,) = values_of(small)
    assert x.shape == (2,)
    sizes = [{values_of(one)[0].size for one in calls} for calls in (made, asked)]
    assert sizes[0] - sizes[1] == {1}


def test_a_call_with_an_array_held_fixed_is_shrunk() -> None:
    """The fixed array stands before the other, and has another shape: its entries stay out of it."""
    fixed = Argument(array=np.array(3.25), constant=True)
    wrong = Call("autograd", "autograd.numpy.multiply", (fixed, array(0.3, 0.7)))
    entries = [[np.asarray(a.array).tolist() for a in call.arguments] for call in _with_simpler_values(wrong)]
    assert [3.25, [1.0, 0.7]] in entries
    assert [3.25, [0.3, 2.0]] in entries
