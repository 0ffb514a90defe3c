"""The commands. They translate between the shell and the rooms, and do nothing else.

Every flag is also a key of `[tool.gradfuzz]` in the pyproject.toml of the current directory (for all commands, or in
`[tool.gradfuzz.sweep]` for one), and a variable GRADFUZZ_FLAG or GRADFUZZ_COMMAND_FLAG. The command line wins over the variable,
the variable over the file. Results go to stdout, everything else to stderr.

Exit codes: 0 clean, 1 findings, 2 usage error and nothing ran, 3 incomplete, 130 interrupted (with what there was).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gradfuzz.errors import GradfuzzError, UsageError

if TYPE_CHECKING or not sys.stdout.isatty():
    import click  # plain help where nobody sees colours: it starts in half the time
    from click import Group
else:
    import rich_click as click
    from rich_click import RichGroup as Group

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from gradfuzz.fuzzer.events import SweepFinished

__all__ = ["CLEAN", "FINDINGS", "INCOMPLETE", "INTERRUPTED", "USAGE", "main"]

CLEAN, FINDINGS, USAGE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 130


class _Failure(click.ClickException):
    """An error of gradfuzz, told in one paragraph."""

    exit_code = USAGE


class _Main(Group):
    """The group of all commands: gives each flag its variables, and each way to end its exit code."""

    def add_command(self, cmd: click.Command, name: str | None = None, **settings: Any) -> None:
        super().add_command(cmd, name, **settings)
        for key, option in _flags(cmd).items():
            flag = key.replace("-", "_")
            option.envvar = [f"GRADFUZZ_{cmd.name}_{flag}".upper(), f"GRADFUZZ_{flag}".upper()]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GradfuzzError as error:
            raise _Failure(" ".join(str(error).split())) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)


# Settings --------------------------------------------------------------------------------------------------------------


def _flags(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their keys: "max-examples" for --max-examples."""
    return {p.opts[0].removeprefix("--"): p for p in command.params if isinstance(p, click.Option)}


