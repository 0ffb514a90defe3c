"""The function `gradient()` of a script in Python, and the parts for many instances in one call.

A script about many instances compares one of them, `inputs`; `columns` has all of them, and the call answers
all of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from gradfuzz.oracles.base import Question
from gradfuzz.oracles.emit.script import array_text
from gradfuzz.programs.evaluation.layout import Layout, layout_of
from gradfuzz.programs.language.syntax import Param

BATCHED = ("vmap", "grad_of_vmap")
"""The entry points of a library that answer all points in one call."""

SPREAD = '''\
def spread(array):
    """`array` once for each instance."""
    return np.broadcast_to(array, columns[wrt[0]].shape[: len(instance)] + array.shape)
'''


def _layout(question: Question, way: str) -> Layout:
    """The layout of the question; what is differentiated outside vmap has all axes."""
    layout = layout_of([point.inputs for point in question.points])
    whole = dict.fromkeys(question.wrt, tuple(layout.sizes)) if way == "grad_of_vmap" else {}
    return Layout(layout.sizes, {**layout.axes, **whole})


def columns_source(question: Question, point_index: int, way: str, floats: str | None = None) -> str:
    """`columns`, the inputs of all instances, and `instance`, the place of the compared one.

    `floats` is as for `inputs_source`.
    """
    layout, points = _layout(question, way), [point.inputs for point in question.points]
    dtypes = {"float": floats or question.precision, "int": "int64", "bool": "bool"}
    sizes = ", ".join(f"{axis} of {n}" for axis, n in layout.sizes.items())
    lines = [f"columns = {{  # all instances, along the axes {sizes}"]
    for p in question.program.params:
        axes = layout.axes[p.name]
        along = f"  # along {', '.join(axes)}" if axes else "  # the same for all"
        column = array_text(layout.column(points, p.name), dtypes[p.type.dtype])
        lines += [f'    "{p.name}": {column},{along}']
    lines += ["}", f"instance = {layout.instance(point_index)}  # the one whose inputs stand above"]
    return "\n".join(lines) + "\n"


def gradient_source(
    question: Question,
    way: str,
    *,
    array: Callable[[str, Param], str],
    derivative: str,
    to_numpy: str,
    vmap: str = "",
    option: str = "",
    factors: Sequence[str] = (),
    compiled: str = "{}",
    outputs: tuple[str, str] = ("({},)", "{}"),
) -> str:
    """The function `gradient()` of the script.

    `array(input, parameter)` is the text of an argument; `derivative` is the text of the gradient of
    `of_wrt` at `xs`, which may read `spread` and what the lines `factors` define. `to_numpy` is a format for
    an array of the library, `compiled` for a function that is called, `outputs` for what `of_wrt` returns: a
    single output, or several. `vmap` and `option` are the library's mapping function and the name of its
    parameter for the axes.
    """
    batched, params = way in BATCHED, question.program.params
    single = len(question.program.result.values) == 1
    table, result = ("columns", f"{to_numpy}[instance]") if batched else ("inputs", to_numpy)
    arguments = ", ".join(array(f'{table}["{p.name}"]', p) for p in params)
    head = f"def gradient():\n    arguments = [{arguments}]\n"
    nested = _nested(question, way, vmap, option) if batched else ""
    outside = f"    mapped = f\n{nested}" if batched else ""
    if not question.modes:
        call = f"{compiled.format('mapped' if batched else 'f')}(*arguments)"
        return (
            f"{head}{outside}    outputs = {f'[{call}]' if single else call}\n"
            f'    return {{f"output {{k}}": {result.format("y")} for k, y in enumerate(outputs)}}\n'
        )
    places = ", ".join(str([p.name for p in params].index(name)) for name in question.wrt)
    call = "mapped(*changed)" if way == "grad_of_vmap" else "f(*changed)"
    steps = _OF_WRT.format(places=places, outputs=outputs[not single].format(call))
    steps += f"\n    xs = tuple(arguments[place] for place in [{places}])\n"
    steps += "".join(f"    {line}\n" for line in factors)
    if way == "vmap" or compiled != "{}":
        inner = textwrap.indent(f"{steps}    return {derivative}\n", "    ")
        mapped = f"    mapped = slopes_of\n{nested}" if batched else ""
        asked = compiled.format("mapped" if batched else "slopes_of")
        body = f"\n    def slopes_of(*arguments):\n{inner}\n{mapped}    slopes = {asked}(*arguments)\n"
    else:
        body = f"{outside}\n{steps}    slopes = {derivative}\n"
    return f"{head}{body}    return {{name: {result.format('slope')} for name, slope in zip(wrt, slopes)}}\n"


def _nested(question: Question, way: str, vmap: str, option: str) -> str:
    """The lines that map `mapped` over each axis."""
    layout, params, lines = _layout(question, way), question.program.params, ""
    for axis in reversed(list(layout.sizes)):
        axes = ", ".join("0" if axis in layout.axes[p.name] else "None" for p in params)
        axes += "," if len(params) == 1 else ""
        lines += f"    mapped = {vmap}(mapped, {option}=({axes}))  # the axis {axis}\n"
    return lines


_OF_WRT = """\
    def of_wrt(*xs):
        changed = list(arguments)
        for place, x in zip([{places}], xs):
            changed[place] = x
        return {outputs}
"""
