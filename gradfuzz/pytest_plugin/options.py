"""The options of the tests with the mark, read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pytest

from gradfuzz.errors import GradfuzzError
from gradfuzz.fuzzer.results.review import Baseline
from gradfuzz.fuzzer.store import baseline

Profile = Literal["quick", "ci", "nightly"]


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """`profile`: how much is asked. `known`: the baseline, read from `file`."""

    profile: Profile
    known: Baseline
    file: Path | None
    reports: tuple[str, ...]
    accept: str | None


_KEY: pytest.StashKey[SuiteOptions] = pytest.StashKey()


def options(config: pytest.Config) -> SuiteOptions:
    """The options of this session; `RecordError` if the baseline cannot be read."""
    if _KEY not in config.stash:
        path = config.getoption("gradfuzz_baseline")
        file = None if path is None else config.invocation_params.dir / path
        config.stash[_KEY] = SuiteOptions(
            cast(Profile, config.getoption("gradfuzz_profile") or "ci"),
            Baseline() if file is None else baseline.read(file),
            file,
            tuple(config.getoption("gradfuzz_report")),
            config.getoption("gradfuzz_accept"),
        )
    return config.stash[_KEY]


def check(config: pytest.Config) -> None:
    """Checks the options before the tests (`pytest.UsageError`), and loads Hypothesis's profile."""
    try:
        given = options(config)
        if given.reports:
            from gradfuzz.cli.reporting import outputs

            outputs(given.reports)
    except GradfuzzError as error:
        raise pytest.UsageError(str(error).replace("--report ", "--gradfuzz-report ")) from error
    if given.accept is not None and given.file is None:
        raise pytest.UsageError(
            "--gradfuzz-accept needs a file to write into: --gradfuzz-baseline=gradfuzz-baseline.json"
        )
    if given.accept is not None and not given.accept.strip():
        raise pytest.UsageError(
            "--gradfuzz-accept needs a reason: --gradfuzz-accept='reported, see the link'"
        )
    if config.getoption("gradfuzz_profile") and not config.getoption("--hypothesis-profile", None):
        import hypothesis

        from gradfuzz import hypothesis_plugin

        hypothesis_plugin.register()
        hypothesis.settings.load_profile(f"gradfuzz-{given.profile}")
