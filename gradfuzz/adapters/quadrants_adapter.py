"""Quadrants on its CPU backend, first order: see fields.py. Its manual wants this option in reverse mode."""

# mypy: ignore-errors

from __future__ import annotations

import warnings
from importlib.metadata import version

import fields
import kit
import quadrants as qd

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library = fields.Fields(qd, ad_stack_experimental_enabled=True)
    kit.serve(
        "quadrants",
        version("quadrants"),
        [way(library) for way in (fields.Reverse, fields.Vectors, fields.Unrolled, fields.Forward)],
    )
