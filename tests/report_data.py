"""Sweeps made by hand for the tests of reports: plausible ones, and ones with hostile text in every place;
of programs, and of calls of a library's functions.

The figures are those of reverse mode that sweeps the adjoints of `acc = acc * x` in forward order: with n
trips the derivative at x is n x^(n-1), and sum of x^(2k), k < n, is returned (as in Nx #1747). Those of the
call are of softplus, log(1 + e^x), with a low threshold: the derivative at x is 1/(1 + e^-x), and above the
threshold Torch returns 1.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.events import SweepFinished, TargetSummary
from gradfuzz.fuzzer.results.evidence import Aspect, Curve, Evidence, Sample, Variant
from gradfuzz.fuzzer.results.finding import Cause, Class, Cluster, Finding, FindingPoint, Likelihood, Reason
from gradfuzz.fuzzer.results.functions import FunctionSummary
from gradfuzz.fuzzer.results.report_card import Label
from gradfuzz.fuzzer.results.review import BaselineEntry, Review
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.syntax import Param
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse

__all__ = ["HOSTILE", "LONG", "evidence", "finding", "finished", "review", "spoiled", "texts"]
__all__ += ["CODE", "DRAWN_CODE", "SOFTPLUS", "call_finding", "called", "functions"]

HOSTILE = (
    "<script>alert('x')</script><img src=x onerror=\"alert(1)\"> &amp; ]]> ``` ~~~ | @octocat #1"
    " [bold]b[/bold] :smile: {{7*7}} {% raw %} %0A::error::no \x1b[31mred\x1b[0m"
    " \x1b]8;;http://evil.example\x07link \x00 \x07 \x85 \x9b31m \u202eoverride\u2066 \u200f\u2028\ufeff"
    " \ufffe \ud800 \r\n::error title=no::no\n# heading\n<!-- \\ javascript:alert(1) https://evil.example"
    " ![i](https://evil.example/i.png) '\" end"
)
"""Text that is active somewhere: in HTML, XML, Markdown, templates, workflow commands, rich markup or on a
terminal, or that cannot be encoded.
"""

LONG = "x" * 1_000_000
"""A line that no report shows whole."""

MUTANT = "adjoints of a loop swept in forward order"
_TARGETS = (
    ("mutant:nx-1747", "0.1.0"),
    ("torch:eager", "2.13.0"),
    ("jax:scan", "0.10.2"),
    ("torch:vmap", "2.13.0"),
)
_BODIES = ("acc * x", "sin(acc * x)", "acc + acc*x", "acc / x", "acc * (x - 2.0)")
_BATCHED = parse('def f(A: "float[2, 3, 3]"):\n    return det(A)\n')


def finding(number: int = 0, *, with_evidence: bool = True, **changes: Any) -> Finding:
    """The `number`-th of endlessly many. Number 0 is the report's own example; every fifth is about a batch
    of matrices.
    """
    signature = hashlib.sha256(str(number).encode()).hexdigest()
    target, version = _TARGETS[number % len(_TARGETS)]
    batched = number % 5 == 4
    program = _BATCHED if batched else loop_program(_BODIES[number % len(_BODIES)], trips=3)
    point = _matrix_point if batched else _scalar_point
    kinds = (Class.RATIO_BLOWUP, *(kind for kind in Class if kind is not Class.RATIO_BLOWUP))
    kind = kinds[number % len(kinds)]
    likely = (Likelihood.CERTAIN, Likelihood.LIKELY, Likelihood.POSSIBLE)[number % 3]
    also = () if likely is Likelihood.CERTAIN else ("swift-78264", "last-trip")
    result = Finding(
        id=f"GF-{signature[:4] if number < 50 else signature[:6]}",
        target=target,
        version=version,
        check="vjp",
        kind=kind,
        family="linalg" if batched else "loops",
        precision="float32" if number % 7 == 6 else "float64",
        modes=("rev",),
        wrt=("A",) if batched else ("x",),
        program=program,
        original=program,
        weights=(np.asarray([1.0, -0.5]) if batched else np.asarray(1.0),),
        directions={},
        smallest=point(0.5),
        clearest=point(0.001),
        worst=point(2.0),
        seen=3 + number,
        references=("arb", "mpmath"),
        reproduced=(3, 5) if number % 11 == 10 else (5, 5),
        note="In every loop form, in reverse mode only.",
        cause=None if number % 6 == 5 else Cause("nx-1747", likely, MUTANT, "Nx #1747", also),
        script=f'"""Shows {target} wrong."""\nimport sys\n\nprint("differs")\nsys.exit(1)\n',
        ports={
            "nx": "Nx.Defn.grad(x, &M.f/1)\n",
            "short": 'print("got     ", 1.3125)\nprint("expected", 0.75)\n',
            "pytest": "def test_gradient():\n    assert 1.3125 == 0.75\n",
        },
        evidence=evidence() if with_evidence and not batched else None,
        signature=signature,
    )
    return dataclasses.replace(result, **changes)


def finished(
    findings: int | Sequence[Finding] = 3,
    *,
    hostile: bool = False,
    with_evidence: bool = True,
    **changes: Any,
) -> SweepFinished:
    """A sweep that found these, or so many. `hostile` puts `HOSTILE` into every text that it holds."""
    found = (
        tuple(finding(k, with_evidence=with_evidence) for k in range(findings))
        if isinstance(findings, int)
        else tuple(findings)
    )
    result = SweepFinished(
        seed=7,
        seconds=12.3456,
        programs=250,
        checks=2800,
        summaries=_summaries(found),
        findings=found,
        complete=True,
        interrupted=False,
        rerun="gradfuzz sweep engine jax torch mutant:nx-1747 --seed 7",
        coverage={"zero trips": 12, "nested loops": 40, "swapped carries": 0},
        clusters=_clusters(found),
        tested={
            "op": {"multiply": 203, "sin": 40, "det": 12, "where": 0},
            "trips": {"0": 12, "1": 20, "2-4": 150, "5-16": 60, ">16": 8},
            "dtype": {"float64": 180, "float32": 70},
            "size of inputs": {"1e-3": 20, "1e0": 400, "1e2": 31},
            "order": {"1": 250, "2": 250, "3": 62},
            "loop form": {"for": 120, "while": 90, "body first": 40},
        },
        conventions={"abs at 0": 31, "ties of amax": 4},
        environment={
            "gradfuzz": "0.1.0",
            "python": "3.11.9",
            "platform": "Linux-6.1-x86_64",
            "numpy": "2.3.1",
            "mpmath": "1.3.0",
            "python-flint": "0.8.0",
            "started": "2026-03-01T12:00:00Z",
        },
    )
    result = dataclasses.replace(result, **changes)
    return spoiled(result) if hostile else result


def review(of: SweepFinished, *, hostile: bool = False) -> Review:
    """The first finding of the sweep is known, the second was accepted until yesterday, the third is as old
    as the first; another one is fixed, its entry stale.
    """
    gone = finding(1001)
    expires = datetime.date(2026, 2, 28)

    def entry(item: Finding, reason: str, until: datetime.date | None = None) -> BaselineEntry:
        return BaselineEntry(
            item.id, item.signature, item.target, reason, "https://github.com/elixir-nx/nx/issues/1747", until
        )

    result = Review(
        known=tuple(entry(item, "reported, not yet released") for item in of.findings[:1]),
        expired=tuple(entry(item, "was to be fixed by now", expires) for item in of.findings[1:2]),
        stale=(entry(gone, "fixed upstream"),),
        fixed=(gone,),
        first_seen=tuple((item.id, "2026-02-01") for item in of.findings[:3:2]),
    )
    return spoiled(result) if hostile else result


# Calls of functions -----------------------------------------------------------------------------------------

SOFTPLUS = "torch.nn.functional.softplus"
CODE = f"""x = torch.tensor([1.25], dtype=torch.float64)
y = {SOFTPLUS}(x, 1.0, 1.0)
"""
DRAWN_CODE = f"""x = torch.tensor([[1.25, -0.5], [2.0, 0.0]], dtype=torch.float64)
y = {SOFTPLUS}(x.transpose(-1, -2), 1.0, threshold=1.0)
"""
_STAND_IN = parse('def stand_in(x: "float[1]"):\n    return cos(x)\n')


def call_finding(**changes: Any) -> Finding:
    """Softplus with the threshold 1, whose derivative above it is 1. Its program says nothing of that."""
    numbers = (Argument(literal="1.0"), Argument(literal="1.0"))
    array = np.array([[1.25, -0.5], [2.0, 0.0]])
    drawn = (Argument(array=array, layout="transposed"), numbers[0], Argument("threshold", literal="1.0"))
    shrunk = Call("torch", SOFTPLUS, (Argument(array=np.array([1.25])), *numbers))
    signature = hashlib.sha256(SOFTPLUS.encode()).hexdigest()
    result = finding(
        0,
        id=f"GF-{signature[:4]}",
        signature=signature,
        target="torch:functions",
        version="2.13.0",
        kind=Class.WRONG_VALUE,
        family="functions",
        program=_STAND_IN,
        original=_STAND_IN,
        weights=(np.asarray([1.0]),),
        smallest=_softplus_point(1.25),
        clearest=_softplus_point(1.5),
        worst=_softplus_point(2.0),
        references=("mpmath",),
        note="in reverse mode and in forward mode",
        cause=None,
        script="import torch\n",
        ports={},
        evidence=None,
        facts=("right with the default of threshold",),
        culprits=(SOFTPLUS,),
        call=shrunk,
        drawn=Call("torch", SOFTPLUS, drawn),
        code=CODE,
        drawn_code=DRAWN_CODE,
    )
    return dataclasses.replace(result, **changes)


def functions() -> tuple[FunctionSummary, ...]:
    """A function with each outcome, and one that has no second derivative in forward mode."""
    six = ("rev", "fwd", "rev rev", "rev fwd", "fwd rev", "fwd fwd")
    kink = Reason.KINK.value
    return (
        FunctionSummary(
            SOFTPLUS,
            f"{SOFTPLUS}(input, beta=1, threshold=20)",
            *("asked", ""),
            drawn=100,
            valid=80,
            judged=60,
            asked=dict.fromkeys(six, 10),
            verdicts={"agree": 55, "disagree": 5},
            findings=(call_finding().id,),
        ),
        FunctionSummary(
            "torch.linalg.det",
            "linalg_det(Tensor A) -> Tensor",
            *("asked", ""),
            drawn=40,
            valid=30,
            judged=30,
            asked=dict.fromkeys(six, 5),
            verdicts={"agree": 27, "inconclusive": 3},
            inconclusive={kink: 3},
            proofs={"right": 6, "wrong rule": 1, "open": 1},
            open={"the rule reads an op that has no counterpart": 1},
            wrong_rules=("torch.linalg.det, jvp: off by 1e-13 of the derivative",),
        ),
        FunctionSummary(
            "torch.linalg.ldl_solve",
            "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B) -> Tensor",
            *("asked", ""),
            drawn=20,
            valid=10,
            judged=10,
            asked={"rev": 10, "fwd": 0},
            lacks={"fwd fwd": "NotImplementedError: forward AD of it is not there"},
            verdicts={"agree": 10},
        ),
        FunctionSummary(
            "torch.nn.functional.grid_sample",
            "grid_sampler(Tensor input, Tensor grid) -> Tensor",
            *("refused", "RuntimeError: expected grid to have size 2 in its last dimension"),
            drawn=40,
        ),
        FunctionSummary(
            "torch.cdist", "cdist(x1, x2, p=2.0)", "broken", "IndexError: list index out of range"
        ),
        FunctionSummary("torch.sign", "sign(Tensor self) -> Tensor", "not differentiable", "it is constant"),
        FunctionSummary("torch.save", "save(obj, f)", "left out", "it writes a file"),
        *(
            FunctionSummary(name, name, "left out", "internal: its name begins with an underscore")
            for name in ("_copy_from(Tensor self) -> Tensor", "_cdist(Tensor x1) -> Tensor")
        ),
        FunctionSummary("torch.sinc", "sinc(Tensor self) -> Tensor", "not reached", ""),
    )


def called(*, hostile: bool = False, **changes: Any) -> SweepFinished:
    """A sweep that calls functions, with a finding."""
    found = call_finding()
    way = TargetSummary(
        *("torch:functions", "2.13.0", "functions", 100, 92, 5),
        inconclusive={Reason.KINK: 3},
        worst_agreeing=0.4,
    )
    result = finished(
        [found],
        summaries=(way,),
        programs=200,
        checks=100,
        rerun="gradfuzz sweep torch --family functions --seed 7",
        coverage={},
        tested={},
        conventions={},
        functions=functions(),
    )
    result = dataclasses.replace(result, **changes)
    return spoiled(result) if hostile else result


def _softplus_point(x: float) -> FindingPoint:
    return _point("x", np.asarray([x]), np.asarray([1 / (1 + math.exp(-x))]), np.asarray([1.0]), (0,))


# Hostile text -----------------------------------------------------------------------------------------------


def _hostile(text: str) -> str:
    return text if text.endswith(HOSTILE) else text + HOSTILE


def spoiled(value: Any, change: Callable[[str], str] = _hostile) -> Any:
    """The same with every text in it changed: names, messages, keys. What is not text but a choice (dtype,
    mode) stays.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Program):
        params = tuple(Param(change(p.name), p.type) for p in value.params)
        return dataclasses.replace(value, name=change(value.name), params=params)
    if isinstance(value, Mapping):
        return {spoiled(key, change): spoiled(item, change) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(spoiled(item, change) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, enum.Enum)):
        kept = {"precision", "modes", "layout", "form", "outcome"}
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name not in kept}
        return dataclasses.replace(value, **{name: spoiled(item, change) for name, item in fields.items()})
    return value


