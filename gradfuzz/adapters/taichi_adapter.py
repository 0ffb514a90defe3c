"""Taichi on its CPU backend, first order: see fields.py.

The compiler keeps values of a loop on a stack of 32 entries by default, and silently writes beyond it; here
it has 4096.
"""

from __future__ import annotations

import warnings

import fields
import kit
import taichi as ti

RULES = {
    "name": "fields-read-and-changed",
    "what": "a kernel reads an entry of a field and changes it later, or overwrites it other than by +=",
    "link": "https://docs.taichi-lang.org/docs/differentiable_programming#global-data-access-rules",
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library = fields.Fields(ti, RULES, ad_stack_size=4096)
    kit.serve(
        "taichi",
        ".".join(map(str, ti.__version__)),
        [way(library) for way in fields.WAYS],
    )
