"""How each library is asked in a few lines of Python, a row each, and the lines that differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.emit.short import (
    ShortInput,
    around,
    by_jacobians,
    calling,
    direction_names,
    literal,
    objective,
    picked,
    stages,
    tuple_of,
    value_line,
)


@dataclass(frozen=True, slots=True)
class ShortForm:
    """How a library is asked in a few lines."""

    imports: tuple[str, ...]
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
    ways: tuple[str, ...] = ()
    """The ways of an adapter that ask as these lines do."""
    settings: tuple[str, ...] = ()
    helpers: Mapping[str, str] = field(default_factory=dict)
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
    """Functions that an adapter looks up in the library: where they are."""
    operators: bool = False
    """Whether Python's operators are the calls that an adapter makes."""

    def pushes(self, arguments: int) -> bool:
        """Whether the library has forward mode by so many arguments."""
        return bool(self.forward) and (arguments == 1 or not self.one_forward)

    def reverse(self, arguments: int, again: str = "") -> str:
        """The derivatives of `{g}` at `{xs}` by so many arguments: one, or several."""
        form = self.one if arguments == 1 else self.several
        return form.replace("{places}", ", ".join(map(str, range(arguments)))).replace("{again}", again)

    def of(self, value: Array, dtype: str) -> str:
        """The array in the library's language."""
        value = np.asarray(value)
        return self.spelled(literal(value) if value.size else "", value.shape, dtype)

    def spelled(self, entries: str, shape: tuple[int, ...], dtype: str) -> str:
        """The array of these entries, nested lists or nothing."""
        dtype = self.boolean if dtype == "bool" else dtype
        form = self.array if entries else self.empty
        return form.format(entries=entries, shape=shape, dtype=dtype)


GRADIENT, ALONG = "gradient_of", "derivative_along"

