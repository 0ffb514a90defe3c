"""What comes of a sweep, as data. Reports import this package and nothing else of the fuzzer.

    finding                       verdicts, cases, findings, causes
    failure                       exception, crash, hang, out of memory
    own_fault                     an exception of gradfuzz itself
    identity                      when two findings are the same
    trigger, known_reports        what a shrunk program tells of a bug; which known bug it may be
    call, views                   a call of a library's function; the view of its array that an argument is
    shown                         what a finding shows: a program, or the code of a call
    functions                     what became of each function of a library in a sweep that calls them
    proof                         what is proved of a library's derivative rule
    evidence                      what is shown beside a finding: a curve, tables of variants
    events                        what a sweep says while it runs
    ranking                       which findings a reader should see first
    raw, counts                   a disagreement as a batch met it; how often an oracle got which verdict
    replayed                      what became of a finding that was asked about again
    report_card, score, review    the ends of a probe and of a self-test; what became of earlier findings
    environment                   where and when a sweep ran
    codec                         any of these as JSON and back, led by type hints
    records                       documents with a schema and a version, and their migrations

- Nothing is pickled. What is read is checked against the type hints of the dataclass that it becomes.
- Findings are the same where their signatures are: those of one system from one cause. An id is short for a
  signature.
"""

from __future__ import annotations
