"""Whole libraries: the functions of a library are called, and their derivatives judged.

    libraries   how arguments are made, run, and written down, library by library
    asking      a call as a function of its differentiated arrays, with what stands around it
    recording   the calls that a program makes
    package     the functions of a user's own module
    drawing     calls of a function, drawn, tried, and learned from
    judging     the verdicts on a call
    proofs      the rules of the library, proved by drawn calls
    findings    what is wrong, shrunk, confirmed, and told
    sweep       the turns of all functions, in worker processes

A call is a record of `fuzzer.results.call`. The catalogue of a library (`oracles.catalogues`) says which
functions there are, and what they take.
"""

from __future__ import annotations
