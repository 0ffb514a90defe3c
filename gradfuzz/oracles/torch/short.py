"""Short reproducers for torch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradfuzz.oracles.emit.script_gradient import BATCHED
from gradfuzz.oracles.emit.short import (
    ShortInput,
    assembled,
    cotangent_names,
    direction_names,
    tuple_of,
    used,
)
from gradfuzz.oracles.emit.short_forms import FORMS, input_lines, transformed, units
from gradfuzz.oracles.torch.script import function_source, is_plain

FORM = FORMS["torch"]


def short(shown: ShortInput, oracle_name: str) -> str:
    """The lines that ask torch the same by this entry point; empty for one that has no short form."""
    way = oracle_name.removeprefix("torch:")
    question = shown.question
    if way in BATCHED or (way == "jacobian" and not shown.simple):
        return ""
    needed, parts = function_source(question, way)
    imports = [*FORM.imports, *needed.splitlines()]
    function = "\n\n".join(text.strip("\n") for text in parts)
    function = re.sub(r"(?<![.\w])dtype(?!\w|\s*=)", f"torch.{question.precision}", function)
    functional = way in ("func", "jacobian")
    leaves = "rev" in question.modes and not functional
    inputs = input_lines(shown, FORM, plain=is_plain(way))
    inputs = as_leaves(shown, inputs) if leaves else inputs
    if question.modes and not functional:
        lines = by_autograd(shown)
    else:
        lines = transformed(shown, FORM, "torch.func", whole=way == "jacobian")
    imports += ["import numpy as np"] if used(function, "np") else []
    scalar = question.modes[-1:] == ("fwd",) and not functional
    return assembled(shown, imports, function, inputs, lines, scalar=scalar)


def as_leaves(shown: ShortInput, inputs: Sequence[str]) -> list[str]:
    """The lines of the inputs, where those that are differentiated require a gradient."""
    own = shown.wrt()
    return [f"{x[:-1]}, requires_grad=True)" if x.partition(" = ")[0] in own else x for x in inputs]


def by_autograd(shown: ShortInput, *, unused: bool = False) -> list[str]:
    """By torch.autograd.grad, and once by torch.autograd.forward_ad. `unused`: what requires a gradient may
    not depend on the inputs.
    """
    question, wrt = shown.question, shown.wrt()
    every, names = shown.names(), dict(zip(question.wrt, wrt, strict=True))
    cotangents = [] if shown.one else cotangent_names(shown)
    directions = direction_names(shown)
    single = len(question.weights) == 1
    ys = ["y"] if single else [f"y[{k}]" for k, _ in shown.active]
    ws, lines, tangents = cotangents, list[str](), ""
    forward = "fwd" in question.modes
    if forward:
        vs = directions
        if question.modes[-1] == "fwd":
            along = units(shown, lambda unit: FORM.of(unit, question.precision))
            lines += [f"{v} = {text}" for v, text in along.items()]
            vs = [*along]
        duals = {
            name: f"torch.autograd.forward_ad.make_dual({x}, {v})"
            for (name, x), v in zip(names.items(), vs, strict=True)
        }
        given = ", ".join(duals.get(p.name, every[p.name]) for p in question.program.params)
        tangents = "    "
        lines += ["with torch.autograd.forward_ad.dual_level():"]
    else:
        given = ", ".join(every.values())
    lines += [f"{tangents}y = f({given})"]
    otherwise = ""
    for step, mode in enumerate(question.modes):
        if mode == "fwd":
            terms = []
            for j, y in enumerate(ys):
                tangent = f"torch.autograd.forward_ad.unpack_dual({y}).tangent"
                terms.append(f"torch.sum({ws[j]} * {tangent})" if ws else tangent)
            ys, ws = [" + ".join(terms)], []
            lines += [f"{tangents}got = {ys[0]}"] if step + 1 == len(question.modes) else []
            continue
        more = ", create_graph=True" if step + 1 < len(question.modes) else ""
        more += ", materialize_grads=True" if unused or len(wrt) > 1 or len(question.modes) > 1 else ""
        of = ys[0] if len(ys) == 1 else tuple_of(ys)
        weights = f", {ws[0] if len(ws) == 1 else tuple_of(ws)}" if ws else ""
        last = step + 1 == len(question.modes)
        at = f"[{shown.place if last else 0}]" if last or len(wrt) == 1 else ""
        xs = wrt[0] if len(wrt) == 1 else tuple_of(wrt)
        if last and step and shown.detached:  # torch.autograd.grad wants a value that depends on an input
            lines += [f"{tangents}slope = {of}"]
            of, otherwise = "slope", f" if slope.requires_grad else torch.zeros_like({wrt[shown.place]})"
        lines += [f"{tangents}got = torch.autograd.grad({of}, {xs}{weights}{more}){at}{otherwise}"]
        ys, ws = ["got"] if at else [f"got[{k}]" for k in range(len(wrt))], directions
    return lines
