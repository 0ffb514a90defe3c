"""Python statements (as `ast` nodes) to statements of the program language. Nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradfuzz.errors import ProgramSyntaxError, ProgramTypeError
from gradfuzz.programs.language import syntax
from gradfuzz.programs.language.typecheck import MAX_NESTING
from gradfuzz.programs.language.types import INT
from gradfuzz.programs.text.expressions import Expressions
from gradfuzz.programs.text.reading import check, refuse, source, syntax_error

_INSTEAD: dict[type[ast.AST], str] = {
    ast.FunctionDef: "a def inside the program; write its statements where they are used",
    ast.AsyncFunctionDef: "async is not in the language",
    ast.ClassDef: "classes are not in the language",
    ast.Delete: "del is not in the language; names need no clearing",
    ast.AnnAssign: "an annotated assignment is not in the language; write name = value",
    ast.AsyncFor: "async is not in the language",
    ast.With: "with is not in the language",
    ast.Raise: "raise is not in the language; every program is defined by its values",
    ast.Try: "try is not in the language",
    ast.Assert: "assert is not in the language",
    ast.Import: "import is not in the language; the ops need none",
    ast.ImportFrom: "import is not in the language; the ops need none",
    ast.Global: "global is not in the language",
    ast.Nonlocal: "nonlocal is not in the language",
    ast.Match: "match is not in the language; use if/elif/else",
}


class Statements(Expressions):
    """Converts statements, in order, and keeps the types of the names assigned so far."""

    def block(self, body: Sequence[ast.stmt]) -> syntax.Block:
        """The statements that `body` writes; `pass` and docstrings vanish."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            refuse(body[0] if body else 0, f"nested deeper than {MAX_NESTING} levels; use temporaries")
        written = [line for line in body if not isinstance(line, ast.Pass)]
        result = tuple([self.statement(s) for line in written for s in self._unpacked(line)])
        self.depth -= 1
        return result

    def _unpacked(self, node: ast.stmt) -> list[ast.stmt]:
        """`q, r = qr(a)` as `q = qr(a)[0]` and `r = qr(a)[1]`; any other statement as it is. The name _ takes
        nothing.
        """
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Call(ast.Name(op)) as value) if self._parts(op):
                parts = ", ".join(self._parts(op))
                names = [t.id for t in targets if isinstance(t, ast.Name)]
                if len(names) != len(targets) or len(names) != len(self._parts(op)):
                    refuse(node, f"{op} returns {parts}: write {parts} = {source(value)}")
                read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                for name in names[:-1]:
                    if name in read:
                        refuse(node, f"{name} is assigned and read in one unpacking; use a temporary")
                read_on = [(k, target) for k, target in enumerate(targets) if names[k] != "_"]
                return [ast.copy_location(ast.Assign([t], self._chosen(value, k)), node) for k, t in read_on]
        return [node]

    @staticmethod
    def _chosen(value: ast.expr, part: int) -> ast.expr:
        place = ast.copy_location(ast.Constant(part), value)
        return ast.copy_location(ast.Subscript(value, place, ast.Load()), value)

    def result(self, node: ast.Return) -> syntax.Return:
        """The closing return."""
        if node.value is None:
            refuse(node, "return without a value; return at least one")
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if not values:
            refuse(node, "return without a value; return at least one")
        return syntax.Return(tuple([self.expression(v) for v in values]), node.lineno)

    def statement(self, node: ast.stmt) -> syntax.Stmt:
        line = node.lineno
        match node:
            case ast.Assign(targets, value):
                if len(targets) != 1:
                    refuse(node, "a = b = value is not in the language; assign one name at a time")
                return self._assign(node, targets[0], value)
            case ast.AugAssign():
                return self._augmented(node)
            case ast.While(_, _, [_, *_]) | ast.For(orelse=[_, *_]):
                refuse(node, "a loop has no else")
            case ast.While(ast.Constant(True), body) if self._is_repeat(body):
                return self._repeat(node)
            case ast.While(test, body):
                condition = self.expression(test)
                return syntax.While(condition, self.block(body), line)
            case ast.For():
                return self._for(node)
            case ast.If(test, body, orelse):
                condition = self.expression(test)
                then = self.block(body)
                return syntax.If(condition, then, self.block(orelse) if orelse else (), line)
            case ast.Break():
                return syntax.Break(line)
            case ast.Continue():
                return syntax.Continue(line)
            case ast.Return():
                rule = "return is the last statement of the program and stands nowhere else"
                refuse(node, f"{rule}; use a variable")
            case ast.Expr(value):
                refuse(node, f"`{source(value)}` has no effect; a statement assigns, branches or loops")
        raise syntax_error(node, _INSTEAD.get(type(node), f"`{source(node)}` is not in the language"))

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> syntax.Assign:
        match target:
            case ast.Name(id):
                name = check(id, "a variable", node)
                return self._record(name, self.expression(value), node.lineno)
            case ast.Subscript(ast.Name(id, lineno=line), place):
                return self._update(node, syntax.Name(id, line), place, self.expression(value))
        raise self._bad_target(node, target)

    def _augmented(self, node: ast.AugAssign) -> syntax.Assign:
        """`a += e` is `a = a + e`."""
        target, operator, value = node.target, node.op, node.value

        def combined(old: syntax.Expr) -> syntax.Expr:
            if isinstance(operator, ast.Pow):
                return self.power(old, value, node.lineno)
            return syntax.Call(self.operator(node, operator), (old, self.expression(value)), (), node.lineno)

        match target:
            case ast.Name(id):
                name = check(id, "a variable", node)
                return self._record(name, combined(syntax.Name(id, node.lineno)), node.lineno)
            case ast.Subscript(ast.Name(id, lineno=line), place):
                array = syntax.Name(id, line)
                pattern, indices = self.place(array, place)
                old = syntax.Call("index", (array, *indices), (("pattern", pattern),), line)
                return self._update(node, array, place, combined(old))
        raise self._bad_target(node, target)

    def _bad_target(self, node: ast.stmt, target: ast.expr) -> ProgramSyntaxError:
        if isinstance(target, (ast.Tuple, ast.List)):
            instead = "assign one name at a time, with a temporary to swap"
            return syntax_error(node, f"a, b = ... is not in the language; {instead}")
        instead = "assign a name or an entry of an array"
        if isinstance(target, ast.Subscript):
            instead = "write all indices in one bracket, as in m[i, j]"
        return syntax_error(node, f"`{source(target)}` cannot be assigned; {instead}")

    def _update(self, node: ast.stmt, array: syntax.Name, at: ast.expr, value: syntax.Expr) -> syntax.Assign:
        pattern, indices = self.place(array, at)
        update = syntax.Call("index_update", (array, value, *indices), (("pattern", pattern),), node.lineno)
        return self._record(check(array.id, "a variable", node), update, node.lineno)

    def _record(self, name: str, value: syntax.Expr, line: int) -> syntax.Assign:
        """The assignment. The first type of a name is remembered: its shape is the shape of the name."""
        if name not in self.types and name not in self.untyped:
            try:
                self.types[name] = self.type_of(value)
            except ProgramTypeError as error:
                self.untyped[name] = error if error.line else ProgramTypeError(str(error), line=line)
        return syntax.Assign(name, value, line)

    @staticmethod
    def _is_repeat(body: Sequence[ast.stmt]) -> bool:
        match body[-1]:
            case ast.If(_, [ast.Break()], []):
                return not any(_has_continue(s) for s in body)
        return False

    def _repeat(self, node: ast.While) -> syntax.Repeat:
        last = node.body[-1]
        assert isinstance(last, ast.If)
        body = self.block(node.body[:-1])
        match last.test:
            case ast.UnaryOp(ast.Not(), inner):
                return syntax.Repeat(body, self.expression(inner), node.lineno)
            case test:
                going_on = syntax.Call("logical_not", (self.expression(test),), (), test.lineno)
                return syntax.Repeat(body, going_on, node.lineno)

    def _for(self, node: ast.For) -> syntax.For:
        match node.target, node.iter:
            case ast.Name(target), ast.Call(ast.Name("range"), [count], []):
                trips = self.expression(count)
                name = check(target, "a loop counter", node)
                hidden = self.types.get(name)
                self.types[name] = INT
                loop = syntax.For(name, trips, self.block(node.body), node.lineno)
                if hidden is not None:
                    self.types[name] = hidden
                return loop
            case ast.Name(), ast.Call(ast.Name("range"), _, _):
                one = "range takes one argument here, the number of trips"
                refuse(node, f"{one}; compute start and step in the body")
        raise syntax_error(node, "a for loop is written `for i in range(n):`")


def _has_continue(stmt: ast.stmt) -> bool:
    """Whether a `continue` in `stmt` belongs to the loop around it."""
    if isinstance(stmt, ast.If):
        return any(_has_continue(s) for s in (*stmt.body, *stmt.orelse))
    return isinstance(stmt, ast.Continue)
