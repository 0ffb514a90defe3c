"""What all parts of the parser share: from text to Python's syntax tree, and errors that point back into the
text.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from typing import NoReturn

from gradfuzz.errors import ProgramSyntaxError, ProgramTypeError
from gradfuzz.programs.language.program import Program
from gradfuzz.programs.language.typecheck import MAX_NESTING, check_name, nesting

MAX_CHARACTERS = 100_000
"""The longest text that is read."""


def read(text: str) -> ast.Module:
    """The Python syntax tree of `text`, or `ProgramSyntaxError`."""
    if len(text) > MAX_CHARACTERS:
        raise ProgramSyntaxError(f"the text has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on style is not for this language
            return ast.parse(textwrap.dedent(text))
    except SyntaxError as error:
        raise ProgramSyntaxError(f"not Python: {error.msg}", line=error.lineno or 0) from None
    except (RecursionError, MemoryError):
        raise too_deep() from None
    except ValueError as error:
        raise ProgramSyntaxError(f"not Python: {error}") from None


def too_deep() -> ProgramSyntaxError:
    """The error of a text whose nesting is out of bounds."""
    return ProgramSyntaxError(f"nested deeper than {MAX_NESTING} levels; use temporaries")


def shallow(program: Program) -> Program:
    """`program`, or an error where it is nested too deep."""
    if nesting(program) > MAX_NESTING:
        raise too_deep()
    return program


def syntax_error(node: ast.AST, message: str) -> ProgramSyntaxError:
    """An error with the line of `node`."""
    return ProgramSyntaxError(message, line=getattr(node, "lineno", 0))


def refuse(where: ast.AST | int, message: str) -> NoReturn:
    """`ProgramSyntaxError` with the line of a node, or with a line (0: nowhere)."""
    raise ProgramSyntaxError(message, line=where if isinstance(where, int) else getattr(where, "lineno", 0))


def source(node: ast.AST) -> str:
    """The first line of what `node` writes, not too long, for messages."""
    try:
        text = ast.unparse(node).splitlines()[0]
    except ValueError:  # an int of thousands of digits
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


def check(name: str, what: str, node: ast.AST) -> str:
    """`name`, or an error where it cannot be the name of `what`."""
    try:
        check_name(name, what)
    except ProgramTypeError as error:
        raise syntax_error(node, str(error)) from None
    return name
