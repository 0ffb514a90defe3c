"""The library as a target of gradfuzz: `gradfuzz sweep 'cmd:python adapter.py'`. The argument is the module that is asked: trips or trips_mistake."""

import importlib
import sys
from pathlib import Path

import gradfuzz.adapters

sys.path.insert(0, str(Path(gradfuzz.adapters.__file__).parent))
import kit

library = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "trips")


def less(x, y):
    return library.Number(x.value < y.value)


def converted(x, dtype):
    return library.Number({"float64": float, "int64": int, "bool": bool}[dtype](x.value))


class Reverse(kit.Way):
    structured = True  # loops are handed over, as bodies that the library calls
    ops = {  # noqa: RUF012 - a way has its ops as a class attribute
        **{name: getattr(library, name) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "where")},
        **{name: getattr(library, name) for name in ("negative", "sign", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh")},
        "abs": library.absolute,
        "pow": library.power,
        "less": less,
        "greater": lambda x, y: less(y, x),
        "astype": converted,
    }
    dtypes = ("float64",)
    loops = ("for",)
    features = ("nested",)

    def array(self, dtype, shape, entries):
        if shape:
            raise kit.Unsupported("there are no arrays")
        return library.Number(entries[0])

    def entries(self, value):
        dtype = {float: "float64", int: "int64", bool: "bool"}[type(value.value)]
        return dtype, (), [value.value]

    def for_loop(self, count, body, carries, captures):
        if not isinstance(count, int):
            raise kit.Unsupported("the number of trips is known beforehand")
        return library.repeat(count, body, carries, captures)

    def differentiate(self, f, xs, weights, directions, modes):
        outputs = f(*xs)
        if not modes:
            return outputs, []
        kept = [(y, w.value) for y, w in zip(outputs, weights, strict=True) if w is not None]
        slopes = library.gradient([y for y, _ in kept], [w for _, w in kept], xs)
        return outputs, [library.Number(s) for s in slopes]


if __name__ == "__main__":
    kit.serve("trips", "1.0", [Reverse()])
