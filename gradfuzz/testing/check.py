"""Is this gradient right? The assertions and the measurement behind them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from gradfuzz.errors import UnsupportedError, UsageError
from gradfuzz.fuzzer.measuring.accuracy import measured_accuracy, share_of, tightened, with_tolerance
from gradfuzz.fuzzer.measuring.attached import Exact, reference_of
from gradfuzz.fuzzer.measuring.measure import FACTORS, Asked, Inquiry, chosen_modes, combinations
from gradfuzz.fuzzer.measuring.measured import (
    InconclusiveError,
    InconclusiveWarning,
    Measured,
    Method,
    Nearby,
)
from gradfuzz.fuzzer.measuring.subject import Subject, must_take, subject_of
from gradfuzz.fuzzer.questions.request import inputs_named, points_of, programs_of
from gradfuzz.fuzzer.questions.weighted import in_units, seed_of, unit_of, weighted_question
from gradfuzz.fuzzer.results.finding import CheckResult, Class, Reason, Verdict
from gradfuzz.fuzzer.verdict.checking import check_question
from gradfuzz.fuzzer.verdict.evaluator import Evaluator
from gradfuzz.fuzzer.verdict.large import is_large
from gradfuzz.libraries.library import Library, LibraryName, first_line
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import Array, Doubt, Mode
from gradfuzz.oracles.registry import resolve
from gradfuzz.programs.evaluation.interpret import TRIP_LIMIT
from gradfuzz.programs.evaluation.pairs import in_pairs
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.program import Program
from gradfuzz.testing.asserting import assertion, level, theirs
from gradfuzz.testing.leading import lead
from gradfuzz.testing.mismatch import GradientMismatch, told

Allowed = Literal["stop_gradient"]
"""What may make a gradient differ from the derivative."""


@assertion
def check_gradient(
    f: Callable[..., Any] | Program,
    /,
    *args: Any,
    wrt: Sequence[str | int] | str | int | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    ways: Sequence[str] | str = (),
    grad: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | Exact | None = None,
    framework: LibraryName | None = None,
    allow: Allowed | None = None,
    accuracy: float | str | Sequence[str] | None = None,
    target: str | None = None,
    strict: bool = False,
    proof: bool = False,
) -> None:
    """Raises `GradientMismatch` where a derivative of `f` at `args` is wrong; returns None where all are
    right.

    `f` is a function of JAX, Torch or HIPS autograd (a custom gradient, a jitted function, an
    `autograd.Function` or its `apply`), a NumPy function with a hand-written gradient `grad`, or a `Program`
    that is asked of `target`. The framework is that of the arguments, or of what the function holds or
    returns at a first call, unless `framework` gives it.

    Arguments are arrays, numbers, or nested dicts, lists and tuples of them; for JAX, any pytree. Each array
    is taken in its own dtype. The widest dtype is the working precision. What is not right in it is judged in
    the narrowest dtype of the arguments, or that the function computes in, as under autocast. NumPy arrays go
    to JAX and Torch in their dtype; for float64 ones JAX's 64-bit types are enabled during the call. Plain
    Python floats take the widest dtype, or float64. A complex argument z is judged by its parts, z.real and
    z.imag, so that the frameworks' own conventions of complex gradients apply.

    `f` may hold numbers itself: a module of Torch, also among the arguments, a callable pytree as a module of
    Equinox, one of Flax's nnx, a bound one of linen, a layer of Keras, a method of such, or
    `functools.partial` of it. The check asks about all that it learns, too, under names as
    "encoder.layers.0.linear1.weight", unless there is `grad` or `reference`. It changes none of it: buffers,
    `.grad` and the training mode stay. Random numbers of Torch, NumPy and Python are seeded alike at each
    call of `f`, so a dropout has one mask, and their states are restored.

    With more than six entries to differentiate by, derivatives along a few random directions are checked
    first, and entries where these are wrong. How small an error in one entry is still seen, docs/tolerance.md
    says.

    `wrt` names arguments (or numbers them), or what `f` holds, also by a pattern ("linear.*"), to
    differentiate by. None means all float arguments, and all that `f` learns. Every derivative up to
    `order` is checked, in each sequence of `modes` ("rev", "fwd"). None means all modes that the function
    has; a mode it lacks is left out. A mode asked for by name must exist.

    `ways` says how JAX or Torch is asked, by name ("torch.func.jacrev", "jax.jit(jax.grad)") or "all", those
    by Inductor excepted. A way
    asks for the last differentiation, in each sequence of `modes` that ends as it does; those inside are
    taken along fixed directions. A way that is named must exist for the function, "all" leaves it out.
    Without `ways` the framework is asked as usual. A derivative that writes into its arguments, or that is
    another one when it is asked twice over the same graph, has a side effect, which is wrong.

    `grad` takes the arguments of `f` and returns the gradient, a tuple of gradients where `wrt` has several.
    Where `f` returns anything but one scalar, it takes the cotangent as one more argument, in the form of f's
    result, and returns the vector-Jacobian product. The gradient by a complex z is dL/d(z.real) + i
    dL/d(z.imag).

    `reference` is the exact function, or `gradfuzz.reference(gradient=...)`; without it the truth is computed
    (see `measure_gradient`).

    Where the function itself hides a value from differentiation (`stop_gradient`, `detach`, `no_grad`), its
    gradient is wrong if it differs from the derivative of what it computes. With
    `allow="stop_gradient"` what it hides may count as a constant, as in a straight-through estimator, and
    nothing else may differ; where that cannot be told the check is inconclusive. `reference` says what the
    gradient is to be. Where a convention of the library decides, as for the triangle of a matrix that is not
    read, nothing is wrong.

    With `proof` the derivative that JAX or Torch would run is proved as well (see `prove_gradient`): a rule
    that is wrong fails, however small the error.

    `accuracy` is for approximations, as adaptive solvers and iterations are. With `accuracy=1e-6` each entry
    of the gradient may be off by 1e-6 of the largest entry by the same argument, beside rounding; entries
    that are zero whatever the function computes are granted nothing, and those that are too small to tell are
    not judged. `accuracy="rtol"`, or a list of names, names arguments of `f` that are its tolerance and have
    a default: the truth is that of `f` at a tolerance of a thousandth, and what is allowed is eight times the
    tolerance, or how far the values are off, whichever is more.

    In a Hypothesis test the error over the allowed error is the test's target: later examples are like the
    worst ones so far.

    The time of a check does not count towards the deadline of a Hypothesis test.

    If no truth is known, the gradient does not fail: an `InconclusiveWarning` gives the reason, or with
    `strict` an `InconclusiveError`. The same is said where some entries could not be judged and the others
    are right; where less than half were judged, it is an `InconclusiveError` in any case. Exceptions of `f`
    itself are not caught. `UsageError`: the question makes no sense. `UnsupportedError`: the function has no
    such derivative.
    """
    __tracebackhide__ = True
    if isinstance(f, Program):
        if target is None:
            raise UsageError("a program is differentiated by a target; name one, as in target='torch'")
        names = [p.name for p in f.params]
        point = dict(zip(names, args, strict=False))
        by = [wrt] if isinstance(wrt, (str, int)) else wrt
        chosen = None if by is None else [names[w] if isinstance(w, int) else w for w in by]
        check_program(f, target, point, wrt=chosen, order=order, modes=modes, strict=strict)
        return
    if target is not None:
        raise UsageError(f"target={target!r} is for a Program; a function is asked of its own framework")
    measured, failure = _measured(
        *(f, args, wrt, order, modes, ways, grad, reference, framework, allow, accuracy), entries=False
    )
    lead(measured.error_over_allowed)
    if failure is not None and not measured.modes:
        raise theirs(failure)
    _say(measured, failure, strict)
    if proof:
        from gradfuzz.fuzzer.proving.gradient import prove_gradient
        from gradfuzz.fuzzer.proving.listing import record_of
        from gradfuzz.reports.common.proofs import text as proof_text

        for one in prove_gradient(
            f, *args, wrt=wrt, order=order, modes=modes, framework=framework, answer=False
        ):
            if one.outcome == "wrong rule":
                raise GradientMismatch(proof_text(record_of(one, measured.function)), measured)


@assertion
def measure_gradient(
    f: Callable[..., Any],
    /,
    *args: Any,
    wrt: Sequence[str | int] | str | int | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    ways: Sequence[str] | str = (),
    grad: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | Exact | None = None,
    framework: LibraryName | None = None,
    allow: Allowed | None = None,
    accuracy: float | str | Sequence[str] | None = None,
) -> Measured:
    """What `check_gradient` judges by, as a result. It raises `UsageError` where the question makes no sense,
    and never what `f` raises.

    `method` is the source of the truth: "traced" (the function as a program, its derivative proved by
    interval arithmetic, and by differences in hundreds of bits before anything is called wrong), "reference"
    (given with the function), "complex step" or "Richardson" (measured on the function itself in float64,
    with an error estimate).
    """
    ask = f, args, wrt, order, modes, ways, grad, reference, framework, allow, accuracy
    return _measured(*ask, entries=True)[0]


@assertion
def check_program(
    program: Program | str,
    target: str,
    /,
    *points: Mapping[str, Any],
    precision: Precision = "float64",
    wrt: Sequence[str] | None = None,
    order: int = 1,
    modes: Sequence[Mode] | Mode | None = None,
    strict: bool = False,
) -> None:
    """Raises `GradientMismatch` where `target` is wrong about the derivatives of `program` at one of
    `points`, each a mapping of inputs.

    `program` is a program or its text: a `def`, a file, or a bare loop body. `target` is a name as on the
    command line ("torch", "jax:scan", "cmd:..."); all ways into a library are asked. Inputs without a value
    take defaults. `order`, `modes` and `strict` are those of `check_gradient`. `UnsupportedError` where the
    target does not support the program; in a test of drawn programs, `hypothesis.reject()` skips it.
    """
    given = [{name: np.asarray(value) for name, value in point.items()} for point in points]
    __tracebackhide__ = True
    if isinstance(program, Program):
        programs = [in_pairs(program)]
    else:
        programs = [p for _, p in programs_of(program, inputs=given)]
    asked_modes = chosen_modes(modes)
    for one in programs:
        at = points_of(one, given, precision)
        floats = (p.name for p in one.params if p.type.is_float)
        names = tuple(floats if wrt is None else inputs_named(one, wrt))
        evaluator = Evaluator(trip_limit=TRIP_LIMIT)
        unclear: Measured | None = None
        refusals: dict[str, None] = {}
        answered, largest = False, 0.0
        for steps in combinations(order, asked_modes):
            seed = seed_of(x for point in at for x in point.inputs.values())
            question = weighted_question(one, at, precision, steps, seed)
            for name in names:
                if name not in question.wrt:
                    known = ", ".join(question.wrt) or "none"
                    raise UsageError(f"wrt={name!r} names no float input; the program has {known}")
            question = in_units(question, names)
            for case in check_question(question, resolve(target, supervised=True), evaluator).cases:
                if case.verdict is Verdict.UNSUPPORTED:
                    refusals[case.message] = None
                else:
                    answered = True
                measured = _of_program(case)
                largest = max(largest, measured.error_over_allowed or 0.0)
                if measured.wrong:
                    lead(largest)
                    raise GradientMismatch(told(measured), measured)
                if case.verdict is Verdict.INCONCLUSIVE:
                    unclear = unclear or measured
        lead(largest)
        if not answered:
            raise UnsupportedError(f"{target} does not support this program: {'; '.join(refusals)}")
        if unclear is not None:
            _say(unclear, None, strict)


def _say(measured: Measured, failure: Exception | None, strict: bool) -> None:
    """Raises or warns unless a measurement is right."""
    __tracebackhide__ = True
    if measured.wrong:
        raise GradientMismatch(told(measured), measured) from failure
    if measured.verdict is Verdict.UNSUPPORTED:
        raise UnsupportedError(measured.reason)
    if measured.verdict is Verdict.INCONCLUSIVE or measured.in_part:
        judged, size = measured.judged
        if strict or (measured.in_part and judged < size / 2):
            raise InconclusiveError(told(measured))
        warnings.warn(told(measured), InconclusiveWarning, stacklevel=level())


def _measured(
    f: Callable[..., Any],
    args: Sequence[Any],
    wrt: Sequence[str | int] | str | int | None,
    order: int,
    modes: Sequence[Mode] | Mode | None,
    ways: Sequence[str] | str,
    grad: Callable[..., Any] | None,
    reference: Callable[..., Any] | Exact | None,
    framework: LibraryName | None,
    allow: Allowed | None,
    accuracy: float | str | Sequence[str] | None,
    *,
    entries: bool,
) -> tuple[Measured, Exception | None]:
    """The measurement, and the exception of the function or its derivative, if any."""
    if allow not in (None, *get_args(Allowed)):
        raise UsageError(f"allow={allow!r}: it is {' or '.join(map(repr, get_args(Allowed)))}, or left out")
    asked_modes = chosen_modes(modes)
    given = reference_of(f) if reference is None else reference
    subject = subject_of(f, args, wrt, grad, framework, objects=given is None)
    if ways and grad is not None:
        raise UsageError("ways= asks a library for a derivative, and grad= gives one; pass one of them")
    asks = _asks(subject.framework, combinations(order, asked_modes), ways)
    if given is not None and not isinstance(given, Exact):
        given = Exact(given)
    own = given or Exact()
    for name, value in (("grad=", grad), ("reference=", own.function), ("gradient=", own.gradient)):
        if value is not None and not callable(value):
            raise UsageError(f"{name}{value!r:.80} is not a function; give one that takes the same arguments")
    exact = None
    if given is not None and given.function is not None:
        exact = subject_of(given.function, args, wrt, lambda *_: None, None)
    tolerance, share = 0.0, 0.0
    if isinstance(accuracy, str) or (isinstance(accuracy, Sequence) and accuracy):
        names = [accuracy] if isinstance(accuracy, str) else accuracy
        tight, tolerance = tightened(f, len(args), names, subject.precision)
        if given is not None:
            raise UsageError("accuracy= by a tolerance and reference= are two truths; give one of them")
        exact = with_tolerance(subject, tight)
    elif accuracy is not None:
        share = share_of(accuracy)

    def inquire() -> Inquiry:
        known = share if exact is None or not tolerance else measured_accuracy(subject, exact, tolerance)
        allowed = allow is not None
        return Inquiry(subject, exact, given, entries=entries, allowed=allowed, accuracy=known)

    try:
        found = _found(subject, inquire, order, asks, named=modes is not None, all_ways=ways == "all")
    finally:
        subject.framework.tidy()
    if isinstance(found[1], TypeError) and not found[0].modes:
        must_take(f, args, subject.label)
    return found


def _asks(
    library: Library, steps: Sequence[tuple[Mode, ...]], ways: Sequence[str] | str
) -> list[tuple[AskedWay | None, tuple[Mode, ...]]]:
    """What is asked: each way with the modes that it asks in."""
    if not ways:
        return [(None, one) for one in steps]
    names = [ways] if isinstance(ways, str) or not isinstance(ways, Sequence) else ways
    every = [way for way in library.ways if not way.slow]
    chosen = every if ways == "all" and every else [library.way(name) for name in names]
    asks: list[tuple[AskedWay | None, tuple[Mode, ...]]]
    asks = [(way, one) for way in chosen for one in steps if way.takes(one)]
    order = len(steps[-1])
    for way in chosen if ways != "all" else ():
        if not any(way is one and len(modes) == order for one, modes in asks):
            what = f"{way.name} asks for the last derivative in the modes {', '.join(way.modes)}"
            raise UsageError(f"{what}, which order={order} and modes= leave out")
    return asks


def _found(
    subject: Subject,
    inquire: Callable[[], Inquiry],
    order: int,
    asks: Sequence[tuple[AskedWay | None, tuple[Mode, ...]]],
    *,
    named: bool,
    all_ways: bool,
) -> tuple[Measured, Exception | None]:
    """The same of a subject, in all ways and modes of `asks`; those that are `named` must exist."""
    blank = Measured(Verdict.INCONCLUSIVE, subject.label, subject.framework.name, subject.precision)
    try:
        inquiry = inquire()
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a function raises is what there is to say
        reason = f"{type(error).__name__}: {first_line(error)}"
        return replace(blank, verdict=Verdict.CRASHED, kind=Class.ERROR, reason=reason), error
    if inquiry.unsteady:
        reason = (
            f"{subject.label} returns other values each time it is called; seed it inside {subject.label}"
        )
        return replace(blank, reason=reason, untraced=inquiry.untraced), None
    left_out: dict[tuple[Mode, ...], str] = {}
    ways: dict[str, str] = {}
    found: list[Asked] = []
    for way, steps in asks:
        inquiry = inquiry.by(way)
        asked = inquiry.ask(steps)
        name = "" if way is None else way.name
        if asked.case.verdict is Verdict.UNSUPPORTED:
            left_out[steps] = asked.case.message
            ways.setdefault(name, asked.case.message)
            if named and not all_ways:
                what = f"{subject.label} was asked in the modes {', '.join(steps)}"
                raise UnsupportedError(f"{what}, which it does not have: {asked.case.message}")
            continue
        ways[name] = ""
        found.append(replace(asked, way=name))
        if asked.case.verdict.is_wrong:
            break
    for name in () if all_ways else filter(ways.get, ways):
        if name:
            raise UnsupportedError(f"{subject.label} cannot be asked by {name}: {ways[name]}")
    reasons = dict.fromkeys(message for steps, message in left_out.items() if len(steps) == order)
    if not any(len(a.case.question.modes) == order or a.case.verdict.is_wrong for a in found):
        reason = f"{subject.label} cannot be differentiated {order} times: {'; '.join(reasons)}"
        return replace(blank, verdict=Verdict.UNSUPPORTED, reason=reason, left_out=left_out), None
    decisive = min(found, key=_rank)
    measured = _of_function(decisive, subject, inquiry)
    if measured.wrong and measured.worst is not None and not inquiry.held:  # beside it other values are held
        measured = replace(measured, nearby=tuple(_nearby(decisive, subject, inquiry)))
    modes_asked = tuple(dict.fromkeys(a.case.question.modes for a in found))
    lacks = {steps: why for steps, why in left_out.items() if steps not in modes_asked}
    told = {name: why for name, why in ways.items() if name}
    return replace(measured, asked=modes_asked, left_out=lacks, ways=told), inquiry.oracle.failure


def _rank(asked: Asked) -> tuple[int, bool, float]:
    """Sort key: wrong first, then inconclusive, then right in part, then by the largest error."""
    verdicts = (Verdict.DISAGREE, Verdict.CRASHED, Verdict.INCONCLUSIVE, Verdict.CONVENTION, Verdict.AGREE)
    in_full = not asked.case.unjudged
    return verdicts.index(asked.case.verdict), in_full, -(asked.case.error_over_allowed or 0.0)


def _of_program(case: CheckResult) -> Measured:
    names = dict(zip(case.question.wrt, case.question.wrt, strict=True))
    return _from_case(case, case.question.program.name, case.oracle, names, "traced")


def _of_function(asked: Asked, subject: Subject, inquiry: Inquiry) -> Measured:
    names = dict(zip(asked.case.question.wrt, (subject.inputs[k].name for k in subject.wrt), strict=True))
    measured = _from_case(asked.case, subject.label, subject.framework.name, names, asked.method)
    differs = asked.case.verdict in (Verdict.DISAGREE, Verdict.CONVENTION) and asked.method != "reference"
    return replace(
        measured,
        untraced=inquiry.untraced,
        stopped=inquiry.stopped if differs else "",
        drawn=subject.drawn,
        held=inquiry.held,
        accuracy=inquiry.accuracy,
        iterates=inquiry.iterates,
        way=asked.way,
    )


def _from_case(
    case: CheckResult, function: str, framework: str, names: Mapping[str, str], method: Method
) -> Measured:
    """The measurement of a case, with the arguments' names. Scalar cotangents and directions divide out."""
    truth, unit = case.truth, unit_of(case.question)

    def renamed(arrays: Mapping[str, Array], factor: float = 1.0 / unit) -> dict[str, Array]:
        known = ((name, np.asarray(a, np.float64)) for name, a in arrays.items() if name in names)
        return {names[name]: a * factor + 0.0 for name, a in known}

    known = truth is not None and truth.status == "ok"
    worst = None if case.worst is None else (names.get(case.worst[0], case.worst[0]), case.worst[1])
    of_worst = unit if worst is not None and worst[0] in names.values() else 1.0
    return Measured(
        case.verdict,
        function,
        framework,
        case.question.precision,
        modes=case.question.modes,
        method=method,
        kind=case.kind,
        reason=_reason(case),
        expected=renamed(truth.gradient) if truth is not None and known else {},
        got=renamed(case.answer.gradient),
        bound=renamed(truth.bounds, 1.0 / abs(unit)) if truth is not None and known else {},
        allowed=renamed(case.allowed, 1.0 / abs(unit)),
        worst=worst,
        worst_expected=None if case.expected is None else case.expected / of_worst + 0.0,
        worst_got=None if case.got is None else case.got / of_worst + 0.0,
        ratio=case.ratio,
        error_over_allowed=case.error_over_allowed,
        references=case.references,
        conventions=case.conventions,
        unjudged={names[name]: mask for name, mask in case.unjudged.items() if name in names},
        weighted=[np.ndim(w) for w in case.question.weights if w is not None] != [0],
    )


