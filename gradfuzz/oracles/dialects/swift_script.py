"""A question in Swift's `_Differentiation`: scalar programs with loops, by reverse mode."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.numbers import decimal, entries, header, plain_number, unshown
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.dialects.swift_emit import FUNCTIONS, HELPERS, LACKS, SwiftEmitter

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
    outputs = [emitter.real]
    if not question.modes:
        outputs = [emitter.type_name(emitter.expression(v).type) for v in program.result.values]
    wrt = [names[p.name] for p in program.params if p.name in question.wrt]
    among = "" if len(wrt) == len(names) else f", wrt: ({', '.join(wrt)})"
    mark = [f"@differentiable(reverse{among})"] if question.modes else []
    function = [*mark, f"func f({params}) -> {_tuple(outputs)} {{", *body, "}"]
    text = "\n".join(function) + "\n"
    helpers = [
        ("" if name == "modulo" or not question.modes else "@differentiable(reverse)\n")
        + source.replace("REAL", emitter.real)
        for name, source in HELPERS.items()
        if f"{name}(" in text
    ]
    values = {p.name: plain_number(shown.inputs[p.name], p.type) for p in program.params}
    told = "The derivative is asked for by reverse mode." if question.modes else ""
    title = shown.title("Swift (https://github.com/swiftlang/swift)")
    parts = [
        header(shown, "//", title, told, "Swift; run it with: swift FILE"),
        "import Foundation\nimport _Differentiation\n",
        *helpers,
        text,
        _asked(shown, emitter, names, values),
        _VERDICT.replace("ROWS", _rows(shown)),
    ]
    return "\n".join(parts)


def _tuple(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _asked(
    shown: ReproducerInput, emitter: SwiftEmitter, names: dict[str, str], values: dict[str, str]
) -> str:
    """`got`: the values to compare, one number for each row."""
    question = shown.question
    if not question.modes:
        call = f"f({', '.join(values.values())})"
        return f"let outputs = {call}\n{_got('outputs', len(question.program.result.values))}"
    params, wrt = question.program.params, question.wrt
    arguments = ", ".join(names[p.name] if p.name in wrt else values[p.name] for p in params)
    at = ", ".join(values[n] for n in wrt)
    closure = f"{{ {', '.join(names[n] for n in wrt)} in f({arguments}) }}"
    of = _tuple([emitter.real] * len(wrt))
    return f"let slopes: {of} = gradient(at: {at}, of: {closure})\n{_got('slopes', len(wrt))}"


def _got(name: str, count: int) -> str:
    parts = [name] if count == 1 else [f"{name}.{k}" for k in range(count)]
    return f"let got: [Double] = [{', '.join(f'Double({p})' for p in parts)}]\n"


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
