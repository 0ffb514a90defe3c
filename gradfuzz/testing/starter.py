"""A first test for a user's function: `check_gradient` at example arguments, and at drawn ones.

The arguments are found by trying shapes until the function returns finite floats.
"""

from __future__ import annotations

import inspect
import itertools
import keyword
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.conventions.excluded import is_square
from gradfuzz.fuzzer.measuring.subject import subject_of
from gradfuzz.fuzzer.questions.request import imported
from gradfuzz.libraries.detect import library_of, signature_of
from gradfuzz.libraries.library import LibraryName, first_line
from gradfuzz.oracles.base import Array
from gradfuzz.programs.language.precision import is_float

_SHAPES: tuple[tuple[int, ...], ...] = (
    *((3,), (), (2, 2), (2, 3), (3, 2), (3, 3), (2,), (4,), (4, 4)),
    *((2, 2, 2), (2, 3, 3), (1, 2, 4, 4)),
)
"""The shapes to try, the likeliest first."""

_MOST = 200
"""The most combinations of shapes to try."""

_GRADS = (
    *("{}_grad", "grad_{}", "{}_gradient", "gradient_{}", "d{}", "d_{}"),
    *("{}_vjp", "{}_backward", "{}_prime"),
)
"""Usual names of the hand-written gradient of a NumPy function."""

_TEMPLATE = '''\
"""The derivative of {label}, checked by gradfuzz.

Written by `gradfuzz write {source}`. {remark}
"""

import numpy as np
from hypothesis import given, settings

from gradfuzz import check_gradient
from gradfuzz.strategies import arrays
{imports}


def test_gradient_of_{name}() -> None:
    check_gradient({function}, {examples}{options})


@settings(settings.get_profile("gradfuzz-quick"), max_examples=20)
@given({strategies})
def test_gradient_of_{name}_where_it_is_drawn({parameters}) -> None:
    check_gradient({function}, {passed}{options})
'''

_FOUND = (
    "The arguments are examples: replace them by those that matter, and restrict the strategies to where the"
    " function is defined."
)

_NOT_FOUND = "No arguments were found that the function accepts ({why}): replace these."


@dataclass(frozen=True, slots=True, eq=False)
class _Subject:
    """A function, its framework, and its hand-written gradient, if any: (module, name)."""

    source: str
    module: str
    name: str
    f: Callable[..., Any]
    framework: LibraryName
    grad: tuple[str, str] | None

    @property
    def expression(self) -> str:
        """The called expression: an autograd.Function by its `apply`."""
        return f"{self.name}.apply" if _is_function_class(self.f) else self.name


def starter(
    source: str,
    *,
    grad: str | None = None,
    framework: LibraryName | None = None,
    inputs: Mapping[str, Array] | None = None,
) -> str:
    """The text of a test for `source`, which is MODULE:FUNC.

    `grad` is the hand-written gradient of a NumPy function, as FUNC or MODULE:FUNC; without it, usual names
    are looked up in the same module. `inputs` are arguments by name; the others are searched for. Raises
    `UsageError` if there is no such function or nothing to check, and `MissingExtraError`.
    """
    module, _, name = source.partition(":")
    if not module or not name.isidentifier():
        raise UsageError(
            f"{source!r} names no function; write MODULE:FUNC, as in gradfuzz write my_package.losses:huber"
        )
    f = imported(module, name)
    whose = framework or library_of(f, []).name
    subject = _Subject(source, module, name, f, whose, _gradient(module, name, grad))
    if subject.framework == "numpy" and subject.grad is None:
        usual = " nor ".join(form.format(name) for form in _GRADS[:3])
        raise UsageError(
            f"{source} is a NumPy function and needs a hand-written gradient: name it with --grad"
            f" MODULE:FUNC ({module} has neither {usual}); if it is a function of JAX, Torch or autograd, say"
            " so with --framework"
        )
    names = _parameters(f, name)
    given = dict(inputs or {})
    wrong, known = sorted(set(given) - set(names)), ", ".join(names)
    if wrong:
        raise UsageError(
            f"--at names {wrong[0]!r}, which is not a required argument of {name}; those are {known}"
        )
    found, why = _arguments(subject, names, given)
    if not any(is_float(value.dtype) for value in found.values()):
        floats = ",".join(f"{key}={value.astype(float).tolist()}" for key, value in found.items())
        raise UsageError(f"{name} is given ints only, and has no derivative by them; write floats: {floats}")
    return _text(subject, found, _FOUND if not why else _NOT_FOUND.format(why=why))


