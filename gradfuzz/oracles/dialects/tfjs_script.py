"""A question in TensorFlow.js: a script for Node, in float32, by reverse mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.numbers import comment, entries, flat, header, listed, unshown
from gradfuzz.oracles.dialects.table import ReproducerInput
from gradfuzz.oracles.dialects.tfjs_emit import FUNCTIONS, HELPERS, LACKS, TfjsEmitter
from gradfuzz.oracles.emit.statements import nested_list
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.syntax import ArrayConst, Const, walk
from gradfuzz.programs.language.types import Type

LIMITS = DialectLimits(
    "TensorFlow.js",
    LACKS,
    complex="TensorFlow.js has no derivatives of complex numbers",
    functions=FUNCTIONS,
)


def unsupported(shown: ReproducerInput) -> str | None:
    """Why TensorFlow.js cannot be asked; None where it can."""
    reason = refusal(LIMITS, shown) or unshown(shown)
    if reason is not None or shown.question.precision == "float32":
        return reason
    question = shown.question
    arrays = [
        *shown.inputs.values(),
        *(w for w in question.weights if w is not None),
        *question.directions.values(),
    ]
    constants = [
        n.value for n in walk(question.program) if isinstance(n, Const) and isinstance(n.value, float)
    ]
    constants += [c.number for n in walk(question.program) if isinstance(n, ArrayConst) for c in n.values]
    numbers = np.array([*(v for a in arrays for v in flat(a)), *constants], float)
    if not np.array_equal(numbers, numbers.astype(np.float32)):
        return "TensorFlow.js has float32 only, in which a number of the question would be another one"
    return None


def port(shown: ReproducerInput) -> str:
    """The script. Errors allowed in float64 are scaled to float32 by the ratio of their roundings."""
    question, emitter = shown.question, TfjsEmitter("float32")
    program = question.program
    names = {p.name: emitter.name(p.name) for p in program.params}
    text = "\n".join([f"function f({', '.join(names.values())}) {{", *emitter.body(program), "}"]) + "\n"
    told = ["All numbers are float32."]
    if question.precision == "float64":
        told[0] += (
            " The question was one in float64, whose allowed error is scaled by the size of a rounding."
        )
    told += ["The derivative is asked for by tf.grads, which is reverse mode."] if question.modes else []
    parts = [
        comment(
            header(
                shown,
                shown.title("TensorFlow.js (https://github.com/tensorflow/tfjs)"),
                " ".join(told),
                _NEEDS,
            ),
            "//",
        ),
        _REQUIRE,
        *(source for name, source in HELPERS.items() if f"{name}(" in text),
        text,
        "".join(f"const {names[p.name]} = {_value(shown.inputs[p.name], p.type)};\n" for p in program.params),
        _asked(shown, names),
        _VERDICT.replace("ROWS", _rows(shown)),
    ]
    return "\n".join(parts)


_NEEDS = "Node.js and @tensorflow/tfjs; run it with: npm install @tensorflow/tfjs && node FILE"

_REQUIRE = """\
let tf;
try {
  tf = require("@tensorflow/tfjs");
} catch (error) {
  console.error("This script needs: npm install @tensorflow/tfjs");
  process.exit(125);
}
"""


def _value(array: Array, of: Type) -> str:
    """An input: a tensor, or a JavaScript number."""
    if not of.shape and not of.is_float:
        return str(np.asarray(array).item()).lower()
    dtype = {"float": "float32", "int": "int32", "bool": "bool"}[of.dtype]
    if of.is_float:
        texts = [repr(v) for v in flat(array)]
    else:
        texts = [str(v).lower() for v in np.ravel(array).tolist()]
    return f'tf.tensor({nested_list(texts, np.shape(array))}, {list(np.shape(array))}, "{dtype}")'


def _asked(shown: ReproducerInput, names: dict[str, str]) -> str:
    """`got`: a list of the values to compare."""
    question = shown.question
    arguments = ", ".join(names.values())
    if not question.modes:
        return _guarded([], f"f({arguments})")
    xs = ", ".join(names[n] for n in question.wrt)
    reached = [f"tf.mul(0, tf.sum({names[n]}))" for n in question.wrt]
    terms = [
        f"tf.sum(tf.mul(outputs[{k}], {_value(w, Type('float', np.shape(w)))}))"
        for k, w in enumerate(question.weights)
        if w is not None
    ]
    lines = [
        (
            "// What is differentiated: the sum of weight * output. The terms with 0 make it depend on every"
            " input."
        ),
        "const function_0 = (" + xs + ") => {",
    ]
    lines += [
        f"  const outputs = f({arguments});",
        f"  return tf.addN([{', '.join([*terms, *reached])}]);",
        "};",
    ]
    types = {p.name: p.type for p in question.program.params}
    for k in range(question.order - 1):
        along = [
            f"tf.sum(tf.mul(slopes[{j}], {_value(question.directions[n], types[n])}))"
            for j, n in enumerate(question.wrt)
        ]
        lines += [f"// Its derivative along a direction.\nconst function_{k + 1} = ({xs}) => {{"]
        lines += [
            f"  const slopes = tf.grads(function_{k})([{xs}]);",
            f"  return tf.addN([{', '.join([*along, *reached])}]);",
            "};",
        ]
    return _guarded(lines, f"tf.grads(function_{question.order - 1})([{xs}])")


def _guarded(lines: Sequence[str], call: str) -> str:
    """`got`, or an exit where TensorFlow.js raises: that is no wrong number."""
    caught = [
        "} catch (error) {",
        "  console.error(`TensorFlow.js cannot answer: ${error.message}`);",
        "  process.exit(125);",
        "}",
    ]
    return "\n".join([*lines, "let got;", "try {", f"  got = {call};", *caught]) + "\n"


def _rows(shown: ReproducerInput) -> str:
    scale = FORMATS["float32"].eps / FORMATS[shown.question.precision].eps
    return "\n".join(
        f'  ["{n}{f" at {at}" if at else ""}", {listed(e, repr)}, {listed(a, repr)}],'
        for n, at, e, a in entries(shown, scale)
    )


_VERDICT = """\
// Name and input, expected, allowed.
const rows = [
ROWS
];

let wrong = false;
rows.forEach(([name, expected, allowed], k) => {
  const answer = typeof got[k] === "object" ? got[k].dataSync() : [Number(got[k])];
  expected.forEach((right, entry) => {
    console.log(`${name}: expected ${right}, got ${answer[entry]}`);
    wrong = wrong || !(Math.abs(answer[entry] - right) <= allowed[entry]);
  });
});
console.log(wrong ? "wrong" : "right");
process.exit(wrong ? 1 : 0);
"""
