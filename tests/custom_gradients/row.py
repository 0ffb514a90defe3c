"""A custom gradient, right or wrong on purpose, as the table of them holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Made", "Row", "Table"]


@dataclass(frozen=True)
class Made:
    """What is checked: a function, arguments, and options of `check_gradient`."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """`mistake` is empty for a right gradient. `make` imports the framework."""

    name: str
    framework: str
    mistake: str
    make: Callable[[], Made]

    @property
    def right(self) -> bool:
        return not self.mistake


class Table:
    """Rows of one framework, collected by decorators."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self.rows: list[Row] = []

    def right(self, make: Callable[[], Made]) -> Callable[[], Made]:
        self.rows.append(Row(make.__name__, self.framework, "", make))
        return make

    def wrong(self, mistake: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
        def add(make: Callable[[], Made]) -> Callable[[], Made]:
            self.rows.append(Row(make.__name__, self.framework, mistake, make))
            return make

        return add
