"""The functional form of a program in torch's dialect: `while_loop` or `scan` for loops, `cond` for branches.

All values are tensors, including ints and bools. In these constructs a body must not return one of its inputs
or the same tensor twice, so such outputs are cloned. `cond` cannot be differentiated if it returns floats
together with other dtypes, so each kind gets a `cond` of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from gradfuzz.oracles.emit.graph import FunctionScope, GraphWriter
from gradfuzz.oracles.emit.op_source import Params
from gradfuzz.oracles.emit.statements import ATOM, Piece, Pieces
from gradfuzz.oracles.torch.emit import TorchEmitter
from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Node, Var
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import Type

LOOPS: Mapping[str, str] = MappingProxyType(
    {
        "scan": "torch._higher_order_ops.scan.scan",
        "while_loop": "torch._higher_order_ops.while_loop.while_loop",
    }
)
"""Where each construct of loops is."""

IMPORTS: Mapping[str, str] = MappingProxyType(
    {
        "cond": "from torch import cond",
        **{name: f"from {place.rpartition('.')[0]} import {name}" for name, place in LOOPS.items()},
    }
)
"""The import of each construct."""

_VIEWS = frozenset(
    {
        *("astype", "broadcast_to", "conj", "diagonal", "einsum", "imag", "index", "index_update"),
        *("matrix_power", "permute_dims", "real", "reshape"),
    }
)
"""Ops whose result may be their argument or a view of it."""


def loop_source(graph: Graph, precision: Precision, style: str) -> tuple[str, str]:
    """The imports and source of `graph` as a function `f` of tensors with globals `torch` and `dtype`."""
    source = _TorchLoops(TensorEmitter(precision), style).function(separated(graph), "f")
    return "".join(f"{line}\n" for name, line in IMPORTS.items() if f"{name}(" in source), source


class TensorEmitter(TorchEmitter):
    """Everything is a tensor, including int and bool scalars."""

    def is_host(self, value: Type) -> bool:
        return False

    def value(self, piece: Piece) -> Piece:
        if piece.literal is not None and not piece.type.is_inexact:
            return Piece(f"torch.tensor({piece.text})", piece.type)
        return super().value(piece)

    def apply(self, op: str, args: Pieces, params: Params, together: str | None = None) -> Piece:
        if all(a.literal is not None for a in args):
            args = [self.value(args[0]), *args[1:]]
        return super().apply(op, args, params, together)

    def indexed(self, x: Piece, indices: Pieces, pattern: ParamValue, result: Type) -> str:
        """Applies plain ints and slices first, then each tensor as a one-entry index, and drops its axis."""
        places = self.places(pattern, ["" if i.literal is None else i.text for i in indices])
        selecting = [i.at(ATOM) for i in indices if i.literal is None]
        text, axis = x.at(ATOM), 0
        if any(places):
            text += f"[{', '.join(place or ':' for place in places)}]"
        for place in places:
            if not place:
                text = f"{text}[{':, ' * axis}{selecting.pop(0)}.reshape(1)].squeeze({axis})"
            axis += ":" in place
        return text

    def index_updated(self, x: Piece, value: Piece, indices: Pieces, pattern: ParamValue) -> str:
        """With tensors as indices: one index per axis, broadcast to the shape of the place.

        A slice becomes the range of its indices.
        """
        if all(i.literal is not None for i in indices):
            return super().index_updated(x, value, indices, pattern)
        assert isinstance(pattern, tuple), "the type checker lets no other pattern through"
        places, remaining = [], sum(entry != "at" for entry in pattern)
        ranges = self.places(pattern, [self.value(i).text for i in indices], "torch.arange({}, {})")
        for entry, text in zip(pattern, ranges, strict=True):
            remaining -= entry != "at"
            others = ", 1" * remaining
            places.append(f"{text}.reshape(-1{others})" if entry != "at" and others else text)
        return f"{x.at(ATOM)}.index_put({_tuple(places)}, {value.text})"


class _TorchLoops(GraphWriter):
    """Writes loops as `while_loop` or `scan`."""

    def __init__(self, emitter: TensorEmitter, style: str) -> None:
        super().__init__(emitter)
        self.style = style

    def results(self, scope: FunctionScope, graph: Graph) -> list[str]:
        """The results of a function: fresh tensors, each of them once."""
        fresh = {n.output for n in graph.nodes if isinstance(n, Equation) and _is_new(n)}
        fresh.update(v for n in graph.nodes if isinstance(n, (Loop, Branch)) for v in n.outputs)
        times = Counter(graph.outputs)
        return [self.own(scope, a, a in fresh and times[a] == 1) for a in graph.outputs]

    def own(self, scope: FunctionScope, atom: Atom, fresh: bool = False) -> str:
        """`atom` as a tensor that shares no memory; from rank 2 on also in row-major order."""
        piece = self.emitter.value(self.piece(scope, atom))
        if piece.type.rank > 1:
            return f"{piece.at(ATOM)}.clone(memory_format=torch.contiguous_format)"
        return piece.text if fresh or not isinstance(atom, Var) else f"{piece.at(ATOM)}.clone()"

    def initial(self, scope: FunctionScope, atom: Atom) -> str:
        """A carry's first value. A name may be that of an input, or of a value that the body also reads."""
        return self.own(scope, atom, fresh=not self.piece(scope, atom).text.isidentifier())

    def branch(self, scope: FunctionScope, node: Branch) -> None:
        if not node.outputs:
            return
        predicate = self.emitter.value(self.piece(scope, node.predicate))
        if _is_flags(node):
            self.flags(scope, node, predicate)
            return
        ways = []
        for hint, graph in (("then", node.then), ("otherwise", node.otherwise)):
            inner = self.inner(scope, graph.inputs, node.operands)
            self.nodes(inner, graph)
            ways.append(self.define(scope, hint, [], inner, _several(self.results(inner, graph))))
        targets = [self.new(scope, v) for v in node.outputs]
        scope.add(f"{_several(targets)} = cond({predicate.text}, {', '.join(ways)}, ())")

    def flags(self, scope: FunctionScope, node: Branch, predicate: Piece) -> None:
        """Both sides and a selection, for ints and bools that cannot fail."""
        if not predicate.text.isidentifier() and len(node.outputs) > 1:
            name = scope.name("chosen")
            scope.add(f"{name} = {predicate.text}")
            predicate = Piece(name, predicate.type)
        sides = []
        for graph in (node.then, node.otherwise):
            known = zip(graph.inputs, node.operands, strict=True)
            scope.values.update({v: self.piece(scope, a) for v, a in known})
            self.nodes(scope, graph)
            sides.append([self.emitter.value(self.piece(scope, a)).text for a in graph.outputs])
        for var, then, otherwise in zip(node.outputs, *sides, strict=True):
            scope.add(f"{self.new(scope, var)} = torch.where({predicate.text}, {then}, {otherwise})")

    def loop(self, scope: FunctionScope, node: Loop) -> None:
        assert len(node.outputs) == len(node.initial), "a program's own loops have no stacks"
        if not node.carries:
            return
        initial = [self.initial(scope, a) for a in node.initial]
        if self.style == "scan":
            self.scan(scope, node, initial)
        else:
            self.while_loop(scope, node, initial)

    def body(self, scope: FunctionScope, node: Loop, graph: Graph) -> tuple[FunctionScope, list[str]]:
        """The inside of a function of the carries, and its parameters; its statements follow."""
        inner = self.inner(scope, graph.inputs[: len(node.constants)], node.constants)
        return inner, [self.new(inner, v) for v in graph.inputs[len(node.constants) :]]

    def scan(self, scope: FunctionScope, node: Loop, initial: Sequence[str]) -> None:
        assert node.count is not None, "scan is asked for counted loops only"
        inner, (*carries, index) = self.body(scope, node, node.body)
        carry = inner.name("carry")
        inner.add(f"{_several(carries)} = {carry}")
        self.nodes(inner, node.body)
        result = f"{_tuple(self.results(inner, node.body))}, ()"
        step = self.define(scope, "step", [carry, index], inner, result)
        count = self.piece(scope, node.count)
        trips = count.text if count.literal is not None else f"int({count.text})"
        targets = _tuple([self.new(scope, v) for v in node.carries])
        scope.add(f"{targets}, _ = scan({step}, {_tuple(initial)}, torch.arange({trips}))")

    def while_loop(self, scope: FunctionScope, node: Loop, initial: Sequence[str]) -> None:
        inner, params = self.body(scope, node, node.body)
        self.nodes(inner, node.body)
        outputs = self.results(inner, node.body)
        if node.form == "for":
            assert node.count is not None, "a counted loop has a count"
            *carries, index = params
            count = self.piece(scope, node.count).at(ATOM)
            test = FunctionScope(inner.indent, {count}, [], {})
            names = [test.name(name) for name in (index, *carries)]
            again = self.define(scope, "again", names, test, f"{names[0]} < {count}")
            params, outputs = [index, *carries], [f"{index} + 1", *outputs]
            extra, start = ["_"], ["torch.tensor(0)"]
        elif node.form == "while":
            assert node.condition is not None, "a loop that tests has a condition"
            outer, names = self.body(scope, node, node.condition)
            self.nodes(outer, node.condition)
            again = self.define(scope, "again", names, outer, ", ".join(self.results(outer, node.condition)))
            extra, start = [], []
        else:
            assert node.condition is not None, "a body-first loop has a condition"
            names = self.named(inner, node, outputs)
            self.nodes(inner, node.condition)
            outputs = [*self.results(inner, node.condition), *names]
            more = inner.name("more")
            test = FunctionScope(inner.indent, set(), [], {})
            again = self.define(scope, "again", [more, *params], test, f"{more}.clone()")
            params, extra, start = [more, *params], ["_"], ["torch.tensor(True)"]
        body = self.define(scope, "body", params, inner, _several(outputs))
        targets = _several([*extra, *(self.new(scope, v) for v in node.carries)])
        scope.add(f"{targets} = while_loop({again}, {body}, {_tuple([*start, *initial])})")


