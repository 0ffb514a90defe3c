"""The import law of ARCHITECTURE.md, held by reading every module's imports, also those by a string."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import import_graph
from tests.import_graph import within
from tests.shell import python

PACKAGE = Path(__file__).parents[3] / "gradfuzz"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAW: dict[str, tuple[str, ...]] = {
    "version": (),
    "errors": (),
    "private_names": ("errors",),
    "programs": ("errors",),
    "engine": ("errors", "programs"),
    "tracing": ("errors", "private_names", "programs", "engine"),
    "strategies": ("errors", "programs"),
    "hypothesis_plugin": ("programs", "strategies"),
    "adapters": (),
    "oracles": ("errors", "version", "private_names", "programs", "engine", "tracing", "adapters"),
    "libraries": ("errors", "private_names", "programs", "tracing", "oracles"),
    "fuzzer": (
        *("errors", "version", "private_names", "programs", "engine", "tracing", "strategies", "oracles"),
        *("adapters", "libraries"),
    ),
    "reports": ("errors", "version", "programs", "oracles.base", "oracles.target_name", "fuzzer.results"),
    "testing": (
        *("errors", "programs", "engine", "tracing", "strategies", "oracles", "libraries", "fuzzer"),
        "reports.common",
    ),
    "cli": (
        "errors",
        "version",
        "programs",
        "engine",
        "strategies",
        "oracles",
        "adapters",
        "libraries",
        "fuzzer",
        "testing",
        "reports",
    ),
    "pytest_plugin": (
        "errors",
        "strategies",
        "oracles",
        "fuzzer",
        "reports",
        "cli.reporting",
        "hypothesis_plugin",
    ),
}
"""Package -> what it may import, beside itself."""

LAYERS: dict[str, tuple[str, ...]] = {
    "programs": ("language", "text", "arithmetic", "graphs", "evaluation"),
    "engine": ("rules", "modes", "compiling", "batching", "linalg", "api"),
    "strategies": (
        *("drawing", "inputs", "loop", "linalg", "tensor", "complex"),
        *("function_program", "vectorize_program", "families", "program"),
    ),
    "tracing": ("common", "numpy", "torch", "jax"),
    "oracles": (
        *(
            "base",
            "target_name",
            "libraries",
            "device",
            "plugins",
            "said",
            "lacks",
            "references",
            "rule",
            "engine",
            "mutants",
            "foreign",
            "emit",
        ),
        *("dialects", "jax", "torch", "dialect_table", "registry", "catalogues", "server"),
    ),
    "fuzzer": (
        "results",
        "questions",
        "tolerance",
        "verdict.classify",
        "conventions",
        "verdict",
        "measuring",
        "proving",
        "calling",
        "shrinking",
        "findings",
        "workers",
        "turns",
        "probe",
        "store",
        "sweep",
    ),
    "reports": ("common", "terminal", "markdown", "html", "board", "machine", "formats"),
    "libraries": (
        *("layouts", "objects", "ways", "watching", "library", "composed", "numpy", "autograd"),
        *("tensorflow", "mlx", "paddle", "torch", "jax", "detect"),
    ),
    "testing": ("mismatch", "leading", "asserting", "check", "starter"),
}
"""Package -> its layers, the lowest first: a layer imports itself and those before it, and never the
package's face.
"""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "jax": (*("oracles/jax/", "libraries/jax", "tracing/jax/"),),
    "jaxlib": ("oracles/jax/",),
    "torch": (*("oracles/torch/", "libraries/torch", "tracing/torch/"),),
    "torchgen": ("oracles/torch/",),
    "flint": ("oracles/references/", "fuzzer/proving/"),
    "ml_dtypes": ("programs/language/precision",),
    "mpmath": ("oracles/references/", "oracles/emit/"),
    "hypothesis": ("strategies/", "hypothesis_plugin", "fuzzer/", "pytest_plugin/options", "testing/leading"),
    "jinja2": ("reports/html/", "reports/board/"),
    "markupsafe": ("reports/html/", "reports/board/"),
    "msgspec": ("fuzzer/", "oracles/foreign/", "reports/machine/", "reports/markdown/trackers"),
    "rich": ("reports/", "cli"),
    "click": ("cli",),
    "rich_click": ("cli",),
    "autograd": ("adapters/autograd", "libraries/autograd"),
    "pytest": ("pytest_plugin/",),
}
"""Library: where its import may stand (a prefix of the path inside the package)."""

MOST = 40
"""Modules in a folder. From 25 on they want sub-packages."""

HEAVY = ("flint", "hypothesis", "jax", "mpmath", "numpy", "scipy", "sympy", "torch")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_name(path: Path) -> str:
    """The dotted name inside the package: "programs.language.ops", and "programs" for the face of a
    package.
    """
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def full_name(path: Path) -> str:
    return f"gradfuzz.{module_name(path)}".removesuffix(".__init__")


NAMES = {module_name(path): path for path in MODULES}


def ours(path: Path) -> list[tuple[int, str]]:
    """(line, module) of what the module imports of gradfuzz, by a statement or by a name in a string, without
    "gradfuzz."; "" for the package itself.
    """
    own = import_graph.imported(full_name(path))
    return [(line, o.removeprefix("gradfuzz").removeprefix(".")) for line, o in own if within(o, "gradfuzz")]


def layer(name: str) -> int | None:
    """The number of the layer of a module below a package; None for a module that no layer holds."""
    package, _, inner = name.partition(".")
    fitting = [(len(row), k) for k, row in enumerate(LAYERS[package]) if within(inner, row)]
    return max(fitting)[1] if fitting else None


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room(p) in LAW], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_a_package_imports_only_what_the_law_allows(path: Path) -> None:
    here = room(path)
    allowed = (here, *LAW[here])
    for line, name in ours(path):
        assert any(within(name, prefix) for prefix in allowed), (
            f"{path}:{line} imports {name or 'gradfuzz'}; {here} may import {', '.join(allowed)}"
        )


@pytest.mark.parametrize(
    "path",
    [p for p in MODULES if room(p) in LAYERS and module_name(p) != room(p)],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_a_layer_imports_itself_and_those_below(path: Path) -> None:
    name = module_name(path)
    here = layer(name)
    assert here is not None, f"{path} is in no layer of {room(path)}; add it to LAYERS and to ARCHITECTURE.md"
    for line, other in ours(path):
        if within(other, room(path)):
            below = layer(other)
            assert below is not None, f"{path}:{line} imports the face of its own package; name the module"
            assert below <= here, (
                f"{path}:{line} imports {other}, which is above it: {' < '.join(LAYERS[room(path)])}"
            )


def test_modules_import_in_no_circle() -> None:
    """Counted by functions and by strings, too. The face of a package is in a circle where a module of the
    package imports it.
    """
    graph = {m: {other for _, other in import_graph.imported(m)} - {m} for m in import_graph.MODULES}
    assert import_graph.circles(graph) == []


def test_a_circle_is_found() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": [], "f": ["g"], "g": ["f"]}
    assert import_graph.circles(graph) == [["a", "b", "c"], ["f", "g"]]


def test_an_import_by_a_string_is_seen() -> None:
    """A table of modules, names that are filled in, a table of another module, and a program."""
    named = {name: {other for _, other in import_graph.named(name)} for name in import_graph.MODULES}
    assert "gradfuzz.oracles.jax.script" in named["gradfuzz.oracles.dialect_table"]
    assert named["gradfuzz.fuzzer"] == {"gradfuzz.fuzzer.verdict.checking"}
    assert named["gradfuzz.oracles.registry"] == {"gradfuzz.oracles.jax.ways", "gradfuzz.oracles.torch.ways"}
    assert named["gradfuzz.oracles.libraries"] == set(), "the server is started, and not imported"


@pytest.mark.parametrize(
    "code",
    [
        "import_module('gradfuzz.cli.show')",
        "__import__('gradfuzz.cli.show')",
        "NAME = 'gradfuzz.cli.show'",
        "ENTRY = 'gradfuzz.cli.show:show'",
        "def f(name): return importlib.import_module(f'gradfuzz.cli.{name}')\nf('show')",
        "def f():\n    from gradfuzz.cli import show",
        "if TYPE_CHECKING:\n    import gradfuzz.cli.show",
    ],
)
def test_no_import_evades_the_law(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "evasion.py"
    path.write_text(code, encoding="utf-8")
    name = f"gradfuzz.programs.{hash(code)}"
    monkeypatch.setitem(import_graph.MODULES, name, path)
    assert {other for _, other in import_graph.imported(name)} == {"gradfuzz.cli.show"}


@pytest.mark.parametrize(
    "code",
    [
        "import_module('gradfuzz.' + name)",
        "import_module('.show', 'gradfuzz.cli')",
        "import_module(f'gradfuzz.{name}')",
        "from . import show",
    ],
)
def test_an_import_that_cannot_be_read_is_refused(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "evasion.py"
    path.write_text(code, encoding="utf-8")
    name = f"gradfuzz.programs.{hash(code)}"
    monkeypatch.setitem(import_graph.MODULES, name, path)
    with pytest.raises(AssertionError):
        import_graph.imported(name)


def test_every_layer_is_there() -> None:
    for package, layers in LAYERS.items():
        assert [row for row in layers if f"{package}.{row}" not in NAMES] == []


def test_no_module_reaches_another_by_a_path() -> None:
    """What a module needs it imports, where the law sees it. These alone read where a file lies."""
    found = {
        p.relative_to(PACKAGE).as_posix() for p in MODULES if "__file__" in p.read_text(encoding="utf-8")
    }
    assert found == {
        "adapters/__init__.py",  # the scripts of its own folder
        "adapters/kit.py",  # itself and the adapter, in the frames of an exception
        "fuzzer/findings/script_run.py",  # the script beside it, which it starts
        "fuzzer/results/known_reports.py",  # the table beside it
        "fuzzer/turns/homes.py",  # the launcher, which it imports
        "oracles/catalogues.py",  # the launcher, which it imports
        "oracles/foreign/launcher.py",  # the package itself, for another interpreter
        "oracles/foreign/managed.py",  # the launcher, which it imports, and the requirements of a checkout
        "oracles/foreign/process_registry.py",  # the watchdog, which it imports
        "oracles/foreign/schema.py",  # the schema beside it
        "oracles/jax/answers.py",  # the folder of JAX, in the frames of an exception
        "oracles/registry.py",  # the launcher, which it imports
        "reports/markdown/trackers.py",  # the table beside it
    }


@pytest.mark.parametrize("top", ["gradfuzz", "tests", "docs/findings"])
def test_no_folder_holds_more_modules_than_one_reads_at_a_glance(top: str) -> None:
    sizes: dict[str, int] = {}
    for path in (PACKAGE.parent / top).rglob("*"):
        if path.suffix in (".py", ".js", ".exs", ".cpp", ".hpp", ".swift"):
            sizes[str(path.parent)] = sizes.get(str(path.parent), 0) + 1
    assert {folder: n for folder, n in sizes.items() if n > MOST} == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_library_is_imported_only_where_it_belongs(path: Path) -> None:
    inside = path.relative_to(PACKAGE).as_posix()
    if inside.startswith("adapters/") and inside.endswith("_adapter.py"):
        return  # it runs where its library is installed, and nothing imports it
    for line, name in import_graph.statements(full_name(path)):
        homes = LIBRARIES.get(name.split(".")[0])
        if homes is not None:
            assert any(inside.startswith(home) for home in homes), (
                f"{path}:{line} imports {name}; that belongs in {homes}"
            )


def test_every_room_is_in_the_law() -> None:
    rooms = {room(p) for p in MODULES} - {"__init__", "__main__"}
    assert rooms == set(LAW)


def test_the_law_is_the_one_in_architecture_md() -> None:
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = [
        row.split("|")[1:4] for row in text[text.index("| package |") :].split("\n\n")[0].splitlines()[2:]
    ]
    assert [row[0].strip().strip("`").rstrip("/").removesuffix(".py") for row in table] == list(LAW)
    for (package, what, allowed), (name, law) in zip(table, LAW.items(), strict=True):
        if not allowed.strip().startswith("all"):
            assert tuple(word for word in allowed.strip().split(", ") if word != "-") == law, package
        drawn = what.partition(": ")[2].split(" < ")
        if name in LAYERS:
            assert [row for row in LAYERS[name] if row in map(str.strip, drawn)] == list(
                map(str.strip, drawn)
            ), package


def loaded_by(code: str) -> list[str]:
    """Which of the heavy libraries `code` loads in a fresh interpreter."""
    report = f"import json, sys\nprint('LOADED', json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    run = python("-c", f"{code}\n{report}", exit_code=0)
    loaded: list[str] = json.loads(run.stdout.rpartition("LOADED ")[2])
    return loaded


def test_importing_gradfuzz_loads_no_heavy_library() -> None:
    assert loaded_by("import gradfuzz") == []


def test_help_loads_no_heavy_library() -> None:
    assert loaded_by("from gradfuzz.cli import main\nmain(['--help'], standalone_mode=False)") == []


@pytest.mark.parametrize("name", ["programs", "engine", "oracles"])
def test_a_lower_room_loads_no_library_of_a_target(name: str) -> None:
    assert not {"jax", "torch"} & set(loaded_by(f"import gradfuzz.{name}"))