def texts(value: Any) -> list[str]:
    """Every text in it, but for those inside programs."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for pair in value.items() for text in texts(pair)]
    if isinstance(value, tuple):
        return [text for item in value for text in texts(item)]
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, enum.Enum, Program)):
        return [text for field in dataclasses.fields(value) for text in texts(getattr(value, field.name))]
    return []


# Pieces -----------------------------------------------------------------------------------------------------


def _true(x: float, n: int = 3) -> float:
    return n * x ** (n - 1)


def _wrong(x: float, n: int = 3) -> float:
    return sum(x ** (2 * k) for k in range(n))


def _point(
    name: str, at: np.ndarray, expected: np.ndarray, got: np.ndarray, index: tuple[int, ...]
) -> FindingPoint:
    true, returned = float(expected[index]), float(got[index])
    bound = np.full_like(expected, 1e-22)
    error = abs(returned - true) / (2e-16 * abs(true) + 1e-300)
    return FindingPoint(
        inputs={name: at},
        expected={name: expected},
        got={name: got},
        bound={name: bound},
        entry=(name, index),
        entry_expected=true,
        entry_got=returned,
        ratio=returned / true,
        error_over_allowed=error,
    )


def _scalar_point(x: float) -> FindingPoint:
    return _point("x", np.asarray(x), np.asarray(_true(x)), np.asarray(_wrong(x)), ())


def _matrix_point(x: float) -> FindingPoint:
    """det(x I) per matrix of a batch of two, where the second matrix gets the gradient of the first
    as well.
    """
    at = np.stack([np.eye(3) * x, np.eye(3) * 2 * x])
    expected = np.stack([np.eye(3) * x**2, np.eye(3) * -2 * x**2])
    return _point("A", at, expected, np.stack([expected[0], expected.sum(axis=0)]), (1, 0, 0))


def evidence() -> Evidence:
    """Of `acc * x` in three trips: the tables of the seed report, and a curve."""
    return Evidence(_curve(), _variants())


def _curve() -> Curve:
    sizes = [10.0 ** (k / 4) for k in range(-12, 9)]
    samples = [_sample(x) for x in sorted([*sizes, *(-size for size in sizes)])]
    nothing = Sample(1000.0, float("nan"), float("nan"), float("nan"), float("nan"), Label.INCONCLUSIVE)
    return Curve(("x", ()), ("x", ()), (*samples, nothing))


def _sample(x: float) -> Sample:
    label = Label.COINCIDENCE if abs(x) == 1 else Label.DIFFERS
    return Sample(x, _true(x), 1e-22, _wrong(x), 4e-16 * max(_true(x), 1e-8), label)


def _variants() -> tuple[Variant, ...]:
    def row(aspect: Aspect, name: str, expected: float, got: float, label: Label, at: str = "") -> Variant:
        return Variant(aspect, name, at, expected, 1e-22, got, got / expected if expected else None, label)

    def told(aspect: Aspect, name: str, label: Label) -> Variant:
        return Variant(aspect, name, "", None, None, None, None, label)

    half = "x = 0.5, 3 trips"
    return (
        row(Aspect.BODY, "acc + x", 3.0, 3.0, Label.AGREES, half),
        row(Aspect.BODY, "acc * 2", 0.0, 0.0, Label.VACUOUS, half),
        row(Aspect.BODY, "acc * x", 0.75, 1.3125, Label.DIFFERS, half),
        row(Aspect.BODY, "acc / x", -48.0, -84.0, Label.DIFFERS, half),
        row(Aspect.BODY, "acc + acc * x", 6.75, 8.3125, Label.DIFFERS, half),
        row(Aspect.SIGN, "acc * (x - 2)", -3.0, 3.25, Label.DIFFERS, "x = 0.5, 2 trips"),
        row(Aspect.SIGN, "acc * -x", 1.47, -1.73, Label.DIFFERS, "x = 0.7, 3 trips"),
        row(Aspect.DTYPE, "float32", 0.75, 1.3125, Label.DIFFERS),
        row(Aspect.LOOP, "while loop", 0.75, 1.3125, Label.DIFFERS),
        row(Aspect.MODE, "forward", 0.75, 0.75, Label.AGREES),
        row(Aspect.ORDER, "second", 3.0, 1.5, Label.DIFFERS),
        row(Aspect.ORDER, "third", 6.0, 6.0, Label.COINCIDENCE),
        told(Aspect.BATCH, "of two", Label.UNSUPPORTED),
        told(Aspect.WAY, "torch:compile", Label.CRASHED),
    )


def _summaries(found: Sequence[Finding]) -> tuple[TargetSummary, ...]:
    ways = {(item.target, item.version, item.family): None for item in found}
    wrong = [
        TargetSummary(
            name, version, family, checks=1000, agree=600, disagree=399, crashed=1, worst_agreeing=0.2
        )
        for name, version, family in ways
    ]
    return (
        TargetSummary(
            "engine",
            "0.1.0",
            "loops",
            checks=1000,
            agree=990,
            inconclusive={Reason.KINK: 10},
            worst_agreeing=0.31,
        ),
        TargetSummary(
            *("jax:while_loop", "0.10.2", "loops", 500, 395),
            convention=5,
            inconclusive={Reason.KINK: 5, Reason.NOISE: 1},
            unsupported=94,
        ),
        *wrong,
    )


def _clusters(found: Sequence[Finding]) -> tuple[Cluster, ...]:
    causes: dict[str, list[str]] = {}
    for item in found:
        causes.setdefault(
            f"{item.target}: {item.cause.summary if item.cause else item.kind.value}", []
        ).append(item.id)
    return tuple(Cluster(label, tuple(ids)) for label, ids in causes.items())