def separated(graph: Graph) -> Graph:
    """`graph` with every branch of mixed dtypes split in two.

    One branch returns floats and complex numbers, the other the rest; each computes only what it returns.
    """
    nodes: list[Node] = []
    for node in graph.nodes:
        match node:
            case Loop():
                condition = None if node.condition is None else separated(node.condition)
                nodes.append(replace(node, body=separated(node.body), condition=condition))
            case Branch():
                sides = separated(node.then), separated(node.otherwise)
                for floats in (False, True):
                    kept = [k for k, v in enumerate(node.outputs) if v.type.is_inexact == floats]
                    then, otherwise = (_computing(side, [side.outputs[k] for k in kept]) for side in sides)
                    outputs = tuple(node.outputs[k] for k in kept)
                    part = replace(node, then=then, otherwise=otherwise, outputs=outputs)
                    nodes += [part] if kept else []
            case Equation():
                nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _computing(graph: Graph, outputs: Sequence[Atom]) -> Graph:
    """The part of `graph` that `outputs` depend on."""
    wanted, nodes = set(outputs), []
    for node in reversed(graph.nodes):
        if wanted.intersection(node.outputs):
            wanted.update(node.inputs)
            nodes.append(node)
    return replace(graph, nodes=tuple(reversed(nodes)), outputs=tuple(outputs))


def _is_flags(node: Branch) -> bool:
    """Whether a branch returns only ints and bools, and both sides can run for any predicate."""
    if any(v.type.is_inexact for v in node.outputs):
        return False
    inside = (*node.then.nodes, *node.otherwise.nodes)
    return all(_is_flags(n) if isinstance(n, Branch) else _never_fails(n) for n in inside)


def _never_fails(node: Equation | Loop) -> bool:
    may_fail = ("index", "index_update", "remainder")
    return isinstance(node, Equation) and node.op not in may_fail and not OPS[node.op].indices


def _is_new(node: Equation) -> bool:
    """Whether the result has its own memory.

    A reduction over no axes is its argument, and one of several results may be read twice.
    """
    unchanged = OPS[node.op].kind == "reduction" and node.inputs[0].type.shape == node.output.type.shape
    return node.op not in _VIEWS and not OPS[node.op].parts and (not unchanged or node.op == "cumulative_sum")


def _tuple(texts: Sequence[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _several(texts: Sequence[str]) -> str:
    """The texts of a tuple, without brackets where they are not needed."""
    return f"({texts[0]},)" if len(texts) == 1 else ", ".join(texts)
