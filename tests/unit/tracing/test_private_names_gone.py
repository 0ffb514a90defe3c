"""Each private name of a library is taken away: a feature is refused in words, and nothing is found."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradfuzz import adapters, private_names, prove_gradient
from gradfuzz.errors import UnsupportedError, UntraceableError
from gradfuzz.fuzzer.questions.weighted import plain_question
from gradfuzz.oracles.base import Point
from gradfuzz.private_names import PRIVATE_NAMES, PrivateName, missing, private
from gradfuzz.programs import parse
from gradfuzz.testing import measure_gradient

jax = pytest.importorskip("jax", reason="the jax extra is not installed")
torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torch._dynamo")  # it cannot be loaded while a name is gone, and stays half loaded

POINT = np.array([0.5, -0.75, 1.25])


def of_a_proof(f: Callable[..., Any], at: Any, **more: Any) -> str:
    (proof,) = prove_gradient(f, at, modes="rev", **more)
    assert proof.outcome == "open"
    return proof.reason


def of_a_graph(f: Callable[..., Any]) -> str:
    """Of what JAX itself cannot run without the name."""
    from gradfuzz.tracing.jax.trace import traced_graph

    with pytest.raises(UntraceableError) as raised:
        traced_graph(f, [POINT])
    return raised.value.reason


def of_a_way(name: str) -> str:
    from gradfuzz.oracles.torch.ways import ways

    loop = parse(
        "def f(x):\n    acc = x * 1.0\n    for i in range(2):\n        acc = acc * x\n    return acc\n"
    )
    question = plain_question(loop, [Point({"x": np.asarray(0.5)})], "float64", ("x",), ("rev",))
    (answer,) = next(way for way in ways() if way.name == name).answer(question)
    assert answer.status == "unsupported"
    return answer.message


def in_place(x: Any) -> Any:
    y = x.clone()
    y[1:].mul_(2.0)
    return y


def with_references(x: Any) -> Any:
    ref = jax.new_ref(x)
    ref[...] = ref[...] * 2.0
    return ref[...]


def ragged(x: Any) -> Any:
    return jax.lax.ragged_dot(x.reshape(3, 1), jax.numpy.ones((1, 1, 2)), jax.numpy.array([3]))


def of_jax_rules() -> str:
    """The place of a rule, and the catalogue, which leaves out what it cannot follow and has no rule of."""
    from gradfuzz.adapters.catalogue import LEFT_OUT, Public
    from gradfuzz.oracles.jax import catalogue
    from gradfuzz.tracing.jax.units import units

    (unit,) = units(jax.numpy.sin, [np.array(0.5)], "rev")
    if missing("jax.interpreters.ad.primitive_jvps"):
        outcome, why = catalogue._outcome(Public(("jax.lax.broadcast_in_dim",), jax.lax.broadcast_in_dim))
        assert (outcome, why) == (LEFT_OUT, unit.rule)
    return unit.rule


def of_torch_catalogue() -> str:
    with pytest.raises(UnsupportedError) as raised:
        importlib.import_module("gradfuzz.oracles.torch.catalogue")
    return str(raised.value)


def of_a_script(name: str) -> str:
    ended = subprocess.run(
        [sys.executable, str(adapters.path(name)), os.devnull], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    return ended.stderr


def of_tensorflow_rules() -> str:
    """The rules that a finding names; the script of the catalogue asks for the same name."""
    script = of_a_script("tensorflow_catalogue.py")
    assert "tensorflow 9.9 has lost a private name" in script
    library = importlib.import_module("gradfuzz.libraries.tensorflow").TensorflowLibrary()
    with pytest.raises(UnsupportedError) as raised:
        library.rules(None, [])
    return str(raised.value)


def of_a_module() -> str:
    module = torch.nn.BatchNorm1d(3, dtype=torch.float64).eval()
    with pytest.raises(UnsupportedError) as raised:
        measure_gradient(module, torch.ones(2, 3, dtype=torch.float64))
    return str(raised.value)


def torch_rule() -> str:
    words = of_a_proof(torch.sin, torch.tensor(POINT))
    assert words in of_a_way("torch:eager:rule")
    return words


FEATURES: dict[str, Callable[[], str]] = {
    "jax._src.lax.lax._ragged_dot_general_impl": lambda: of_a_proof(ragged, POINT, framework="jax"),
    "jax._src.state.discharge.discharge_state": lambda: of_a_graph(with_references),
    "jax.interpreters.ad.primitive_jvps": of_jax_rules,
    "jax.interpreters.ad.primitive_transposes": of_jax_rules,
    "mlx.core.sin.__nb_signature__": lambda: of_a_script("mlx_catalogue.py"),
    "tensorflow.python.framework.op_def_registry": lambda: of_a_script("tensorflow_catalogue.py"),
    "tensorflow.python.framework.ops.gradient_registry": of_tensorflow_rules,
    "torch._C.DisableTorchFunction": of_a_module,
    "torch._C._set_grad_enabled": torch_rule,
    "torch._decomp.decomposition_table": lambda: of_a_proof(
        lambda x: torch.nn.functional.huber_loss(x, torch.zeros(3)), torch.tensor(POINT)
    ),
    "torch._dynamo.config": lambda: of_a_way("torch:compile:eager") and of_a_way("torch:scan"),
    "torch._higher_order_ops.scan.scan": lambda: of_a_way("torch:scan"),
    "torch._higher_order_ops.while_loop.while_loop": lambda: of_a_way("torch:while_loop"),
    "torch._subclasses.fake_tensor.DataDependentOutputException": lambda: of_a_proof(
        in_place, torch.tensor(POINT)
    ),
    "torch._subclasses.fake_tensor.DynamicOutputShapeException": lambda: of_a_proof(
        in_place, torch.tensor(POINT)
    ),
    "torch.ops.aten.sin.default._schema": torch_rule,
    "torch.utils._python_dispatch.TorchDispatchMode": torch_rule,
    "torch.utils._pytree": torch_rule,
    "torchgen.model": of_torch_catalogue,
    "torchgen.packaged": of_torch_catalogue,
}
"""What each is for, and what it says when it is gone."""

STUBS = {
    "mlx.core.sin.__nb_signature__": {"mlx/core.py": "def sin(x): ...\n"},
    "tensorflow.python.framework.op_def_registry": {"tensorflow/__init__.py": "__version__ = '9.9'\n"},
    "tensorflow.python.framework.ops.gradient_registry": {"tensorflow/__init__.py": "__version__ = '9.9'\n"},
}
"""Releases without a name, of libraries that need not be here: a script has a process of its own."""


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks for its names when it is imported is imported again, and later as it was."""
    for name in ("trace", "functional", "units"):
        importlib.import_module(f"gradfuzz.tracing.torch.{name}")
    monkeypatch.setattr("gradfuzz.tracing.torch", sys.modules["gradfuzz.tracing.torch"])
    again = ("gradfuzz.tracing.torch", "gradfuzz.oracles.torch.catalogue")
    for name in [name for name in sys.modules if name.startswith(again)]:
        monkeypatch.delitem(sys.modules, name)


