"""Short reproducers for libraries with adapters: the program on the adapter's own calls, and the library's
own derivatives.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gradfuzz import adapters
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.adapter_script import AdapterEmitter, OpCollector
from gradfuzz.oracles.dialects.adapter_source import CutError, cut
from gradfuzz.oracles.dialects.autograd_script import IN_NUMPY
from gradfuzz.oracles.emit.short import (
    RESERVED,
    ShortInput,
    assembled,
    direction_names,
    input_lines,
    literal,
    objective,
    stages,
    tuple_of,
    used,
    value_line,
)
from gradfuzz.oracles.emit.statements import nested_list
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import ArrayConst


@dataclass(frozen=True, slots=True)
class ShortForm:
    """How a library is asked in a few lines."""

    ways: tuple[str, ...]
    """The ways that ask as these lines do."""
    imports: tuple[str, ...]
    settings: tuple[str, ...]
    array: str
    """An array of `{entries}` of the dtype `{dtype}`."""
    empty: str
    """One without entries, of the shape `{shape}`."""
    total: str
    """The sum of the entries of `{}`."""
    one: str
    """The derivative of the scalar function `{g}` by its only argument `{xs}`."""
    several: str
    """Its derivatives by several arguments, whose numbers are `{places}`."""
    forward: str
    """The derivative of `{g}` at the tuple `{xs}` along the tuple `{v}`; empty where there is none."""
    helpers: Mapping[str, str]
    """Name -> the function of that name, where the library has none."""
    again: str = ""
    """What `{again}` stands for in a derivative that is differentiated once more."""
    boolean: str = "bool"
    """Its name of the dtype."""
    one_forward: bool = False
    """Whether `forward` is by one argument only, `{x}` along `{d}`."""
    of_numpy: bool = False
    """Whether its arrays have NumPy's shapes and dtypes, which a script can print."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """Functions that the adapter looks up in the library: where they are."""
    operators: bool = False
    """Whether Python's operators are the calls that the adapter makes."""

    def pushes(self, arguments: int) -> bool:
        """Whether the library has forward mode by so many arguments."""
        return bool(self.forward) and (arguments == 1 or not self.one_forward)

    def reverse(self, arguments: int) -> str:
        """The derivatives of `{g}` at `{xs}` by so many arguments: one, or a list."""
        return self.one if arguments == 1 else self.several.replace("{places}", str([*range(arguments)]))

    def of(self, value: Array, dtype: str) -> str:
        """The array in the library's language."""
        value = np.asarray(value)
        return self.spelled(literal(value) if value.size else "", value.shape, dtype)

    def spelled(self, entries: str, shape: tuple[int, ...], dtype: str) -> str:
        """The array of these entries, nested lists or nothing."""
        dtype = self.boolean if dtype == "bool" else dtype
        form = self.array if entries else self.empty
        return form.format(entries=entries, shape=shape, dtype=dtype)


_GRADIENT, _ALONG = "gradient_of", "derivative_along"

_TENSORFLOW = {
    _GRADIENT: """\
def gradient_of(g, *xs):
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = g(*xs)
    return [tf.convert_to_tensor(s) for s in tape.gradient(y, xs, unconnected_gradients="zero")]
""",
    _ALONG: """\
def derivative_along(g, xs, vs):
    with tf.autodiff.ForwardAccumulator(xs, vs) as accumulator:
        y = g(*xs)
    return tf.convert_to_tensor(accumulator.jvp(y, unconnected_gradients="zero"))
""",
}
_PADDLE = {
    _GRADIENT: """\
def gradient_of(g, *xs, again=False):
    for x in xs:
        x.stop_gradient = False
    y = g(*xs)
    found = [None for _ in xs]
    if not y.stop_gradient:
        found = paddle.grad(y, xs, create_graph=again, allow_unused=True)
    return [paddle.zeros_like(x) if s is None else s for x, s in zip(xs, found)]
""",
}

FORMS: Mapping[str, ShortForm] = {
    "tensorflow": ShortForm(
        ways=("eager",),
        imports=("import tensorflow as tf",),
        settings=(),
        array="tf.constant({entries}, tf.{dtype})",
        empty="tf.zeros({shape}, tf.{dtype})",
        total="tf.reduce_sum({})",
        one=f"{_GRADIENT}({{g}}, {{xs}})[0]",
        several=f"{_GRADIENT}({{g}}, {{xs}})",
        forward=f"{_ALONG}({{g}}, {{xs}}, {{v}})",
        helpers=_TENSORFLOW,
    ),
    "mlx": ShortForm(
        ways=("eager", "float64"),
        imports=("import mlx.core as mx",),
        settings=("mx.set_default_device(mx.cpu)",),
        array="mx.array({entries}, mx.{dtype})",
        empty="mx.zeros({shape}, mx.{dtype})",
        total="mx.sum({})",
        one="mx.grad({g})({xs})",
        several="mx.grad({g}, {places})({xs})",
        forward="mx.jvp({g}, {xs}, {v})[1][0]",
        helpers={},
        boolean="bool_",
    ),
    "paddle": ShortForm(
        ways=("dygraph",),
        imports=("import paddle",),
        settings=('paddle.set_device("cpu")',),
        array='paddle.to_tensor({entries}, dtype="{dtype}")',
        empty='paddle.zeros({shape}, "{dtype}")',
        total="paddle.sum({})",
        one=f"{_GRADIENT}({{g}}, {{xs}}{{again}})[0]",
        several=f"{_GRADIENT}({{g}}, {{xs}}{{again}})",
        again=", again=True",
        forward="",
        helpers=_PADDLE,
    ),
    "autograd": ShortForm(
        ways=("eager",),
        imports=("import autograd", "import autograd.numpy as anp"),
        settings=(),
        array='anp.array({entries}, "{dtype}")',
        empty='anp.zeros({shape}, "{dtype}")',
        total="anp.sum({})",
        one="autograd.grad({g})({xs})",
        several="autograd.grad({g}, {places})({xs})",
        forward="autograd.make_jvp({g})({x})({d})[1]",
        helpers={},
        one_forward=True,
        of_numpy=True,
        functions={name: f"anp.{name}" for name in IN_NUMPY},
        operators=True,
    ),
}
"""The libraries that have a short form."""


