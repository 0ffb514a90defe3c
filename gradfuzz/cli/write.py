"""The command `gradfuzz write`."""

from __future__ import annotations

from pathlib import Path

from gradfuzz.cli.options import PATH
from gradfuzz.cli.output import check_writable, writing
from gradfuzz.cli.shell import click
from gradfuzz.errors import UsageError


@click.command(short_help="Write a first test of a function's gradient.")
@click.argument("source", metavar="MODULE:FUNC")
@click.option("--grad", metavar="[MODULE:]FUNC", help="The hand-written gradient of a NumPy function.")
@click.option(
    "--framework",
    type=click.Choice(["jax", "torch", "autograd", "numpy"]),
    help="The framework of the function; detected from its code if not given.",
)
@click.option(
    "--at",
    multiple=True,
    metavar="x=0.5,...",
    help="Arguments that the function accepts; found by trying if not given.",
)
@click.option("--output", "-o", type=PATH, metavar="FILE", help="Write a new file instead of stdout.")
def write(
    source: str, grad: str | None, framework: str | None, at: tuple[str, ...], output: Path | None
) -> None:
    """Write a test that checks the gradient of a function: of JAX, Torch, HIPS autograd, or of NumPy with a
    hand-written gradient.

    MODULE:FUNC is imported from the current directory, and called to find arguments that it accepts. The test
    checks the gradient at these arguments and at arguments that Hypothesis draws. It runs as it is, and is
    yours to edit.
    """
    from gradfuzz.fuzzer.questions.request import read_inputs
    from gradfuzz.testing.starter import starter

    if output is not None and output.exists():
        advice = "name a new file, or leave out --output"
        raise UsageError(f"{str(output)!r} exists and is not overwritten; {advice}")
    if output is not None:
        check_writable(output, "--output")
    inputs = read_inputs([",".join(at)])[0] if at else None
    text = starter(source, grad=grad, framework=framework, inputs=inputs)  # type: ignore[arg-type]  # click says which there are
    if output is None:
        click.echo(text, nl=False)
        return
    with writing(repr(str(output))):
        output.write_text(text, encoding="utf-8")
    click.echo(f"The test is in {output}. Run it: pytest {output}", err=True)
