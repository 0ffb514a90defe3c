"""The end of every Python reproducer: expected and got side by side, and the exit code.

    if the derivative exists   each entry of it, computed by mpmath, within the allowed error
    at a kink                  the slope of the answer along each input entry and some lines, between the
                               slopes on both sides

`as_pytest` makes a test of a script, `as_port` a script for another library than the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradfuzz.oracles.base import Array, Question, by_output
from gradfuzz.oracles.emit.script import OUTCOME, array_text, kink_source, reference_source
from gradfuzz.oracles.emit.statements import number_text
from gradfuzz.programs.language.precision import FORMATS

Across = Sequence[Mapping[str, Array]]
"""Directions, by input."""

_ROUNDINGS = 1024
"""The error that a script allows without a tolerance: this many roundings of the largest entry."""

ENDING = """\
if __name__ == "__main__":
    lines, wrong = comparison()
    print("\\n".join(lines))
    sys.exit(1 if wrong else 0)
"""


_PORT_ENDING = """\
if __name__ == "__main__":
    try:
        lines, wrong = comparison()
    except Exception as error:  # what raises gives no wrong number
        print(f"no answer: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(125)
    print("\\n".join(lines))
    sys.exit(1 if wrong else 0)
"""


def as_port(script: str) -> str:
    """`script` for a library that is not the target: where that library raises, it exits with 125."""
    return _without_ending(script) + _PORT_ENDING


def _without_ending(script: str) -> str:
    assert script.endswith(ENDING), "a script ends with its verdict"
    return script.removesuffix(ENDING)


def compared(question: Question) -> list[str]:
    """The names that are compared: the differentiated inputs, or at order 0 the outputs."""
    return list(question.wrt) if question.order else list(by_output(question.program.result.values))


def allowed_errors(
    question: Question, expected: Mapping[str, Array], allowed: Mapping[str, Array] | None
) -> Mapping[str, Array] | float:
    """The largest acceptable error of each entry, or of all.

    Unless `allowed` has exactly the compared names, it is 1,024 roundings of the largest entry of `expected`.
    """
    if allowed is not None and set(allowed) == set(compared(question)):
        return allowed
    largest = max((float(np.max(np.abs(e))) for e in expected.values() if e.size), default=0.0)
    return _ROUNDINGS * FORMATS[question.precision].eps * largest


def truth_source(
    question: Question,
    point_index: int,
    expected: Mapping[str, Array],
    allowed: Mapping[str, Array] | None = None,
    across: Across | None = None,
    *,
    dtypes: bool = False,
) -> str:
    """The truth, its comparison, and the exit code. `allowed` is the largest acceptable error per entry.

    `across` is given at a kink: further lines along which the answer must lie between the slopes on both
    sides. With `dtypes` an answer whose dtype is not the question's precision is wrong too, whatever its
    numbers.
    """
    kink = across is not None and question.order == 1
    truth = kink_source(question) if kink else reference_source(question, point_index)
    what = "between the slopes on both sides of a kink" if kink else "true"
    parts = [f"# What is {what}, by mpmath\n\n{truth}"]
    errors = allowed_errors(question, expected, allowed)
    if isinstance(errors, float):
        shapes = "{name: e.shape for name, e in expected_gradient().items()}"
        if question.order:
            shapes = "{name: inputs[name].shape for name in wrt}"
        full = f"np.full(shape, {number_text(errors)})"
        parts += [f"allowed = {{name: {full} for name, shape in {shapes}.items()}}"]
    else:
        table = [f"    {_entry(name, errors[name])}," for name in compared(question)]
        parts += ["\n".join(["allowed = {  # the largest error that rounding explains", *table, "}"])]
    if kink:
        lines = [", ".join(_entry(name, d) for name, d in line.items()) for line in across or ()]
        table = [f"    {{{line}}}," for line in lines]
        head = "\nacross = [  # lines that are looked at beside the inputs' own"
        parts[-1] += "\n".join([head, *table, "]"])
    comparison = _BETWEEN if kink else _COMPARISON
    if dtypes:
        parts += [_dtypes_source(question)]
        comparison = comparison.replace(_VERDICT, _VERDICT_OF_DTYPES)
    return "\n\n\n".join([*parts, comparison, ENDING]).replace("\n\n\n\n", "\n\n\n")


def _entry(name: str, array: Array) -> str:
    return f'"{name}": {array_text(np.asarray(array, float), "float64")}'


def _dtypes_source(question: Question) -> str:
    """`dtypes`, by input or by float output, and the function that compares dtypes."""
    names = compared(question)
    if not question.order:
        names = [name for name, weight in zip(names, question.weights, strict=True) if weight is not None]
    table = ", ".join(f'"{name}": "{question.precision}"' for name in names)
    return f"dtypes = {{{table}}}\n\n\n{_OTHER_DTYPES}"


_COMPARISON = '''\
def comparison():
    """The lines of the table, and whether an entry is further off than allowed."""
    expected, got = expected_gradient(), gradient()
    lines, wrong = [f"{'':<12} {'input':<24} {'expected':<24} {'got':<24} ratio"], False
    for name in expected:
        if got[name].shape != expected[name].shape:
            lines += [f"{name}: the shape is {got[name].shape}, not {expected[name].shape}"]
            wrong = True
            continue
        for index in np.ndindex(expected[name].shape):
            right, answer = float(expected[name][index]), float(got[name][index])
            ratio = f"{answer / right:.6g}" if right else "-"
            label = name + "".join(f"[{k}]" for k in index)
            at = str(inputs[name][index]) if name in inputs else ""
            lines += [f"{label:<12} {at:<24} {right!r:<24} {answer!r:<24} {ratio}"]
            wrong = wrong or not abs(answer - right) <= allowed[name][index]
    return [*lines, "wrong" if wrong else "right"], wrong
'''

_VERDICT = '    return [*lines, "wrong" if wrong else "right"], wrong\n'
_VERDICT_OF_DTYPES = (
    f"    others = other_dtypes(got)\n    lines, wrong = lines + others, wrong or bool(others)\n{_VERDICT}"
)

_OTHER_DTYPES = '''\
def other_dtypes(got):
    """A line for each that has not the dtype that it should have."""
    found = {name: str(got[name].dtype) for name in dtypes}
    return [f"{name}: the dtype is {found[name]}, not {d}" for name, d in dtypes.items() if found[name] != d]
'''

_BETWEEN = '''\
def units():
    """The direction of each entry of each input, with its name."""
    for name in wrt:
        for index in np.ndindex(inputs[name].shape):
            unit = np.zeros(inputs[name].shape)
            unit[index] = 1.0
            yield name + "".join(f"[{k}]" for k in index), {name: unit}


def comparison():
    """The lines of the table, and whether a slope lies outside of those on both sides."""
    got = gradient()
    lines, wrong = [f"{'along':<24} {'lower slope':<24} {'upper slope':<24} got"], False
    for label, direction in [*units(), *((f"line {k}", line) for k, line in enumerate(across))]:
        low, high = sides(direction)
        slope = float(sum(np.sum(d * got[name].astype(float)) for name, d in direction.items()))
        margin = float(sum(np.sum(abs(d) * allowed[name]) for name, d in direction.items()))
        lines += [f"{label:<24} {low!r:<24} {high!r:<24} {slope!r}"]
        wrong = wrong or not low - margin <= slope <= high + margin
    return [*lines, "wrong" if wrong else "right"], wrong
'''


def as_pytest(script: str, name: str) -> str:
    """`script` as a test file with one test `name`, which is skipped where the script's imports fail.

    The script must end with `ENDING`.
    """
    text, _, body = _without_ending(script).partition(OUTCOME)
    _, _, body = body.partition('"""')
    imports, _, body = body.partition("except ImportError as error:\n")
    message, _, body = body.partition(", file=sys.stderr)\n    sys.exit(125)\n")
    return (
        f'{text}Fails while expected and got differ; skipped where something is missing.\n"""'
        + imports.replace("import sys\n", "import pytest\n", 1)
        + f"except ImportError as error:\n{message.replace('print(', 'pytest.skip(', 1)},"
        " allow_module_level=True)\n"
        + f'{body}def {name}():\n    lines, wrong = comparison()\n    assert not wrong, "\\n".join(lines)\n'
    )
