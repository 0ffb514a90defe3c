"""Loops as Python source: `for` and `while` statements, and functions of the iterations for a checkpoint.

`programs.graphs.rematerialize` runs those functions, and runs them again where the stacks are read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gradfuzz.engine.modes.prune import prune
from gradfuzz.errors import TripLimitError
from gradfuzz.programs.graphs.graph import Atom, Graph, Loop, Var
from gradfuzz.programs.graphs.rematerialize import TripFunctions, columns, replay

RUNTIME: dict[str, Any] = {
    f.__name__: f for f in (TripLimitError, TripFunctions, columns, functools.partial, replay)
}
"""The names that the source of loops reads."""


class LoopSource:
    """The part of a writer that has lines, names and loops. Subclasses write operands and blocks."""

    def __init__(self, graph: Graph, *, trip_limit: int | None, taken: Iterable[str]) -> None:
        self.trip_limit = trip_limit
        self._taken = {*taken, *RUNTIME}
        self._last: dict[str, int] = {}
        self._text: dict[Var, str] = {}
        self._lines: list[str] = []
        self._functions: list[str] = []
        self._replays = any(isinstance(n, Loop) and _is_replayed(n) for n in graph.walk())

    def _atom(self, atom: Atom) -> str:
        """The text of an operand."""
        raise NotImplementedError

    def _block(self, graph: Graph, depth: int) -> None:
        """Writes the nodes of `graph`; then every output has a text."""
        raise NotImplementedError

    # Lines and names ----------------------------------------------------------------------------------------

    def _fresh(self, hint: str) -> str:
        base = hint if hint.isidentifier() else "".join(c for c in hint if c.isalnum() or c == "_") or "t"
        name, k = base, self._last.get(base, 0)
        while name in self._taken:
            k += 1
            name = f"{base}_{k}"
        self._taken.add(name)
        self._last[base] = k
        return name

    def _bind(self, var: Var) -> str:
        self._text[var] = self._fresh(var.name)
        return self._text[var]

    def _entry(self, atom: Atom) -> str:
        """An atom that outlives the iteration or the call: a stack as a new list."""
        return f"[*{self._atom(atom)}]" if self._replays and atom.type.is_stack else self._atom(atom)

    def _write(self, text: str, depth: int) -> None:
        self._lines.append("    " * depth + text)

    def _assign(self, names: Sequence[str], texts: Sequence[str], depth: int) -> None:
        """Assigns all at once; `x = x` is left out."""
        pairs = [(n, bare(t)) for n, t in zip(names, texts, strict=True) if n != t]
        targets, values = (", ".join(pair[side] for pair in pairs) for side in (0, 1))
        self._write(f"{targets} = {values}" if pairs else "pass", depth)

    # Loops --------------------------------------------------------------------------------------------------

    def _loop(self, node: Loop, depth: int) -> None:
        if _is_replayed(node):
            self._replayed(node, depth)
            return
        nc, ni, ns = len(node.constants), len(node.initial), len(node.stacks)
        body = node.body
        for var, operand in zip(body.inputs[:nc], node.constants, strict=True):
            self._text[var] = self._atom(operand)
        carries = [self._bind(v) for v in body.inputs[nc : nc + ni]]
        stacks = [self._bind(v) for v in node.written]
        if carries:
            self._assign(carries, [self._atom(a) for a in node.initial], depth)
        pushes = self._pushes(stacks, depth)
        for var, name in zip(node.carries, carries, strict=True):
            self._text[var] = name
        self._head(node, body.inputs[nc + ni : nc + ni + ns], depth)
        self._trip(body, carries, pushes, depth + 1)
        if node.form == "repeat":
            self._leave_unless(node, depth + 1)
        if node.reverse:
            for stack in stacks:
                self._write(f"{stack}.reverse()", depth)
        self._arrays(node, depth)

    def _arrays(self, node: Loop, depth: int) -> None:
        """Turns what was written entry by entry into arrays where these are needed."""
        for var, length in zip(node.written, node.lengths, strict=True):
            if length is not None:
                self._write(f"{self._text[var]} = ns.stack(*{self._text[var]}, axis=0)", depth)

    def _pushes(self, stacks: Sequence[str], depth: int) -> list[str]:
        """Makes empty stacks; returns the names of the functions that append to them."""
        pushes = []
        for stack in stacks:
            pushes.append(self._fresh(f"push_{stack}"))
            self._write(f"{stack} = []", depth)
            self._write(f"{pushes[-1]} = {stack}.append", depth)
        return pushes

    def _trip(self, body: Graph, carries: Sequence[str], pushes: Sequence[str], depth: int) -> None:
        """One iteration: the body, what it writes, and its carries."""
        self._block(body, depth)
        for push, atom in zip(pushes, body.outputs[len(carries) :], strict=True):
            self._write(f"{push}({bare(self._entry(atom))})", depth)
        self._assign(carries, [self._atom(a) for a in body.outputs[: len(carries)]], depth)

    def _head(self, node: Loop, entries: Sequence[Var], depth: int) -> None:
        if node.form != "for":
            self._guarded_head(node, depth)
            return
        index = node.body.inputs[-1]
        if self._replays and node.stacks:
            self._reading_head(node, entries, depth)
            return
        counted = index in _read(node.body)
        sources = [f"reversed({self._atom(s)})" if node.reverse else self._atom(s) for s in node.stacks]
        targets = [self._bind(v) for v in entries]
        if counted or not sources:
            limit = self._atom(node.count) if node.count is not None else f"len({self._atom(node.stacks[0])})"
            if self.trip_limit is not None and node.count is not None:
                self._write(f"if {limit} > {self.trip_limit}:", depth)
                self._write(f"    {self._too_long()}", depth)
            span = f"range({bare(limit)})"
            sources.append(f"reversed({span})" if node.reverse else span)
            targets.append(self._bind(index) if counted else self._fresh("_"))
        source = f"zip({', '.join(sources)})" if len(sources) > 1 else sources[0]
        self._write(f"for {', '.join(targets)} in {source}:", depth)

    def _reading_head(self, node: Loop, entries: Sequence[Var], depth: int) -> None:
        """A loop over stacks, some of which may be computed as they are read: unused ones are not read."""
        used, pairs = _read(node.body), zip(entries, node.stacks, strict=True)
        read = [(self._bind(v), self._atom(s)) for v, s in pairs if v in used]
        targets = [*(name for name, _ in read), self._bind(node.body.inputs[-1])]
        span = f"range(len({self._atom(node.stacks[0])})){'[::-1]' if node.reverse else ''}"
        source = f"zip(*columns({_tuple(s for _, s in read)}, {span}), {span})" if read else span
        self._write(f"for {', '.join(targets)} in {source}:", depth)

    def _guarded_head(self, node: Loop, depth: int) -> None:
        limited = self.trip_limit is not None
        trips = self._fresh("trips") if limited else ""
        if limited:
            self._write(f"{trips} = 0", depth)
        simple = None if node.form == "repeat" else self._simple_condition(node)
        self._write(f"while {simple or 'True'}:", depth)
        if node.form == "while" and simple is None:
            self._leave_unless(node, depth + 1)
        if limited:
            self._write(f"{trips} += 1", depth + 1)
            self._write(f"if {trips} > {self.trip_limit}:", depth + 1)
            self._write(f"    {self._too_long()}", depth + 1)

    # Loops with a checkpoint --------------------------------------------------------------------------------

    def _replayed(self, node: Loop, depth: int) -> None:
        """Functions of the loop's iterations, and the call that runs them."""
        rest = prune(replace(node.body, outputs=node.body.outputs[: len(node.initial)]))
        functions = [self._stretch("advance", node, rest, [])]
        functions.append(self._stretch("record", node, node.body, node.written))
        if node.form != "for":
            functions.append(self._explore(node, rest))
        shared = "".join(f", {bare(self._atom(a))}" for a in node.constants)
        trips = ", ".join(f"partial({f}{shared})" if shared else f for f in functions)
        initial = _tuple(bare(self._atom(a)) for a in node.initial)
        options = [f"written={len(node.written)}"]
        if node.stacks:
            options.append(f"stacks={_tuple(map(self._atom, node.stacks))}")
        if node.count is not None:
            options.append(f"count={bare(self._atom(node.count))}")
        if node.reverse:
            options.append("reverse=True")
        if self.trip_limit is not None:
            options.append(f"trip_limit={self.trip_limit}")
        results = f"{_tuple(map(self._bind, node.carries))}, {_tuple(map(self._bind, node.written))}"
        given = f"{node.form!r}, {node.checkpoint!r}, TripFunctions({trips}), {initial}, {', '.join(options)}"
        self._write(f"{results} = replay({given})", depth)
        self._arrays(node, depth)

    def _function(self, hint: str, node: Loop, first: str, write: Callable[[list[str], str], None]) -> str:
        """A function of the constants, `first` and the carries with lines from `write`; returns its name."""
        nc, ni = len(node.constants), len(node.initial)
        outer, self._lines = self._lines, []
        name, parameter = self._fresh(hint), self._fresh(first)
        constants = [self._bind(v) for v in node.body.inputs[:nc]]
        carries = [self._bind(v) for v in node.body.inputs[nc : nc + ni]]
        self._write(f"def {name}({', '.join([*constants, parameter, *carries])}):", 0)
        write(carries, parameter)
        self._functions += [*self._lines, ""]
        self._lines = outer
        return name

    def _stretch(self, hint: str, node: Loop, body: Graph, written: Sequence[Var]) -> str:
        """Runs given iterations in order; returns the carries, or the entries of `written` if any."""

        def write(carries: list[str], trips: str) -> None:
            stacks = [self._fresh(v.name) for v in written]
            pushes = self._pushes(stacks, 1)
            entries = node.body.inputs[len(node.constants) + len(carries) :]
            targets = [*map(self._bind, [*entries[-1:], *entries[:-1]])] or [self._fresh("_")]
            self._write(f"for {', '.join(targets)} in {trips}:", 1)
            self._trip(body, carries, pushes, 2)
            self._write(f"return {_tuple(stacks if written else carries)}", 1)

        return self._function(hint, node, "trips", write)

    def _explore(self, node: Loop, body: Graph) -> str:
        """Runs iterations while the condition holds, up to a limit; returns their number and the carries."""

        def write(carries: list[str], most: str) -> None:
            trips = self._fresh("trips")
            self._write(f"{trips} = 0", 1)
            simple = self._simple_condition(node)
            self._write(f"while {trips} < {most}{f' and ({simple})' if simple else ''}:", 1)
            if simple is None:
                self._leave_unless(node, 2)
            self._write(f"{trips} += 1", 2)
            self._trip(body, carries, [], 2)
            self._write(f"return {trips}, {_tuple(carries)}", 1)

        return self._function("explore", node, "most", write)

    def _too_long(self) -> str:
        advice = "raise the trip limit if that is meant"
        return f'raise TripLimitError("a loop took more than {self.trip_limit} trips; {advice}")'

    def _see(self, node: Loop) -> Graph:
        """The loop's condition, with its inputs bound to the loop's carries."""
        assert node.condition is not None, "while and repeat have a condition"
        for var, other in zip(node.condition.inputs, node.body.inputs, strict=False):
            self._text[var] = self._text[other]
        return node.condition

    def _simple_condition(self, node: Loop) -> str | None:
        """The condition as one expression, or None."""
        condition = self._see(node)
        before = len(self._lines)
        self._block(condition, 0)
        if len(self._lines) == before:
            return bare(self._atom(condition.outputs[0]))
        del self._lines[before:]
        return None

    def _leave_unless(self, node: Loop, depth: int) -> None:
        condition = self._see(node)
        self._block(condition, depth)
        self._write(f"if not {self._atom(condition.outputs[0])}:", depth)
        self._write("break", depth + 1)


def _is_replayed(node: Loop) -> bool:
    return node.checkpoint != "none" and len(node.outputs) > len(node.initial)


def _read(graph: Graph) -> set[Atom]:
    """What the nodes and outputs of a graph read."""
    return {a for node in graph.nodes for a in node.inputs} | {*graph.outputs}


def _tuple(texts: Iterable[str]) -> str:
    return f"({''.join(f'{t}, ' for t in texts)})"


def bare(text: str) -> str:
    """`text` without parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    if "(" not in text[1:]:
        return text[1:-1]
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
