"""A question in Nx, as an Elixir script: loops as `while`, with all that a body reads in the carry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfuzz.oracles.base import Array
from gradfuzz.oracles.dialects.limits import DialectLimits, refusal
from gradfuzz.oracles.dialects.numbers import decimal, entries, header, listed, unshown
from gradfuzz.oracles.dialects.nx_emit import FUNCTIONS, LACKS, NxEmitter
from gradfuzz.oracles.dialects.nx_linalg_source import shape_text
from gradfuzz.oracles.dialects.reproducer_input import ReproducerInput
from gradfuzz.oracles.emit.graph import FunctionScope, GraphWriter
from gradfuzz.oracles.emit.statements import Piece, nested_list
from gradfuzz.programs.evaluation.layout import layout_of
from gradfuzz.programs.graphs.graph import Atom, Branch, Equation, Graph, Loop, Var
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.program import walk
from gradfuzz.programs.language.syntax import ArrayConst, Call
from gradfuzz.programs.language.types import Type

LIMITS = DialectLimits(
    "Nx",
    LACKS,
    precisions=("float64", "float32", "bfloat16", "float16"),
    complex="complex numbers are not asked about in Nx: its convention for their gradients is another one",
    functions=FUNCTIONS,
)


def unsupported(shown: ReproducerInput) -> str | None:
    """Why Nx cannot be asked; None where it can."""
    for node in walk(shown.question.program):
        if isinstance(node, ArrayConst) and not node.values:
            return "Nx has no arrays without entries"
        if isinstance(node, Call) and any(_is_empty(value) for _, value in node.params):
            return "Nx has no arrays without entries"
    return refusal(LIMITS, shown) or unshown(shown)


def _is_empty(pattern: object) -> bool:
    return isinstance(pattern, tuple) and any(
        isinstance(e, tuple) and e[:1] == ("slice",) and e[1] == e[2] for e in pattern
    )


class NxWriter(GraphWriter):
    """Writes a graph as a `defn`."""

    emitter: NxEmitter

    def function(self, graph: Graph, name: str) -> str:
        scope = FunctionScope("    ", {*self.emitter.reserved}, [], {})
        params = [self.new(scope, v) for v in graph.inputs]
        self.nodes(scope, graph)
        scope.add(packed(self.results(scope, graph)))
        return "\n".join([f"  defn {name}({', '.join(params)}) do", *scope.lines, "  end"]) + "\n"

    def strong(self, scope: FunctionScope, atom: Atom) -> str:
        """A value with a type of its own."""
        return self.emitter.value(self.piece(scope, atom)).text

    def results(self, scope: FunctionScope, graph: Graph) -> list[str]:
        """The outputs of a graph, each with a type of its own."""
        return [self.strong(scope, a) for a in graph.outputs]

    def branch(self, scope: FunctionScope, node: Branch) -> None:
        predicate = self.piece(scope, node.predicate).text
        sides = []
        for graph in (node.then, node.otherwise):
            inner = self.inner(scope, graph.inputs, node.operands)
            inner.taken |= scope.taken
            self.nodes(inner, graph)
            sides.append([*inner.lines, inner.indent + packed(self.results(inner, graph))])
        scope.add(f"{packed([self.new(scope, v) for v in node.outputs])} =")
        scope.lines += [f"{scope.indent}  if {predicate} do", *sides[0]]
        scope.lines += [f"{scope.indent}  else", *sides[1], f"{scope.indent}  end"]

    def loop(self, scope: FunctionScope, node: Loop) -> None:
        assert not node.stacks, "a program's own loops read no stacks"
        assert not node.written, "a program's own loops write no stacks"
        inner = FunctionScope(f"{scope.indent}    ", {*self.emitter.reserved}, [], {})
        carried: list[tuple[str, str]] = []
        constants, body = node.constants, node.body
        names = list(body.inputs[: len(constants)])
        carries = body.inputs[len(constants) : len(constants) + len(node.initial)]
        for var, atom in zip(carries, node.initial, strict=True):
            carried.append((self.new(inner, var), self.strong(scope, atom)))
        count = counter = again = ""
        if node.form == "for":
            assert node.count is not None, "a program's own counted loops have a count"
            counter = self.new(inner, body.inputs[-1])
            self.emitter.counters.add(counter)
            limit = self.piece(scope, node.count)
            count = limit.text
            if limit.literal is None:
                count = inner.name("count")
                carried.append((count, limit.text))
            carried.append((counter, "Nx.tensor(0, type: :s64)"))
        elif node.form == "repeat":
            again = inner.name("again")
            carried.insert(0, (again, "Nx.tensor(1, type: :u8)"))
        shared: dict[str, str] = {}
        for var, atom in zip(names, constants, strict=True):
            outer = self.piece(scope, atom)
            if not isinstance(atom, Var):
                inner.values[var] = outer
            elif outer.text in shared:
                inner.values[var] = Piece(shared[outer.text], var.type)
            else:
                shared[outer.text] = self.new(inner, var)
                carried.append((shared[outer.text], outer.text))
        test = again or f"{counter} < {count}"
        if node.form == "while":
            assert node.condition is not None, "a loop without a count has a condition"
            pairs = zip(node.condition.inputs, body.inputs, strict=True)
            test = self._inline(node.condition, {v: inner.values[same] for v, same in pairs})[0]
        self.nodes(inner, body)
        known = {name for name, _ in carried}
        results = [
            self._carried(text, v.type, known)
            for text, v in zip(self.results(inner, body), carries, strict=True)
        ]
        if again:
            assert node.condition is not None, "a body-first loop has a condition"
            new = self.named(inner, node, results)
            results = [f"stop_grad({self._inline(node.condition, dict(inner.values))[0]})", *new]
        elif counter:
            results += [*([count] if count.isidentifier() else []), f"{counter} + 1"]
        results += [name for name, _ in carried if name in shared.values()]
        bound = carried[1:] if again else carried
        places = {name: self.new(scope, v) for (name, _), v in zip(bound, node.outputs, strict=False)}
        start = ", ".join(name if name == text else f"{name} = {text}" for name, text in carried)
        scope.add(f"{shape_text(places.get(name, '_') for name, _ in carried)} =")
        scope.add(f"  while {{{start}}}, {test} do")
        scope.lines += [*inner.lines, f"{inner.indent}{{{', '.join(results)}}}", f"{scope.indent}  end"]

    @staticmethod
    def _carried(text: str, of: Type, known: set[str]) -> str:
        """The next iteration's carry. Nx differentiates ints and bools too, but not comparisons."""
        first, sign, _ = text.partition(" + ")
        plain = first in known and (not sign or text.removeprefix(f"{first} + ").isdigit())
        return text if of.is_inexact or plain or text.startswith("Nx.tensor(") else f"stop_grad({text})"

    def _inline(self, graph: Graph, known: dict[Var, Piece]) -> list[str]:
        """The outputs of a graph without loops, as expressions of its inputs."""
        scope = FunctionScope("", set(), [], known)
        for node in graph.nodes:
            if isinstance(node, Equation):
                pieces = [self.piece(scope, a) for a in node.inputs]
                scope.values[node.output] = self.emitter.apply(node.op, pieces, dict(node.params))
                continue
            assert isinstance(node, Branch), "a condition has no loops"
            predicate = self.piece(scope, node.predicate).text
            operands = [self.piece(scope, a) for a in node.operands]
            sides = [
                self._inline(side, dict(zip(side.inputs, operands, strict=True)))
                for side in (node.then, node.otherwise)
            ]
            for var, yes, no in zip(node.outputs, *sides, strict=True):
                scope.values[var] = Piece(f"(if {predicate}, do: {yes}, else: {no})", var.type)
        return self.results(scope, graph)


