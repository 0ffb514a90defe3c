"""Emitters for libraries in which scalar ints and bools are Python's own and everything else is an array."""

from __future__ import annotations

import abc
from dataclasses import replace

from gradfuzz.oracles.emit.op_source import Params
from gradfuzz.oracles.emit.statements import AND, NOT, OR, SUM, Emitter, Piece, Pieces, Written, as_piece
from gradfuzz.programs.language.types import Type


def on_numbers(op: str, args: Pieces, result: Type) -> Written | None:
    """An op on Python's own numbers and bools; None where Python has no such expression."""
    x, texts = args[0], [a.text for a in args]
    match op:
        case "abs":
            return f"abs({x.text})"
        case "sign":
            return Piece(f"({x.text} > 0) - ({x.text} < 0)", result, SUM)
        case "maximum" | "minimum":
            return f"{op[:3]}({', '.join(texts)})"
        case "clip":
            return f"min(max({x.text}, {texts[1]}), {texts[2]})"
        case "where":
            return f"({texts[1]} if {texts[0]} else {texts[2]})"
        case "logical_and":
            return Piece(f"{x.at(AND)} and {args[1].at(NOT)}", result, AND)
        case "logical_or":
            return Piece(f"{x.at(OR)} or {args[1].at(AND)}", result, OR)
        case "logical_not":
            return Piece(f"not {x.at(NOT)}", result, NOT)
        case "astype":
            return f"{result.dtype}({x.text})"
    return None


class HostEmitter(Emitter):
    """An op on plain numbers is plain Python; `on_arrays` writes the others."""

    def call(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        if self.is_host(result) and all(self.is_host(a.type) for a in args):
            return on_numbers(op, args, result) or replace(args[0], type=result)
        written = self.on_arrays(op, args, params, result)
        if self.is_host(result):
            return f"{result.dtype}({as_piece(written, result).text})"
        return written

    @abc.abstractmethod
    def on_arrays(self, op: str, args: Pieces, params: Params, result: Type) -> Written:
        """An op with at least one argument or the result being more than a plain number."""
