"""The sweep of programs, of the functions of libraries, or of both: one stream of events, one store."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.results.events import Event
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.fuzzer.sweep import programs
from gradfuzz.fuzzer.sweep.config import SweepConfig
from gradfuzz.fuzzer.sweep.memo import Memo
from gradfuzz.fuzzer.sweep.run import Sweep, SweepPlan
from gradfuzz.fuzzer.workers.local import usual_size
from gradfuzz.oracles import registry
from gradfuzz.oracles.target_name import TargetName

CALLS_EACH = 6
"""Calls of each function where nobody says."""


def sweep(
    config: SweepConfig, memo: Memo | None = None, only: Collection[str] | None = None
) -> Iterator[Event]:
    """The events of one sweep: `SweepStarted`, then `Progress` and `FindingFound` as they come, and
    `SweepFinished` at last.

    `memo` is asked before a piece of work is handed out, and gets its result. `SweepFinished` also comes
    after Ctrl-C, and where gradfuzz itself fails, with the findings until then. Raises `UsageError`,
    `UnknownTargetError` and `MissingExtraError` before the first event.

    Of the family "functions" `config.max_examples` calls of each function are judged; beside other families
    at most `CALLS_EACH`. `only` has the names of the functions to call, or how they end, as "linalg.det"
    (None: all); `UsageError` where there is no such function.
    """
    of_programs, of_functions = divided(config)
    whole = Sweep(config, memo)
    plans: list[SweepPlan] = []
    if of_functions is not None:
        from gradfuzz.fuzzer.sweep import functions

        plans.append(functions.planned(whole, of_functions, only))
    if of_programs is not None:
        plans.insert(0, programs.planned(whole, of_programs))
    return whole.events(plans)


def _is_module(name: str) -> bool:
    from gradfuzz.fuzzer.sweep.function_targets import can_be_called

    return can_be_called(name)


def divided(config: SweepConfig) -> tuple[SweepConfig | None, SweepConfig | None]:
    """The settings of the plan about programs, and of that about functions; None where there is none.

    Where there are both, each target is asked what it can be asked, and the workers are divided.
    """
    families = tuple(family for family in config.families if family != FAMILY)
    if len(families) == len(config.families):
        for name in config.targets:
            if not registry.is_known(TargetName.of(name).library) and _is_module(name):
                raise UsageError(
                    f"{name!r} is a module; --family {FAMILY} sweeps the functions that it offers"
                )
        return config, None
    if not families:
        return None, config
    from gradfuzz.fuzzer.sweep.function_targets import can_be_called

    called = tuple(name for name in config.targets if can_be_called(name))
    asked = tuple(name for name in config.targets if registry.is_known(TargetName.of(name).library))
    if not called or not asked:
        what = "programs" if called else f"the functions of {', '.join(config.targets)}"
        raise UsageError(f"no target can be asked about {what}; leave that family out, or name others")
    most = min(CALLS_EACH, config.max_examples)
    size = config.jobs or usual_size()
    one, other = (None, None) if config.cluster else (max(1, size - size // 2), max(1, size // 2))
    return (
        replace(config, targets=asked, families=families, calls="", jobs=one),
        replace(config, targets=called, families=(FAMILY,), max_examples=most, jobs=other),
    )