def packed(texts: Sequence[str]) -> str:
    """One value, or a tuple of several."""
    return texts[0] if len(texts) == 1 else shape_text(texts)


def port(shown: ReproducerInput) -> str:
    question, emitter = shown.question, NxEmitter(shown.question.precision)
    told = "Written against the documentation of Nx."
    if question.modes:
        told += " Derivatives are asked for by Nx.Defn.grad, which is reverse mode."
    title = shown.title("Nx (https://github.com/elixir-nx/nx)", vectorized=True)
    program = NxWriter(emitter).function(lower(question.program), "f")
    names = {p.name: emitter.name(p.name) for p in question.program.params}
    module = ["defmodule Program do", "  import Nx.Defn", "", *program.rstrip().splitlines()]
    if question.modes:
        module += ["", *_objective(shown, emitter, names)]
    parts = [
        header(shown, "#", title, told, "Elixir; run it with: elixir FILE"),
        'Mix.install([{:nx, "~> 0.10"}])\n',
        "\n".join([*module, "end"]) + "\n",
        _inputs(shown, emitter, names),
        _asked(shown, emitter, names) + _instance(shown),
        _VERDICT.replace("ROWS", _rows(shown)),
    ]
    return "\n".join(parts)


def _inputs(shown: ReproducerInput, emitter: NxEmitter, names: dict[str, str]) -> str:
    """The inputs; for a vectorized question those at all points, with named axes in front."""
    points = [point.inputs for point in shown.question.points]
    layout, lines = layout_of(points) if shown.together else None, []
    for p in shown.question.program.params:
        array, axes = shown.inputs[p.name], ""
        if layout is not None:
            array = layout.column(points, p.name)
            axes = "".join(f" |> Nx.vectorize(:{axis})" for axis in layout.axes[p.name])
        lines.append(f"{names[p.name]} = {_tensor(array, p.type, emitter)}{axes}\n")
    return "".join(lines)


