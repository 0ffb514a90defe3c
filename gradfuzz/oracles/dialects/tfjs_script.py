"""A question in TensorFlow.js: a script for Node, in float32, by reverse mode."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.numbers import entries, flat, header, listed, plain_number, unshown
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.dialects.tfjs_emit import FUNCTIONS, HELPERS, LACKS, TfjsEmitter
from gradfuzz.oracles.emit.statements import nested_list
from gradfuzz.programs.language.precision import FORMATS
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import ArrayConst, Const
from gradfuzz.programs.language.types import Type

LIMITS = DialectLimits(
    "TensorFlow.js", LACKS, complex="TensorFlow.js has no derivatives of complex numbers", functions=FUNCTIONS
)


def unsupported(shown: ReproducerInput) -> str | None:
    """Why TensorFlow.js cannot be asked; None where it can."""
    reason = refusal(LIMITS, shown) or unshown(shown)
    if reason is not None or shown.question.precision == "float32":
        return reason
    question = shown.question
    weights = [w for w in question.weights if w is not None]
    arrays = [*shown.inputs.values(), *weights, *question.directions.values()]
    constants: list[float] = []
    for node in walk(question.program):
        if isinstance(node, Const) and isinstance(node.value, float):
            constants.append(node.value)
        elif isinstance(node, ArrayConst):
            constants += [c.number for c in node.values]
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
        told += ["The question was one in float64, whose allowed error is scaled by the size of a rounding."]
    told += ["The derivative is asked for by tf.grads, which is reverse mode."] if question.modes else []
    title = shown.title("TensorFlow.js (https://github.com/tensorflow/tfjs)")
    parts = [
        header(shown, "//", title, " ".join(told), _NEEDS),
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
        return plain_number(array, of)
    dtype = {"float": "float32", "int": "int32", "bool": "bool"}[of.dtype]
    texts = [repr(float(v)) if of.is_float else str(v).lower() for v in np.ravel(array).tolist()]
    return f'tf.tensor({nested_list(texts, np.shape(array))}, {list(np.shape(array))}, "{dtype}")'


def _asked(shown: ReproducerInput, names: dict[str, str]) -> str:
    """`got`: a list of the values to compare; an exit where TensorFlow.js raises: that is no wrong number."""
    question = shown.question
    arguments = ", ".join(names.values())
    if not question.modes:
        return _GOT.replace("CALL", f"f({arguments})")
    xs = ", ".join(names[n] for n in question.wrt)
    reached = [f"tf.mul(0, tf.sum({names[n]}))" for n in question.wrt]
    types, weights, along = {p.name: p.type for p in question.program.params}, {}, {}
    for k, w in enumerate(question.weights):
        if w is not None:
            weights[k] = _value(w, Type("float", np.shape(w)))
    for k, n in enumerate(question.wrt if question.order > 1 else ()):
        along[k] = _value(question.directions[n], types[n])

    def weighted(what: str, factors: Mapping[int, str], call: str, k: int) -> str:
        """A function of the inputs: the sum of factor * result of a call."""
        terms = [f"tf.sum(tf.mul({what}[{j}], {factor}))" for j, factor in factors.items()]
        return (
            f"const function_{k} = ({xs}) => {{\n  const {what} = {call};\n"
            f"  return tf.addN([{', '.join([*terms, *reached])}]);\n}};\n"
        )

    text = _DIFFERENTIATED + weighted("outputs", weights, f"f({arguments})", 0)
    for k in range(1, question.order):
        text += "// Its derivative along a direction.\n"
        text += weighted("slopes", along, f"tf.grads(function_{k - 1})([{xs}])", k)
    return text + _GOT.replace("CALL", f"tf.grads(function_{question.order - 1})([{xs}])")


_DIFFERENTIATED = (
    "// What is differentiated: the sum of weight * output. The terms with 0 make it depend on every input.\n"
)

_GOT = """\
let got;
try {
  got = CALL;
} catch (error) {
  console.error(`TensorFlow.js cannot answer: ${error.message}`);
  process.exit(125);
}
"""


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
