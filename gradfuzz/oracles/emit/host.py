"""Emitters for libraries in which scalar ints and bools are Python's own and everything else is an array."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gradfuzz.oracles.emit.statements import AND, NOT, OR, SUM, Emitter, Piece
from gradfuzz.programs.language.syntax import ParamValue
from gradfuzz.programs.language.types import Type


class HostEmitter(Emitter):
    """An op on plain numbers is plain Python; `on_arrays` writes the others."""

    def call(self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type) -> Piece:
        if self.is_host(result):
            if all(self.is_host(a.type) for a in args):
                return self.plain(op, args, result)
            return Piece(f"{result.dtype}({self.on_arrays(op, args, params, result).text})", result)
        return self.on_arrays(op, args, params, result)

    def plain(self, op: str, args: Sequence[Piece], result: Type) -> Piece:
        """An op on plain ints and bools."""
        x, texts = args[0], [a.text for a in args]
        match op:
            case "abs":
                return Piece(f"abs({x.text})", result)
            case "sign":
                return Piece(f"({x.text} > 0) - ({x.text} < 0)", result, SUM)
            case "maximum" | "minimum":
                return Piece(f"{op[:3]}({', '.join(texts)})", result)
            case "clip":
                return Piece(f"min(max({x.text}, {texts[1]}), {texts[2]})", result)
            case "where":
                return Piece(f"({texts[1]} if {texts[0]} else {texts[2]})", result)
            case "logical_and":
                return Piece(f"{x.at(AND)} and {args[1].at(NOT)}", result, AND)
            case "logical_or":
                return Piece(f"{x.at(OR)} or {args[1].at(AND)}", result, OR)
            case "logical_not":
                return Piece(f"not {x.at(NOT)}", result, NOT)
            case "astype" if result.dtype != x.type.dtype:
                return Piece(f"{result.dtype}({x.text})", result)
            case "index_update":
                return args[1]
        return replace(x, type=result)

    @abc.abstractmethod
    def on_arrays(
        self, op: str, args: Sequence[Piece], params: Mapping[str, ParamValue], result: Type
    ) -> Piece:
        """An op with at least one argument or the result being more than a plain number."""
