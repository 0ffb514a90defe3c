"""Short reproducers for libraries with adapters: the program on the adapter's own calls, and the library's
own derivatives.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gradfuzz import adapters
from gradfuzz.adapters.shipped import ADAPTERS
from gradfuzz.oracles.dialects.adapter_script import AdapterEmitter, OpCollector
from gradfuzz.oracles.dialects.adapter_source import CutError, cut
from gradfuzz.oracles.emit.short import RESERVED, ShortInput, assembled, used
from gradfuzz.oracles.emit.short_forms import ALONG, FORMS, GRADIENT, ShortForm, differentiated, input_lines
from gradfuzz.oracles.emit.statements import nested_list
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import Precision
from gradfuzz.programs.language.syntax import ArrayConst


def short(shown: ShortInput, oracle_name: str) -> str:
    """The lines that ask the library the same; empty for a way or a question that has no short form."""
    name, question = TargetName.of(oracle_name), shown.question
    form = FORMS[name.library]
    if name.way not in form.ways or (shown.measure != "number" and not form.of_numpy):
        return ""
    if "fwd" in question.modes and not form.pushes(len(question.wrt)):
        return ""
    asked = OpCollector()
    _Emitter(form, question.precision, asked).function(question.program, "f")
    script = adapters.path(ADAPTERS[name.library].script)
    try:
        found = cut(
            script, name.way, asked.keys() - form.functions.keys(), RESERVED | {"f", *form.helpers}, bare=True
        )
    except CutError:
        return ""
    emitter = _Emitter(form, question.precision, {**found.spelling, **form.functions})
    lines = differentiated(shown, form, lambda unit: form.of(unit, question.precision))
    body = "\n".join(lines)
    helpers = [text for helper, text in form.helpers.items() if used(body, helper)]
    functions = [_plain(found.source), emitter.function(question.program, "f"), *helpers]
    function = "\n\n".join(text.strip("\n") for text in functions if text)
    inputs = input_lines(shown, form, plain=True)
    text = "\n".join([*form.settings, function, *inputs, *lines])
    known = [line for line in found.imports.splitlines() if "import" in line]
    candidates = {*form.imports, *known, "import numpy as np"}
    imports = [line for line in candidates if used(text, line.split()[-1])]
    imports.sort(key=lambda line: (not line.startswith("import"), line))
    settings = ["", *form.settings] if form.settings else []
    scalar = question.modes[-1:] == ("fwd",)
    return assembled(shown, [*imports, *settings], function, inputs, lines, scalar=scalar)


def _plain(source: str) -> str:
    """The source without what its functions say of themselves."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
            del node.body[0]
    texts = [ast.unparse(node) for node in tree.body]
    return "".join(f"{text}\n\n" if "\n" in text else f"{text}\n" for text in texts)


class _Emitter(AdapterEmitter):
    """Programs on the adapter's calls, with the library's own arrays."""

    reserved = RESERVED | {"f", GRADIENT, ALONG}

    def __init__(self, form: ShortForm, precision: Precision, spelling: Mapping[str, str]) -> None:
        super().__init__(precision, spelling, operators=form.operators)
        self._form = form

    def scalar(self, text: str) -> str:
        return self._form.spelled(text, (), self.precision)

    def array(self, array: ArrayConst) -> str:
        entries = [self.literal(value).text for value in array.values]
        nested = nested_list(entries, array.shape) if entries else ""
        return self._form.spelled(nested, array.shape, self.dtype(array.dtype))
