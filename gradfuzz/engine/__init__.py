"""The reference autodiff: loops, branches and array ops, forward and reverse, to any order.

    >>> from gradfuzz import engine
    >>> def cube(x):
    ...     return engine.fori_loop(0, 3, lambda i, acc: acc * x, 1.0)
    >>> engine.grad(cube)(0.5)
    0.75
    >>> engine.grad(engine.grad(cube))(0.5)
    3.0

`derivative` makes the graph of a program's derivative, `compile` a Python function of a graph, `to_source` a
text to read.

    rules        the ops as functions, and the tables of derivative rules
    modes        reverse and forward mode on graphs
    compiling    graphs as Python source
    batching     graphs of one instance as graphs of a batch
    linalg       linear algebra as functions, named as in NumPy: `engine.linalg.solve(a, b)`
    api          what people call
"""

import functools as _functools
import typing as _typing

from gradfuzz.engine import linalg
from gradfuzz.engine.api.check import check_vectorized
from gradfuzz.engine.api.derivative import Rules, derivative
from gradfuzz.engine.api.differentiate import grad, hessian, jacobian, jvp, trace, value_and_grad, vjp
from gradfuzz.engine.api.loops import cond, fori_loop, repeat_while, scan, while_loop
from gradfuzz.engine.api.vectorize import Vectorized, devectorize, rename, vectorize
from gradfuzz.engine.api.vmap import vmap
from gradfuzz.engine.compiling.compile import Compiled, compile, to_source
from gradfuzz.engine.rules.functions import (
    abs,
    broadcast_to,
    complex,
    concat,
    conj,
    cos,
    cumulative_sum,
    exp,
    flip,
    imag,
    index_update,
    log,
    matmul,
    maximum,
    mean,
    minimum,
    permute_dims,
    pow,
    prod,
    real,
    reshape,
    sign,
    sin,
    sqrt,
    stack,
    sum,
    tan,
    tanh,
    where,
)
from gradfuzz.engine.rules.tensor_functions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    argsort,
    clip,
    conv,
    cumulative_max,
    cumulative_prod,
    expm1,
    log1p,
    log_softmax,
    logsumexp,
    scatter_add,
    softmax,
    sort,
    take,
    take_along_axis,
    window_sum,
)
from gradfuzz.engine.rules.value import Value
from gradfuzz.engine.rules.value import apply as _apply
from gradfuzz.programs.language.functions import FUNCTIONS as _FUNCTIONS

__all__ = ["Compiled", "Rules", "Value", "compile", "derivative", "linalg", "to_source", "trace"]
__all__ += ["grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"]
__all__ += ["Vectorized", "check_vectorized", "devectorize", "rename", "vectorize", "vmap"]
__all__ += ["cond", "fori_loop", "repeat_while", "scan", "while_loop"]
__all__ += ["abs", "clip", "cos", "exp", "expm1", "log", "log1p", "maximum", "minimum", "pow"]
__all__ += ["complex", "conj", "imag", "real", "sign", "sin", "sqrt", "tan", "tanh", "where"]
__all__ += ["all", "amax", "amin", "any", "argmax", "argmin", "logsumexp", "mean", "prod", "sum"]
__all__ += ["cumulative_max", "cumulative_prod", "cumulative_sum", "log_softmax", "softmax"]
__all__ += ["broadcast_to", "concat", "flip", "index_update", "permute_dims", "reshape", "stack"]
__all__ += ["argsort", "conv", "matmul", "scatter_add", "sort", "take", "take_along_axis", "window_sum"]


def __getattr__(name: str) -> _typing.Any:
    """Every elementwise function by its name (see `programs.language.functions`): `engine.erf(x)`."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module 'gradfuzz.engine' has no attribute {name!r}")
    return _functools.partial(_apply, name)
