"""Reverse-mode differentiation of scalars, with a loop of its own: a trip is differentiated when its turn
comes, on the way back.
"""

import math


class Number:
    """A value (a float, or the int that counts trips), and how it came about: the numbers it was made of, and
    what takes a cotangent back to them.
    """

    def __init__(self, value, parents=(), pullback=None):
        self.value = value
        self.parents = parents
        self.pullback = pullback


def _unary(value, slope):
    return lambda x: Number(value(x.value), (x,), lambda c: (c * slope(x.value),))


def _binary(value, slope_x, slope_y):
    return lambda x, y: Number(
        value(x.value, y.value),
        (x, y),
        lambda c: (c * slope_x(x.value, y.value), c * slope_y(x.value, y.value)),
    )


OPS = {
    "add": _binary(lambda x, y: x + y, lambda x, y: 1.0, lambda x, y: 1.0),
    "subtract": _binary(lambda x, y: x - y, lambda x, y: 1.0, lambda x, y: -1.0),
    "multiply": _binary(lambda x, y: x * y, lambda x, y: y, lambda x, y: x),
    "divide": _binary(lambda x, y: x / y, lambda x, y: 1.0 / y, lambda x, y: -x / y**2),
    "negative": _unary(lambda x: -x, lambda x: -1.0),
    "exp": _unary(math.exp, math.exp),
    "log": _unary(math.log, lambda x: 1.0 / x),
    "sqrt": _unary(math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "sin": _unary(math.sin, math.cos),
    "cos": _unary(math.cos, lambda x: -math.sin(x)),
    "tanh": _unary(math.tanh, lambda x: 1.0 - math.tanh(x) ** 2),
}
"""All that the library can do with numbers, besides loops."""


def gradient(results, cotangents, inputs):
    """The sum of the derivatives of `results` times `cotangents`, by each of `inputs`."""
    total = {id(x): 0.0 for x in inputs}
    for result, cotangent in zip(results, cotangents, strict=True):
        total[id(result)] = total.get(id(result), 0.0) + cotangent
    for number in reversed(_in_order(results)):
        cotangent = total.get(id(number), 0.0)
        if number.pullback is not None:
            for parent, part in zip(number.parents, number.pullback(cotangent), strict=True):
                total[id(parent)] = total.get(id(parent), 0.0) + part
    return [total[id(x)] for x in inputs]


def _in_order(results):
    """Everything that the results were made of, parents first."""
    order, seen = [], set()

    def visit(number):
        if id(number) not in seen:
            seen.add(id(number))
            for parent in number.parents:
                visit(parent)
            order.append(number)

    for result in results:
        visit(result)
    return order


def way_back(trips):
    return reversed(trips)


def repeat(count, body, carries, captures):
    """`carries` after `count` times `carries = body(i, carries, captures)`: lists of numbers."""
    trips, values = [], [c.value for c in carries]
    for i in range(count):
        inside = [Number(v) for v in values], [Number(c.value) for c in captures]
        results = body(Number(i), *inside)
        trips.append((inside, results))
        values = [r.value for r in results]

    def pullback(which):
        def pull(cotangent):
            cotangents = [cotangent if k == which else 0.0 for k in range(len(carries))]
            shared = [0.0] * len(captures)
            for (own, outer), results in way_back(trips):
                slopes = gradient(results, cotangents, [*own, *outer])
                cotangents = slopes[: len(own)]
                shared = [s + t for s, t in zip(shared, slopes[len(own) :], strict=True)]
            return (*cotangents, *shared)

        return pull

    return [Number(v, (*carries, *captures), pullback(k)) for k, v in enumerate(values)]
