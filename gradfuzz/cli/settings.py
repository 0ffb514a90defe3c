"""Defaults of flags from `[tool.gradfuzz]` in the pyproject.toml of the current directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gradfuzz.cli.shell import Failure, Group, click, flags_of


def read_settings(ctx: click.Context) -> None:
    """Takes defaults of the flags from `[tool.gradfuzz]`."""
    import tomllib

    path = Path("pyproject.toml")
    if not path.is_file():
        return
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("gradfuzz", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"pyproject.toml cannot be read: {error}") from error
    assert isinstance(ctx.command, Group)
    ctx.default_map = dict(_defaults(ctx.command, table))


def _defaults(group: Group, table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The default_map of click: per command, parameter name to value. A key without a flag is an error."""
    flags = {name: flags_of(command) for name, command in group.commands.items()}
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
    for key in table:
        if key not in known:
            raise Failure(
                f"{key!r} in [{name}] of pyproject.toml is not a flag; there are {', '.join(sorted(known))}"
            )


def _joined(option: click.Option, value: Any) -> Any:
    """A list in the file as a comma-separated value, except for flags that may be repeated."""
    return ",".join(map(str, value)) if isinstance(value, list) and not option.multiple else value
