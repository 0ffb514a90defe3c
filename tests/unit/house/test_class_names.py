"""One class name, one thing: no two modules of gradfuzz have a class of the same name."""

from __future__ import annotations

import ast

from tests import import_graph

ALLOWED = {
    "Call": "of a function of a library, as it is stored; in a program, as it is exported",
    "Compiled": "a graph, as the engine exports it; a way of Torch",
    "Function": "an elementwise one, which users add; a row of a catalogue, which scripts elsewhere write",
    "Structured": "a way of JAX, a way of Torch: each in the package of its library",
    "Vmap": "a way of JAX, a way of Torch: each in the package of its library",
}
"""Name: what it is in each of its modules, and why it has to stay."""


def classes() -> dict[str, set[str]]:
    """The modules of each class. A private one counts where another module imports it.

    Left out are the scripts of adapters, each a program by itself, and the messages of the protocol, which
    are named as it names them.
    """
    found: dict[str, set[str]] = {}
    shared = {name for module in import_graph.MODULES for _, name in import_graph.statements(module)}
    for module in import_graph.MODULES:
        script = module.startswith("gradfuzz.adapters.") and not module.endswith((".catalogue", ".shipped"))
        if not module.startswith("gradfuzz.") or script or module == "gradfuzz.oracles.foreign.protocol":
            continue
        for node in ast.walk(import_graph.tree(module)):
            if isinstance(node, ast.ClassDef) and (node.name[0] != "_" or f"{module}.{node.name}" in shared):
                found.setdefault(node.name, set()).add(module)
    return found


def test_no_two_modules_have_a_class_of_one_name() -> None:
    assert {name: found for name, found in classes().items() if len(found) > 1 and name not in ALLOWED} == {}


def test_every_allowed_name_stands_in_two_modules() -> None:
    found = classes()
    assert [name for name in ALLOWED if len(found.get(name, ())) < 2] == []
