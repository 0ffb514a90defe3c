"""What tensor programs compute: one row for each op and way of using it.

A recipe is text of the program language. `{x}` is its input array, `{y}` the name of its result, `{z}` a name
for an intermediate value; text without `{y}` is an expression. `blanks` fills all other braces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Want = Literal["", "axis", "entries", "rows", "full", "image"]
"""What a recipe needs of the shape of `{x}`: nothing; an axis; an axis that is not empty, or no axis; a first
axis that is not empty; axes, none of them empty; the axes (batch, channels, one or two more), only the batch
may be empty.
"""


@dataclass(frozen=True, slots=True)
class TensorRecipe:
    """One row: its op, text and need. `keeps`: the result has the shape of `{x}`, so a loop may repeat it."""

    op: str
    text: str
    want: Want = ""
    keeps: bool = False

    @property
    def broadcasts(self) -> bool:
        """Whether it has an operand of another shape than `{x}`."""
        return "{other}" in self.text


def _row(op: str, text: str, want: Want = "") -> TensorRecipe:
    return TensorRecipe(op, text, want)


def _keeping(op: str, text: str, want: Want = "") -> TensorRecipe:
    return TensorRecipe(op, text, want, keeps=True)


def _looping(op: str, text: str, want: Want = "") -> TensorRecipe:
    """A recipe with statements `{y} = ...`; the lines of a loop follow after a bar."""
    before, loop, *body = text.split(" | ")
    return TensorRecipe(
        op, "\n".join((*before.split("; "), f"{loop}:", *(f"    {line}" for line in body))), want
    )


_REDUCTIONS = (
    _row("sum", "sum({x}, axis={axes}, keepdims={keep})"),
    _row("mean", "mean({x}, axis={filled}, keepdims={keep})", "entries"),
    _row("prod", "prod({x}, axis={axes}, keepdims={keep})"),
    _row("amax", "amax({x}, axis={filled}, keepdims={keep})", "entries"),
    _row("amin", "amin({x}, axis={filled}, keepdims={keep})", "entries"),
    _row("logsumexp", "logsumexp({x}, axis={filled}, keepdims={keep})", "entries"),
    _keeping("mean", "{x} - mean({x}, axis={filled}, keepdims=True)", "entries"),
    _keeping("sum", "{x} / (1.0 + sum({x} * {x}, axis={axes}, keepdims=True))"),
)

_SCANS = (
    _keeping("cumulative_sum", "cumulative_sum({x}, axis={axis})", "axis"),
    _keeping("cumulative_prod", "cumulative_prod({x}, axis={axis})", "axis"),
    _keeping("cumulative_max", "cumulative_max({x}, axis={axis})", "axis"),
    _row("window_sum", "window_sum({x}, {window}, strides={strides}, padding={padding})", "axis"),
    _row("conv", "conv({x}, {kernel}, strides={steps}, padding={margins})", "image"),
    _keeping("softmax", "softmax({x}, axis={axis})", "axis"),
    _keeping("log_softmax", "log_softmax({x}, axis={axis})", "axis"),
)

_SHAPES = (
    _row("reshape", "reshape({x}, {reshaped})"),
    _row("permute_dims", "permute_dims({x}, axes={order})"),
    _keeping("flip", "flip({x}, axis={axis})", "axis"),
    _row("broadcast_to", "broadcast_to({x}, {grown})"),
    _row("concat", "concat({x}, {beside}, axis={axis})", "axis"),
    _row("concat", "concat({x}, 0.5 * {x}, {x} * {x}, axis={axis})", "axis"),
    _row("stack", "stack({x}, {same} * {x}, axis={new})"),
    _row("stack", "stack([{x}, {x}], axis={new})"),
    _row("index", "{x}[{place}]", "full"),
    _row("index", "{x}[0:{less}] * {x}[1:{rows}]", "rows"),
    _keeping("index_update", "index_update({x}, sin({x}[{place}]), {written})", "full"),
)

_GATHERING = (
    _row("take", "take({x}, {places}, axis={long})", "full"),
    _row("take_along_axis", "take_along_axis({x}, {along}, axis={long})", "full"),
    _keeping("scatter_add", "scatter_add({x}, {places}, {updates}, axis={long})", "full"),
    _keeping(
        "scatter_add",
        "scatter_add({x}, {places}, take({x}, {places}, axis={long}) * 0.5, axis={long})",
        "full",
    ),
    _keeping("sort", "sort({x}, axis={axis})", "axis"),
    _keeping("argsort", "take_along_axis({x}, argsort({x}, axis={axis}), axis={axis})", "axis"),
    _row("argsort", "take_along_axis({x}, argsort({same}, axis={axis}), axis={axis}) * {same}", "axis"),
    _keeping(
        "argmax",
        "{x} - 0.5 * take_along_axis({x}, argmax({x}, axis={long}, keepdims=True), axis={long})",
        "full",
    ),
    _row("argmax", "{z} = reshape({x}, ({size},))\n{y} = {z}[argmax({z})] * {z}", "full"),
    _row(
        "argmin",
        "take_along_axis({x}, argmin({same}, axis={long}, keepdims=True), axis={long}) * {same}",
        "full",
    ),
    _keeping("argmin", "where(argmin({x}, axis={long}, keepdims=True) == 0, {x} * {x}, {x})", "full"),
)

_SELECTIONS = (
    _row("maximum", "maximum({x}, {other})"),
    _row("minimum", "minimum({x}, {other})"),
    _keeping("clip", "clip({x}, -0.5, 0.5)"),
    _row("clip", "clip({x}, {other}, 1.0)"),
    _row("clip", "clip({other}, {x}, 1.5)"),
    _row("clip", "clip({other}, {x} - 1.5, {x})"),
    _row("where", "where({x} > {other}, {x} * {other}, {other})"),
    _row("where", "where({other} <= 0.25, {x}, sin({other}))"),
    _keeping("all", "where(all({x} > -1.5, axis={axes}, keepdims=True), {x} * {x}, 0.5 * {x})"),
    _keeping("any", "where(any({x} >= 1.0, axis={axes}, keepdims=True), {x}, tanh({x}))"),
    _keeping("any", "where(any({x} != 0.5), cos({x}), {x} * {x})"),
    _row("logical_and", "where(logical_and({x} >= -1.0, {other} < 0.75), sin({x}), {x} * {other})"),
    _keeping("logical_or", "where(logical_or(logical_not({x} == 0.5), {x} > 2.0), {x} * {x}, {x})"),
    _keeping("abs", "abs({x}) * {x}"),
)

_BROADCASTS = (
    _row("add", "{x} + {other}"),
    _row("subtract", "{other} - {x}"),
    _row("multiply", "{x} * {other}"),
    _row("divide", "{x} / ({other} * {other} + 1.0)"),
    _row("divide", "{other} / ({x} * {x} + 0.5)"),
    _row("pow", "({x} * {x} + 0.5) ** {other}"),
    _row("multiply", "{x} * sum({x}, axis={axes}, keepdims=True) + {other}"),
)

_CONTRACTIONS = (
    _row("matmul", "matmul({x}, {matrix})", "axis"),
    _row("matmul", "matmul({x}, {captured})", "axis"),
    _row("matmul", "1.0 / (1.0 + exp(-(matmul({x}, {matrix}) + {bias})))", "axis"),
    _row("einsum", "einsum('{letters}', {x}, {factor})", "axis"),
)

_LOOPS = (
    _looping("index", "{y} = 0.5 * {x} | for i in range({rows}) | {y}[i] = sin({x}[i]) * {y}[i]", "rows"),
    _looping(
        "index_update",
        "{y} = {x} | for i in range({less}) | {y}[i + 1] = {y}[i] * {x}[i + 1] + {x}[i]",
        "rows",
    ),
    _looping(
        "index", "{y} = {x}[0] | for i in range({rows}) | {y} = {y} * 0.5 + {x}[i] * {x}[{less} - i]", "rows"
    ),
    _looping("take", "{y} = {x} | for i in range({rows}) | {y} = {y} * 0.5 + take({x}, i, axis=0)", "rows"),
    _looping(
        "scatter_add",
        "{y} = {x} | for i in range({rows}) | {y} = scatter_add({y}, i, sin({y}[{less} - i]), axis=0)",
        "rows",
    ),
    _looping(
        "multiply",
        "{y} = {x}; {z} = {x} | for i in range({trips}) | {z} = sin({z}) * {same} | {y} = {y} + 0.5 * {z}",
    ),
    _looping(
        "multiply",
        "{y} = {x}; {z} = {x} | for i in range({trips}) | {y} = tanh({y} * {same}) | {z} = {z} * {y}",
    ),
    _looping(
        "where", "{y} = {x} | for i in range({trips}) | {y} = where(i % 2 == 0, sin({y}) + {x}, {y} * {same})"
    ),
    _looping("matmul", "{y} = {x} | for i in range({trips}) | {y} = tanh(matmul({y}, {square}))", "axis"),
    _looping("amax", "{y} = {x} | while amax(abs({y})) > 1.75 | {y} = 0.5 * {y}", "full"),
)

TENSOR_RECIPES: tuple[TensorRecipe, ...] = (
    *_REDUCTIONS,
    *_SCANS,
    *_SHAPES,
    *_GATHERING,
    *_SELECTIONS,
    *_BROADCASTS,
    *_CONTRACTIONS,
    *_LOOPS,
)

TENSOR_OPS = tuple(dict.fromkeys(recipe.op for recipe in TENSOR_RECIPES))
"""The ops that the programs are about."""
