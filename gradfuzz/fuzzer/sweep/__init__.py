"""A sweep: draws programs, asks, judges, shrinks, and yields events. It prints nothing.

run             `sweep(config)`: the run as a stream of events
batch           a unit of work: draw programs, ask every oracle, judge
workers         the processes that take batches and proofs
shrink_queues   which disagreements are shrunk, and in which order
totals          which disagreements are one finding, and how findings are ranked
recorder        writes every event into the store before a report hears it; memo: finished work, for
                `--resume`
replaying       asks a finding again; bisecting does so by one release after the other, reviewing for earlier
                findings
selftest        sweeps of planted bugs; kills is a batch of it
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from gradfuzz.fuzzer.sweep.run import SweepConfig, sweep

__all__ = ["SweepConfig", "sweep"]


def __getattr__(name: str) -> _typing.Any:
    if name not in __all__:
        raise AttributeError(
            f"module 'gradfuzz.fuzzer.sweep' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(_importlib.import_module("gradfuzz.fuzzer.sweep.run"), name)