def short(shown: ShortInput, oracle_name: str) -> str:
    """The lines that ask the library the same; empty for a way or a question that has no short form."""
    name, question = TargetName.of(oracle_name), shown.question
    form = FORMS[name.library]
    if name.way not in form.ways or (shown.measure != "number" and not form.of_numpy):
        return ""
    if "fwd" in question.modes and not form.pushes(len(question.wrt)):
        return ""
    asked = OpCollector()
    _Emitter(form, question.precision, asked).function(question.program, "f")
    script = adapters.path(ADAPTERS[name.library].script)
    try:
        found = cut(
            script, name.way, asked.keys() - form.functions.keys(), RESERVED | {"f", *form.helpers}, bare=True
        )
    except CutError:
        return ""
    emitter = _Emitter(form, question.precision, {**found.spelling, **form.functions})
    lines = _lines(shown, form)
    body = "\n".join(lines)
    helpers = [text for helper, text in form.helpers.items() if used(body, helper)]
    functions = [_plain(found.source), emitter.function(question.program, "f"), *helpers]
    function = "\n\n".join(text.strip("\n") for text in functions if text)

    def other(value: Array) -> str:
        return form.of(value, value.dtype.name) if value.shape else literal(value)

    inputs = input_lines(shown, lambda value: form.of(value, question.precision), other)
    text = "\n".join([*form.settings, function, *inputs, *lines])
    known = [line for line in found.imports.splitlines() if "import" in line]
    candidates = {*form.imports, *known, "import numpy as np"}
    imports = [line for line in candidates if used(text, line.split()[-1])]
    imports.sort(key=lambda line: (not line.startswith("import"), line))
    settings = ["", *form.settings] if form.settings else []
    scalar = question.modes[-1:] == ("fwd",)
    return assembled(shown, [*imports, *settings], function, inputs, lines, scalar=scalar)


def _plain(source: str) -> str:
    """The source without what its functions say of themselves."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
    texts = [ast.unparse(node) for node in tree.body]
    return "".join(f"{text}\n\n" if "\n" in text else f"{text}\n" for text in texts)


def _lines(shown: ShortInput, form: ShortForm) -> list[str]:
    """The lines that differentiate."""
    question, wrt = shown.question, shown.wrt()
    if not question.modes:
        return value_line(shown)
    single = len(wrt) == 1
    reverse = form.reverse(len(wrt))
    first, lines = objective(shown, form.total)
    last, steps = stages(shown, first, reverse.replace("{again}", form.again), form.forward, form.total)
    lines += steps
    if question.modes[-1] == "rev":
        at = "" if single else f"[{shown.place}]"
        return [*lines, f"got = {reverse.format(g=last, xs=', '.join(wrt), again='')}{at}"]
    name, index = shown.entry
    vs = [text.replace("direction", "unit") for text in direction_names(shown)]
    for of, v in zip(question.wrt, vs, strict=True):
        unit = np.zeros(np.shape(shown.inputs[of]))
        if of == name:
            unit[index] = 1.0
        lines += [f"{v} = {form.of(unit, question.precision)}"]
    pushed = form.forward.format(g=last, xs=tuple_of(wrt), v=tuple_of(vs), x=wrt[0], d=vs[0])
    return [*lines, f"got = {pushed}"]


class _Emitter(AdapterEmitter):
    """Programs on the adapter's calls, with the library's own arrays."""

    reserved = RESERVED | {"f", _GRADIENT, _ALONG}

    def __init__(self, form: ShortForm, precision: Precision, spelling: Mapping[str, str]) -> None:
        super().__init__(precision, spelling, operators=form.operators)
        self._form = form

    def scalar(self, text: str) -> str:
        return self._form.spelled(text, (), self.precision)

    def array(self, array: ArrayConst) -> str:
        entries = [self.literal(value).text for value in array.values]
        nested = nested_list(entries, array.shape) if entries else ""
        return self._form.spelled(nested, array.shape, self.dtype(array.dtype))
