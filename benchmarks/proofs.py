"""The page docs/proofs.md: which derivative rules of JAX and Torch are proved right.

    python -m benchmarks.proofs
    python -m benchmarks.proofs torch --calls 4

Calls of every function of the library are drawn, and their derivatives proved, at several points each. A
proof counts for every rule that takes part: for each primitive of the function's jaxpr and of its linear
part, and for each row of Torch's table of derivatives that autograd uses, in the derivative of the derivative
as well. Each function has a process of its own. The tables of the libraries that are not asked stay as they
are.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradfuzz.calls.drawing.draw import refused
from gradfuzz.calls.drawing.search import Search
from gradfuzz.calls.libraries.library import library_named
from gradfuzz.calls.proofs import subject_of_call
from gradfuzz.oracles.base import Mode
from gradfuzz.oracles.catalogues import catalogue
from gradfuzz.strategies.drawing.dice import Seeded
from gradfuzz.testing.measuring.subject import Subject
from gradfuzz.testing.proving.prove import proved_at

PAGE = Path(__file__).parents[1] / "docs" / "proofs.md"
ENOUGH = 20
"""Points at which a rule is to be proved, in each mode."""

POINTS = 10
"""Points around each call."""

SECONDS = 60
"""What a function may take."""

MODES: dict[str, tuple[tuple[Mode, ...], ...]] = {
    "jax": (("rev",), ("fwd",)),
    "torch": (("rev",), ("fwd",), ("rev", "rev")),
}


@dataclass
class Rule:
    """What is known of a rule: by mode the outcomes, and functions with a wrong one; the reasons of what is
    open.
    """

    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


# The rules of a library -------------------------------------------------------------------------------------


def rules_of_jax() -> list[str]:
    """The primitives with a jvp or a transpose."""
    import jax.scipy.linalg
    import jax.scipy.special  # noqa: F401 - what registers primitives
    from jax.interpreters import ad

    return sorted({p.name for p in (*ad.primitive_jvps, *ad.primitive_transposes)})


def rules_of_torch() -> list[str]:
    """The rows of the table of derivatives that have a formula, as autograd names them."""
    import torchgen
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    home = Path(torchgen.__file__).parent / "packaged"
    native = home / "ATen" / "native"
    infos, _ = load_derivatives(
        str(home / "autograd" / "derivatives.yaml"),
        str(native / "native_functions.yaml"),
        str(native / "tags.yaml"),
    )
    rows = [info["Default"] for info in infos.values() if "Default" in info]
    return sorted({row.op for row in rows if row.derivatives and row.op})


def used_by_jax(subject: Subject, modes: tuple[Mode, ...]) -> set[str]:
    import jax
    import jax.numpy as jnp

    xs = [jnp.asarray(a) for a in subject.arrays([i.value for i in subject.inputs])]

    def f(*ys: Any) -> Any:
        arrays = list(xs)
        for k, y in zip(subject.wrt, ys, strict=True):
            arrays[k] = y
        return [y for y in subject.call(*arrays) if jnp.issubdtype(jnp.asarray(y).dtype, jnp.floating)]

    given = [xs[k] for k in subject.wrt]
    with subject.framework.context(subject.precision):
        found = set(primitives(jax.make_jaxpr(f)(*given).jaxpr))
        _, linear = jax.linearize(f, *given)
        return found | set(primitives(jax.make_jaxpr(linear)(*given).jaxpr))


def primitives(jaxpr: Any) -> Iterator[str]:
    """The names of the primitives of a jaxpr and of all inside it."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for one in value if isinstance(value, (tuple, list)) else [value]:
                inner = getattr(one, "jaxpr", one)
                if hasattr(inner, "eqns"):
                    yield from primitives(inner)


def used_by_torch(subject: Subject, modes: tuple[Mode, ...]) -> set[str]:
    import torch

    arrays = subject.arrays([i.value for i in subject.inputs])
    xs = [arrays[k].requires_grad_() for k in subject.wrt]
    ys = [y for y in subject.call(*arrays) if y.is_floating_point() and y.requires_grad]
    found = set(nodes(ys))
    if len(modes) > 1:
        slopes = torch.autograd.grad([y.sin().sum() for y in ys], xs, create_graph=True, allow_unused=True)
        found |= set(nodes([s for s in slopes if s is not None]))
    return found


def nodes(tensors: Sequence[Any]) -> Iterator[str]:
    """The names of the nodes that autograd goes through from some tensors on."""
    seen: set[Any] = set()
    waiting = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node.name()
        waiting += [after for after, _ in node.next_functions if after is not None]


