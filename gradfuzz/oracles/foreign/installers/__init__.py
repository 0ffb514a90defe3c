"""Installs the libraries of a language into a folder, lists them, and starts a script with them.

    language                       what gradfuzz does with the libraries of a language
    python, node, elixir, swift    a language each
    interpreters                   the Pythons of this machine
    debian                         toolchains of Debian in chroots
    commands                       the commands of installers: run, logged, and quoted in errors

A further language is a module with a `Language`, and a row of `LANGUAGES`.
"""

from __future__ import annotations

from gradfuzz.oracles.foreign.installers.elixir import ELIXIR
from gradfuzz.oracles.foreign.installers.language import Language
from gradfuzz.oracles.foreign.installers.node import NODE
from gradfuzz.oracles.foreign.installers.python import PYTHON
from gradfuzz.oracles.foreign.installers.swift import SWIFT

LANGUAGES: dict[str, Language] = {"python": PYTHON, "elixir": ELIXIR, "swift": SWIFT, "node": NODE}
"""By the language names that adapters use."""
