"""The page of the power table: docs/power.md."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

__all__ = ["ACCUSED", "Record", "outcome", "text"]

Record = dict[str, Any]

WRONG = ("DISAGREE", "CRASHED")
"""Verdicts that accuse."""

ACCUSED, UNJUDGED, PASSED = "accused", "not judged", "passed"

OTHERS = {"torch": "torch.autograd.gradcheck", "jax": "jax.test_util.check_grads"}

HEAD = """# The power of a check

<!-- Made by `python -m benchmarks.power`; edit benchmarks/power/report.py. -->

{functions:,} right functions of JAX and Torch are asked about, easy and hard ones, each as it is and with its
right derivative given by a custom rule. Each is asked about again with planted mistakes: the same value and a
wrong derivative. A check should call the first right and the second wrong.
"""

HOW = """## How it is measured
- *gradfuzz* is `gradfuzz.testing.measure_gradient` with its defaults. An accusation is the verdict "disagree"
  or "crashed". "Agree" and "convention" are a pass: a convention says which answers are accepted, and the
  check does not fail. "Inconclusive", "right in part" and "unsupported" count as not judged, and so does a
  check of more than 60 seconds.
- *The others* are `torch.autograd.gradcheck` for functions of Torch, in float64 alone as its documents
  demand, and `jax.test_util.check_grads` in reverse mode for those of JAX, with the tolerances that it has
  for the dtype. A mistake of forward mode or of second order is shown to them in this mode and order. Their
  sums stand beside those of gradfuzz for the same cases.
- *Plants*: {count} of {kinds} kinds for each function, drawn by the seed {seed} from those that fit. A plant
  fits where it changes the derivative along two random directions by more than {roundings:g} roundings of an
  entry, and by more than {roundings:g} times what the last bits of the arguments change there.
  {dropped:,} more were drawn that change nothing, or less; {failed:,} more cannot be made (the function has
  no second derivative, say).
- A function whose derivative has several legal values in some entries ("at a kink") gets no plant that is
  wrong in single entries.