def example(
    source: str, framework: LibraryName | None = None, inputs: Mapping[str, Array] | None = None
) -> tuple[Callable[..., Any], LibraryName, list[Array]]:
    """The function MODULE:FUNC, its framework, and arguments that it accepts: `inputs`, and others that are
    searched for. `UsageError` where there is no such function, or none were found.
    """
    module, _, name = source.partition(":")
    f = imported(module, name)
    subject = _Subject(source, module, name, f, framework or library_of(f, []).name, None)
    if subject.framework == "numpy":
        raise UsageError(f"the code of {source} names no framework; say which it is of with --framework")
    given = dict(inputs or {})
    names = _parameters(f, name)
    optional = [key for key in given if key not in names]
    if optional:
        known = ", ".join(names)
        raise UsageError(f"--at names {optional[0]!r}, which is not a required argument of {name}: {known}")
    found, why = _arguments(subject, names, given)
    if why:
        raise UsageError(f"no arguments were found that {name} accepts ({why}); name some with --at")
    return (f.apply if _is_function_class(f) else f), subject.framework, list(found.values())  # type: ignore[attr-defined]


# The function -----------------------------------------------------------------------------------------------


def _is_function_class(f: Any) -> bool:
    return inspect.isclass(f) and hasattr(f, "forward") and hasattr(f, "apply")


def _gradient(module: str, name: str, given: str | None) -> tuple[str, str] | None:
    if given is not None:
        home, _, own = given.rpartition(":")
        imported(home or module, own)
        return home or module, own
    known = {key for key, value in vars(sys.modules[module]).items() if callable(value)}
    return next(((module, form.format(name)) for form in _GRADS if form.format(name) in known), None)


def _parameters(f: Callable[..., Any], name: str) -> list[str]:
    """The names of the required arguments."""
    called = f.apply if _is_function_class(f) else f  # type: ignore[attr-defined]
    own = getattr(f, "forward", f)  # of a module, whose __call__ takes anything
    try:
        parameters = inspect.signature(own).parameters.values()
    except (TypeError, ValueError):
        raise UsageError(
            f"{name} has no signature to read its arguments from; wrap it in a plain Python function"
        ) from None
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    context = 1 if _is_function_class(f) and plain and signature_of(called, 1) != [plain[0].name] else 0
    needed = [p for p in plain[context:] if p.default is p.empty]
    if not needed:
        raise UsageError(
            f"{name} has no argument that must be given, so nothing to differentiate by; wrap it in a"
            " function of one"
        )
    return (
        [p.name for p in needed] if own is not called and not context else signature_of(called, len(needed))
    )


# Arguments --------------------------------------------------------------------------------------------------


def _arguments(
    subject: _Subject, names: Sequence[str], given: Mapping[str, Array]
) -> tuple[dict[str, Array], str]:
    """Arguments that the function accepts; or, with the reason, some that it does not accept."""
    why = ""
    for shapes in itertools.islice(_combinations([name for name in names if name not in given]), _MOST):
        free = {name: _example(k, shapes[name]) for k, name in enumerate(names) if name not in given}
        trial = {name: given[name] if name in given else free[name] for name in names}
        refusal = _refusal(subject, list(trial.values()))
        if not refusal:
            return trial, ""
        why = why or refusal
    return {name: given.get(name, _example(k, _SHAPES[0])) for k, name in enumerate(names)}, why


