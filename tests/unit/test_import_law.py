"""The import law of ARCHITECTURE.md, held by reading every module's imports."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "gradfuzz"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAW: dict[str, tuple[str, ...]] = {
    "errors": (),
    "programs": ("errors",),
    "engine": ("errors", "programs"),
    "strategies": ("errors", "programs", "hypothesis_plugin"),
    "hypothesis_plugin": ("programs", "strategies"),
    "oracles": ("errors", "programs", "engine"),
    "adapters": ("errors", "programs", "engine", "oracles"),
    "fuzzer": ("errors", "programs", "engine", "strategies", "oracles"),
    "reports": (
        *("errors", "programs", "oracles.base"),
        *(
            "fuzzer.finding",
            "fuzzer.evidence",
            "fuzzer.events",
            "fuzzer.records",
            "fuzzer.report_card",
            "fuzzer.review",
            "fuzzer.score",
        ),
    ),
    "testing": ("errors", "programs", "engine", "strategies", "oracles", "fuzzer", "reports.numbers", "reports.words"),
    "cli": ("errors", "programs", "engine", "strategies", "oracles", "fuzzer", "testing", "reports"),
    "pytest_plugin": ("errors", "strategies", "oracles", "fuzzer", "reports", "cli.reporting", "hypothesis_plugin"),
}
"""Room: what it may import, beside itself."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "jax": ("oracles/jax", "testing/jax", "testing/trace_jax"),
    "jaxlib": ("oracles/jax",),
    "torch": ("oracles/torch", "testing/torch", "testing/trace_torch"),
    "flint": ("oracles/",),
    "ml_dtypes": ("programs/precision",),
    "mpmath": ("oracles/",),
    "hypothesis": ("strategies/", "hypothesis_plugin", "fuzzer/", "pytest_plugin/options", "testing/leading"),
    "jinja2": ("reports/",),
    "markupsafe": ("reports/",),
    "msgspec": ("fuzzer/", "oracles/foreign/"),
    "rich": ("reports/", "cli"),
    "click": ("cli",),
    "rich_click": ("cli",),
    "autograd": ("adapters/autograd", "testing/autograd"),
    "pytest": ("pytest_plugin/",),
}
"""Library: where its import may stand (a prefix of the path inside the package)."""

HEAVY = ("flint", "hypothesis", "jax", "mpmath", "numpy", "scipy", "sympy", "torch")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of everything the module imports, in functions and under TYPE_CHECKING, too."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import; write the whole name"
            assert node.module is not None
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.parent != PACKAGE or room(p) in LAW], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_a_room_imports_only_what_the_law_allows(path: Path) -> None:
    here = room(path)
    allowed = ("__version__", here, *LAW[here])
    for line, name in imports(path):
        if within(name, "gradfuzz"):
            inner = name.removeprefix("gradfuzz").removeprefix(".")
            assert any(within(inner, prefix) for prefix in allowed), (
                f"{path}:{line} imports {name}; {here} may import {', '.join(allowed)}"
            )


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_library_is_imported_only_where_it_belongs(path: Path) -> None:
    inside = path.relative_to(PACKAGE).as_posix()
    if inside.startswith("adapters/") and inside.endswith("_adapter.py"):
        return  # it runs where its library is installed, and nothing imports it
    for line, name in imports(path):
        homes = LIBRARIES.get(name.split(".")[0])
        if homes is not None:
            assert any(inside.startswith(home) for home in homes), f"{path}:{line} imports {name}; that belongs in {homes}"


def test_every_room_is_in_the_law() -> None:
    rooms = {room(p) for p in MODULES} - {"__init__", "__main__"}
    assert rooms == set(LAW)


def test_the_law_is_the_one_in_architecture_md() -> None:
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text[text.index("| room |") :].split("\n\n")[0].splitlines()[2:]
    assert [row.split("|")[1].strip().strip("`").rstrip("/").removesuffix(".py") for row in table] == list(LAW)


def loaded_by(code: str) -> list[str]:
    """Which of the heavy libraries `code` loads in a fresh interpreter."""
    report = f"import json, sys\nprint('LOADED', json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    loaded: list[str] = json.loads(run.stdout.rpartition("LOADED ")[2])
    return loaded


def test_importing_gradfuzz_loads_no_heavy_library() -> None:
    assert loaded_by("import gradfuzz") == []


def test_help_loads_no_heavy_library() -> None:
    assert loaded_by("from gradfuzz.cli import main\nmain(['--help'], standalone_mode=False)") == []


@pytest.mark.parametrize("name", ["programs", "engine", "oracles"])
def test_a_lower_room_loads_no_library_of_a_target(name: str) -> None:
    assert not {"jax", "torch"} & set(loaded_by(f"import gradfuzz.{name}"))
