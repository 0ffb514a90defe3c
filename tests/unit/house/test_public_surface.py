"""What a package exposes is what its `__all__` says, and all of it is documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from pathlib import Path

import pytest

import gradfuzz

ROOT = Path(__file__).parents[3]
MODULES = sorted((ROOT / "gradfuzz").rglob("*.py"))
ROOMS = ("engine", "fuzzer", "oracles", "programs", "reports", "strategies", "testing")


def exposed(module: types.ModuleType) -> set[str]:
    """The names of `module` without an underscore, but for its submodules, `from __future__ import
    annotations`, and what pytest adds ("@pytest_ar"): it rewrites the assertions of a package that brings a
    plugin.
    """
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith(("_", "@"))
        and name != "annotations"
        and not (isinstance(value, types.ModuleType) and value.__name__ == f"{module.__name__}.{name}")
    }


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_exposes_what_its_all_says(room: str) -> None:
    module = importlib.import_module(f"gradfuzz.{room}")
    assert module.__doc__
    submodules = {name for name in module.__all__ if isinstance(getattr(module, name), types.ModuleType)}
    assert exposed(module) == set(module.__all__) - submodules


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_room_exposes_is_documented(room: str) -> None:
    module = importlib.import_module(f"gradfuzz.{room}")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert value.__doc__, f"gradfuzz.{room}.{name} has no docstring"
            assert not value.__doc__.startswith(f"{name}("), (
                f"gradfuzz.{room}.{name} has only the docstring that dataclass made"
            )


def test_gradfuzz_exposes_what_its_all_says() -> None:
    assert dir(gradfuzz) == sorted([*gradfuzz.__all__, "__version__"])
    for name in gradfuzz.__all__:
        assert getattr(gradfuzz, name).__doc__, f"gradfuzz.{name} has no docstring"
    assert set(ROOMS) <= set(gradfuzz.__all__)


def test_gradfuzz_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gradient'"):
        gradfuzz.gradient  # noqa: B018 - the access is the test


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
