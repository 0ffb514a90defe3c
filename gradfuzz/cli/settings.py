"""Defaults of flags from `[tool.gradfuzz]` in the pyproject.toml of the current directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gradfuzz.cli.shell import SETTINGS, CommandFailure, Group, click, flags_of
from gradfuzz.errors import did_you_mean, listed


def read_settings(ctx: click.Context) -> None:
    """Takes defaults of the flags from `[tool.gradfuzz]`."""
    import tomllib

    path = Path(SETTINGS)
    if not path.is_file():
        return
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("gradfuzz", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandFailure(f"{SETTINGS} cannot be read: {error}") from error
    if not isinstance(table, dict):
        raise CommandFailure(f"{SETTINGS}: tool.gradfuzz is {table!r}; write a table, [tool.gradfuzz]")
    assert isinstance(ctx.command, Group)
    ctx.default_map = dict(_defaults(ctx.command, table))


def _defaults(group: Group, table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The default_map of click: per command, parameter name to value. A key without a flag is an error."""
    flags = {name: _keys(command) for name, command in group.commands.items()}
    everywhere = {key: value for key, value in table.items() if not isinstance(value, dict)}
    _refuse_unknown(everywhere, "tool.gradfuzz", {key for own in flags.values() for key in own})
    _refuse_unknown(
        {key: value for key, value in table.items() if isinstance(value, dict)}, "tool.gradfuzz", set(flags)
    )
    for name, own in flags.items():
        here = table.get(name, {})
        here = here if isinstance(here, dict) else {}  # `report` is a flag, too
        _refuse_unknown(here, f"tool.gradfuzz.{name}", set(own))
        values = {key: value for key, value in everywhere.items() if key in own} | here
        yield name, {str(own[key].name): _joined(own[key], value) for key, value in values.items()}


def _refuse_unknown(table: Mapping[str, Any], name: str, known: set[str]) -> None:
    for key, value in table.items():
        if key not in known:
            what = "command" if isinstance(value, dict) else "flag"
            hint = did_you_mean(key.replace("_", "-"), known) or f"; there are {listed(sorted(known), key)}"
            raise CommandFailure(f"{SETTINGS}: [{name}] has the key {key!r}, which is no {what}{hint}")


def _keys(command: click.Command) -> dict[str, click.Option]:
    """The options of a command that the file may set, by key."""
    return {key: option for key, option in flags_of(command).items() if not key.startswith("-")}


def _joined(option: click.Option, value: Any) -> Any:
    """One value where click wants several, and a list as comma-separated text where it wants one."""
    if option.multiple:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value
