"""The library as a target of gradfuzz: `gradfuzz sweep 'cmd:python adapter.py'`. The argument is the module
that is asked: trips or trips_mistake.
"""

import importlib
import sys
from pathlib import Path

import gradfuzz.adapters

sys.path.insert(0, str(Path(gradfuzz.adapters.__file__).parent))
import kit

library = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "trips")


class Reverse(kit.Way):
    structured = True  # loops are handed over, as bodies that the library calls
    ops = library.OPS
    dtypes = ("float64",)
    loops = ("for",)
    features = ("nested", "runtime_trips")

    def array(self, dtype, shape, entries):
        if shape:
            raise kit.Unsupported("there are no arrays")
        return library.Number(entries[0])

    def entries(self, value):
        return "float64", (), [value.value]

    def for_loop(self, count, body, carries, captures):
        trips = (
            count if isinstance(count, int) else count.value
        )  # an input, or the counter of the loop around it
        return library.repeat(trips, body, carries, captures)

    def differentiate(self, f, xs, weights, directions, modes):
        outputs = f(*xs)
        if not modes:
            return outputs, []
        kept = [(y, w.value) for y, w in zip(outputs, weights, strict=True) if w is not None]
        slopes = library.gradient([y for y, _ in kept], [w for _, w in kept], xs)
        return outputs, [library.Number(s) for s in slopes]


if __name__ == "__main__":
    kit.serve("trips", "1.0", [Reverse()])
