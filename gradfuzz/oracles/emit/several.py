"""Ops with several results, in emitted statements: computed once, where the first result is used.

`qr(a)[0] @ qr(a)[1]` is written as `qr_1 = ...` and `qr_1[0] @ qr_1[1]`, so that a library sees the results
used together, as in the interpreter. A name is valid within one block, until a variable that the operands
read is assigned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from gradfuzz.oracles.emit.op_source import Items
from gradfuzz.programs.language.ops import OPS
from gradfuzz.programs.language.program import Program, names_in, walk
from gradfuzz.programs.language.syntax import Call, Expr

_Key = tuple[str, tuple[Expr, ...], Items]


def _key(call: Call) -> _Key:
    return call.op, call.args, tuple(item for item in call.params if item[0] != "part")


class JointResults:
    """The names of joint results; `closed` while code is written that does not run before the next line."""

    def __init__(self, program: Program, taken: set[str]) -> None:
        calls = Counter(_key(node) for node in walk(program) if isinstance(node, Call) and OPS[node.op].parts)
        self._wanted = {key for key, times in calls.items() if times > 1}
        self._names: dict[_Key, str] = {}
        self._taken = taken
        self._lines: list[str] = []
        self.closed = False

    def name(self, call: Call, source: Callable[[], str]) -> str | None:
        """The name of all results of `call`, or None if it needs none. A new name writes `source` first."""
        key = _key(call)
        if self.closed or key not in self._wanted:
            return None
        if key not in self._names:
            text, k = source(), 1
            while f"{call.op}_{k}" in self._taken:
                k += 1
            self._names[key] = f"{call.op}_{k}"
            self._taken.add(self._names[key])
            self._lines.append(f"{self._names[key]} = {text}")
        return self._names[key]

    def lines(self) -> list[str]:
        """The lines that must come before the statement just written."""
        lines, self._lines = self._lines, []
        return lines

    def assigned(self, target: str) -> None:
        """Forgets what depends on a variable's former value."""
        depend = [key for key in self._names if any(target in names_in(arg) for arg in key[1])]
        for key in depend:
            del self._names[key]

    def forget(self) -> None:
        self._names.clear()
