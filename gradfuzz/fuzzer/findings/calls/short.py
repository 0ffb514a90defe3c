"""About ten lines of a library that print the derivative of a call that it returns, and the right one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradfuzz.fuzzer.calling.invocation import quiet, returned, values_of
from gradfuzz.fuzzer.calling.objects import module_of, modules
from gradfuzz.fuzzer.findings.calls.code import arrays, expression, makers, names
from gradfuzz.fuzzer.findings.short_run import shows
from gradfuzz.fuzzer.results.call import Call
from gradfuzz.fuzzer.results.finding import CheckResult, Class
from gradfuzz.libraries.detect import library_named
from gradfuzz.libraries.library import Library
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.emit.short import ShortInput, around, assembled, used
from gradfuzz.oracles.emit.short_forms import FORMS, differentiated
from gradfuzz.oracles.torch.short import as_leaves, by_autograd


def short(call: Call, case: CheckResult) -> str:
    """The script, by the worst entry of `case`. Empty where the call has no short form: something stands
    around it, it is complex, the library has none, or the script does not show the finding.
    """
    library, question = library_named(call.library), case.question
    form = FORMS.get(call.library)
    if form is None or call.form != "alone" or call.results or call.way:
        return ""
    wrt = [p.name for p in question.program.params]
    entry = case.worst or (wrt[0], (0,) * np.ndim(case.point.inputs[wrt[0]]))
    expected = math.nan if case.expected is None else case.expected
    raises = case.kind is Class.ERROR
    if wrt != names(call) or entry[0] not in wrt or not (raises or math.isfinite(expected)):
        return ""
    if not question.modes or not _is_plain(call, library, len(question.weights)):
        return ""
    if "fwd" in question.modes and not form.pushes(len(wrt)):
        return ""
    what = f"{call.library} {library.version}"
    shown = ShortInput(question, case.point.inputs, entry, expected, raises=raises, target=what)
    seed = [f"    {library.forms.seed}"] if call.seeded else []
    function = "\n".join(
        [*makers(call), f"def f({', '.join(wrt)}):", *seed, f"    return {expression(call)}"]
    )
    inputs = [f"{name} = {text}" for name, text in zip(wrt, arrays(call), strict=True)]
    inputs += _around(shown, library)
    lines = differentiated(shown, form, library.array_code)
    if call.library == "torch" and "fwd" not in question.modes:  # it takes any function; torch.func does not
        inputs, lines = as_leaves(shown, inputs), by_autograd(shown, unused=True)
    helpers = [text for name, text in form.helpers.items() if used("\n".join(lines), name)]
    function = "\n\n".join([function, *helpers])
    imports = _imports(call, library, "\n".join([function, *inputs, *lines]))
    imports += ["", *form.settings] if form.settings else []
    text = assembled(shown, imports, function, inputs, lines, scalar=question.modes[-1] == "fwd")
    return text if shows(text, case) else ""


def _imports(call: Call, library: Library, body: str) -> list[str]:
    """Those of the library's imports that the lines use, and that of the function's module."""
    own, _, _ = library.forms.header.partition("\n\n")
    lines = [*own.splitlines(), *(f"import {home}" for home in (module_of(call.function), *modules(call)))]
    lines += FORMS[call.library].imports
    lines.sort(key=lambda line: " as " in line)
    return [line for line in dict.fromkeys(lines) if f"{line.split()[-1]}." in body]


def _is_plain(call: Call, library: Library, outputs: int) -> bool:
    """Whether the call takes and returns real arrays, as they are or in a tuple."""
    if any(np.iscomplexobj(value) for value in values_of(call)):
        return False
    with quiet():
        try:
            found = returned(call, library, [library.constant(value) for value in values_of(call)])
        except Exception:  # noqa: BLE001 - what it raises is said elsewhere
            return False
    items: Any = found if isinstance(found, (tuple, list)) else [found]
    real = [(value := library.concrete(y)) is not None and value.dtype.kind in "fV" for y in items]
    return len(items) == outputs and all(real) and (outputs > 1) == isinstance(found, (tuple, list))


def _around(shown: ShortInput, library: Library) -> list[str]:
    """The cotangent in float64, the direction in the dtype of its input."""
    own = {id(v): shown.inputs[name].dtype for name, v in shown.question.directions.items()}

    def text(value: Array) -> str:
        return library.array_code(np.asarray(value, own.get(id(value), np.float64)))

    return around(shown, text)