def _combinations(names: Sequence[str]) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes by name: first one shape for all, then all combinations."""
    yield from (dict.fromkeys(names, shape) for shape in _SHAPES)
    if len(names) > 1:
        several = itertools.product(_SHAPES, repeat=len(names))
        yield from (dict(zip(names, shapes, strict=True)) for shapes in several)


def _example(place: int, shape: tuple[int, ...]) -> Array:
    """Distinct positive numbers with few digits. A square matrix is symmetric with a heavy diagonal."""
    count = int(np.prod(shape))
    values = np.asarray(0.5 + 0.25 * np.arange(count) + 0.125 * place).reshape(shape)
    if not is_square(values):
        return values
    return np.asarray((values + np.swapaxes(values, -1, -2)) / 2 + 2 * np.eye(shape[-1]))


def _refusal(subject: _Subject, values: Sequence[Array]) -> str:
    """The reason why the function does not accept these arguments; empty if it returns finite floats."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = subject_of(subject.f, values, None, lambda *_: None, subject.framework)
            outputs = asked.values([i.value for i in asked.inputs])
    except Exception as error:  # noqa: BLE001 - a function may raise anything about arguments that it was not made for
        return f"{type(error).__name__}: {first_line(error)}"
    floats = [y for y in outputs if is_float(y.dtype)]
    if not floats:
        return "it returns no floats"
    return "" if all(np.isfinite(y).all() for y in floats) else "it returns what is not finite"


# Text -------------------------------------------------------------------------------------------------------


def _text(subject: _Subject, arguments: Mapping[str, Array], remark: str) -> str:
    floats = {name: value for name, value in arguments.items() if is_float(value.dtype)}
    taken = {"np", "given", "settings", "check_gradient", "arrays", subject.name, *(subject.grad or ())}
    called = {name: f"{name}_" if name in taken or keyword.iskeyword(name) else name for name in arguments}
    options = f", grad={subject.grad[1]}" if subject.grad else f', framework="{subject.framework}"'
    drawn = [f"{called[name]}={_strategy(subject, arguments, name)}" for name in floats]
    passed = [called[name] if name in floats else _literal(value) for name, value in arguments.items()]
    return _TEMPLATE.format(
        label=subject.expression,
        source=subject.source,
        remark=remark,
        imports=_imports(subject),
        name=subject.name.lower(),
        function=subject.expression,
        examples=", ".join(map(_literal, arguments.values())),
        options=options,
        strategies=", ".join(drawn),
        parameters=", ".join(called[name] for name in floats),
        passed=", ".join(passed),
    )


def _imports(subject: _Subject) -> str:
    wanted: dict[str, list[str]] = {subject.module: [subject.name]}
    if subject.grad is not None:
        wanted.setdefault(subject.grad[0], []).append(subject.grad[1])
    lines = ((module, ", ".join(sorted(set(names)))) for module, names in sorted(wanted.items()))
    return "\n".join(f"from {module} import {names}" for module, names in lines)


def _literal(value: Array) -> str:
    if value.ndim == 0:
        return repr(value.item())
    dtype = "" if value.dtype == np.float64 or not is_float(value.dtype) else f', "{value.dtype.name}"'
    return f"np.array({value.tolist()}{dtype})"


def _strategy(subject: _Subject, arguments: Mapping[str, Array], name: str) -> str:
    """Arrays of the argument's shape: of both signs, unless the function rejects negative numbers or zeros.
    Square matrices that it rejects so have a heavy diagonal.
    """
    value = arguments[name]
    tried = ([factor * v if key == name else v for key, v in arguments.items()] for factor in (-1, 0))
    takes_all = not any(_refusal(subject, values) for values in tried)
    low = -2.0 if takes_all or is_square(value) else 0.25
    precision = "" if value.dtype == np.float64 else f', precision="{value.dtype.name}"'
    drawn = f"arrays({value.shape}{precision}, min_value={low}, max_value=2.0, extremes=False)"
    if takes_all or not is_square(value):
        return drawn
    size = value.shape[-1]
    return f"{drawn}.map(lambda a: a + {2 * size + 1} * np.eye({size}, dtype=a.dtype))"
