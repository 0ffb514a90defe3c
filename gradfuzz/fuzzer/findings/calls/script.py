"""A script of a finding that needs nothing but the library: it prints the derivative that the library
returns, and the same by differences, and ends with exit code 1 while they differ. Where the process ends or
hangs at a call, the script makes the call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.fuzzer.calling.invocation import around, values_of
from gradfuzz.fuzzer.calling.objects import modules
from gradfuzz.fuzzer.findings.calls.code import code, function, makers, names
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import CheckResult
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import Array, Mode, Slopes, check_name

_DIFFERENCES = '''
def by_differences(g, v):
    """The slope of g along v: central differences, three times extrapolated."""
    def move(t):
        return [x + t * w for x, w in zip(exact, v)]
    steps = [2.0**-k for k in range(3, 18)]
    table = [(float(g(*move(h))) - float(g(*move(-h)))) / (2 * h) for h in steps]
    found = []
    for order in (4, 16, 64):
        table = [(order * b - a) / (order - 1) for a, b in zip(table, table[1:])]
        found += [(abs(b - a), b) for a, b in zip(table, table[1:])]
    return min(pair for pair in found if pair[0] == pair[0])[1]
'''


def script(call: Call, case: CheckResult, title: str) -> str:
    """The script of a call that is wrong in the modes of `case`, at its worst entry."""
    library = library_named(call.library)
    question = case.question
    values = [np.asarray(case.point.inputs[p.name]) for p in question.program.params]
    exact = [np.asarray(v, np.float64) for v in values]
    units = _unit(case, values)
    along = [np.asarray(question.directions[name], np.float64) for name in question.wrt]
    inner, way = "objective", library.way(call.way) if call.way else None
    lines = [f'"""{title}"""', "", library.forms.header, *_own(call), *_helpers(library), ""]
    lines += _listed("xs", values, library)
    lines += _listed("exact", exact, library)
    lines += _listed(
        "weights", [np.asarray(w, np.float64) for w in question.weights if w is not None], library
    )
    lines += _listed("unit", units, library)
    lines += _listed("along", along, library) if len(question.modes) > 1 else []
    terms = f"total({library.forms.product}) for w, y in zip(weights, {{}})"
    lines += _differentiated(call, library, question.modes, terms, way)
    for mode in question.modes[:-1]:
        lines += ["", "", f"def first(*xs, g={inner}):", f"    return slope_{mode}(g, xs, along)"]
        inner = "first"
    lines += ["", _DIFFERENCES, ""]
    if way is None:
        lines += [f"got = float(slope_{question.modes[-1]}({inner}, xs, unit))"]
    else:
        weights = [np.asarray(w, values[0].dtype) for w in question.weights if w is not None]
        lines += _by_way(way, len(question.modes), weights, library)
    lines += [
        f"expected = by_differences({inner}, unit)",
        'print("the library:   ", got)',
        'print("by differences:", expected)',
        f"wrong = not abs(got - expected) <= {_half_of_error(case)!r}",
        'print("wrong" if wrong else "right")',
        "raise SystemExit(int(wrong))",
    ]
    return "\n".join(lines) + "\n"


def _by_way(way: AskedWay, order: int, weights: Sequence[Array], library: Library) -> list[str]:
    """The lines that ask for the derivative along `unit` in a way of the library."""
    inner = order > len(way.modes)
    vs = f", [{library.forms.cast} for w, x in zip(along, xs)]" if len(way.modes) > 1 else ""
    return [
        *_listed("ws", [np.ones((), weights[0].dtype)] if inner else weights, library),
        f"found = by_way({'lambda *xs: (first(*xs),)' if inner else 'outputs'}, tuple(xs), tuple(ws){vs})",
        f"got = float(sum(total({library.forms.product}) for w, y in zip(unit, found)))",
    ]


def ending_script(call: Call, modes: Sequence[Mode]) -> str:
    """The script of a call at which the process ends when it is asked in `modes`: () is the value."""
    library = library_named(call.library)
    what = f"the {check_name(tuple(modes))}" if modes else "the call itself"
    title = f'"""{call.function} of {call.library}: {what} ends the process, or never ends."""'
    head = [title, "", library.forms.header, *_own(call)]
    if not modes:
        last = "y" if call.form == "alone" else f"f({', '.join(names(call))})"
        helpers = [] if call.form == "alone" else _helpers(library)
        return "\n".join([*head, *helpers, "", *makers(call), code(call), f"print({last})"]) + "\n"
    values = [np.asarray(part) for v in values_of(call) for part in _parts(v)]
    lines = [*head, *_helpers(library), "", *_listed("xs", values, library)]
    lines += _differentiated(call, library, modes, "total(y) for y in {}")
    lines += ["", "", f"print(slope_{modes[-1]}(objective, xs, xs))"]
    return "\n".join(lines) + "\n"


def _parts(value: Array) -> Sequence[Array]:
    """The real arrays that an array is given as."""
    return [value.real, value.imag] if value.dtype.kind == "c" else [value]


_HELPERS = ("leaves", "total", "real_parts", "doubled")


def _helpers(library: Library) -> list[str]:
    names = [*_HELPERS]
    names += ["mapped"] if library.forms.mapped == "mapped({f})" else []
    return ["", "", library.source(*names)]


def _own(call: Call) -> list[str]:
    """The imports of the user's own modules, and of those of the objects among the arguments."""
    return [f"import {module}" for module in modules(call)]


