"""The program language: what strategies draw, oracles run, the engine differentiates and reports show.

language      types, syntax, the op table, the type checker, the printed form
text          programs from text and from JSON
arithmetic    what an op computes: machine floats, or any scalar objects
graphs        the functional form
evaluation    programs and graphs run in an arithmetic
"""

from gradfuzz.programs.evaluation.interpret import evaluate, interpret
from gradfuzz.programs.evaluation.pairs import in_pairs
from gradfuzz.programs.graphs.graph import Graph
from gradfuzz.programs.graphs.lower import lower
from gradfuzz.programs.language.ops import OPS, Op, result_type
from gradfuzz.programs.language.program import Program, to_text, walk
from gradfuzz.programs.language.syntax import (
    ArrayConst,
    Assign,
    Block,
    Break,
    Call,
    Const,
    Continue,
    Expr,
    For,
    If,
    Name,
    Param,
    Repeat,
    Return,
    Stmt,
    While,
)
from gradfuzz.programs.language.typecheck import Typed, typecheck
from gradfuzz.programs.language.types import BOOL, FLOAT, INT, Type
from gradfuzz.programs.text.expressions import call
from gradfuzz.programs.text.json_form import from_json, to_json
from gradfuzz.programs.text.loop_body import loop_program
from gradfuzz.programs.text.parse import parse, parse_type

__all__ = ["BOOL", "FLOAT", "INT", "Param", "Program", "Type", "Typed", "typecheck"]
__all__ += ["Assign", "Block", "Break", "Continue", "For", "If", "Repeat", "Return", "Stmt", "While"]
__all__ += ["OPS", "ArrayConst", "Call", "Const", "Expr", "Name", "Op", "call", "result_type", "walk"]
__all__ += ["from_json", "loop_program", "parse", "parse_type", "to_json", "to_text"]
__all__ += ["Graph", "evaluate", "in_pairs", "interpret", "lower"]
