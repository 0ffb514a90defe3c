"""The page of proofs, as Markdown."""

from __future__ import annotations

import importlib.metadata
from collections import Counter, defaultdict
from collections.abc import Mapping

from benchmarks.proofs.proving import ENOUGH, Rule
from benchmarks.proofs.reasons import REASONS

SECOND = "rev rev"

_RIGHT, _FEWER, _NOT, _NEVER = "proved right", "proved at fewer points", "not reached", "cannot be asked"


def verdict(rule: Rule, reason: str) -> str:
    """What is known of a rule, in words. One of first order is to be proved in each mode that it has, and one
    that stands in gradients alone in the derivatives of these.
    """
    right = [rule.right(mode) for mode in rule.modes]
    second = rule.right(SECOND)
    if min(right) >= ENOUGH or (second >= ENOUGH and not any(right)):
        return _RIGHT
    if any(right) or second:
        return _FEWER
    return _NEVER if reason else _NOT


def section(library: str, rules: Mapping[str, Rule]) -> str:
    """The section of a library."""
    version = importlib.metadata.version(library)
    reasons = REASONS[library]()
    words = {name: verdict(rule, reasons.get(name, "")) for name, rule in rules.items()}
    counts = Counter(words.values())
    asked = len(rules) - counts[_NEVER]
    share, of_all = counts[_RIGHT] / asked, counts[_RIGHT] / len(rules)
    lines = [
        f"## {library} {version}",
        f"{counts[_RIGHT]} of the {asked} rules that can be asked ({share:.0%}) are proved right at {ENOUGH}"
        f" points or\nmore, {counts[_FEWER]} at fewer points or in one mode, and {counts[_NOT]} are not"
        f" reached. {counts[_NEVER]} rules cannot be asked.\nOf all {len(rules)} rules {of_all:.0%} are"
        " proved right.",
        "",
        "| rule | verdict | reverse | forward | second order | open | wrong in calls of |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rule in sorted(rules.items()):
        if words[name] == _NEVER:
            continue
        right = [
            str(rule.right(mode)) if mode in (*rule.modes, SECOND) else "none"
            for mode in ("rev", "fwd", SECOND)
        ]
        still = sum(c["open"] + c["convention"] for c in rule.outcomes.values())
        wrong = ", ".join(f"`{f}`" for f in sorted(rule.wrong))
        lines.append(f"| `{name}` | {words[name]} | {' | '.join(right)} | {still} | {wrong} |")
    groups = defaultdict(list)
    for name in sorted(rules):
        if words[name] == _NEVER:
            groups[reasons[name]].append(f"`{name}`")
    lines += ["", "Rules that cannot be asked:", "", "| why | rules |", "|---|---|"]
    lines += [f"| {why} | {', '.join(names)} |" for why, names in sorted(groups.items())]
    return "\n".join(lines) + "\n"
