"""The command `gradfuzz check`."""

from __future__ import annotations

from typing import Any

from gradfuzz.cli import completion
from gradfuzz.cli.options import LIMITS, ON_DEVICE, names_option
from gradfuzz.cli.output import FORMAT, answer
from gradfuzz.cli.shell import CLEAN, FINDINGS, click
from gradfuzz.errors import UsageError


@click.command(short_help="Ask every oracle about one program.")
@click.argument("source", metavar="BODY|FILE|MODULE:FUNC")
@click.option(
    "--trips",
    type=click.IntRange(0),
    metavar="N",
    help="The trip count of the loop around a bare body; 3 if not given.",
)
@click.option(
    "--loop",
    type=click.Choice(["for", "while", "repeat", "all"]),
    help="The form of the loop around a bare body; all if not given.",
)
@click.option(
    "--at",
    multiple=True,
    metavar="x=0.5,...",
    help="A point; repeat it for several. An input that is not named is 0.5.",
)
@click.option(
    "--init",
    multiple=True,
    metavar="acc=1.0",
    help="The first value of a carry: a number or an expression. May be repeated.",
)
@names_option("--wrt", metavar="x,...", help="The inputs to differentiate by; all float inputs if not given.")
@click.option(
    "--order",
    type=click.IntRange(0, 3),
    default=1,
    help="The order of the derivative; 0 is the value.",
)
@names_option(
    "--mode",
    metavar="rev,fwd",
    help="One rev or fwd for each order, innermost first; if not given, every mode of each oracle.",
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float64", "bfloat16", "float16"]),
    default="float64",
    help="The working precision.",
)
@names_option(
    "--with",
    "others",
    metavar="ORACLE",
    shell_complete=completion.TARGETS,
    help="Ask this oracle, too: mutant:nx-1747. May be repeated.",
)
@names_option(
    "--only",
    metavar="ORACLE",
    shell_complete=completion.TARGETS,
    help="Ask this oracle instead of all installed ones. May be repeated.",
)
@ON_DEVICE
@LIMITS
@FORMAT
@click.pass_context
def check(ctx: click.Context, /, source: str, form: str, **flags: Any) -> None:
    """Ask every oracle about one program.

    A bare loop body, such as acc*x, is the next value of acc, which starts at 1.0. A FILE holds one def.
    MODULE:FUNC is imported and traced. A complex input, as in --at z=0.5+0.25j, becomes the inputs z_re and
    z_im. Exit code 1 if an answer is wrong.
    """
    from gradfuzz.fuzzer.questions import request
    from gradfuzz.fuzzer.verdict.checking import ask_everyone
    from gradfuzz.oracles import registry
    from gradfuzz.programs.language.program import to_text
    from gradfuzz.reports.machine import json as documents
    from gradfuzz.reports.terminal import report as terminal

    order, modes = _order_and_modes(flags["order"], flags["mode"], ctx)
    inputs = request.read_inputs(flags["at"])
    loops = None if flags["loop"] in (None, "all") else (flags["loop"],)
    programs = request.programs_of(
        source, loops=loops, trips=flags["trips"], init=request.read_inits(flags["init"]), inputs=inputs
    )
    names = list(dict.fromkeys((*(flags["only"] or registry.installed()), *flags["others"])))
    points = [request.points_of(program, inputs, flags["dtype"]) for _, program in programs]
    for remark in request.remarks(programs[0][1], inputs, source):
        click.echo(remark, err=True)
    click.echo(f"Asking {', '.join(names)}.", err=True)
    answers = ask_everyone(
        [(loop or "", program) for loop, program in programs],
        points,
        names,
        precision=flags["dtype"],
        wrt=request.inputs_named(programs[0][1], flags["wrt"]) if flags["wrt"] else None,
        order=order,
        modes=modes,
    )
    text = to_text(programs[0][1])
    answer(
        form,
        lambda: documents.check_document(text, answers.cases, answers.versions),
        lambda: terminal.check(text, answers.cases),
    )
    ctx.exit(FINDINGS if answers.wrong else CLEAN)


def _order_and_modes(
    order: int, modes: tuple[Any, ...], ctx: click.Context
) -> tuple[int, tuple[Any, ...] | None]:
    """The order and the modes. Without an order, the number of modes is the order."""
    if not modes:
        return order, None
    mode = ",".join(modes)
    for name in modes:
        if name not in ("rev", "fwd"):
            raise UsageError(
                f"--mode {mode!r}: {name!r} is not a mode; the modes are rev and fwd, one for each order,"
                " innermost first"
            )
    given = ctx.get_parameter_source("order") is not click.core.ParameterSource.DEFAULT
    if given and len(modes) != order:
        raise UsageError(
            f"--mode {mode!r} has {len(modes)} steps and --order is {order}; give one mode for each order"
        )
    return len(modes), modes
