"""The adapters that gradfuzz ships. A script in this package and a row here are all it takes to add one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Adapter:
    """A script that speaks the protocol for a library."""

    script: str
    """Its file, as `gradfuzz.adapters.path` takes it."""
    distribution: str
    """The package to install, whose version counts: its name in the registry of its language."""
    requires: tuple[str, ...] = ()
    """Further requirements to install ("numpy<2")."""
    language: str = "python"
    """The program that runs the script."""


ADAPTERS: dict[str, Adapter] = {
    "autograd": Adapter("autograd_adapter.py", "autograd", ("scipy",)),
    "tensorflow": Adapter("tensorflow_adapter.py", "tensorflow"),
    "mygrad": Adapter("mygrad_adapter.py", "mygrad"),
    "drjit": Adapter("drjit_adapter.py", "drjit"),
    "mlx": Adapter("mlx_adapter.py", "mlx", ("mlx[cpu]",)),
    "paddle": Adapter("paddle_adapter.py", "paddlepaddle", ("setuptools",)),
    "warp": Adapter("warp_adapter.py", "warp-lang"),
    "pytensor": Adapter("pytensor_adapter.py", "pytensor"),
    "equinox": Adapter("equinox_adapter.py", "equinox"),
    "tinygrad": Adapter("tinygrad_adapter.py", "tinygrad", ("numpy",)),
    "casadi": Adapter("casadi_adapter.py", "casadi", ("numpy",)),
    "tfjs": Adapter("tfjs_adapter.js", "@tensorflow/tfjs", language="node"),
    "nx": Adapter("nx_adapter.exs", "nx", language="elixir"),
    "swift": Adapter("swift_adapter.swift", "swift", language="swift"),
    "adolc": Adapter("adolc_adapter.cpp", "adolc", language="c++"),
    "cppad": Adapter("cppad_adapter.cpp", "cppad", language="c++"),
    "taichi": Adapter("taichi_adapter.py", "taichi"),
    "quadrants": Adapter("quadrants_adapter.py", "quadrants"),
}
"""The adapters by target name."""