def _read_settings(ctx: click.Context) -> None:
    """Take defaults for the flags from `[tool.gradfuzz]`."""
    import tomllib

    path = Path("pyproject.toml")
    if not path.is_file():
        return
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("gradfuzz", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _Failure(f"pyproject.toml cannot be read: {error}") from error
    assert isinstance(ctx.command, Group)
    ctx.default_map = dict(_defaults(ctx.command, table))


def _defaults(group: Group, table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The default_map of click: per command, parameter name to value. A key that is no flag is an error."""
    flags = {name: _flags(command) for name, command in group.commands.items()}
    everywhere = {key: value for key, value in table.items() if not isinstance(value, dict)}
    _refuse_unknown(everywhere, "tool.gradfuzz", {key for own in flags.values() for key in own})
    _refuse_unknown({key: value for key, value in table.items() if isinstance(value, dict)}, "tool.gradfuzz", set(flags))
    for name, own in flags.items():
        here = table.get(name, {})
        _refuse_unknown(here, f"tool.gradfuzz.{name}", set(own))
        values = {key: value for key, value in everywhere.items() if key in own} | here
        yield name, {str(own[key].name): _joined(own[key], value) for key, value in values.items()}


def _refuse_unknown(table: Mapping[str, Any], name: str, known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise _Failure(f"{key!r} in [{name}] of pyproject.toml means nothing; known are {', '.join(sorted(known))}")


def _joined(option: click.Option, value: Any) -> Any:
    """A list in the file is a list of commas on the command line, but for flags that may be repeated."""
    return ",".join(map(str, value)) if isinstance(value, list) and not option.multiple else value


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from gradfuzz import __version__

        click.echo(f"gradfuzz {__version__}")
        ctx.exit()


_FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    show_default=True,
    help="What stdout gets: text for people, or exactly one JSON document.",
)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit.")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Find wrong gradients in automatic differentiation systems, and prove them.

    Every flag is also a variable (GRADFUZZ_SEED=1) and a key of [tool.gradfuzz] in pyproject.toml (seed = 1).
    """
    _read_settings(ctx)


# Commands --------------------------------------------------------------------------------------------------------------


@main.command(short_help="Draw programs and judge what targets say.")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--family", default="loops", show_default=True, metavar="F,...", help="Kinds of programs.")
@click.option(
    "--checks",
    default="value,vjp,jvp,twins",
    show_default=True,
    metavar="C,...",
    help="What is asked; twins alone ask a reference only where two answers contradict each other.",
)
@click.option("--dtypes", default="float64,float32", show_default=True, metavar="D,...", help="Working precisions.")
@click.option("--orders", default="1,2,3", show_default=True, metavar="N,...", help="Orders of derivatives.")
@click.option("--max-examples", type=int, default=96, show_default=True, metavar="N", help="Programs per target and family.")
@click.option("--max-time", type=float, metavar="SECONDS", help="Begin nothing new after so many seconds.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same programs.")
@click.option("--jobs", type=int, metavar="N", help="Worker processes; chosen if not given.")
@click.option(
    "--report", "reports", multiple=True, metavar="FORMAT[=PATH]", help="Write terminal or json to PATH, too. May be repeated."
)
@click.option("--show-scripts", is_flag=True, help="Print the script of each finding in full.")
@_FORMAT
@click.pass_context
def sweep(
    ctx: click.Context, /, targets: tuple[str, ...], reports: tuple[str, ...], form: str, show_scripts: bool, **flags: Any
) -> None:
    """Draw programs and judge what each TARGET says about them; all installed targets if none is named.

    Exit code 1 with findings, 3 where a time limit left it incomplete, 130 after Ctrl-C, which keeps what was found.
    """
    from gradfuzz.fuzzer.events import SweepFinished
    from gradfuzz.fuzzer.sweep import SweepConfig
    from gradfuzz.fuzzer.sweep import sweep as run
    from gradfuzz.oracles import registry
    from gradfuzz.reports.live import listener

    form, files = _outputs(reports, form)
    config = SweepConfig(
        targets=targets or tuple(registry.installed()),
        families=_names(flags["family"]),
        seed=flags["seed"],
        max_examples=flags["max_examples"],
        max_time=flags["max_time"],
        precisions=_names(flags["dtypes"]),  # type: ignore[arg-type]  # the sweep says which there are
        orders=tuple(_whole(part, "--orders") for part in _names(flags["orders"])),
        checks=_names(flags["checks"]),
        jobs=flags["jobs"],
    )
    with listener(_console(sys.stderr)) as heard:
        for event in run(config):
            heard.handle(event)
    assert isinstance(event, SweepFinished), "a sweep ends so, whatever happens"
    _report_sweep(event, form, files, show_scripts=show_scripts)
    ctx.exit(_exit_code(event))


@main.command(short_help="Ask every oracle about one program.")
@click.argument("source", metavar="BODY|FILE|MODULE:FUNC")
@click.option("--trips", type=click.IntRange(0), metavar="N", help="How often the loop of a bare body runs; 3 if not given.")
@click.option(
    "--loop", type=click.Choice(["for", "while", "repeat", "all"]), help="The loop around a bare body; all if not given."
)
@click.option(
    "--at", multiple=True, metavar="x=0.5,...", help="A point; repeat it for several. An input that is not named is 0.5."
)
@click.option(
    "--init", multiple=True, metavar="acc=1.0", help="The first value of a carry: a number or an expression. May be repeated."
)
@click.option("--wrt", metavar="x,...", help="The inputs to differentiate by; all float inputs if not given.")
@click.option(
    "--order", type=click.IntRange(0, 3), default=1, show_default=True, help="The order of the derivative; 0 is the value."
)
@click.option("--mode", metavar="rev,fwd", help="One rev or fwd per order, innermost first; if not given, what each oracle has.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64", "bfloat16", "float16"]),
    default="float64",
    show_default=True,
    help="The working precision.",
)
@click.option("--with", "others", multiple=True, metavar="ORACLE", help="Ask this one, too: mutant:nx-1747. May be repeated.")
@click.option("--only", multiple=True, metavar="ORACLE", help="Ask this one instead of all that are installed. May be repeated.")
@_FORMAT
@click.pass_context
def check(ctx: click.Context, /, source: str, form: str, **flags: Any) -> None:
    """Ask every oracle about one program.

    A bare loop body, such as acc*x, is the next value of acc, which starts at 1.0; a FILE holds one def, and MODULE:FUNC is imported and
    traced. A complex input, as in --at z=0.5+0.25j, is asked about as z_re and z_im. Exit code 1 if an answer is wrong.
    """
    from gradfuzz.fuzzer import asking
    from gradfuzz.fuzzer.answering import ask_everyone
    from gradfuzz.oracles import registry
    from gradfuzz.programs.printer import to_text
    from gradfuzz.reports import json as documents
    from gradfuzz.reports import terminal

    order, modes = _order_and_modes(flags["order"], flags["mode"], ctx)
    inputs = asking.read_inputs(flags["at"])
    loops = None if flags["loop"] in (None, "all") else (flags["loop"],)
    programs = asking.programs_of(source, loops=loops, trips=flags["trips"], init=asking.read_inits(flags["init"]), inputs=inputs)
    names = list(dict.fromkeys((*(flags["only"] or registry.installed()), *flags["others"])))
    points = [asking.points_of(program, inputs, flags["dtype"]) for _, program in programs]
    for remark in asking.remarks(programs[0][1], inputs, source):
        click.echo(remark, err=True)
    click.echo(f"Asking {', '.join(names)}.", err=True)
    answers = ask_everyone(
        [(loop or "", program) for loop, program in programs],
        points,
        names,
        precision=flags["dtype"],
        wrt=None if flags["wrt"] is None else asking.inputs_named(programs[0][1], _names(flags["wrt"])),
        order=order,
        modes=modes,
    )
    text = to_text(programs[0][1])
    if form == "json":
        _print_json(documents.check_document(text, answers.cases, answers.versions))
    else:
        _print(terminal.check(text, answers.cases))
    ctx.exit(FINDINGS if answers.wrong else CLEAN)


