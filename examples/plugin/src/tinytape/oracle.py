"""How gradfuzz asks tinytape: the module that the entry point names."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinytape
from gradfuzz.errors import UnsupportedError
from gradfuzz.oracles import Answer, Oracle, Point, Question
from gradfuzz.programs import ArrayConst, Call, interpret, typecheck, walk
from gradfuzz.programs.arithmetic.namespace import Namespace
from tinytape.tape import Variable, apply

__all__ = ["ways"]


def ways() -> list[Oracle]:
    """The ways into tinytape. One has a bug that was planted, so that there is something to find."""
    return [Tape("tinytape:tape", merge=False), Tape("tinytape:merged", merge=True)]


class Tape(Oracle):
    """Reverse mode of first order. A program runs in Python, loop by loop, and its floats are variables of
    tinytape.
    """

    version = "0.1.0"

    def __init__(self, name: str, *, merge: bool) -> None:
        self.name = name
        self.merge = merge

    def supports(self, question: Question) -> str | None:
        if question.precision not in ("float64", "float32"):
            return f"tinytape has no {question.precision}"
        if question.modes not in ((), ("rev",)):
            return "tinytape has reverse mode of first order only"
        ops = {node.op for node in walk(question.program) if isinstance(node, Call)}
        missing = sorted(op for op in ops if not hasattr(TapeNamespace, op))
        if missing:
            return f"tinytape has no {missing[0]}"
        arrays = [
            name for name, t in typecheck(question.program).variables.items() if t.shape and not t.is_float
        ]
        return f"tinytape has arrays of floats only, and {arrays[0]} is another one" if arrays else None

    def answer(self, question: Question) -> list[Answer]:
        with np.errstate(all="ignore"):
            return [self._one(question, point) for point in question.points]

    def _one(self, question: Question, point: Point) -> Answer:
        inputs: dict[str, Any] = {
            p.name: Variable(point.inputs[p.name]) if p.type.is_float else point.inputs[p.name].item()
            for p in question.program.params
        }
        try:
            outputs = interpret(question.program, inputs, TapeNamespace(question.precision))
            terms = [(y, w) for y, w in zip(outputs, question.weights, strict=True) if w is not None]
            wrt = [inputs[name] for name in question.wrt]
            slopes = (
                tinytape.gradient([y for y, _ in terms], [w for _, w in terms], wrt, merge=self.merge)
                if question.modes
                else []
            )
        except UnsupportedError as error:
            return Answer("unsupported", message=str(error))
        except Exception as error:
            return Answer("error", message=f"{type(error).__name__}: {error}")
        values = tuple(np.asarray(y.value if isinstance(y, Variable) else y) for y in outputs)
        return Answer("ok", values, dict(zip(question.wrt, slopes, strict=False)))


class TapeNamespace(Namespace):
    """The ops of gradfuzz's programs that tinytape has: a method each, by the op's name. What has no method
    is unsupported.
    """

    def __init__(self, precision: str) -> None:
        self.dtype = np.dtype(precision)

    def constant(self, value: float | int | complex) -> Variable:
        return Variable(np.asarray(value, self.dtype))

    def array(self, value: ArrayConst) -> Variable:
        return Variable(np.asarray([entry.value for entry in value.values], self.dtype).reshape(value.shape))

    def decide(self, predicate: Any) -> bool:
        return bool(predicate)

    def astype(self, x: Any, *, dtype: str) -> Any:
        plain = x.value if isinstance(x, Variable) else np.asarray(x)
        if dtype == "float":
            return x if isinstance(x, Variable) else Variable(plain.astype(self.dtype))
        return plain.astype({"int": np.int64, "bool": np.bool_}[dtype]).item()

    def add(self, a: Variable, b: Variable) -> Variable:
        return a + b

    def subtract(self, a: Variable, b: Variable) -> Variable:
        return a - b

    def multiply(self, a: Variable, b: Variable) -> Variable:
        return a * b

    def divide(self, a: Variable, b: Variable) -> Variable:
        return a / b

    def negative(self, x: Variable) -> Variable:
        return -x

    def integer_pow(self, x: Variable, *, n: int) -> Variable:
        return apply(x.value**n, (x, lambda g: g * n * x.value ** (n - 1) if n else 0 * g))

    def sin(self, x: Variable) -> Variable:
        return apply(np.sin(x.value), (x, lambda g: g * np.cos(x.value)))

    def cos(self, x: Variable) -> Variable:
        return apply(np.cos(x.value), (x, lambda g: -g * np.sin(x.value)))

    def tanh(self, x: Variable) -> Variable:
        y = np.tanh(x.value)
        return apply(y, (x, lambda g: g * (1 - y) * (1 + y)))

    def exp(self, x: Variable) -> Variable:
        y = np.exp(x.value)
        return apply(y, (x, lambda g: g * y))

    def log(self, x: Variable) -> Variable:
        return apply(np.log(x.value), (x, lambda g: g / x.value))

    def sqrt(self, x: Variable) -> Variable:
        y = np.sqrt(x.value)
        return apply(y, (x, lambda g: g / (2 * y)))

    def less(self, a: Variable, b: Variable) -> Any:
        return a.value < b.value

    def less_equal(self, a: Variable, b: Variable) -> Any:
        return a.value <= b.value

    def greater(self, a: Variable, b: Variable) -> Any:
        return a.value > b.value

    def greater_equal(self, a: Variable, b: Variable) -> Any:
        return a.value >= b.value

    def sum(self, x: Variable, *, axis: Any, keepdims: bool) -> Variable:
        axes = tuple(range(x.value.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
        return apply(
            x.value.sum(axis=axes, keepdims=keepdims),
            (x, lambda g: np.broadcast_to(g if keepdims else np.expand_dims(g, axes), x.shape)),
        )

    def matmul(self, a: Variable, b: Variable) -> Variable:
        if a.value.ndim != 2 or b.value.ndim != 2:
            raise UnsupportedError("tinytape multiplies matrices only")
        return a @ b
