"""Targets in processes of their own, in any language: a protocol of JSON lines, supervised workers, the
oracle made of both.

protocol.py     the messages, typed and checked in both directions; `schema.py` writes them as a JSON Schema
tensors.py      arrays in messages
wire.py         programs in messages: what a body captures and carries is said, no conversion is left to the
                reader
process.py      one child process: deadlines, memory, floods, death; `watchdog.py` kills what a killed
                gradfuzz leaves behind
worker.py       a conversation with such a process, begun again after a fault
oracle.py       a way into a target as an oracle
conformance.py  what tells a broken adapter from a wrong target
"""

from __future__ import annotations
