"""The commands. They translate between the shell and the packages, and do nothing else.

Every flag is also a key of `[tool.gradfuzz]` in the pyproject.toml of the current directory (for all
commands, or in `[tool.gradfuzz.sweep]` for one), and a variable GRADFUZZ_FLAG or GRADFUZZ_COMMAND_FLAG. The
command line takes precedence over the variable, the variable over the file. Results go to stdout, everything
else to stderr.

Exit codes: 0 clean, 1 findings, 2 usage error (nothing ran) or a target that answers nothing, 3
incomplete or unwritable output, 4 a fault of gradfuzz's own (beside findings, too), 130 interrupted (the
results so far are reported). A command is a module of this package and a name in COMMANDS.
"""

from __future__ import annotations

from gradfuzz.cli.baseline import baseline
from gradfuzz.cli.bisect import bisect
from gradfuzz.cli.board import board
from gradfuzz.cli.check import check
from gradfuzz.cli.diff import diff
from gradfuzz.cli.findings import findings
from gradfuzz.cli.probe import probe
from gradfuzz.cli.prove import prove
from gradfuzz.cli.record import record
from gradfuzz.cli.replay import replay
from gradfuzz.cli.report import report
from gradfuzz.cli.selftest import selftest
from gradfuzz.cli.settings import read_settings
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, INTERRUPTED, OWN_FAULT, USAGE, Commands, click
from gradfuzz.cli.show import show
from gradfuzz.cli.sweeping.merge import merge
from gradfuzz.cli.sweeping.sweep import sweep
from gradfuzz.cli.targets import targets
from gradfuzz.cli.write import write
from gradfuzz.version import __version__

__all__ = ["CLEAN", "FINDINGS", "INCOMPLETE", "INTERRUPTED", "OWN_FAULT", "USAGE", "main"]

COMMANDS = (
    *(baseline, bisect, board, check, diff, findings, merge, probe, prove, record, replay, report),
    *(selftest, show, sweep, targets, write),
)


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(cls=Commands, context_settings=_SETTINGS)
@click.version_option(__version__, message="gradfuzz %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Find wrong gradients in automatic differentiation systems, and prove them.

    Every flag is also a variable (GRADFUZZ_SEED=1) and a key of [tool.gradfuzz] in pyproject.toml (seed = 1).
    """
    read_settings(ctx)


for command in COMMANDS:
    main.add_command(command)
