"""A question in Swift's `_Differentiation`: scalar programs with loops, by reverse mode."""

from __future__ import annotations

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.numbers import comment, decimal, entries, header, unshown
from gradfuzz.oracles.dialects.swift_emit import FUNCTIONS, HELPERS, LACKS, SwiftEmitter
from gradfuzz.oracles.dialects.table import ReproducerInput
from gradfuzz.programs.language.types import Type

LIMITS = DialectLimits(
    "Swift",
    LACKS,
    orders=1,
    complex="Swift has no differentiable complex numbers",
    arrays="Swift's arrays have no differentiable arithmetic and no differentiable assignment of an entry",
    functions=FUNCTIONS,
)
_MOST_INPUTS = 3


def unsupported(shown: ReproducerInput) -> str | None:
    """Why Swift cannot be asked; None where it can."""
    if shown.question.modes and len(shown.question.wrt) > _MOST_INPUTS:
        return f"gradient(at:of:) of Swift takes at most {_MOST_INPUTS} inputs"
    return refusal(LIMITS, shown) or unshown(shown)


def port(shown: ReproducerInput) -> str:
    question = shown.question
    program = question.program
    emitter = SwiftEmitter(question.precision, question.weights if question.modes else ())
    names = {p.name: emitter.name(p.name) for p in program.params}
    body = emitter.body(program)
    params = ", ".join(f"_ {names[p.name]}: {emitter.type_name(p.type)}" for p in program.params)
    outputs = (
        [emitter.type_name(emitter.expression(v).type) for v in program.result.values]
        if not question.modes
        else [emitter.real]
    )
    result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    places = [k for k, p in enumerate(program.params) if p.name in question.wrt]
    wrt = (
        ""
        if len(places) == len(program.params)
        else f", wrt: ({', '.join(names[program.params[k].name] for k in places)})"
    )
    mark = [f"@differentiable(reverse{wrt})"] if question.modes else []
    function = [*mark, f"func f({params}) -> {result} {{", *body, "}"]
    text = "\n".join(function) + "\n"
    helpers = [
        ("" if name == "modulo" or not question.modes else "@differentiable(reverse)\n")
        + source.replace("REAL", emitter.real)
        for name, source in HELPERS.items()
        if f"{name}(" in text
    ]
    values = {p.name: _number(shown.inputs[p.name], p.type) for p in program.params}
    told = (
        "Written against the documentation of Swift; no compiler has seen it. The derivative is asked for by"
        " reverse mode."
        if question.modes
        else "Written against the documentation of Swift; no compiler has seen it."
    )
    parts = [
        comment(
            header(
                shown,
                shown.title("Swift (https://github.com/swiftlang/swift)"),
                told,
                "Swift; run it with: swift FILE",
            ),
            "//",
        ),
        "import Foundation\nimport _Differentiation\n",
        *helpers,
        text,
        _asked(shown, emitter, names, values),
        _VERDICT.replace("ROWS", _rows(shown)),
    ]
    return "\n".join(parts)


def _number(array: Array, of: Type) -> str:
    value = np.asarray(array).item()
    return decimal(value) if of.is_float else str(value).lower()


def _asked(
    shown: ReproducerInput, emitter: SwiftEmitter, names: dict[str, str], values: dict[str, str]
) -> str:
    """`got`: the values to compare, one number for each row."""
    question = shown.question
    if not question.modes:
        count = len(question.program.result.values)
        call = f"f({', '.join(values.values())})"
        parts = ["outputs"] if count == 1 else [f"outputs.{k}" for k in range(count)]
        return f"let outputs = {call}\nlet got: [Double] = [{', '.join(f'Double({p})' for p in parts)}]\n"
    arguments = ", ".join(
        names[p.name] if p.name in question.wrt else values[p.name] for p in question.program.params
    )
    at = ", ".join(values[n] for n in question.wrt)
    closure = f"{{ {', '.join(names[n] for n in question.wrt)} in f({arguments}) }}"
    parts = ["slopes"] if len(question.wrt) == 1 else [f"slopes.{k}" for k in range(len(question.wrt))]
    of = emitter.real if len(question.wrt) == 1 else f"({', '.join([emitter.real] * len(question.wrt))})"
    return (
        f"let slopes: {of} = gradient(at: {at}, of: {closure})\nlet got: [Double] ="
        f" [{', '.join(f'Double({p})' for p in parts)}]\n"
    )


def _rows(shown: ReproducerInput) -> str:
    return "\n".join(
        f'  ("{n}", "{f" at {at}" if at else ""}", {decimal(e[0])}, {decimal(a[0])}),'
        for n, at, e, a in entries(shown)
    )


_VERDICT = """\
// Name, input, expected, allowed.
let rows: [(String, String, Double, Double)] = [
ROWS
]

var wrong = false
for ((name, at, expected, allowed), answer) in zip(rows, got) {
  print("\\(name)\\(at): expected \\(expected), got \\(answer)")
  if !(abs(answer - expected) <= allowed) {
    wrong = true
  }
}
print(wrong ? "wrong" : "right")
exit(wrong ? 1 : 0)
"""
