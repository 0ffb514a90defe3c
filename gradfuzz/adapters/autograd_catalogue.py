"""The functions that HIPS autograd offers: `python autograd_catalogue.py FILE`.

They are what can be called in the namespaces below. A primitive is differentiable by its rules in
`autograd.core.primitive_vjps` and `primitive_jvps`; what autograd writes in Python is composed of primitives.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable
from typing import Any

import autograd.numpy.fft
import autograd.numpy.linalg
import autograd.scipy
from autograd.core import VJPNode, primitive_jvps, primitive_vjps
from autograd.tracer import notrace_primitives
from catalogue import (
    A_CLASS,
    DIFFERENTIABLE,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    Function,
    Parameter,
    Public,
    parameters,
    public,
    read_rows,
    signature,
    write,
    written,
)

REASONS = {
    "a tool for rules of derivatives, not a function of arrays": (
        "*.defvjp *.defjvp *.defvjp_argnum *.def_linear *.primitive *.notrace_primitive *.vspace *.subvals "
        "*.unbroadcast* *.repeat_to_match_shape *.make_* *.fwd_grad_* *.fft_grad *.rfft_grad *.irfft_grad "
        "*.grad_* *.wrap_* *.match_complex *.partial *.T *.get_fft*_args *.check_* *.*_vjp *.*_jvp "
        "*.argnums_unpack *.defvjp_argnums *.defjvp_argnums "
        "*.compute_conv_size *.einsum_tensordot *.flipped_idxs *.parse_axes "
        "*.covgrad *.generalized_outer_product *.integrate.flatten *.add2d *.parse_einsum_input "
        "*.multivariate_normal.solve *.metadata"
    ),
    "writes or loads files and foreign memory": (
        "*.load *.loadtxt *.save *.savetxt *.savez* *.genfromtxt *.from*"
    ),
    "a setting or a tool of NumPy, not a function of arrays": (
        "*.test *.info *.get_* *.getbufsize *.geterr* *.setbufsize *.seterr* *.show_* *.*printoptions "
        "*.nested_iters *.*_blas_funcs *.*_lapack_funcs *.find_best_blas_type"
    ),
    "writes into its arguments": "*.copyto *.fill_diagonal *.place *.put *.putmask *.put_along_axis",
}
"""Reason that a person wrote -> patterns of public names."""


def namespaces() -> dict[str, Any]:
    names = ["autograd.numpy", "autograd.numpy.linalg", "autograd.numpy.fft"]
    names += [module.name for module in pkgutil.walk_packages(autograd.scipy.__path__, "autograd.scipy.")]
    return {name: importlib.import_module(name) for name in names}


def outcome(thing: Public) -> tuple[str, str]:
    value = thing.value
    if isinstance(value, type):
        return LEFT_OUT, A_CLASS
    rules = [
        name
        for name, table in (("primitive_vjps", primitive_vjps), ("primitive_jvps", primitive_jvps))
        if value in table
    ]
    if rules:
        return DIFFERENTIABLE, "a rule in " + " and ".join(rules)
    reason = written(REASONS, thing.names)
    if reason:
        return LEFT_OUT, reason
    if value in notrace_primitives[VJPNode] or hasattr(value, "_is_primitive"):
        return NOT_DIFFERENTIABLE, "registered as not to be traced"
    if isinstance(getattr(value, "fun", None), type):
        return LEFT_OUT, A_CLASS
    if hasattr(value, "_is_autograd_primitive"):
        return NOT_DIFFERENTIABLE, "a primitive without a rule"
    if str(getattr(value, "__module__", "")).startswith("autograd."):
        return DIFFERENTIABLE, "composed of primitives"
    return LEFT_OUT, "another library's, not wrapped by autograd"


def functions() -> list[Function]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_rows(public(namespaces()), row)


def row(thing: Public) -> Function:
    told = outcome(thing)
    return Function(thing.names, signature(thing.names[0], thing.value), *told, taken(thing, told[0]))


def taken(thing: Public, told: str) -> tuple[Parameter, ...]:
    """What a call takes: that of the function of NumPy or SciPy that autograd wraps."""
    if told != DIFFERENTIABLE:
        return ()
    inner = getattr(thing.value, "fun", getattr(thing.value, "__wrapped__", thing.value))
    return parameters(passed_on(thing.names[0]) if is_passed_on(inner) else inner) or parameters(inner)


def is_passed_on(function: Callable[..., Any]) -> Any:
    """Whether it takes whatever another function takes."""
    try:
        kinds = {one.kind for one in inspect.signature(function).parameters.values()}
    except (TypeError, ValueError):
        return False
    return kinds >= {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def passed_on(name: str) -> Any:
    """The function of NumPy or SciPy of the same name as one of autograd's; None where there is none."""
    module, _, last = name.partition(".")[2].rpartition(".")
    try:
        return getattr(importlib.import_module(module), last, None)
    except ImportError:
        return None


if __name__ == "__main__":
    write(sys.argv[1], functions())
