"""Calls of a library's functions: drawn, made, and judged.

    invocation      a call as a function of its differentiated arrays, with what stands around it
    objects         arguments as data and back: objects, functions, pytrees
    public_calls    the calls of a package, told while a program runs
    recording       the calls that a program makes, and their file
    package         the functions of a user's own module
    drawing         calls of a function, drawn, tried, and learned from
    judge           every derivative of first and second order of a call
    repeated        a call made again, by the conventions of its function (`fuzzer.conventions`)
    proofs          the rules of the library, proved by drawn calls

- A call is a record of `fuzzer.results.call`. The catalogue of a library (`oracles.catalogues`) says which
  functions there are, and what they take.
"""

from __future__ import annotations