"""


def outcome(record: Record) -> str:
    """What gradfuzz says."""
    verdict = record["verdict"]
    return ACCUSED if verdict in WRONG else PASSED if verdict in ("AGREE", "CONVENTION") else UNJUDGED


def _other(record: Record) -> str | None:
    return {"passes": PASSED, "accuses": ACCUSED, "not judged": UNJUDGED}.get(record["other"])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _counts(records: Sequence[Record], ask: Callable[[Record], str | None], order: Sequence[str]) -> str:
    found = Counter(ask(r) for r in records)
    return " / ".join(f"{found[one]:,}" for one in order)


RIGHT, FOUND = (PASSED, UNJUDGED, ACCUSED), (ACCUSED, UNJUDGED, PASSED)


def _row(name: str, records: Sequence[Record]) -> list[str]:
    right, wrong = ([r for r in records if bool(r["kind"]) is k] for k in (False, True))
    cells = [name]
    for some, order in ((right, RIGHT), (wrong, FOUND)):
        both = [r for r in some if _other(r) is not None]
        cells += [
            _counts(some, outcome, order) if some else "",
            _counts(both, outcome, order) if both else "",
            _counts(both, _other, order) if both else "",
        ]
    return cells


_SIDES = (
    "right: right / not judged / accused",
    "those that the other is asked about",
    "the other",
    "wrong: found / not judged / passed",
    "those that the other is asked about",
    "the other",
)


def _by(name: str, records: Sequence[Record], keys: Callable[[Record], Iterable[str]]) -> str:
    """A table with a row for each key of the records."""
    rows: dict[str, list[Record]] = {}
    for record in records:
        for key in keys(record):
            rows.setdefault(key, []).append(record)
    return _table((name, *_SIDES), (_row(key, rows[key]) for key in sorted(rows)))


def _wrong_by_kind(records: Sequence[Record]) -> str:
    wrong = [r for r in records if r["kind"]]
    rows: dict[str, list[Record]] = {}
    for record in wrong:
        rows.setdefault(record["kind"], []).append(record)
    return _table(("mistake", *_SIDES[3:]), ([k, *_row(k, rows[k])[4:]] for k in sorted(rows)))


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / max(whole, 1):.2g} %)"


def _totals(records: Sequence[Record]) -> str:
    right, wrong = ([outcome(r) for r in records if bool(r["kind"]) is k] for k in (False, True))
    lines = [
        f"right and accused: {_share(right.count(ACCUSED), len(right))}",
        f"right and not judged: {_share(right.count(UNJUDGED), len(right))}",
        f"wrong and passed: {_share(wrong.count(PASSED), len(wrong))}",
        f"wrong and not judged: {_share(wrong.count(UNJUDGED), len(wrong))}",
        f"passed by a convention: {sum(r['verdict'] == 'CONVENTION' for r in records):,}",
    ]
    missed = [r for r in records if r["kind"] and outcome(r) != ACCUSED]
    lines.append(
        f"wrong, found by the other and not by gradfuzz: {sum(_other(r) == ACCUSED for r in missed):,}"
    )
    alone = [r for r in records if r["kind"] and outcome(r) == ACCUSED]
    lines.append(
        f"wrong, found by gradfuzz and passed by the other: {sum(_other(r) == PASSED for r in alone):,}"
    )
    for precision in ("float32", "bfloat16"):
        some = [outcome(r) for r in records if not r["kind"] and r["dtype"] == precision]
        lines.append(f"right and not judged in {precision}: {_share(some.count(UNJUDGED), len(some))}")
    return "".join(f"- {line}\n" for line in lines)


def _cell(words: str) -> str:
    short = textwrap.shorten(words, 200, placeholder=" ...")
    return short.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def _list(title: str, records: Sequence[Record]) -> str:
    rows = [
        (
            f"{r['library']}: {r['row']}",
            r["kind"] or ("right, as a custom rule" if r.get("wrapped") else "right"),
            r["verdict"].lower(),
            _cell(r.get("reason", "")),
            r["other"],
        )
        for r in sorted(records, key=lambda r: r["key"])
    ]
    body = _table(("function", "derivative", "verdict", "why", "the other"), rows) if rows else "None.\n"
    return f"### {title}\n{body}"


def _lists(records: Sequence[Record]) -> str:
    def chosen(wrong: bool, what: str) -> list[Record]:
        return [r for r in records if bool(r["kind"]) is wrong and outcome(r) == what]

    return "\n".join(
        (
            _list("Right and accused", chosen(wrong=False, what=ACCUSED)),
            _list("Wrong and passed", chosen(wrong=True, what=PASSED)),
            _list("Right and not judged", chosen(wrong=False, what=UNJUDGED)),
            _list("Wrong and not judged", chosen(wrong=True, what=UNJUDGED)),
        )
    )


def text(kept: Sequence[Record], seed: int) -> str:
    """The page, of the records of one seed."""
    from benchmarks.power.measuring import ROUNDINGS
    from benchmarks.power.plants import PLANTS

    records = [r for r in kept if "verdict" in r]
    functions = {(r["library"], r["row"]) for r in records}
    wrong = Counter((r["library"], r["row"]) for r in records if r["kind"])
    how = HOW.format(
        count=max(wrong.values(), default=0),
        kinds=len(PLANTS),
        seed=seed,
        roundings=ROUNDINGS,
        dropped=sum(r["fits"] == "no" for r in kept),
        failed=sum(r["fits"] not in ("yes", "no") for r in kept),
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "jax", "numpy"))
    tagged = [r | {"tags": list(dict.fromkeys([*r["tags"], r["dtype"]]))} for r in records]
    return "\n".join(
        (
            HEAD.format(functions=len(functions)),
            _totals(records),
            _by("library", records, lambda r: [r["library"], "both"]),
            how,
            f"Measured with {libraries}.\n",
            "## By the kind of function",
            _by("tag", tagged, lambda r: r["tags"]),
            "## By the kind of mistake",
            _wrong_by_kind(records),
            "## What to work on",
            _lists(records),
        )
    )