def take_away(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    if name in STUBS:
        for file, text in STUBS[name].items():
            path = folder / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        if name.startswith("tensorflow"):
            operation = SimpleNamespace(type="Sin")
            graph = SimpleNamespace(graph=SimpleNamespace(get_operations=lambda: [operation]))
            stub = ModuleType("tensorflow")
            stub.__version__ = "9.9"  # type: ignore[attr-defined]
            stub.Tensor = stub.Variable = object  # type: ignore[attr-defined]
            stub.function = lambda f, **_: SimpleNamespace(get_concrete_function=lambda *_: graph)  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "tensorflow", stub)
            monkeypatch.delitem(sys.modules, "gradfuzz.libraries.tensorflow", raising=False)
        return
    private(name)  # a module may not be loaded yet
    owner, _, last = name.rpartition(".")
    if name in sys.modules:
        monkeypatch.setitem(sys.modules, name, None)
    if hasattr(pkgutil.resolve_name(owner), last):
        monkeypatch.delattr(pkgutil.resolve_name(owner), last)


def test_every_name_has_its_feature() -> None:
    assert set(FEATURES) == set(PRIVATE_NAMES)


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_what_is_gone_is_said(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    take_away(name, monkeypatch, tmp_path)
    words = FEATURES[name]()
    if "has lost" in words:  # of a script, which has no table
        assert name.rpartition(".")[2] in words or name.split(".")[1] in words
    else:
        assert f" has no {name}, which is private to it" in words
        assert f"without it, {PRIVATE_NAMES[name].without}" in words


@pytest.mark.parametrize(
    "name", [name for name in PRIVATE_NAMES if not name.startswith(("mlx.", "tensorflow."))]
)
def test_it_is_here(name: str) -> None:
    assert missing(name) is None


# What is not gone -------------------------------------------------------------------------------------------


def test_a_broken_library_is_not_read_as_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It lacks another module than the one that is asked for."""
    (tmp_path / "planted_package").mkdir()
    (tmp_path / "planted_package" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "planted_package" / "inner.py").write_text(
        "import no_such_module_anywhere\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    row = PrivateName("planted_package", "to test", "nothing is tested")
    monkeypatch.setitem(private_names.PRIVATE_NAMES, "planted_package.inner", row)
    monkeypatch.setitem(private_names.PRIVATE_NAMES, "planted_package.outer", row)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        missing("planted_package.inner")
    assert "has no planted_package.outer" in (missing("planted_package.outer") or "")


def test_what_a_private_function_raises_is_not_read_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, and the error in it is of the kind by which Python says that a name is missing."""
    from gradfuzz.tracing.jax.trace import traced_graph

    def broken(*args: Any) -> Any:
        raise AttributeError("planted")

    monkeypatch.setattr("jax._src.state.discharge.discharge_state", broken)
    with pytest.raises(AttributeError, match="planted"):
        traced_graph(with_references, [POINT])


def test_a_compiled_function_that_raises_is_still_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradfuzz.oracles.torch.ways import ways

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise AttributeError("module 'torch._dynamo.exc' has no attribute 'Planted'")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: broken)
    question = plain_question(
        parse("def f(x):\n    return x * x\n"), [Point({"x": np.asarray(0.5)})], "float64", ("x",), ("rev",)
    )
    (answer,) = next(way for way in ways() if way.name == "torch:compile:eager").answer(question)
    assert answer.status == "error"
    assert "AttributeError" in answer.message
