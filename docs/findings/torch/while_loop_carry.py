"""The derivative of this function by torch (while_loop) is not the true one.

    def f(x):
        acc = 1.0
        for i in range(3):
            acc = acc * x
        return acc

Prints expected and got, and exits with 1 while they differ. Needs numpy, mpmath and torch.
"""

from __future__ import annotations

import sys

import numpy as np
from mpmath import mp, mpf
import torch
from torch._higher_order_ops.while_loop import while_loop

dtype = torch.float64
inputs = {
    "x": np.array(0.5, "float64"),
}
wrt = ["x"]
weights = [np.array(1.0, "float64")]  # differentiated is the sum of weight * output


def f(x):
    def again(i, acc):
        return i < 3

    def body(i, acc):
        return i + 1, acc * x

    _, acc = while_loop(again, body, (torch.tensor(0), torch.tensor(1.0, dtype=dtype)))
    return acc


def reverse(terms, xs, more):
    """The gradient of the sum of weight * y over `terms`, by torch.autograd.grad; `more` says that it is differentiated again."""
    active = [(y, w) for y, w in terms if w is not None and y.requires_grad]
    if not active:
        return [torch.zeros_like(x) for x in xs]
    ys, ws = zip(*active)
    return torch.autograd.grad(ys, xs, ws, create_graph=more, allow_unused=True, materialize_grads=True)


def gradient():
    point = {
        "x": torch.tensor(inputs["x"]),
    }
    xs = [point[name].requires_grad_() for name in wrt]
    ws = [None if w is None else torch.tensor(w) for w in weights]
    slopes = reverse(zip([f(*point.values())], ws), xs, False)
    return {name: slope.numpy(force=True) for name, slope in zip(wrt, slopes)}


# What is true, by mpmath

mp.dps = 250
h = mpf(10) ** -50


def exactly(values):
    """The same numbers as mpf."""
    return np.frompyfunc(mpf, 1, 1)(np.asarray(values, dtype=float))


def exact(x):
    acc = mpf(1.0)
    for i in range(3):
        acc = acc * x
    return acc


def objective(point):
    outputs = [exact(*point.values())]
    return sum(np.sum(exactly(w) * output) for w, output in zip(weights, outputs) if w is not None)


def slope(function, step):
    """The derivative of `function` along `step`, by a central difference."""

    def at(point, size):
        return function({**point, **{name: point[name] + size * step[name] for name in step}})

    return lambda point: (at(point, h) - at(point, -h)) / (2 * h)


def expected_gradient():
    point = {"x": exactly(inputs["x"])}
    function = objective
    expected = {name: np.zeros(inputs[name].shape) for name in wrt}
    for name in wrt:
        for index in np.ndindex(inputs[name].shape):
            unit = np.zeros(inputs[name].shape)
            unit[index] = 1.0
            expected[name][index] = float(slope(function, {name: exactly(unit)})(point))
    return expected


expected, got = expected_gradient(), gradient()
allowed = {
    "x": np.array(1e-15, "float64"),
}
wrong = False
print(f"{'':<12} {'input':<24} {'expected':<24} {'got':<24} ratio")
for name in expected:
    if got[name].shape != expected[name].shape:
        print(f"{name}: the shape is {got[name].shape}, not {expected[name].shape}")
        wrong = True
        continue
    for index in np.ndindex(expected[name].shape):
        right, answer = float(expected[name][index]), float(got[name][index])
        ratio = f"{answer / right:.6g}" if right else "-"
        label = name + "".join(f"[{k}]" for k in index)
        at = str(inputs[name][index]) if name in inputs else ""
        print(f"{label:<12} {at:<24} {right!r:<24} {answer!r:<24} {ratio}")
        wrong = wrong or not abs(answer - right) <= allowed[name][index]
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
