"""Quadrants on its CPU backend, first order: see fields.py. Its manual wants this option in reverse mode."""

from __future__ import annotations

import warnings
from importlib.metadata import version

import fields
import kit
import quadrants as qd

RULES = {
    "name": "fields-read-and-changed",
    "what": "a kernel reads an entry of a field and changes it later, or overwrites it other than by +=",
    "link": "https://genesis-embodied-ai.github.io/quadrants/user_guide/autodiff.html"
    "#global-data-access-rules-and-the-validation-checker",
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library = fields.Fields(qd, RULES, ad_stack_experimental_enabled=True)
    kit.serve(
        "quadrants",
        version("quadrants"),
        [way(library) for way in fields.WAYS],
    )
