"""A sweep: draws programs, asks, judges, shrinks, and yields events. It prints nothing and stores nothing.

    plans                   `sweep(config)`: the plans that its families ask for
    run                     what they have in common: the run as a stream of events
    programs, functions     the plan about programs; the one about the functions of libraries
    function_targets        whose functions can be called
    card                    the report card of functions: a few calls of each
    config, interrupts      its settings; Ctrl-C
    ways                    the ways of its targets
    batch, work_item        a unit of work: draw programs, ask every oracle, judge; its order
    cases                   the cases of a batch
    slot                    a batch that was handed out
    shrink_queues           which disagreements are shrunk, and in which order
    set_up                  which ways raise in every program, so that it is no bug of a library
    totals                  counts by oracle; which disagreements are one finding
    recorder, memo          write a sweep into the store; finished work, for `--resume`
    merging                 unites the parts of a sweep
    replaying, bisecting    ask a finding again; the same by one release after the other
    reviewing               asks the findings of earlier runs and of the baseline again
    selftest, kills         sweeps of planted bugs; a batch of one

- The recorder gets every event before any report, so whatever is printed is already on disk.
- The recorder is the memo, too: it keeps every batch and proof under a hash of what was asked until the run
  is complete. A resumed sweep runs from its beginning and takes from the memo what is there. So it ends as
  one that nobody stopped.
- At the end of a sweep the findings of earlier runs and of the baseline that did not come up, of the same
  targets, are asked again: a bounded number.
- The shrink queues hand on which proofs lead, so that the result does not depend on which worker is faster.
  Workers end with the process that they work for.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from gradfuzz.fuzzer.sweep.config import SweepConfig
    from gradfuzz.fuzzer.sweep.plans import sweep

__all__ = ["SweepConfig", "sweep"]


def __getattr__(name: str) -> _typing.Any:
    if name not in __all__:
        known = ", ".join(__all__)
        raise AttributeError(f"module 'gradfuzz.fuzzer.sweep' has no attribute {name!r}; it has {known}")
    return getattr(_importlib.import_module("gradfuzz.fuzzer.sweep.plans"), name)
