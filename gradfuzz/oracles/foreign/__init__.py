"""Targets in processes of their own, in any language: a protocol of JSON lines, and workers that are watched.

    protocol, schema                    the messages, typed and checked in both directions; the same as a JSON
                                        Schema
    tensors, wire                       arrays and programs in messages; no conversion is left to the reader
    expanding                           functions that a way lacks, written out as compositions
    process                             one child process: deadlines, memory, floods, death
    worker                              a conversation with such a process, begun again after a fault
    oracle                              a way into a target as an oracle
    resource_limits, polling            what the flags allow a process; waiting without sleeping where it is
                                        prompt
    memory                              how much of it processes hold
    process_registry, watchdog          end what a killed gradfuzz leaves behind
    fault                               the fault of a set-up in words: the command, and what to try
    conformance, comparing, features    tell a broken adapter from a wrong target
    managed, installers                 environments for releases (`warp==1.19.0`): made once, found again; a
                                        row for each language
    releases                            which releases there are, and which of them a name means
    launcher, lending                   runs a module of gradfuzz in an environment where gradfuzz is not
                                        installed, and lends it what gradfuzz requires

- The commands ask JAX and Torch in this way, too (`registry.resolve(..., supervised=True)`). An oracle that
  is made in Python is in its own process.
- An environment is whole when its marker is there, which is written last. A lock keeps two processes from
  making the same one. Only commands make environments; a sweep and its workers find them.
- A finding's signature does not depend on the release. What is asked does.
"""

from __future__ import annotations