RULES = {"jax": rules_of_jax, "torch": rules_of_torch}
USED = {"jax": used_by_jax, "torch": used_by_torch}

# The proofs -------------------------------------------------------------------------------------------------


def proofs_of(library: str, function: Any, calls: int, seed: int) -> list[dict[str, Any]]:
    """What is proved of some calls of a function: records for `collected`."""
    records = []
    search = Search(library, function, Seeded(f"{seed}/proofs/{function.signature}"), lambda call: None)
    known = 0
    for count, call in enumerate(search.calls(), 1):
        subject = subject_of_call(call)
        is_known = False
        for modes in MODES[library] if subject is not None else ():
            proofs = proved_at(subject, modes, POINTS)
            is_known = is_known or any(proof.outcome != "open" for proof in proofs)
            try:
                rules = USED[library](subject, modes)
            except Exception:  # noqa: BLE001 - a function without this derivative
                rules = set()
            records.append(
                {
                    "function": call.function,
                    "mode": " ".join(modes),
                    "rules": sorted(rules),
                    "outcomes": Counter(proof.outcome for proof in proofs),
                    "reasons": Counter(proof.reason[:80] for proof in proofs if proof.outcome == "open"),
                }
            )
        known += is_known
        if known == calls or count == (4 if known else 1) * calls:
            break
    return records


def collected(library: str, calls: int, seed: int) -> dict[str, Rule]:
    """Each function in a process of its own: it may take all its time, or take the process down."""
    library_named(library).begin()
    rules = {name: Rule() for name in RULES[library]()}
    rows = [f for f in catalogue(library).functions if f.outcome == "differentiable" and refused(f) is None]
    with tempfile.TemporaryDirectory(prefix="gradfuzz-proofs-") as folder:
        for number, function in enumerate(rows):
            place = Path(folder, f"{number}.json")
            child = os.fork()
            if child == 0:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.dup2(null, 2)
                signal.alarm(SECONDS)
                place.write_text(json.dumps(proofs_of(library, function, calls, seed)))
                os._exit(0)
            os.waitpid(child, 0)
            for record in json.loads(place.read_text()) if place.exists() and place.stat().st_size else []:
                add(rules, record)
            if number % 50 == 0:
                print(f"{library}: {number} of {len(rows)} functions", file=sys.stderr, flush=True)
    return rules


def add(rules: Mapping[str, Rule], record: Mapping[str, Any]) -> None:
    for name in record["rules"]:
        if name in rules:
            rule = rules[name]
            rule.outcomes[record["mode"]].update(record["outcomes"])
            rule.reasons.update(record["reasons"])
            if "wrong rule" in record["outcomes"]:
                rule.wrong[record["function"]] += 1


# The page ---------------------------------------------------------------------------------------------------


def verdict(library: str, rule: Rule) -> str:
    """What is known of a rule, in words."""
    modes = ("rev", "fwd")
    right = [rule.outcomes[m]["right"] for m in modes]
    second = rule.outcomes["rev rev"]["right"]
    if min(right) >= ENOUGH or (library == "torch" and second >= ENOUGH and not any(right)):
        return "proved right"
    if any(right) or second:
        return "proved at fewer points"
    return "not reached"


def table(library: str, rules: Mapping[str, Rule]) -> str:
    """The section of a library."""
    version = importlib.metadata.version(library)
    words = {name: verdict(library, rule) for name, rule in rules.items()}
    counts = Counter(words.values())
    share = counts["proved right"] / len(rules)
    lines = [
        f"## {library} {version}",
        f"{counts['proved right']} of {len(rules)} rules ({share:.0%}) are proved right at {ENOUGH} points or"
        f" more,\n{counts['proved at fewer points']} at fewer points or in one mode, and"
        f" {counts['not reached']} are not reached.",
        "",
        "| rule | verdict | reverse | forward | second order | open | wrong in calls of |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rule in sorted(rules.items()):
        right = [rule.outcomes[m]["right"] for m in ("rev", "fwd", "rev rev")]
        still = sum(c["open"] for c in rule.outcomes.values())
        wrong = ", ".join(f"`{f}`" for f in sorted(rule.wrong))
        lines.append(f"| `{name}` | {words[name]} | {' | '.join(map(str, right))} | {still} | {wrong} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", nargs="*", default=list(RULES), choices=[[], *RULES])
    parser.add_argument("--calls", type=int, default=4, help="calls of each function")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    for library in options.libraries:
        begin, end = f"<!-- {library} -->", f"<!-- end of {library} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        section = table(library, collected(library, options.calls, options.seed))
        text = f"{before}{begin}\n{section}{end}{after}"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
