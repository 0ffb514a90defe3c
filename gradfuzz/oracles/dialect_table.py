"""The languages and libraries that a finding's question is written in as a standalone script, a row each.

The module of a row has two functions of a `ReproducerInput`:

    unsupported(shown)     why the system cannot be asked this, in words; None where it can
    port(shown)            the script: prints expected and got, exits with 1 while they differ and with 0
                           where they do not
"""

from __future__ import annotations

import importlib
from typing import cast

from gradfuzz.oracles.dialects.reproducer_input import Dialect

DIALECTS: dict[str, str] = {
    "jax": "gradfuzz.oracles.jax.script",
    "torch": "gradfuzz.oracles.torch.script",
    "autograd": "gradfuzz.oracles.dialects.autograd_script",
    "nx": "gradfuzz.oracles.dialects.nx_script",
    "swift": "gradfuzz.oracles.dialects.swift_script",
    "tfjs": "gradfuzz.oracles.dialects.tfjs_script",
}
"""Dialect -> its module. The module is imported where a script is written; it imports no library of
a target.
"""


def dialect(name: str) -> Dialect:
    """The module of a dialect; KeyError for an unknown one."""
    return cast("Dialect", importlib.import_module(DIALECTS[name]))
