"""Oracles of other distributions, found by the entry point group "gradfuzz.oracles".

    [project.entry-points."gradfuzz.oracles"]
    tinytape = "tinytape.oracle"

The name is the target's name. It points to a module with a function `ways()`, or to something that is called
without arguments: a function, or a subclass of `Oracle`. It returns one `Oracle` or several, named "tinytape"
or "tinytape:WAY". Like gradfuzz's own oracles they are asked in a process of their own, and nothing of a
plug-in is imported before its target is named. A broken plug-in raises `PluginError` and affects no other
target.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gradfuzz.errors import GradfuzzError, PluginError
from gradfuzz.oracles.base import Oracle

GROUP = "gradfuzz.oracles"
"""The group of entry points."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of the group."""

    name: str
    value: str
    """The object it points to: "tinytape.oracle" or "tinytape.oracle:ways"."""
    distribution: str
    version: str
    problem: str = ""
    """Why it is not used, as far as that is known before loading it."""

    @property
    def who(self) -> str:
        """Its name in messages."""
        return f"the plug-in {self.name!r} of {self.distribution} {self.version} ({self.value})"


def found(taken: Collection[str] = ()) -> list[Plugin]:
    """All plug-ins by name, each with its problem. Loads none.

    A plug-in whose name is `taken` is refused, and so are two with the same name.
    """
    return list(_found(tuple(sys.path), frozenset(taken)))


@functools.lru_cache(maxsize=8)
def _found(_path: tuple[str, ...], taken: frozenset[str]) -> tuple[Plugin, ...]:
    """The same for a search path, which decides what is installed."""
    entries = [_plugin(entry) for entry in importlib.metadata.entry_points(group=GROUP)]
    checked = [replace(p, problem=_problem(p, taken, [q for q in entries if q is not p])) for p in entries]
    return tuple(sorted(checked, key=lambda p: (p.name, p.distribution)))


def _plugin(entry: importlib.metadata.EntryPoint) -> Plugin:
    dist = entry.dist
    who = (dist.name, dist.version) if dist else ("an unknown distribution", "?")
    return Plugin(entry.name, entry.value, *who)


def _problem(plugin: Plugin, taken: Collection[str], others: Sequence[Plugin]) -> str:
    if plugin.name in taken:
        return f"gradfuzz has a target {plugin.name!r} of its own; the plug-in needs another name"
    if re.fullmatch(r"[A-Za-z][\w.-]*", plugin.name) is None:
        rule = "it begins with a letter, and has letters, digits, '_', '-' and '.' in it"
        return f"{plugin.name!r} is no name for a target: {rule}"
    rivals = sorted({other.distribution for other in others if other.name == plugin.name})
    if rivals:
        return f"{' and '.join(rivals)} has a plug-in of this name, too; uninstall one of them"
    package = plugin.value.partition(":")[0].strip().partition(".")[0]
    if importlib.util.find_spec(package) is None:
        return f"its package {package!r} is not there; install {plugin.distribution} again"
    return ""


def ways(plugin: Plugin) -> list[Oracle]:
    """The oracles of a plug-in, which is loaded here. `PluginError` says why it gives none."""
    if plugin.problem:
        raise PluginError(f"{plugin.who} is not used: {plugin.problem}")
    advice = f"ask the authors of {plugin.distribution}, or uninstall it"
    try:
        loaded = importlib.metadata.EntryPoint(plugin.name, plugin.value, GROUP).load()
    except Exception as error:
        raise PluginError(f"{plugin.who} cannot be loaded: {_first_line(error)}; {advice}") from error
    make = getattr(loaded, "ways", loaded)
    if not callable(make):
        what = f"a {type(loaded).__name__}, which has no function ways()"
        raise PluginError(f"{plugin.who} points to {what}; {advice}")
    try:
        given = make()
        oracles = [given] if isinstance(given, Oracle) else list(given)
    except GradfuzzError:
        raise
    except Exception as error:
        raise PluginError(f"{plugin.who} gives no oracles: {_first_line(error)}; {advice}") from error
    wrong = _wrong(plugin.name, oracles)
    if wrong:
        raise PluginError(f"{plugin.who} {wrong}; {advice}")
    return oracles


def _wrong(name: str, oracles: Sequence[object]) -> str:
    """What is wrong with the oracles of a plug-in; empty for valid ones."""
    names = []
    for oracle in oracles:
        if not isinstance(oracle, Oracle):
            given = f"a {type(oracle).__name__} ({oracle!r})"
            return f"gives {given} as an oracle, which is no gradfuzz.oracles.Oracle"
        own = getattr(oracle, "name", None)
        if not isinstance(own, str) or (own != name and not own.startswith(f"{name}:")):
            return f"has an oracle of the name {own!r}; a way into {name} is called {name!r} or '{name}:WAY'"
        if not isinstance(getattr(oracle, "version", None), str):
            return f"has an oracle {own} whose version is {getattr(oracle, 'version', None)!r}, and no text"
        names.append(own)
    if not names:
        return "gives no oracle at all"
    twice = next((own for own in names if names.count(own) > 1), None)
    return f"has two oracles of the name {twice!r}" if twice else ""


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__
