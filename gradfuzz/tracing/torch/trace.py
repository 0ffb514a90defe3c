"""Torch functions as programs: their ATen ops, as they are executed.

A function is run once and its ops are recorded (`steps`). Where Python decides by a bool of the arguments,
the program is 0 on the other side, so that a point between the sides is seen. Where it reads another number
of them (`item()`), that is a constant of the program, which is local then: it may hold next to the arguments
alone. Where a mask is an index, there is no program. A function that writes in place is traced by Torch
itself, on tensors without data, which makes new values of what it writes (`functional`). What `ops` has no
handler for is decomposed by Torch's own table. Of a `torch.autograd.Function` the forward is seen alone. What
hides values from autograd (`detach`, `no_grad`) is noted: the gradient need not be the derivative of the
values then.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from gradfuzz.engine.rules.value import Value
from gradfuzz.errors import UntraceableError
from gradfuzz.private_names import private
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.types import DType
from gradfuzz.tracing.common import compositions
from gradfuzz.tracing.common.compositions import as_kind, check_room, kind_of, too_long, where_held
from gradfuzz.tracing.common.graph import confirm, float_dtype, graph_of, inputs_of, program_of
from gradfuzz.tracing.torch.moves import SHAPE_ONLY
from gradfuzz.tracing.torch.ops import handler_of
from gradfuzz.tracing.torch.steps import (
    Ref,
    Steps,
    TorchRecorder,
    TorchStep,
    deciding,
    decision,
    drawn_at_random,
    failure,
    is_random,
    name_of,
)
from gradfuzz.tracing.torch.values import UNSAID, Masked, Out, array_of, operand

pytree = private("torch.utils._pytree", UntraceableError)
_SET_GRAD_ENABLED = private("torch._C._set_grad_enabled", UntraceableError)

_CONVERSIONS = (
    *("item", "tolist", "numpy", "__array__", "__bool__", "__float__", "__int__", "__index__", "__complex__"),
    *("__contains__", "is_nonzero", "equal", "allclose"),
)
"""Functions that turn tensors into numbers of Python."""

_HOOKS = ("register_hook", "register_post_accumulate_grad_hook")

_NOT_MEANT = "its gradient need not be the derivative of the values"

_KINDS: dict[torch.dtype, DType] = {torch.bool: "bool", torch.int64: "int", torch.int32: "int"}


def traced(f: Callable[..., Any], args: Sequence[Any], rounded: Precision | None = None) -> Program:
    """The program that `f` computes on tensors of the shapes and dtypes of `args`.

    The parameters are named as those of `f`; the outputs are the tensors that it returns, in the order of
    Torch's pytrees. `UntraceableError` where there is no such program. A function that is known to be
    `rounded` may convert numbers to other float dtypes, and the program does not.
    """
    arrays = [np.asarray(a) for a in args]
    graph, hidden = _graph(f, arrays, rounded=rounded is not None)
    try:
        program = program_of(graph)
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            leaves = pytree.tree_leaves(f(*map(_tensor, arrays)))
            outputs = [array_of(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        confirm(program, arrays, outputs, FORMATS[rounded].dtype if rounded else float_dtype(arrays))
    except UntraceableError as error:
        raise (hidden.beside(error) if hidden else error) from error
    if hidden is not None:
        hidden.program = program
        raise hidden
    return program


def traced_graph(
    f: Callable[..., Any], args: Sequence[Any], *, derivative: bool = False, rounded: bool = False
) -> Graph:
    """The same as a graph, which nothing confirms.

    `derivative`: `f` is one. What hides values from autograd means nothing in it, it may read one triangle of
    a matrix, and a conversion between float dtypes is the number itself.
    """
    graph, hidden = _graph(f, args, derivative=derivative, rounded=rounded)
    if hidden is not None and (hidden.detached or hidden.local):
        raise hidden
    return graph


def _graph(
    f: Callable[..., Any], args: Sequence[Any], *, derivative: bool = False, rounded: bool = False
) -> tuple[Graph, UntraceableError | None]:
    """The graph, and what is hidden from autograd in it."""
    arrays = [np.asarray(a) for a in args]
    dtype = _torch_dtype(float_dtype(arrays))
    tensors = [_tensor(a) for a in arrays]
    # What the user compiled runs as it is written: else Dynamo compiles the tracing itself, and warns of it.
    with warnings.catch_warnings(), torch.compiler.set_stance("force_eager"):
        warnings.simplefilter("ignore")
        steps, hidden = (_recorded(f, tensors), None) if derivative else _executed(f, tensors)

        def run(*values: Value) -> tuple[Any, ...]:
            return _Walk(steps, dtype, converts=derivative or rounded).results(values)

        run.__name__ = getattr(f, "__name__", "f")
        try:
            return graph_of(run, *inputs_of(f, arrays), arrays, derivative=derivative), hidden
        except UntraceableError as error:
            raise (hidden.beside(error) if hidden else error) from error


def _torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    result: torch.dtype = getattr(torch, dtype.name)
    return result


def _tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if is_float(array.dtype):
        return torch.tensor(array.astype(np.float64), dtype=_torch_dtype(array.dtype), requires_grad=True)
    return torch.tensor(array)


# What f executes --------------------------------------------------------------------------------------------


class _Guard(TorchFunctionMode):
    """Sees each call of Torch that `f` makes, and remembers the first one that no program says, whatever `f`
    does with the exception, and the first one that hides a value from autograd.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refused: UntraceableError | None = None
        self.hidden: UntraceableError | None = None
        self.recorder: TorchRecorder | None = None
        self.local = ""
        """Why the steps may hold next to the arguments alone."""
        self.unseen = False
        self.undecided: tuple[type[Exception], ...] = ()
        """What tensors without data raise where a number decides."""
        self.outcomes: list[tuple[str, bool, Any]] = []
        """What Python was told of tensors, and whether the arguments decided it."""
        self.asked: list[tuple[torch.Tensor | None, Any]] = []
        """The bools that decide, of tensors without data."""
        self.reset()

    def reset(self) -> None:
        """Before the function is called (again)."""
        self.hiding = False
        self.calls = 0
        self.followed: list[bool] = []

    def refuse(self, reason: str, *, stopped: bool = False) -> UntraceableError:
        self.refused = self.refused or UntraceableError(reason, stopped=stopped)
        return self.refused

    def why(self, error: UntraceableError) -> UntraceableError:
        """Why there is no program, where this error ended the trace."""
        error = self.refused or error
        return self.hidden.beside(error) if self.hidden is not None else error

    def note(self, reason: str) -> None:
        """What hides a value from autograd, and computes it all the same."""
        self.hidden = self.hidden or UntraceableError(f"{reason}, so {_NOT_MEANT}", stopped=True)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.calls += 1
        if self.calls > compositions.MOST_EQUATIONS:
            raise self.refuse(too_long())
        name = getattr(func, "__name__", str(func))
        if is_switch(func):
            self.hiding = not args[0] and (self.hiding or torch.is_grad_enabled())
            return func(*args, **kwargs)
        differentiable = [t for t in pytree.tree_leaves((args, kwargs)) if _is_followed(t)]
        if differentiable and torch.is_grad_enabled():
            self._check(func, name, args, kwargs)
        if torch.is_inference_mode_enabled():
            raise self.refuse("torch.inference_mode hides what it computes from autograd", stopped=True)
        if name in _CONVERSIONS:
            return self._told(func, name, args, kwargs)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            if isinstance(error, self.undecided):
                raise self.refuse(decision(name)) from error
            raise
        hidden = self.hiding and not torch.is_grad_enabled() and differentiable
        if hidden and any(map(_is_float, pytree.tree_leaves(result))):
            self.note(f"{name} under torch.no_grad: what it computes is hidden from autograd")
        return result

    def _told(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """What a function tells Python of a tensor. Without data it tells what it told of the numbers."""
        if self.recorder is None:
            told, asks, outcome = self.outcomes.pop(0) if self.outcomes else ("", False, None)
            if told != name:
                raise self.refuse(decision(name))
            if asks:
                self.asked.append((deciding(name, args), outcome))
            return outcome
        depends = self.recorder.depends((args, kwargs))
        asked = deciding(name, args) if depends else None
        if depends and asked is None and name != "equal":  # which is of two shapes
            self.local = self.local or decision(name)
        self.unseen = self.unseen or (depends and not torch.is_grad_enabled())
        self.recorder.is_deciding = depends
        try:
            outcome = func(*args, **kwargs)
        except Exception as error:
            raise self.refuse(decision(name)) from error
        finally:
            self.recorder.is_deciding = False
        if asked is not None and not (self.recorder.decide(asked, outcome) or self.recorder.writes):
            raise self.refuse(decision(name))
        self.outcomes.append((name, asked is not None, outcome))
        return outcome

    def _check(self, func: Any, name: str, args: Any, kwargs: Any) -> None:
        """What is asked of tensors that autograd follows."""
        if hides(func, name):
            hidden = f"{'Tensor.data' if _is_data(func) else name} hides a value from autograd"
            if name in ("detach_", "new_tensor", "tensor"):
                raise self.refuse(f"{hidden}, so {_NOT_MEANT}", stopped=True)
            self.note(hidden)
        if name in _HOOKS or (name == "requires_grad_" and args[1:2] == (False,)):
            self.note(f"{name} changes what autograd does with a value")
        if name == "backward" or (
            func is torch.autograd.grad and not (kwargs.get("create_graph") or args[4:5] == (True,))
        ):
            raise self.refuse(
                f"torch.autograd.{name} inside the function makes constants to autograd; give"
                " create_graph=True to torch.autograd.grad",
                stopped=True,
            )


def is_switch(func: Any) -> bool:
    """Whether a function begins or ends what autograd does not see."""
    return func is _SET_GRAD_ENABLED


def hides(func: Any, name: str) -> bool:
    """Whether a function gives the number of a tensor and hides from autograd whose it is."""
    return _is_data(func) or name in ("detach", "detach_", "new_tensor", "tensor")


def _is_data(func: Any) -> bool:
    return getattr(func, "__self__", None) is torch.Tensor.data


def _is_followed(t: Any) -> bool:
    """Whether autograd follows it; what the transforms of torch.func wrap does not say so itself."""
    return _is_float(t) and (t.requires_grad or torch.func.debug_unwrap(t, recurse=False) is not t)


def _is_float(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())


def _recorded(f: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Steps:
    """What a derivative executes on `tensors`; `UntraceableError` where that is no program."""

    def plain(*args: Any) -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            return f(*args)

    recorder = TorchRecorder(tensors, UntraceableError)
    try:
        with recorder:
            result = plain(*tensors)
        if not recorder.writes:
            return recorder.steps(result)
        from gradfuzz.tracing.torch.functional import functional_steps

        return functional_steps(plain, tensors)
    except UntraceableError:
        raise
    except Exception as error:  # whatever f and Torch raise, there is no graph
        raise failure("trace the derivative", error) from error


def _executed(
    f: Callable[..., Any], tensors: Sequence[torch.Tensor]
) -> tuple[Steps, UntraceableError | None]:
    """What `f` executes on `tensors`, and what it hides from autograd; `UntraceableError` where that is no
    program.
    """
    guard = _Guard()

    def guarded(*args: Any) -> Any:
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), guard:
            result = f(*args)
        results = pytree.tree_leaves(result)
        guard.followed = [not _is_float(leaf) or _is_followed(leaf) for leaf in results]
        return (result, [asked for asked, _ in guard.asked]) if guard.asked else result

    guard.recorder = recorder = TorchRecorder(tensors, guard.refuse)
    try:
        with recorder:
            result = guarded(*tensors)
        if recorder.writes:
            from gradfuzz.tracing.torch.functional import UNDECIDED, functional_steps

            guard.reset()
            guard.recorder, guard.undecided = None, UNDECIDED
            steps = functional_steps(guarded, tensors)
            if count := len(guard.asked):
                pairs = zip(steps.results[-count:], (outcome for _, outcome in guard.asked), strict=True)
                decisions = tuple((ref, outcome) for ref, outcome in pairs if isinstance(ref, Ref))
                steps = replace(steps, results=steps.results[:-count], decisions=decisions)
        else:
            steps = recorder.steps(result)
    except UntraceableError as error:
        raise guard.why(error) from error
    except Exception as error:  # whatever f and Torch raise, there is no graph
        raise guard.why(failure("trace the function", error)) from error
    if guard.refused is not None:
        raise guard.why(guard.refused)
    hidden = guard.hidden or _not_followed(steps, guard.followed)
    if guard.local or guard.unseen:
        hidden = hidden or UntraceableError(guard.local)
        hidden.local, hidden.unseen = guard.local, guard.unseen
    return steps, hidden


def _not_followed(steps: Steps, followed: Sequence[bool]) -> UntraceableError | None:
    """What there is to say where floats of the arguments go into a float result, and autograd has not seen
    it: somebody has hidden it.
    """
    reached: set[int] = set()
    for k, step in enumerate(steps.steps):
        if any(_is_float(t) for t in pytree.tree_leaves(step.results)) and (
            step.op is None
            or (name_of(step.op) not in SHAPE_ONLY and any(ref.step in reached for ref in step.sources))
        ):
            reached.add(k)
    for k, (leaf, seen) in enumerate(zip(steps.results, followed, strict=True)):
        if isinstance(leaf, Ref) and leaf.step in reached and not seen:
            return UntraceableError(
                f"result {k} is hidden from autograd (mark_non_differentiable, or the like), so {_NOT_MEANT}",
                detached=True,
            )
    return None


# From ATen to the engine ------------------------------------------------------------------------------------


class _Walk:
    """Computes steps: what depends on no argument by Torch itself, all else with the engine's functions."""

    def __init__(self, steps: Steps, dtype: torch.dtype, *, converts: bool = False) -> None:
        self.steps = steps
        self.dtype = dtype
        self.converts = converts
        self.known: dict[int, Any] = {}

    def results(self, values: Sequence[Value]) -> tuple[Any, ...]:
        rest, needed = iter(values), self.steps.needed()
        for k, step in enumerate(self.steps.steps):
            if step.op is None:
                self.known[k] = next(rest)
            elif k in needed:
                check_room()
                self.known[k] = self._call(step)
        results = tuple(_result(self._look_up(leaf)) for leaf in self.steps.results)
        decisions = ((as_kind(operand(self._look_up(r)), "bool"), side) for r, side in self.steps.decisions)
        return where_held(decisions, results)

    def _call(self, step: TorchStep) -> Any:
        args, options = pytree.tree_map(self._look_up, (step.args, step.options))
        op, name = step.op, name_of(step.op)
        assert op is not None, "an argument is no call"
        if is_random(op):
            raise UntraceableError(drawn_at_random(name))
        leaves = pytree.tree_leaves((args, options))
        if not any(isinstance(leaf, (Value, Masked)) or leaf is UNSAID for leaf in leaves):
            with torch.no_grad():
                return op(*args, **options)
        handler = handler_of(name)
        if handler is None:
            raise UntraceableError(f"the Torch op {name} has no counterpart among the ops of gradfuzz")
        out = self._out(step)
        try:
            result = handler(out, *args, **options)
        except UntraceableError as error:
            raise UntraceableError(f"{name}: {error.reason}", detached=error.detached) from error
        except Exception as error:  # an argument that the handler does not know
            raise UntraceableError(f"{name}: {type(error).__name__}: {error}") from error
        return self._fitting(step, out, result)

    def _look_up(self, leaf: Any) -> Any:
        if not isinstance(leaf, Ref):
            return leaf.detach() if isinstance(leaf, torch.Tensor) else leaf
        value = self.known[leaf.step]
        return value if leaf.part is None else value[leaf.part]

    def _out(self, step: TorchStep) -> Out:
        """What Torch says that the results are; mixed precisions end here."""
        kinds: list[DType] = []
        shapes: list[tuple[int, ...]] = []
        for t in pytree.tree_leaves(step.results):
            if t is None:  # what nobody asks for
                kinds.append("float")
                shapes.append(())
                continue
            kind = _KINDS.get(t.dtype) if isinstance(t, torch.Tensor) else None
            if isinstance(t, torch.Tensor) and t.dtype == self.dtype:
                kind = "float"
            elif isinstance(t, torch.Tensor) and t.is_complex() and t.dtype == self.dtype.to_complex():
                kind = "complex"
            elif isinstance(t, torch.Tensor) and self.converts and _is_float(t):
                kind = "complex" if t.is_complex() else "float"
            if kind is None:
                made = f"{name_of(step.op)} makes {getattr(t, 'dtype', type(t).__name__)}"
                raise UntraceableError(
                    f"{made} where the arguments are {self.dtype}: a program has one precision"
                )
            kinds.append(kind)
            shapes.append(tuple(t.shape))
        assert step.op is not None, "an argument is no call"
        first = self.steps.tensor(step.args[0]) if step.args else None
        row_major = first is None or first.is_contiguous()
        return Out(step.op, tuple(kinds), tuple(shapes), row_major)

    def _fitting(self, step: TorchStep, out: Out, result: Any) -> Any:
        """`result`, which has the dtypes and shapes that Torch says; constants are Torch's tensors again."""
        several = isinstance(result, (tuple, list))
        parts: list[Any] = []
        for k, part in enumerate(result if several else [result]):
            if part is not UNSAID:
                value = part.value if isinstance(part, Masked) else part
                kind, shape = kind_of(value), tuple(np.shape(value))
                if kind != out.kinds[k] or not _equal(shape, out.shapes[k]):
                    raise UntraceableError(
                        f"{name_of(step.op)} is {out.kinds[k]}{list(out.shapes[k])} to Torch and"
                        f" {kind}{list(shape)} to gradfuzz"
                    )
            if part is not UNSAID and not isinstance(part, (Value, Masked)):
                part = self._tensor(part)
            parts.append(part)
        return tuple(parts) if several else parts[0]

    def _tensor(self, constant: Any) -> torch.Tensor:
        """A constant as Torch has it: floats in the working dtype."""
        made = torch.as_tensor(constant)
        return made.to(self.dtype) if made.is_floating_point() else made


def _equal(mine: tuple[int, ...], theirs: tuple[Any, ...]) -> bool:
    """Whether two shapes are equal; a size that fake tensors do not know, that of what a constant mask
    chooses, is any.
    """
    return len(mine) == len(theirs) and all(
        not isinstance(n, int) or m == n for m, n in zip(mine, theirs, strict=True)
    )


def _result(value: Any) -> Any:
    """What `f` returned, as an output of a program."""
    if value is None:
        raise UntraceableError("the function returns a None; return tensors")
    value = operand(value)
    if isinstance(value, Value) and value.type.is_complex:
        raise UntraceableError("the function returns complex numbers; return their real and imaginary parts")
    if not isinstance(value, (Value, np.ndarray, np.generic, bool, int, float)):
        raise UntraceableError(f"the function returns {type(value).__name__} {value!r:.60}; return tensors")
    return value
