"""Torch on all points of a question in one call: "torch:vmap" and "torch:grad_of_vmap".

An input that is equal at all points is shared (`in_dims` None), the others are mapped; points on a grid of
two axes are two nested `torch.func.vmap`. The interpreter runs the program's loops, so vmap does not support
a decision or a trip count that differs between instances: it is "unsupported".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gradfuzz.oracles.base import Answer, Point, Question, Traits
from gradfuzz.oracles.engine.summed import of_a_sum
from gradfuzz.oracles.torch.derivatives import Differentiated, Function, Tensors, Weights, by_func
from gradfuzz.oracles.torch.namespace import TorchNamespace
from gradfuzz.oracles.torch.unrolled import TorchOracle, argument, by_either, nested_forward
from gradfuzz.programs.evaluation.interpret import interpret
from gradfuzz.programs.evaluation.layout import Layout, layout_of


class _Batched(TorchOracle):
    """The common part: one call, whose results are split."""

    traits = Traits(batched=True, sampling_stride=4)

    def answers(self, question: Question) -> list[Answer]:
        points = [point.inputs for point in question.points]
        layout = layout_of(points)
        scalars = [p.name for p in question.program.params if not p.type.shape and not p.type.is_float]
        differing = ", ".join(name for name in scalars if layout.axes[name])
        if differing:
            words = "torch.func.vmap cannot decide or count by what differs between instances"
            return [Answer("unsupported", message=f"{words}: {differing}") for _ in question.points]
        whole = Point({p.name: layout.column(points, p.name) for p in question.program.params})
        answer = self.attempt(question, whole, lambda question, point: _Mapped(question, point, layout))
        if answer.status != "ok":
            return [answer for _ in question.points]
        values, slopes = answer.values, answer.gradient.items()
        return [
            Answer("ok", tuple(y[at] for y in values), {name: g[at] for name, g in slopes})
            for at in map(layout.instance, range(len(points)))
        ]


class _Mapped:
    """A program under vmap, as a function of the columns of `wrt`; the other columns are constants."""

    def __init__(self, question: Question, columns: Point, layout: Layout) -> None:
        self.question = question
        self.layout = layout
        params, precision = question.program.params, question.precision
        self.names = [p.name for p in params]
        self.columns = [argument(columns.inputs[p.name], p.type, precision) for p in params]

    def one(self, *arguments: Any) -> tuple[torch.Tensor, ...]:
        """The program at one instance of all its parameters."""
        namespace = TorchNamespace(self.question.precision)  # of this run alone: it caches decompositions
        outputs = interpret(self.question.program, dict(zip(self.names, arguments, strict=True)), namespace)
        return tuple(torch.as_tensor(y) for y in outputs)

    def with_inputs(self, arguments: Sequence[Any], xs: Tensors) -> list[Any]:
        """All arguments, with those in `wrt` replaced by `xs`."""
        whole = dict(zip(self.names, arguments, strict=True))
        return list({**whole, **dict(zip(self.question.wrt, xs, strict=True))}.values())

    def mapped(self, g: Callable[..., Any], aligned: Sequence[str] = ()) -> Callable[..., Any]:
        """`g`, a function of one instance of all parameters, under vmap; those in `aligned` have all axes."""
        for axis in reversed(self.layout.sizes):
            axes = [0 if n in aligned or axis in self.layout.axes[n] else None for n in self.names]
            g = torch.func.vmap(g, tuple(axes))
        return g

    def __call__(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs: tuple[torch.Tensor, ...] = self.mapped(self.one)(*self.with_inputs(self.columns, xs))
        return outputs

    def spread(self, x: torch.Tensor, own: Sequence[str]) -> torch.Tensor:
        """`x`, whose leading axes are `own`, with all axes."""
        at = tuple(slice(None) if axis in own else None for axis in self.layout.sizes)
        return x[at].expand(*self.layout.shape, *x.shape[len(own) :]).clone()


def _mapped_derivative(
    f: Function, xs: Tensors, weights: Weights, directions: Tensors, modes: Sequence[str]
) -> Differentiated:
    """The derivative of one instance, mapped."""
    assert isinstance(f, _Mapped), "answers makes no other"

    def derivative(*arguments: Any) -> Differentiated:
        def of_wrt(*xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return f.one(*f.with_inputs(arguments, xs))

        at = [arguments[f.names.index(name)] for name in f.question.wrt]
        return of_wrt(*at), tuple(by_func(of_wrt, at, weights, directions, modes))

    outputs, gradient = f.mapped(derivative)(*f.with_inputs(f.columns, xs))
    return outputs, gradient


def _derivative_of_mapped(
    f: Function, xs: Tensors, weights: Weights, directions: Tensors, modes: Sequence[str]
) -> Differentiated:
    """The derivative of the mapped function.

    Inputs that are differentiated have all axes, so their gradients are those of the instances.
    """
    assert isinstance(f, _Mapped), "answers makes no other"
    wrt, mapped = f.question.wrt, f.mapped(f.one, f.question.wrt)

    def whole(*xs: torch.Tensor) -> Sequence[Any]:
        outputs: Sequence[Any] = mapped(*f.with_inputs(f.columns, xs))
        return outputs

    aligned = [f.spread(x, f.layout.axes[name]) for name, x in zip(wrt, xs, strict=True)]
    factors = [None if w is None else f.spread(w, ()) for w in weights]
    return by_either(whole, aligned, factors, [f.spread(v, ()) for v in directions], modes)


class Vmap(_Batched):
    """The mapped derivative."""

    name = "torch:vmap"
    differentiate = staticmethod(_mapped_derivative)


class GradOfVmap(_Batched):
    """The derivative of the mapped function."""

    name = "torch:grad_of_vmap"
    differentiate = staticmethod(_derivative_of_mapped)

    def answers(self, question: Question) -> list[Answer]:
        return of_a_sum(super().answers(question))

    def supports(self, question: Question) -> str | None:
        return nested_forward(question) or super().supports(question)
