"""Functions that write in place: Torch's own tracer makes new values of what they write."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.func import functionalize
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from gradfuzz.errors import UntraceableError
from gradfuzz.private_names import private
from gradfuzz.tracing.torch.ops import handler_of
from gradfuzz.tracing.torch.steps import Ref, Steps, TorchStep, decision, failure, is_mutable, name_of

pytree = private("torch.utils._pytree", UntraceableError)

UNDECIDED = (
    private("torch._subclasses.fake_tensor.DataDependentOutputException", UntraceableError),
    private("torch._subclasses.fake_tensor.DynamicOutputShapeException", UntraceableError),
    GuardOnDataDependentSymNode,
)
"""What tensors without data cannot tell."""

_MOST_PASSES = 3
"""A decomposition may write in place, and what is made of that may want to be decomposed."""


def functional_steps(f: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Steps:
    """The steps of `f` without in-place ops, and with the ops that have no handler decomposed. They are
    executed on tensors without data. Raises whatever `f` and Torch raise.
    """
    module = make_fx(f, tracing_mode="fake", _allow_non_fake_inputs=True)(*tensors)
    module.graph.eliminate_dead_code()
    return _steps(_functional(module, tensors))


def _functional(module: GraphModule, tensors: Sequence[torch.Tensor]) -> GraphModule:
    for node in module.graph.nodes:
        if node.op == "call_function" and name_of(node.target) == "_local_scalar_dense":
            raise UntraceableError(decision("item"))
    whole = private("torch._decomp.decomposition_table", UntraceableError)
    table = {op: rule for op, rule in whole.items() if handler_of(name_of(op)) is None}
    plain = [t.detach() for t in tensors]
    for _ in range(_MOST_PASSES):
        try:
            pure = functionalize(module) if _mutates(module) else module
            with torch.no_grad():
                module = make_fx(pure, table, "fake", _allow_non_fake_inputs=True)(*plain)
        except Exception as error:
            raise failure("make the function functional", error) from error
        module.graph.eliminate_dead_code()
        if not _mutates(module):
            return module
    raise UntraceableError(
        "the function writes to its own arguments, or in another way that torch cannot make functional"
    )


def _mutates(module: GraphModule) -> bool:
    return any(is_mutable(node.target) for node in module.graph.nodes)


def _steps(module: GraphModule) -> Steps:
    known: dict[Node, Any] = {}
    steps: list[TorchStep] = []

    def said(leaf: Any) -> Any:
        return known[leaf] if isinstance(leaf, Node) else leaf

    for node in module.graph.nodes:
        args, options = pytree.tree_map(said, (node.args, node.kwargs), is_leaf=_is_node)
        if node.op == "get_attr":
            value = operator.attrgetter(node.target)(module)
            known[node] = value.detach() if isinstance(value, torch.Tensor) else value
        elif node.op == "output":
            return Steps(tuple(steps), tuple(pytree.tree_leaves(args[0])))
        elif node.target is operator.getitem and isinstance(args[0], Ref):
            known[node] = Ref(args[0].step, args[1])
        else:
            known[node] = Ref(len(steps))
            op = node.target if node.op == "call_function" else None
            steps.append(TorchStep(op, tuple(args), dict(options), node.meta.get("val")))
    raise AssertionError("every graph has an output")


def _is_node(leaf: Any) -> bool:
    return isinstance(leaf, Node)
