"""The settings of a sweep, in what two of them differ, and the command that repeats a sweep."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradfuzz.errors import UsageError
from gradfuzz.fuzzer.calling.objects import is_trusted
from gradfuzz.fuzzer.questions.weighted import CHECKS
from gradfuzz.fuzzer.results.codec import Json, decode, encode
from gradfuzz.fuzzer.results.functions import FAMILY
from gradfuzz.oracles.device import DEVICE, WITH_DEVICES, device
from gradfuzz.oracles.foreign.resource_limits import flags
from gradfuzz.oracles.target_name import TargetName
from gradfuzz.programs.language.precision import FORMATS, Precision
from gradfuzz.strategies import FAMILIES
from gradfuzz.version import __version__

CHEAP = ("engine", "mutant")
"""Libraries that are asked without worker processes."""


@dataclass(frozen=True, slots=True)
class SweepConfig:
    """The settings of a sweep. The defaults are an everyday sweep."""

    targets: tuple[str, ...]
    """Names of oracles, or of libraries with all their entry points."""
    families: tuple[str, ...] = ("loops",)
    seed: int = 0
    max_examples: int = 96
    """Programs per family; every target is asked about each."""
    max_time: float | None = None
    """Seconds after which no new batch begins. What still runs a little later is given up."""
    precisions: tuple[Precision, ...] = ("float64", "float32")
    orders: tuple[int, ...] = (1, 2, 3)
    checks: tuple[str, ...] = CHECKS
    jobs: int | None = None
    """Worker processes; None: one per core, at most four, and none where every target is cheap."""
    shrink: bool = True
    """Whether what is found is made smaller. Otherwise a finding shows the program as it was drawn."""
    cluster: str = ""
    """The Dask cluster that does the work: "local:4", "tcp://HOST:PORT", "scheduler.json". Empty: none."""
    shard: tuple[int, int] | None = None
    """(k, n): of n parts of the sweep only the k-th, counted from 1. None: all of it."""
    apart: bool = False
    """Whether each system has programs of its own, so that no question depends on what else is installed."""
    calls: str = ""
    """A file of recorded calls, with which a sweep of functions begins."""
    device: str = field(default_factory=device)
    """Where JAX and Torch compute: the device of this process, from `GRADFUZZ_DEVICE`."""


def check(config: SweepConfig) -> None:
    """Raises `UsageError` for settings that make no sense."""
    if not config.targets:
        raise UsageError("a sweep needs a target; `gradfuzz targets` lists them")
    for name, values, known in (
        ("family", config.families, (*FAMILIES, FAMILY)),
        ("dtype", config.precisions, tuple(FORMATS)),
        ("order", config.orders, (1, 2, 3)),
        ("check", config.checks, CHECKS),
    ):
        listed = ", ".join(map(str, known))
        if not values:
            raise UsageError(f"a sweep needs at least one {name} of {listed}")
        for value in values:
            if value not in known:
                raise UsageError(f"unknown {name} {value!r}; known are {listed}")
    if config.calls:
        raise UsageError(f"calls is {config.calls!r}; recorded calls are for the family 'functions'")
    if config.max_examples < 1:
        raise UsageError(f"max_examples is {config.max_examples}; a sweep needs at least one program")
    if config.max_time is not None and not config.max_time > 0:
        raise UsageError(f"max_time is {config.max_time}; give a time in seconds above 0")
    check_workers(config)
    if config.device != device():
        own = f"device is {config.device!r}, and this process has {device()!r}"
        raise UsageError(f"{own}; set {DEVICE} before the sweep begins")
    for target in config.targets if config.device != "cpu" else ():
        if TargetName.of(target).library not in (*WITH_DEVICES, *CHEAP):
            able = " and ".join(WITH_DEVICES)
            raise UsageError(f"{target} is asked on the CPU only; the targets with a device are {able}")


def check_workers(config: SweepConfig) -> None:
    """Raises `UsageError` for workers, or a part of the sweep, that there cannot be."""
    if config.jobs is not None and config.jobs < 1:
        raise UsageError(f"jobs is {config.jobs}; at least one process has to do the work")
    if config.jobs is not None and config.cluster:
        raise UsageError(
            f"jobs is {config.jobs} and cluster {config.cluster!r}; a sweep has workers of one kind"
        )
    if config.shard is not None and not 1 <= config.shard[0] <= config.shard[1]:
        part, parts = config.shard
        raise UsageError(f"shard is {part}/{parts}; the parts of a sweep are 1/{parts} to {parts}/{parts}")


def rerun_command(config: SweepConfig) -> str:
    """The command that repeats the sweep. Defaults are left out, except seed and number of programs. Who does
    the work changes nothing, and is left out, too.
    """
    default = SweepConfig(config.targets)
    parts = ["gradfuzz", "sweep", *config.targets]
    parts += ["--seed", str(config.seed), "--max-examples", str(config.max_examples)]
    for flag, value, usual in (
        ("--family", config.families, default.families),
        ("--dtypes", config.precisions, default.precisions),
        ("--orders", config.orders, default.orders),
        ("--checks", config.checks, default.checks),
    ):
        if value != usual:
            parts += [flag, ",".join(map(str, value))]
    if config.calls:
        parts += ["--calls", config.calls, *(["--trust"] if is_trusted() else [])]
    if not config.shrink:
        parts.append("--no-shrink")
    if config.device != "cpu":
        parts += ["--device", config.device]
    if config.max_time is not None:
        parts += ["--max-time", f"{config.max_time:g}"]
    if config.apart:
        parts.append("--apart")
    if config.shard is not None:
        parts += ["--shard", "{}/{}".format(*config.shard)]
    return shlex.join([*parts, *flags()])


def settings_of(config: SweepConfig, versions: Sequence[tuple[str, str]]) -> dict[str, Json]:
    """What a sweep's result depends on: neither who does the work, nor the time limit. `versions` are those
    of the oracles, by name.
    """
    shown: dict[str, Any] = encode(SweepConfig, replace(config, jobs=None, cluster="", max_time=None))
    shown = {name: value for name, value in shown.items() if name not in ("jobs", "cluster", "max_time")}
    command = rerun_command(config)
    return {"gradfuzz": __version__, "versions": dict(versions), "config": shown, "rerun": command}


def whole(settings: Mapping[str, Json]) -> dict[str, Json]:
    """The settings of the sweep of which these are a part's."""
    config = config_of(settings)
    return settings_of(replace(config, shard=None), list(settings["versions"].items()))


def config_of(settings: Mapping[str, Json]) -> SweepConfig:
    """The configuration in settings. `RecordError` where it is not this gradfuzz's."""
    usual = encode(SweepConfig, SweepConfig(()))
    return decode(SweepConfig, {**usual, **settings["config"]}, "the settings")


def differences(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    """Differences in words, as in "seed was 0 and is 1"."""
    pairs = [("gradfuzz", old["gradfuzz"], new["gradfuzz"])]
    pairs += [(name, old["config"].get(name), value) for name, value in new["config"].items()]
    both = [name for name in old["versions"] if name in new["versions"]]
    pairs += [(name, old["versions"][name], new["versions"][name]) for name in both]
    return [f"{name.replace('_', '-')} was {_shown(a)} and is {_shown(b)}" for name, a, b in pairs if a != b]


def _shown(value: Json) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
