"""NumPy functions as programs: they are called once on arrays that record.

It is no matter whether a function is written for NumPy, for `autograd.numpy` or for the array API standard:
all of them ask the array itself. A Python loop is written out trip by trip. Where Python decides by a value
(an `if`), the program is 0 on the other side. Where a value would have to become another number of Python
(`float()`, `math.sin`), there is no program.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import UntraceableError
from gradfuzz.programs.language.program import Program
from gradfuzz.tracing.common.compositions import kind_of, where_held
from gradfuzz.tracing.common.graph import confirm, finished, float_dtype, inputs_of
from gradfuzz.tracing.common.leaves import leaves_of
from gradfuzz.tracing.numpy import functions, ufuncs
from gradfuzz.tracing.numpy.array import Handlers, NumpyTrace, RecordingArray

_HANDLERS = Handlers(ufuncs.call, functions.call, functions.method, functions.RecordingNamespace)


def traced(f: Callable[..., Any], args: Sequence[Any]) -> Program:
    """The program that `f` computes on arrays of the shapes and dtypes of `args`.

    The parameters are named as those of `f`; the outputs are the arrays that it returns, nested in tuples,
    lists and dicts. `UntraceableError` where there is no such program.
    """
    arrays = [np.asarray(a) for a in args]
    trace = NumpyTrace(float_dtype(arrays), _HANDLERS)

    def run(*values: Value) -> tuple[Any, ...]:
        with _unspoilt(trace):
            try:
                result = f(*(RecordingArray(trace, value) for value in values))
            except UntraceableError as error:
                raise trace.refused or error from error
            except Exception as error:  # whatever f raises, there is no program
                if trace.refused is not None:
                    raise trace.refused from error
                raise UntraceableError(
                    f"with arrays of gradfuzz the function raises {type(error).__name__}: {error}"
                ) from error
        if trace.refused is not None:
            raise trace.refused
        return where_held(trace.decisions, [_output(trace, leaf) for _, leaf in leaves_of(result)])

    run.__name__ = getattr(f, "__name__", "f")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = finished(run, *inputs_of(f, arrays), arrays)
        outputs = [leaf for _, leaf in leaves_of(f(*(np.array(a)[()] for a in arrays)))]
    confirm(program, arrays, outputs, trace.dtype)
    return program


@contextlib.contextmanager
def _unspoilt(trace: NumpyTrace) -> Iterator[None]:
    """Puts the entries back of arrays that the function wrote to."""
    try:
        yield
    finally:
        for array, entries in reversed(trace.spoilt):
            array[...] = entries
        trace.spoilt.clear()


def _output(trace: NumpyTrace, leaf: Any) -> Any:
    """What `f` returned, as an output of a program."""
    if not isinstance(leaf, (RecordingArray, np.ndarray, np.generic, bool, int, float, complex)):
        raise UntraceableError(f"the function returns {type(leaf).__name__} {leaf!r:.60}; return arrays")
    value = trace.raw(leaf)
    if kind_of(value) == "complex":
        raise UntraceableError("the function returns complex numbers; return their real and imaginary parts")
    return value