_TENSORFLOW = {
    GRADIENT: """\
def gradient_of(g, *xs):
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = g(*xs)
    return [tf.convert_to_tensor(s) for s in tape.gradient(y, xs, unconnected_gradients="zero")]
""",
    ALONG: """\
def derivative_along(g, xs, vs):
    with tf.autodiff.ForwardAccumulator(xs, vs) as accumulator:
        y = g(*xs)
    return tf.convert_to_tensor(accumulator.jvp(y, unconnected_gradients="zero"))
""",
}
_PADDLE = {
    GRADIENT: """\
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
_IN_ANP = (
    "ceil cosh exp2 floor floor_divide hypot log10 log2 logaddexp reciprocal round sinc sinh square trunc"
)

FORMS: Mapping[str, ShortForm] = {
    "jax": ShortForm(
        imports=("import jax", "import jax.numpy as jnp"),
        settings=('jax.config.update("jax_enable_x64", True)',),
        array='jnp.array({entries}, "{dtype}")',
        empty='jnp.zeros({shape}, "{dtype}")',
        total="jnp.sum({})",
        one="jax.grad({g})({xs})",
        several="jax.grad({g}, ({places}))({xs})",
        forward="jax.jvp({g}, {xs}, {v})[1]",
    ),
    "torch": ShortForm(
        imports=("import torch",),
        array="torch.tensor({entries}, dtype=torch.{dtype})",
        empty="torch.zeros({shape}, dtype=torch.{dtype})",
        total="torch.sum({})",
        one="torch.func.grad({g})({xs})",
        several="torch.func.grad({g}, ({places}))({xs})",
        forward="torch.func.jvp({g}, {xs}, {v})[1]",
    ),
    "tensorflow": ShortForm(
        ways=("eager",),
        imports=("import tensorflow as tf",),
        array="tf.constant({entries}, tf.{dtype})",
        empty="tf.zeros({shape}, tf.{dtype})",
        total="tf.reduce_sum({})",
        one=f"{GRADIENT}({{g}}, {{xs}})[0]",
        several=f"{GRADIENT}({{g}}, {{xs}})",
        forward=f"{ALONG}({{g}}, {{xs}}, {{v}})",
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
        several="mx.grad({g}, [{places}])({xs})",
        forward="mx.jvp({g}, {xs}, {v})[1][0]",
        boolean="bool_",
    ),
    "paddle": ShortForm(
        ways=("dygraph",),
        imports=("import paddle",),
        settings=('paddle.set_device("cpu")',),
        array='paddle.to_tensor({entries}, dtype="{dtype}")',
        empty='paddle.zeros({shape}, "{dtype}")',
        total="paddle.sum({})",
        one=f"{GRADIENT}({{g}}, {{xs}}{{again}})[0]",
        several=f"{GRADIENT}({{g}}, {{xs}}{{again}})",
        again=", again=True",
        forward="",
        helpers=_PADDLE,
    ),
    "autograd": ShortForm(
        ways=("eager",),
        imports=("import autograd", "import autograd.numpy as anp"),
        array='anp.array({entries}, "{dtype}")',
        empty='anp.zeros({shape}, "{dtype}")',
        total="anp.sum({})",
        one="autograd.grad({g})({xs})",
        several="autograd.grad({g}, [{places}])({xs})",
        forward="autograd.make_jvp({g})({x})({d})[1]",
        one_forward=True,
        of_numpy=True,
        functions={name: f"anp.{name}" for name in _IN_ANP.split()},
        operators=True,
    ),
}
"""The libraries that have a short form."""


def input_lines(shown: ShortInput, form: ShortForm, *, plain: bool) -> list[str]:
    """The lines that spell out the inputs, the cotangents and the directions. `plain`: int and bool scalars
    are Python's.
    """
    names, lines = shown.names(), []
    for p in shown.question.program.params:
        value = np.asarray(shown.inputs[p.name])
        dtype = shown.question.precision if p.type.is_float else value.dtype.name
        is_number = plain and not value.shape and not p.type.is_float
        lines.append(f"{names[p.name]} = {literal(value) if is_number else form.of(value, dtype)}")
    return [*lines, *around(shown, lambda value: form.of(value, shown.question.precision))]


def units(shown: ShortInput, array: Callable[[Array], str]) -> dict[str, str]:
    """The direction of the entry that is shown, for each input: the text of an array, by its name."""
    (name, index), texts = shown.entry, {}
    for own, direction in zip(shown.question.wrt, direction_names(shown), strict=True):
        unit = np.zeros_like(shown.inputs[own])
        if own == name:
            unit[index] = 1.0
        texts[direction.replace("direction", "unit")] = array(unit)
    return texts


def differentiated(
    shown: ShortInput,
    form: ShortForm,
    array: Callable[[Array], str],
    last: Callable[[str], str] = lambda expression: expression,
) -> list[str]:
    """The lines that compute the value, or the derivative by functions, each the derivative of the one
    before. `array` is the text of a direction; `last` changes the last expression.
    """
    wrt = shown.wrt()
    if not shown.question.modes:
        return value_line(shown)
    first, lines = objective(shown, form.total)
    again = form.reverse(len(wrt), form.again)
    g, steps = stages(shown, first, again, form.forward, form.total)
    lines += steps
    if shown.question.modes[-1] == "rev":
        _, at = picked(shown)
        return [*lines, f"got = {last(form.reverse(len(wrt)).format(g=g, xs=', '.join(wrt)))}{at}"]
    along = units(shown, array)
    vs = list(along)
    pushed = form.forward.format(g=g, xs=tuple_of(wrt), v=tuple_of(vs), x=wrt[0], d=vs[0])
    return [*lines, *(f"{v} = {text}" for v, text in along.items()), f"got = {last(pushed)}"]


def transformed(
    shown: ShortInput, form: ShortForm, module: str, *, compiled: str = "{}", whole: bool = False
) -> list[str]:
    """The same by the functions that JAX and `torch.func` have: vjp, grad, jacfwd and jacrev of `module`.

    `compiled` is a function as it is run. `whole`: by whole Jacobians.
    """
    question, xs, run = shown.question, ", ".join(shown.wrt()), compiled.format
    if not question.modes:
        return value_line(shown, run("f"))
    if whole:
        product = form.total.replace("sum({})", "tensordot")
        last, lines = by_jacobians(shown, f"{module}.jac{{mode}}({{g}})({{x}})", product)
        return [*lines, f"got = {run(last)}({xs})"]
    if question.modes == ("rev",) and not shown.one and len(question.weights) == 1:
        pulled = f"{module}.vjp({calling(shown)}, {xs})[1](cotangent)"
        pulled = pulled if compiled == "{}" else f"{run(f'lambda {xs}: {pulled}')}({xs})"
        return [f"got = {pulled}[{shown.place}]"]
    which, at = picked(shown)
    first, lines = objective(shown, form.total)
    again = form.reverse(len(question.wrt))
    last, steps = stages(shown, first, again, form.forward, form.total)
    by = "grad" if question.modes[-1] == "rev" else "jacfwd"
    return [*lines, *steps, f"got = {run(f'{module}.{by}({last}{which})')}({xs}){at}"]
