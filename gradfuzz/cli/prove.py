"""The command `gradfuzz prove`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradfuzz.cli.options import PATH, names_option
from gradfuzz.cli.output import FORMAT, answer, check_writable, writing
from gradfuzz.cli.shell import CLEAN, FINDINGS, INCOMPLETE, click
from gradfuzz.errors import UsageError

if TYPE_CHECKING:
    from gradfuzz.fuzzer.results.proof import ProofRecord


@click.command(short_help="Prove the derivative rules of a function.")
@click.argument("source", metavar="MODULE:FUNC|LIBRARY.FUNC")
@click.option(
    "--at",
    multiple=True,
    metavar="x=0.5,...",
    help="Arguments of MODULE:FUNC; those that are not named are found by trying.",
)
@click.option(
    "--framework",
    type=click.Choice(["jax", "torch"]),
    help="The framework of MODULE:FUNC; detected from its code if not given.",
)
@names_option("--wrt", metavar="x,...", help="Arguments to differentiate by; all floats if not given.")
@click.option("--order", type=click.IntRange(1, 2), default=1, help="The highest order of the derivatives.")
@click.option("--mode", type=click.Choice(["rev", "fwd"]), help="One mode; both if not given.")
@click.option(
    "--calls", type=click.IntRange(1), default=8, metavar="N", help="Calls of LIBRARY.FUNC that are drawn."
)
@click.option("--seed", default=0, metavar="N", help="The seed of the calls.")
@click.option("--html", type=PATH, metavar="FILE", help="Write the proofs as a page, too.")
@FORMAT
@click.pass_context
def prove(ctx: click.Context, /, source: str, form: str, html: Path | None, **flags: Any) -> None:
    """Prove that the derivative rules of a function are right, or wrong.

    The derivative that JAX or Torch would run is traced and evaluated in balls, numbers with a proved bound,
    and so is the true derivative. Where the two cannot be one number, the rule is wrong; no tolerance is
    involved. Then the library's own answer is compared, so that digits that are lost are told apart from a
    rule that is wrong.

    MODULE:FUNC is imported from the current directory. Of a function of a library, as torch.logcumsumexp or
    jax.numpy.sort, calls are drawn. Exit code 1 if a rule or an answer is wrong, 3 if nothing is proved.
    """
    from gradfuzz.reports import html as pages
    from gradfuzz.reports.terminal import report as terminal

    if html is not None:
        check_writable(html, "--html")
    found = _of_function(source, flags) if ":" in source else _of_library(source, flags)
    if html is not None:
        with writing(repr(str(html))):
            html.write_text(pages.proofs(found), encoding="utf-8")
    answer(form, lambda: {"proofs": [asdict(one) for one in found]}, lambda: terminal.proofs(found))
    outcomes = {one.outcome.partition(" ")[0] for one in found}
    ctx.exit(FINDINGS if "wrong" in outcomes else CLEAN if "right" in outcomes else INCOMPLETE)


def _of_function(source: str, flags: Mapping[str, Any]) -> list[ProofRecord]:
    from gradfuzz.fuzzer.proving.gradient import prove_gradient
    from gradfuzz.fuzzer.proving.listing import record_of
    from gradfuzz.fuzzer.questions.request import read_inputs
    from gradfuzz.testing.starter import example

    inputs = read_inputs([",".join(flags["at"])])[0] if flags["at"] else None
    f, framework, arguments = example(source, flags["framework"], inputs)
    wrt = list(flags["wrt"]) or None
    proofs = prove_gradient(
        f, *arguments, wrt=wrt, order=flags["order"], modes=flags["mode"], framework=framework
    )
    return [record_of(proof, source.rpartition(":")[2]) for proof in proofs]


def _of_library(source: str, flags: Mapping[str, Any]) -> list[ProofRecord]:
    from gradfuzz.fuzzer.calling.proofs import proofs_of_function

    if flags["at"] or flags["wrt"]:
        raise UsageError(f"calls of {source} are drawn; --at and --wrt are for MODULE:FUNC")
    modes = None if flags["mode"] is None else (flags["mode"],)
    return proofs_of_function(source, flags["calls"], seed=flags["seed"], order=flags["order"], modes=modes)