@main.command(short_help="Print a report card of one target.")
@click.argument("target")
@click.option("--suite", default="loops", show_default=True, help="The canonical cases to ask about.")
@click.option("--op", metavar="OP,...", help="Only the rows of a status table that are about these ops.")
@click.option(
    "--scripts", "folder", type=click.Path(path_type=Path), metavar="FOLDER", help="Write a script for each wrong cell."
)
@click.option("--script", "number", type=int, metavar="N", help="Print the script of the wrong cell number N, and nothing else.")
@_FORMAT
def probe(target: str, suite: str, op: str | None, folder: Path | None, number: int | None, form: str) -> None:
    """Ask TARGET about a fixed grid of canonical cases, and print a report card.

    A row that agrees by coincidence differs at a neighbouring point; where the true derivative is zero all around, the row is vacuous. The suites
    of ops (linalg, complex, tensor, vectorize) print a word per cell; the wrong ones have a number, and each a script that shows it without gradfuzz.
    """
    from gradfuzz.fuzzer.probe import probe as report_card
    from gradfuzz.oracles import registry
    from gradfuzz.reports import json as documents
    from gradfuzz.reports import scripts, terminal

    if folder is not None:
        scripts.check_folder(folder)
    ways = registry.resolve(target, together=True)
    ops = None if op is None else _names(op)
    report = report_card(target, ways, suite, lambda doing: click.echo(doing, err=True), ops=ops)
    if folder is not None and scripts.write_probe_scripts(report, folder):
        click.echo(f"Scripts of the numbered cells are in {folder}.", err=True)
    if number is not None:
        click.echo(scripts.script_of(report, number), nl=False)
    elif form == "json":
        _print_json(documents.probe_document(report))
    else:
        _print(terminal.probe(report, folder))


@main.command(short_help="Plant bugs, and see whether they are found.")
@click.option(
    "--profile",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="How much: a minute with a sample of the systematic bugs, or all of them.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same programs.")
@click.option("--seeds", metavar="N..M", help="All seeds from N to M instead of one.")
@click.option(
    "--max-examples",
    type=int,
    default=300,
    show_default=True,
    metavar="N",
    help="Programs of each family that a bug may survive.",
)
@click.option("--mutant", "mutants", multiple=True, metavar="NAME", help="Only this planted bug: nx-1747. May be repeated.")
@click.option("--max-time", type=float, metavar="SECONDS", help="Begin no new round after so many seconds.")
@click.option("--jobs", type=int, metavar="N", help="Worker processes; chosen if not given.")
@_FORMAT
@click.pass_context
def selftest(ctx: click.Context, /, seed: int, seeds: str | None, form: str, **flags: Any) -> None:
    """Plant bugs in the engine, and count the programs until each is found; ask correct oracles, and count false alarms.

    Exit code 0 if every bug after a real report is found, 98 % of the systematic ones, and there is no false alarm; 1 if not; 3 where a time
    limit left it incomplete.
    """
    from gradfuzz.fuzzer.score import Score
    from gradfuzz.fuzzer.selftest import SelftestConfig
    from gradfuzz.fuzzer.selftest import selftest as run
    from gradfuzz.reports import selftest as report

    for event in run(SelftestConfig(seeds=_range(seeds) if seeds else (seed,), **flags)):
        if not isinstance(event, Score):
            click.echo(report.heartbeat(event), err=True)
    assert isinstance(event, Score), "a self-test ends so"
    if form == "json":
        _print_json(report.selftest_document(event))
    else:
        _print(report.selftest(event))
    ended_early = INTERRUPTED if event.interrupted else INCOMPLETE
    ctx.exit(ended_early if not event.complete else CLEAN if event.passed else FINDINGS)


