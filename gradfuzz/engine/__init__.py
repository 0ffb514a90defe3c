"""The reference autodiff: loops, branches and array ops, forward and reverse, to any order.

    >>> from gradfuzz import engine
    >>> def cube(x):
    ...     return engine.fori_loop(0, 3, lambda i, acc: acc * x, 1.0)
    >>> engine.grad(cube)(0.5)
    0.75
    >>> engine.grad(engine.grad(cube))(0.5)
    3.0

`derivative` makes the graph of a program's derivative, `compile` a Python function of a graph, `to_source` a text to read.
"""

from gradfuzz.engine.api import grad, hessian, jacobian, jvp, trace, value_and_grad, vjp
from gradfuzz.engine.compile import Compiled, compile, to_source
from gradfuzz.engine.derivative import Rules, derivative
from gradfuzz.engine.functions import (
    abs,
    broadcast_to,
    concat,
    cos,
    cumulative_sum,
    exp,
    flip,
    index_update,
    log,
    matmul,
    maximum,
    mean,
    minimum,
    permute_dims,
    pow,
    prod,
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
from gradfuzz.engine.loops import cond, fori_loop, repeat_while, scan, while_loop
from gradfuzz.engine.value import Value

__all__ = [
    "Compiled",
    "Rules",
    "Value",
    "abs",
    "broadcast_to",
    "compile",
    "concat",
    "cond",
    "cos",
    "cumulative_sum",
    "derivative",
    "exp",
    "flip",
    "fori_loop",
    "grad",
    "hessian",
    "index_update",
    "jacobian",
    "jvp",
    "log",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "permute_dims",
    "pow",
    "prod",
    "repeat_while",
    "reshape",
    "scan",
    "sign",
    "sin",
    "sqrt",
    "stack",
    "sum",
    "tan",
    "tanh",
    "to_source",
    "trace",
    "value_and_grad",
    "vjp",
    "where",
    "while_loop",
]