def _listed(name: str, values: Sequence[Array], library: Library) -> list[str]:
    return [f"{name} = [", *(f"    {library.array_code(v)}," for v in values), "]"]


def _differentiated(
    call: Call, library: Library, modes: Sequence[Mode], terms: str, way: AskedWay | None = None
) -> list[str]:
    """The lines that define the call, the sum of its real outputs as a function of the real inputs, and the
    library's slopes of that. `terms` is what is summed, of the real outputs {}. With a `way` the real outputs
    are a function as well, and there is the gradient in this way.
    """
    given, pair = [], library.forms.pair.format(re="next(parts)", im="next(parts)")
    for one in call.differentiated():
        is_complex = one.array is not None and one.array.dtype.kind == "c"
        given.append(pair if is_complex else "next(parts)")
    weighted = "weighted " if "weights" in terms else ""
    by_way: list[str] = []
    if way is not None:
        body = ["    parts = iter(xs)", f"    return tuple(real_parts(f({', '.join(given)})))"]
        by_way = ["", "", "def outputs(*xs):", *body, "", "", library.way_source(way, *_HELPERS)]
        modes = [*modes, "fwd"] if way.inner == "gradient" else modes  # in which Torch nests torch.func
    return [
        *["", "", *makers(call), *function(call, "call"), "", "", *around(call.form, library), "", ""],
        "def objective(*xs):",
        f'    """The {weighted}sum of the outputs, real and imaginary parts one by one."""',
        "    parts = iter(xs)",
        f"    ys = f({', '.join(given)})",
        f"    return sum({terms.format('real_parts(ys)')})",
        *["", "", library.slope_source(modes)],
        *by_way,
    ]


def _half_of_error(case: CheckResult) -> float:
    """Far more than the differences are off, and less than the error."""
    if case.expected is None or case.got is None or not np.isfinite(case.got):
        return 1e-6
    return abs(case.got - case.expected) / 2.0


def _unit(case: CheckResult, values: Sequence[Array]) -> list[Array]:
    """The direction in which a derivative is wrong: that of the worst entry. At a kink that entry may be
    between its slopes: then it is the line along which the answer is farthest from those on both sides.
    """
    place, index = _worst(case)
    units = [np.zeros(v.shape) for v in values]
    units[place][index] = 1.0
    truth, got = case.truth, case.answer.gradient
    if truth is None or truth.left is None or truth.right is None or case.question.order != 1:
        return units
    names = [p.name for p in case.question.program.params]
    sides = [truth.left[names[place]][index], truth.right[names[place]][index]]
    if not min(sides) <= got[names[place]][index] <= max(sides):
        return units

    def outside(line: Slopes) -> float:
        slope = sum(float(np.sum(d * got[name])) for name, d in line.direction.items())
        return max(slope - max(line.left, line.right), min(line.left, line.right) - slope)

    farthest = max(truth.across, key=outside, default=None)
    if farthest is None or outside(farthest) <= farthest.bound:
        return units
    return [farthest.direction.get(name, np.zeros(v.shape)) for name, v in zip(names, values, strict=True)]


def _worst(case: CheckResult) -> tuple[int, tuple[int, ...]]:
    names = [p.name for p in case.question.program.params]
    if case.worst is None or case.worst[0] not in names:
        return 0, (0,) * np.ndim(case.point.inputs[names[0]])
    return names.index(case.worst[0]), case.worst[1]