def _instance(shown: ReproducerInput) -> str:
    """Reads off the result at the one point."""
    if not shown.together:
        return ""
    layout = layout_of([point.inputs for point in shown.question.points])
    places = zip(layout.sizes, layout.instance(shown.place), strict=True)
    place = ", ".join(f"{axis}: {k}" for axis, k in places)
    return f"\n# The instance that is looked at.\nplace = %{{{place}}}\n{_PICKED}"


_PICKED = """\
pick = fn t -> Enum.reduce(t.vectorized_axes, Nx.devectorize(t), fn {axis, _}, t -> t[place[axis]] end) end
got = got |> Tuple.to_list() |> Enum.map(pick) |> List.to_tuple()
"""


def _tensor(array: Array, of: Type, emitter: NxEmitter) -> str:
    dtype = of.dtype
    texts = [decimal(v) if dtype == "float" else str(int(v)) for v in np.ravel(array).tolist()]
    return f"Nx.tensor({nested_list(texts, np.shape(array))}, type: {emitter.dtype(dtype)})"


def _objective(shown: ReproducerInput, emitter: NxEmitter, names: dict[str, str]) -> list[str]:
    """The function that is differentiated: the sum of weight * output."""
    question = shown.question
    weights, arguments = question.weights, ", ".join(names.values())
    outputs = [f"y{k}" if w is not None else "_" for k, w in enumerate(weights)]
    terms = []
    for k, w in enumerate(weights):
        if w is not None:
            term = f"y{k} * {_tensor(w, Type('float'), emitter)}"
            terms.append(f"Nx.sum({term})" if np.ndim(w) else term)
    lines = ["  # What is differentiated: the sum of weight * output.", f"  defn objective({arguments}) do"]
    return [*lines, f"    {packed(outputs)} = f({arguments})", f"    {' + '.join(terms)}", "  end"]


def _asked(shown: ReproducerInput, emitter: NxEmitter, names: dict[str, str]) -> str:
    """`got`: a tuple of the values to compare; an exit where Nx raises, for that is no wrong number."""
    question = shown.question
    arguments = ", ".join(names.values())
    if not question.modes:
        single = len(question.program.result.values) == 1
        return _GOT.replace("CALL", f"{{Program.f({arguments})}}" if single else f"Program.f({arguments})")
    wrt = [names[n] for n in question.wrt]
    variables, slopes = shape_text(wrt), [f"s_{name}" for name in wrt]
    function = f"fn {variables} -> Program.objective({arguments}) end"
    lines = []
    if question.order > 1:
        types = {p.name: p.type for p in question.program.params}
        lines += ["# Every derivative but the last is taken along these.\n"]
        for n in question.wrt:
            lines += [f"d_{names[n]} = {_tensor(question.directions[n], types[n], emitter)}\n"]
    terms = " |> Nx.add(".join(f"Nx.sum(Nx.multiply(s_{name}, d_{name}))" for name in wrt)
    for k in range(question.order - 1):
        lines += [
            f"slope{k} = fn {variables} ->\n",
            f"  {shape_text(slopes)} = Nx.Defn.grad({variables}, {function})\n",
            f"  {terms}{')' * (len(slopes) - 1)}\nend\n",
        ]
        function = f"slope{k}"
    return "".join(lines) + _GOT.replace("CALL", f"Nx.Defn.grad({variables}, {function})")


_GOT = """\
got =
  try do
    CALL
  rescue
    error ->
      IO.puts(:stderr, "Nx cannot answer: #{Exception.message(error)}")
      System.halt(125)
  end
"""


def _rows(shown: ReproducerInput) -> str:
    rows = [f'  {{"{n}", "{x and f" at {x}"}", {listed(e)}, {listed(a)}}}' for n, x, e, a in entries(shown)]
    return ",\n".join(rows)


_VERDICT = """\
# Name, input, expected, allowed.
rows = [
ROWS
]

wrong =
  for {{name, at, expected, allowed}, answer} <- Enum.zip(rows, Tuple.to_list(got)),
      {right, most, number} <- Enum.zip([expected, allowed, Nx.to_flat_list(answer)]) do
    IO.puts("#{name}#{at}: expected #{right}, got #{number}")
    not (is_number(number) and abs(number - right) <= most)
  end

IO.puts(if Enum.any?(wrong), do: "wrong", else: "right")
System.halt(if Enum.any?(wrong), do: 1, else: 0)
"""