@main.command(short_help="List who can be asked here, and the conventions.")
@click.argument("action", type=click.Choice(["list", "conventions"]), default="list", metavar="[list|conventions]")
@click.option("--ways", is_flag=True, help="Load the libraries, and list every way into them with what it can.")
@_FORMAT
def targets(action: str, form: str, ways: bool) -> None:
    """List who can be asked here, with versions, and what would have to be installed for the rest.

    `targets conventions` prints what the engine, JAX and Torch answer where a derivative does not exist: kinks, ties, ends of domains.
    """
    from gradfuzz.reports import json as documents
    from gradfuzz.reports import terminal

    if action == "conventions":
        from gradfuzz.fuzzer.conventions import CONVENTIONS

        ledger = [row.document() for row in CONVENTIONS]
        if form == "json":
            _print_json(documents.conventions_document(ledger))
        else:
            _print(terminal.conventions(ledger))
        return
    from gradfuzz.fuzzer.abilities import abilities
    from gradfuzz.oracles import registry

    if ways:
        rows = [abilities(oracle) for name in registry.installed() for oracle in registry.resolve(name)]
    else:
        rows = [asdict(row) for row in registry.available()]
    if form == "json":
        _print_json(documents.targets_document(rows))
    else:
        _print(terminal.targets(rows))


# Arguments -------------------------------------------------------------------------------------------------------------


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _whole(text: str, flag: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag} {text!r} is no whole number") from None


def _range(text: str) -> tuple[int, ...]:
    """The seeds of "0..9"."""
    first, dots, last = text.partition("..")
    seeds = tuple(range(_whole(first, "--seeds"), _whole(last if dots else first, "--seeds") + 1))
    if not seeds:
        raise UsageError(f"--seeds {text!r} is empty; write the smaller number first, as in 0..9")
    return seeds


def _order_and_modes(order: int, mode: str | None, ctx: click.Context) -> tuple[int, tuple[Any, ...] | None]:
    """The order and the modes, which tell the order where it is not given itself."""
    if mode is None:
        return order, None
    modes = _names(mode)
    for name in modes:
        if name not in ("rev", "fwd"):
            raise UsageError(
                f"--mode {mode!r}: {name!r} is no mode; the modes are rev and fwd, one for each order, innermost first"
            )
    given = ctx.get_parameter_source("order") is not click.core.ParameterSource.DEFAULT
    if given and len(modes) != order:
        raise UsageError(f"--mode {mode!r} has {len(modes)} steps and --order is {order}; give one mode for each order")
    return len(modes), modes


def _outputs(reports: tuple[str, ...], form: str) -> tuple[str, list[tuple[str, Path]]]:
    """The format of stdout, and those of files with their paths."""
    files: list[tuple[str, Path]] = []
    for text in reports:
        name, sign, path = text.partition("=")
        if name not in ("terminal", "json"):
            raise UsageError(
                f"--report {text!r}: {name!r} is no format; there is terminal and json, as in --report json=sweep.json"
            )
        if not sign:
            form = name
        elif not Path(path).parent.is_dir():
            raise UsageError(f"--report {text!r}: the folder {str(Path(path).parent)!r} does not exist; make it first")
        else:
            files.append((name, Path(path)))
    return form, files


# Output ----------------------------------------------------------------------------------------------------------------


def _console(file: IO[str]) -> Console:
    from gradfuzz.reports.terminal import console

    return console(file)


def _print(what: RenderableType, file: IO[str] | None = None) -> None:
    from gradfuzz.reports.terminal import show

    show(_console(file or sys.stdout), what)


def _print_json(document: Mapping[str, Any], file: IO[str] | None = None) -> None:
    from gradfuzz.reports.json import dumps

    print(dumps(document), file=file or sys.stdout)


def _report_sweep(finished: SweepFinished, form: str, files: list[tuple[str, Path]], *, show_scripts: bool) -> None:
    from gradfuzz.reports import json as documents
    from gradfuzz.reports import terminal
    from gradfuzz.reports.scripts import FOLDER, write_scripts

    scripts = write_scripts(finished.findings)
    if scripts:
        click.echo(f"Scripts that show the findings without gradfuzz are in {FOLDER}.", err=True)

    def write(name: str, file: IO[str] | None = None) -> None:
        if name == "json":
            _print_json(documents.sweep_document(finished), file)
        else:
            _print(terminal.sweep(finished, scripts, show_scripts=show_scripts), file)

    for name, path in files:
        with path.open("w", encoding="utf-8") as file:
            write(name, file)
    write(form)


def _exit_code(finished: SweepFinished) -> int:
    if finished.interrupted:
        return INTERRUPTED
    if finished.findings:
        return FINDINGS
    return CLEAN if finished.complete else INCOMPLETE