_PLAIN = (Doubt.REFERENCES, Doubt.KINK, Doubt.DOMAIN)
"""Doubts that the reason of a verdict names already."""


def _reason(case: CheckResult) -> str:
    told = case.reason.value if case.reason is not None else ""
    truth = case.truth
    plain = truth is not None and truth.doubt in _PLAIN and truth.message == case.message
    message = truth.words if truth is not None and plain else case.message
    both = told and message and case.reason is not Reason.REFERENCES
    return f"{told}: {message}" if both else message or told


def _nearby(decisive: Asked, subject: Subject, inquiry: Inquiry) -> list[Nearby]:
    """The worst entry, at the other points."""
    case = decisive.case
    if case.worst is None or case.worst[0] not in case.question.wrt or is_large(case.question):
        return []
    place = case.question.wrt.index(case.worst[0])
    index, unit = case.worst[1], unit_of(case.question)
    result = []
    for factor in filter(inquiry.ends, FACTORS):
        other = inquiry.ask(case.question.modes, factor, (place, index)).case
        name = other.question.wrt[place]
        got = other.answer.gradient.get(name)
        known = other.truth is not None and other.truth.status == "ok"
        expected = other.truth.gradient[name][index] / unit if known and other.truth is not None else None
        at = float(np.asarray(other.point.inputs[name])[index])
        shaped = got is not None and np.shape(got) == np.shape(other.point.inputs[name])
        answered = float(np.asarray(got)[index]) / unit if shaped else None
        result.append(Nearby(at, None if expected is None else float(expected), answered, other.verdict))
    return result
