"""Which function a piece of a jaxpr comes from, as JAX has written it down."""

from __future__ import annotations

from typing import Any

__all__ = ["caller_of", "source_of"]


def source_of(closed: Any) -> tuple[str, str]:
    """The name of the function that a jaxpr was made of, and its file as a path inside of JAX; empty where it is not known, or not JAX's."""
    info = getattr(getattr(closed, "jaxpr", closed), "debug_info", None)
    name, _, place = str(getattr(info, "func_src_info", "") or "").partition(" at ")
    return name, _inside(place.rpartition(":")[0])


def caller_of(equation: Any) -> tuple[str, str]:
    """The function of JAX that made an equation by calling one of `jax.lax`, and its file; empty where a function of somebody else did."""
    trace = getattr(equation.source_info, "traceback", None)
    frames = list(trace.frames) if trace is not None else []
    names = [f.function_name for f in frames]
    if equation.primitive.name not in names:
        return "", ""
    frame = frames[names.index(equation.primitive.name) + 1 :][:1]
    return (frame[0].function_name, _inside(frame[0].file_name)) if frame else ("", "")


def _inside(path: str) -> str:
    """The end of the path of a file of JAX: "/numpy/linalg.py"."""
    _, found, rest = path.replace("\\", "/").rpartition("/jax/_src/")
    return f"/{rest}" if found else ""
