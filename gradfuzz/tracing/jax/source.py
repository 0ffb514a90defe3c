"""Which function a piece of a jaxpr comes from, as JAX has written it down."""

from __future__ import annotations

from typing import Any

_MACHINERY = (
    "/core.py",
    "/interpreters/batching.py",
    "/interpreters/partial_eval.py",
    "/source_info_util.py",
    "/traceback_util.py",
    "/tree_util.py",
)
"""Files through which every equation passes."""


def source_of(closed: Any) -> tuple[str, str]:
    """The name of the function that a jaxpr was made of, and its file as a path inside of JAX; empty where it
    is not known, or not JAX's.
    """
    info = getattr(getattr(closed, "jaxpr", closed), "debug_info", None)
    name, _, place = str(getattr(info, "func_src_info", "") or "").partition(" at ")
    return name, _inside(place.rpartition(":")[0])


def caller_of(equation: Any) -> tuple[str, str]:
    """The function of JAX that made an equation by calling one of `jax.lax`, or by itself, and its file;
    empty where a function of somebody else did.
    """
    trace = getattr(equation.source_info, "traceback", None)
    frames = list(trace.frames) if trace is not None else []
    names = [f.function_name for f in frames]
    if equation.primitive.name in names:
        frames = frames[names.index(equation.primitive.name) + 1 :]
    for frame in frames:
        file, own = _inside(frame.file_name), equation.primitive.name in frame.function_name
        if file not in _MACHINERY and not (own and file == "/lax/lax.py"):  # a rule of the primitive itself
            return frame.function_name, file
    return "", ""


def _inside(path: str) -> str:
    """The end of the path of a file of JAX: "/numpy/linalg.py"."""
    _, found, rest = path.replace("\\", "/").rpartition("/jax/_src/")
    return f"/{rest}" if found else ""


def place_of(path: str) -> str:
    """A path, with those of JAX itself from its package on: "jax/_src/lax/linalg.py:12"."""
    inside = _inside(path)
    return f"jax/_src{inside}" if inside else path
