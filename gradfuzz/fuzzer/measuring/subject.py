"""A user's function, its arguments and the inputs to differentiate, as a function of real arrays.

Arguments may nest (see `tracing.leaves`). A leaf is an input of the function if it is an array, a float or a
complex number; ints, bools, strings and other objects are passed on unchanged. A complex input z counts as
two, "z.real" and "z.imag", and so does a complex output. So every derivative is one of real functions, and no
convention about the sign of an imaginary part applies, except inside the function itself.

What a module or another object holds is one more argument, the last (`libraries.objects`). Inputs keep their
dtypes. Where these differ, the library is asked for derivatives by arrays of the widest one, which are cast
before the function has them.
"""

from __future__ import annotations

import contextlib
import fnmatch
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from gradfuzz.errors import GradfuzzError, SideEffectError, UntraceableError, UsageError
from gradfuzz.fuzzer.conventions.excluded import is_square
from gradfuzz.libraries.detect import library_of, signature_of
from gradfuzz.libraries.library import ArrayFunction, Differentiated, Library, LibraryName, Tree, Wanted
from gradfuzz.libraries.objects import OneDraw, Opened
from gradfuzz.libraries.ways import AskedWay
from gradfuzz.oracles.base import Array, Mode
from gradfuzz.programs.language.precision import FORMATS, Precision, is_float

Kind = Literal["float", "int", "bool"]

_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)
"""Results that are constants to any framework but NumPy."""

_LOOKS = 7
"""How often a function is called again to see whether it draws: a coin shows one side eight times in 1 of 128
tries."""


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """One real input: its name, its argument, its NumPy array."""

    name: str
    argument: int
    value: Array
    kind: Kind


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    """One leaf of the arguments: an input, a pair of inputs, or an object to pass on."""

    original: Any
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A function. `wrt` are the numbers of its differentiated inputs, `grad` is a hand-written gradient,
    `names` are those of its arguments. It is judged in `precision`: that of its widest input, or a narrower
    one that it computes in.
    """

    f: Callable[..., Any]
    label: str
    framework: Library
    precision: Precision
    inputs: tuple[Input, ...]
    wrt: tuple[int, ...]
    grad: Callable[..., Any] | None
    names: tuple[str, ...]
    _trees: tuple[Tree, ...]
    _leaves: tuple[tuple[_Leaf, ...], ...]
    _evaluate: ArrayFunction | None = None
    unasked: frozenset[int] = frozenset()
    """The numbers of the leaves of a result that are not asked about."""
    way: AskedWay | None = None
    """How the framework is asked; None: as `Library.derivative` asks."""
    _mirrored: Mapping[int, float] = field(default_factory=dict)
    """The numbers of the inputs of which the Hermitian part is taken, with the sign of the transpose."""
    _holding: tuple[Array, ...] = ()
    """The inputs at which that is taken which does not move, if it is others."""
    _hold: Literal["held", "by_quantiles", "by_documents"] = "held"
    """What does not move, by the method of `Library`: what the function hides from differentiation, the
    quantiles of its draws, or what the library's documents leave out.
    """

    def arguments(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments, built from the framework's real arrays, one per input."""
        arrays = list(arrays)
        for k, sign in self._mirrored.items():
            x, mirrored = arrays[k], np.swapaxes(arrays[k], -1, -2)
            arrays[k] = (x + mirrored if sign > 0.0 else x - mirrored) / 2.0
        result = []
        for (_, rebuild), leaves in zip(self._trees, self._leaves, strict=True):
            own = [[arrays[k] for k in leaf.inputs] or [leaf.original] for leaf in leaves]
            result.append(rebuild([self.framework.pair(*xs) if len(xs) == 2 else xs[0] for xs in own]))
        return result

    def call(self, *arrays: Any) -> tuple[Any, ...]:
        """The real outputs at the framework's real arrays."""
        if not self._holding:
            return tuple(self._real(self.f(*self.arguments(arrays))))
        pairs = zip(self._holding, arrays, strict=True)
        holding = [self.framework.like(value, x) for value, x in pairs]
        hold = getattr(self.framework, self._hold)
        return tuple(hold(replace(self, _holding=()).call, arrays, holding))

    def held(self) -> Subject:
        """The function whose stopped values are constants: what they are at the inputs."""
        return self._kept("held")

    def by_quantiles(self) -> Subject:
        """The function whose draws are the quantiles that they are at the inputs."""
        return self._kept("by_quantiles").repeated()

    def by_documents(self) -> Subject:
        """The function without what the library's documents leave out of its gradient."""
        if self._holding:
            raise UntraceableError("it is held already")
        return self._kept("by_documents")

    def _kept(self, hold: Literal["held", "by_quantiles", "by_documents"]) -> Subject:
        return replace(self, _holding=tuple(i.value for i in self.inputs), _hold=hold).ready()

    def _real(self, result: Any) -> list[Any]:
        """The real arrays of a result. `UsageError` where it holds anything but arrays and numbers: it is
        gradfuzz that cannot go on then, and nothing that the function raises. What a library raises about the
        parts of its own array is the library's.
        """
        outputs: list[Any] = []
        for y in self._asked(result):
            if isinstance(y, _NUMBERS):
                y = self.framework.array(np.asarray(y))
            try:
                if isinstance(y, str):
                    raise TypeError("text is no array")
                outputs += self.framework.parts(y) if self.framework.is_complex(y) else [y]
            except GradfuzzError:
                raise
            except Exception as error:
                if self.framework.is_array(y):
                    raise
                what = f"{self.label} returns an object of type {type(y).__name__}, which is not an array"
                raise UsageError(f"{what}; return arrays and numbers, or nested tuples of them") from error
        return outputs

    def _found(self, result: Any) -> list[Any]:
        """The leaves of a result."""
        return [leaf for _, leaf in self.framework.tree(result, "")[0]]

    def _asked(self, result: Any) -> list[Any]:
        """The leaves of a result that are asked about."""
        return [leaf for k, leaf in enumerate(self._found(result)) if k not in self.unasked]

    def differentiable(self) -> Subject:
        """The subject without those results that its framework itself never differentiates. With a
        hand-written gradient all results count. Raises the function's exceptions.
        """
        if self.grad is not None:
            return self

        def leaves(*arrays: Any) -> list[Any]:
            return self._found(self.f(*self.arguments(arrays)))

        arrays = self.arrays([i.value for i in self.inputs])
        with self.context(), np.errstate(all="ignore"):
            unasked = self.framework.without_derivative(leaves, arrays)
        return self.without(unasked)

    def without(self, leaves: frozenset[int]) -> Subject:
        """The subject without these leaves of its result."""
        return self if leaves == self.unasked else replace(self, unasked=leaves).ready()

    def ready(self) -> Subject:
        """The subject with itself prepared for the framework."""
        return replace(self, _evaluate=self.framework.prepared(self.call))

    def of_triangle(self, triangle: Callable[[Array, int], Array]) -> Subject:
        """The function at the Hermitian matrices that have this triangle of its square matrices."""
        inputs = list(self.inputs)
        for k, sign in self._signs().items():
            x = inputs[k].value
            beside = triangle(x, -1 if triangle is np.tril else 1)
            diagonal = np.where(np.eye(x.shape[-1]), x, 0.0) if sign > 0.0 else 0.0
            mirrored = beside + diagonal + sign * np.swapaxes(beside, -1, -2)
            inputs[k] = replace(inputs[k], value=np.asarray(mirrored, x.dtype))
        return replace(self, inputs=tuple(inputs))

    def _signs(self) -> dict[int, float]:
        """The numbers of the inputs that are square matrices, with the sign of the transpose."""
        pairs = (zip(leaf.inputs, (1.0, -1.0), strict=False) for leaves in self._leaves for leaf in leaves)
        found = ((k, sign, self.inputs[k].value) for pair in pairs for k, sign in pair)
        return {k: sign for k, sign, x in found if is_square(x) and is_float(x.dtype)}

    def of_hermitian_parts(self) -> Subject | None:
        """The function of (x + x^H) / 2 for each x of its inputs that is a Hermitian matrix; None where there
        is none, or the gradient is written by hand.
        """
        mirrored: dict[int, float] = {}
        signs = self._signs()
        for leaf in (leaf for leaves in self._leaves for leaf in leaves if {*leaf.inputs} <= {*signs}):
            own = {k: signs[k] for k in leaf.inputs}
            values = ((self.inputs[k].value, sign) for k, sign in own.items())
            if all(np.array_equal(x, sign * np.swapaxes(x, -1, -2)) for x, sign in values):
                mirrored.update(own)
        if self.grad is not None or self._mirrored or not mirrored:
            return None
        return replace(self, _mirrored=mirrored).ready()

    def stands_in_triangles(self, gradient: Mapping[str, Array], names: Sequence[str], room: float) -> bool:
        """Whether the gradient by each Hermitian matrix is Hermitian, or 0 beyond one triangle, up to a share
        of its largest entry. `names` are those of the differentiated inputs.
        """
        for k, name in zip(self.wrt, names, strict=True):
            if k in self._mirrored:
                g = np.asarray(gradient.get(name, np.nan), np.float64)
                if g.shape != self.inputs[k].value.shape:
                    return False
                apart = (g - self._mirrored[k] * np.swapaxes(g, -1, -2), np.triu(g, 1), np.tril(g, -1))
                if not any(np.all(np.abs(a) <= room * np.max(np.abs(g))) for a in apart):
                    return False
        return True

    def arrays(
        self, values: Sequence[Array], precision: Precision | None = None, *, traced: bool = False
    ) -> list[Any]:
        """NumPy arrays, one per input, as the framework's arrays, floats in `precision`. `traced`: they are
        constants of a function that is traced.
        """
        return self._made(self.framework.array if traced else self.framework.given, values, precision)

    def _made(
        self, make: Callable[[Array, Any], Any], values: Sequence[Array], precision: Precision | None
    ) -> list[Any]:
        likes = {k: leaf.original for leaves in self._leaves for leaf in leaves for k in leaf.inputs}
        return [make(np.asarray(v, self.dtype_of(k, precision)), likes.get(k)) for k, v in enumerate(values)]

    def dtype_of(self, k: int, precision: Precision | None = None) -> np.dtype[Any]:
        """The dtype of the input of number `k` in a precision: its own in that of the subject."""
        i = self.inputs[k]
        own = i.kind != "float" or precision in (None, self.precision)
        return i.value.dtype if own else FORMATS[precision or self.precision].dtype

    @property
    def width(self) -> Precision:
        """The format that holds all of the inputs."""
        return _wide_enough([i.value.dtype for i in self.inputs if i.kind == "float"])

    def context(self, precision: Precision | None = None) -> contextlib.AbstractContextManager[Any]:
        """A context for all computations in a precision, or in the inputs' own dtypes."""
        own = precision in (None, self.precision)
        return self.framework.context(self.width if own else precision or self.precision)

    @property
    def is_narrow(self) -> bool:
        """Whether it is judged in a narrower precision than that of its inputs."""
        return self.precision != self.width

    def in_full(self) -> list[Array]:
        """The inputs as a program takes them: in their dtype, or in float64 if that is not the precision."""
        dtypes = {i.value.dtype for i in self.inputs if i.kind == "float"}
        is_plain = dtypes <= {FORMATS[self.precision].dtype}
        return [i.value if is_plain or i.kind != "float" else i.value.astype(np.float64) for i in self.inputs]

    @property
    def drawn(self) -> tuple[str, ...]:
        """From whom the function draws random numbers, the same in each call."""
        return self.f.drawn if isinstance(self.f, OneDraw) else ()

    def draws_alike(self, values: Sequence[Array], precision: Precision) -> bool:
        """Whether a function that draws random numbers draws the same in another precision."""
        if not isinstance(self.f, OneDraw):
            return True
        if self.f.draws is None:
            with self.context(), np.errstate(all="ignore"):
                arrays = self.arrays([i.value for i in self.inputs])
                self.f.draws = bool(self.f.drawn) or self.framework.draws(self.call, arrays)
        if not self.f.draws:
            return True
        share = max(FORMATS[p].half_of_the_digits for p in (precision, self.precision))
        return agree_to(share, self.values(values, precision), self.values(values))

    def narrower(self) -> Subject | None:
        """The same to be judged in the narrowest format that it has an input of, or computes in; None where
        that is its precision.
        """
        with self.context(), np.errstate(all="ignore"):
            arrays = self.arrays([i.value for i in self.inputs])
            dtypes = self.framework.computes_in(self.call, arrays)
        own = {i.value.dtype.name for i in self.inputs if i.kind == "float"}
        found = [name for name in FORMATS if name in {*own, *dtypes}]
        narrow = max(found, key=lambda name: FORMATS[name].roundoff, default=self.precision)
        is_narrow = FORMATS[narrow].roundoff > FORMATS[self.precision].roundoff
        return replace(self, precision=narrow).ready() if is_narrow else None

    def values(self, values: Sequence[Array], precision: Precision | None = None) -> list[Array]:
        """The function's outputs at NumPy arrays, as NumPy arrays. Raises the function's exceptions."""
        with self.context(precision), np.errstate(all="ignore"):
            operands = self._made(self.framework.operand, values, precision)
            return [self.framework.numpy(y) for y in self._prepared(*operands)]

    def repeated(self) -> Subject:
        """The subject for hundreds of values."""
        return replace(self, _evaluate=self.framework.repeated(self._prepared))

    @property
    def compiles_anew(self) -> bool:
        """Whether each derivative is compiled, also at other inputs."""
        return self.framework.compiles_anew(self._prepared)

    @property
    def _prepared(self) -> ArrayFunction:
        return self._evaluate or self.framework.prepared(self.call)

    def is_steady(self) -> bool:
        """Whether a few calls with the same arguments return the same values, but for half of their digits:
        steps in another order may change those.

        A draw of few outcomes, as a dropout of one number, returns the same value twice every other time.
        """
        values, share = [i.value for i in self.inputs], FORMATS[self.precision].half_of_the_digits
        again = replace(self, _evaluate=self.framework.prepared(lambda *xs: self.call(*xs)))
        first = self.values(values)
        return all(agree_to(share, again.values(values), first) for _ in range(_LOOKS))

    def finds_roots(self) -> bool:
        """Whether the values are made of roots that were found to almost all of their digits."""
        with self.context(), np.errstate(all="ignore"):
            return self.framework.finds_roots(self.call, self.arrays([i.value for i in self.inputs]))

    def complex_values(self, values: Sequence[Array]) -> list[Array] | None:
        """The outputs at complex NumPy arrays.

        None if the function accepts none or drops an imaginary part, or if a complex number stands for two
        inputs.
        """
        if self._holding or any(len(leaf.inputs) > 1 for leaves in self._leaves for leaf in leaves):
            return None
        try:
            with self.framework.context("float64"), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                result = self.f(*self.arguments([self.framework.array(v) for v in values]))
                outputs = [np.asarray(self.framework.numpy(y)) for y in self._asked(result)]
                return outputs if all(np.iscomplexobj(y) for y in outputs) else None
        except Exception:  # noqa: BLE001 - a function of real numbers may raise anything
            return None

    def derivative(
        self,
        values: Sequence[Array],
        wanted: Wanted,
        precision: Precision | None = None,
        *,
        twice: bool = False,
    ) -> tuple[list[Array], list[Array]]:
        """The outputs, and the derivative by each input in `wrt`. Raises what `f` or `grad` raises. With
        `twice` the library is asked over one graph again: `SideEffectError` where the second differs.
        """
        with self.context(precision), np.errstate(all="ignore"):
            arrays = self.arrays(values, precision)
            dtypes = [self.dtype_of(k, precision) for k in self.wrt]
            if self.grad is not None:
                outputs, gradient = self._by_hand(arrays, wanted.weights, dtypes)
            else:
                xs = self._wide(arrays, precision)
                with self._unchanged(arrays if wanted.modes[-1] == "rev" else ()):
                    ask = self.framework.derivative_twice if twice else self._asked_by
                    outputs, gradient = ask(self.of_differentiated(arrays), xs, wanted)
            found = [self.framework.numpy(g) for g in gradient]
            found, second = found[: len(dtypes)], found[len(dtypes) :]
            if twice and not agree_to(FORMATS[self.precision].half_of_the_digits, second, found):
                what = "the derivative changes when it is asked a second time over the same graph"
                raise SideEffectError(what)
            if len({*dtypes}) > 1:
                found = [g.astype(dtype) for g, dtype in zip(found, dtypes, strict=True)]
            return [self.framework.numpy(y) for y in outputs], found

    def _wide(self, arrays: Sequence[Any], precision: Precision | None = None) -> list[Any]:
        """The differentiated ones of the framework's arrays, all in the widest of their dtypes."""
        xs, dtypes = [arrays[k] for k in self.wrt], [self.dtype_of(k, precision) for k in self.wrt]
        if len({*dtypes}) == 1:
            return xs
        wide = self.framework.given(np.zeros((), FORMATS[_wide_enough(dtypes)].dtype), xs[0])
        return [self.framework.cast(x, wide) for x in xs]

    def gradients(
        self, weights: Sequence[Array | None], precision: Precision, mode: Mode = "rev"
    ) -> Callable[[Sequence[Array]], list[Array]]:
        """The gradient by each input in `wrt` as a function of the values of all inputs, for many of them."""
        wanted = Wanted(weights, modes=(mode,))
        if self.grad is not None:
            return lambda values: self.derivative(values, wanted, precision)[1]

        def slopes(*arrays: Any) -> tuple[Any, ...]:
            xs = self._wide(arrays)
            return tuple(self.framework.derivative(self.of_differentiated(arrays), xs, wanted)[1])

        repeated = replace(self, _evaluate=self.framework.repeated(slopes))
        return lambda values: repeated.values(values, precision)

    def products(
        self,
        values: Sequence[Array],
        wanted: Wanted,
        probes: Sequence[Sequence[Array]],
        precision: Precision | None = None,
    ) -> tuple[list[Array], Array]:
        """The outputs, and the derivative along each of `probes`: that of f(x + sum of t probe + s direction)
        by t.
        """
        dtype = np.result_type(*(self.dtype_of(k, precision) for k in self.wrt))
        lines = [*probes, *([wanted.directions] if len(wanted.modes) > 1 else [])]
        with self.context(precision), np.errstate(all="ignore"):
            arrays = self.arrays(values, precision)
            xs = self._wide(arrays, precision)
            about = self.of_differentiated(arrays), xs, wanted
            own = probes if self.way is None else ()
            pushed = [p for probe in own if (p := self.framework.push(*about, probe)) is not None]
            if pushed:
                found = [self.framework.numpy(slope) for _, slope in pushed]
                return [self.framework.numpy(y) for y in pushed[-1][0]], np.array(found, dtype)

            made = [[self.framework.like(v, x) for v, x in zip(line, xs, strict=True)] for line in lines]
            ts = [self.framework.given(np.zeros((), dtype), arrays[self.wrt[0]]) for _ in lines]
            along = [np.asarray(float(k >= len(probes))) for k in range(len(lines))]
            f = on_lines(self.of_differentiated(arrays), xs, made)
            outputs, slopes = self._asked_by(f, ts, replace(wanted, directions=along))
            found = [self.framework.numpy(slope) for slope in slopes[: len(probes)]]
            return [self.framework.numpy(y) for y in outputs], np.array(found, dtype)

    def _asked_by(self, f: ArrayFunction, xs: Sequence[Any], wanted: Wanted) -> Differentiated:
        if self.way is None:
            return self.framework.derivative(f, xs, wanted)
        return self.framework.derivative_by(self.way, f, xs, wanted)

    @contextlib.contextmanager
    def _unchanged(self, arrays: Sequence[Any]) -> Iterator[None]:
        """Raises `SideEffectError` where one of the inputs is another one afterwards, in any bit."""
        before = [] if self.framework.immutable else [self.framework.numpy(x).tobytes() for x in arrays]
        yield
        for i, x, given in zip(self.inputs, arrays, before, strict=False):
            if self.framework.numpy(x).tobytes() != given:
                raise SideEffectError(f"the derivative writes into the argument {i.name}")

    def of_differentiated(self, arrays: Sequence[Any]) -> ArrayFunction:
        """The function of the inputs in `wrt`; the others are fixed at `arrays`."""
        is_mixed = len({arrays[k].dtype for k in self.wrt}) > 1

        def f(*xs: Any) -> tuple[Any, ...]:
            arguments = list(arrays)
            for k, x in zip(self.wrt, xs, strict=True):
                arguments[k] = self.framework.cast(x, arrays[k]) if is_mixed else x
            return self.call(*arguments)

        return f

    def _by_hand(
        self, arrays: Sequence[Any], weights: Sequence[Array | None], dtypes: Sequence[np.dtype[Any]]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        assert self.grad is not None, "only what has a gradient of its own is asked so"
        arguments = self.arguments(arrays)
        result = self.f(*arguments)
        outputs = self._real(result)
        with self._unchanged(arrays):
            if len(outputs) == 1 and np.shape(outputs[0]) == () and not self.unasked:
                scale = float(np.asarray(weights[0]))
                answer = self.grad(*arguments)
            else:
                scale = 1.0
                answer = self.grad(*arguments, self._cotangent(result, weights))
        return outputs, self.slopes(answer, scale, dtypes)

    def _cotangent(self, result: Any, weights: Sequence[Array | None]) -> Any:
        """The weights in the form of the result; for a complex output y: dL/d(re y) + i dL/d(im y)."""
        leaves, rebuild = self.framework.tree(result, "")
        rest = iter(weights)
        new = []
        for k, (_, y) in enumerate(leaves):
            w = None if k in self.unasked else next(rest)
            dtype = self.framework.numpy(y).dtype
            if w is not None and self.framework.is_complex(y):
                w = np.asarray(w) + 1j * np.asarray(next(rest))
            array = np.zeros(np.shape(y), dtype) if w is None else np.asarray(w, dtype)
            new.append(self.framework.array(array, y))
        return rebuild(new)

    def slopes(self, answer: Any, scale: float, dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
        """The result of a hand-written gradient times `scale`: one real array per input in `wrt`."""
        chosen = sorted({self.inputs[k].argument for k in self.wrt})
        answers = [answer] if len(chosen) == 1 else answer
        if not isinstance(answers, (tuple, list)) or len(answers) != len(chosen):
            names = ", ".join(self.names[a] for a in chosen)
            raise UsageError(
                f"grad must return a tuple of {len(chosen)} gradients, by {names}; it returned"
                f" {answers!r:.200}"
            )
        slopes: dict[int, Any] = {}
        for argument, g in zip(chosen, answers, strict=True):
            own = [leaf.inputs for leaf in self._leaves[argument]]
            wanted = [inputs for inputs in own if inputs and inputs[0] in self.wrt]
            given = [None] * len(wanted) if g is None else self._found(g)
            if len(given) != len(wanted):
                name = self.names[argument]
                raise UsageError(
                    f"grad returned {len(given)} arrays for {name}, which has {len(wanted)} to"
                    " differentiate by"
                )
            for inputs, one in zip(wanted, given, strict=True):
                zero = np.zeros(self.inputs[inputs[0]].value.shape)
                array = zero if one is None else self.framework.numpy(one)
                parts = [np.real(array), np.imag(array)] if len(inputs) == 2 else [array]
                for k, part in zip(inputs, parts, strict=True):
                    slopes[k] = np.asarray(scale * np.asarray(part, np.float64))
        return [slopes[k].astype(dtype) for k, dtype in zip(self.wrt, dtypes, strict=True)]


def subject_of(
    f: Callable[..., Any],
    args: Sequence[Any],
    wrt: Sequence[str | int] | str | int | None,
    grad: Callable[..., Any] | None,
    framework: LibraryName | None,
    *,
    objects: bool = False,
) -> Subject:
    """The subject; `UsageError` where it makes no sense.

    A plain Python float has the precision of the arrays, or float64 without arrays. With `objects` it is
    asked about what `f` and the modules among `args` hold, too, unless it has a hand-written gradient; and it
    draws the same random numbers in each call.
    """
    if inspect.isclass(f) and hasattr(f, "apply") and hasattr(f, "forward"):
        f = f.apply  # an autograd.Function
    if not callable(f):
        raise UsageError(f"{f!r} is not a function; pass a function and its arguments, or a Program")
    kit = library_of(f, args, framework)
    names = signature_of(f, len(args))
    opened = kit.opened(f, dict(zip(names, args, strict=True))) if objects and grad is None else None
    unlearned: set[str] = set()
    trees = tuple(kit.tree(arg, name) for arg, name in zip(args, names, strict=True))
    if opened is not None:
        taken = {path for found, _ in trees for path, _ in found}
        state = [(f"self.{name}" if name in taken else name, leaf) for name, leaf in opened.state]
        unlearned = {n for (n, _), learned in zip(state, opened.learned, strict=True) if not learned}
        trees = (*trees, (state, list))
    precision = _wide_enough(_dtypes([leaf for leaves, _ in trees for _, leaf in leaves], kit))
    inputs: list[Input] = []
    leaves: list[tuple[_Leaf, ...]] = []
    constants = kit.constants(f)
    for argument, (found, _) in enumerate(trees):
        own = []
        for path, leaf in found:
            fixed = argument in constants or (argument == len(args) and not _is_float_array(leaf, kit))
            new = [] if fixed else _inputs(path, argument, leaf, kit, precision)
            own.append(_Leaf(leaf, tuple(range(len(inputs), len(inputs) + len(new)))))
            inputs += new
        leaves.append(tuple(own))
    label = _label(f)
    kinds = ", ".join(f"{name} is {_kind_of(arg)}" for name, arg in zip(names, args, strict=True))
    if not any(i.kind == "float" for i in inputs) and wrt is None:
        raise UsageError(
            f"{label} has no float argument to differentiate by ({kinds or 'no argument was given'}); pass"
            " floats or arrays of them"
        )
    chosen = _chosen(inputs, wrt, names, label, frozenset(unlearned))
    if grad is None and kit.name == "numpy" and inspect.isclass(f):
        raise UsageError(
            f"{label} is a class; pass an object of it, as {label}(...), and what that is called with"
        )
    if grad is None and kit.name == "numpy":
        raise UsageError(
            f"{label} is a NumPy function, which has no derivative of its own; pass the gradient to be"
            " checked as grad=, or say framework= where it is a function of JAX, Torch or autograd"
        )
    called = (
        f
        if opened is None
        else _with_state(opened, [set(leaf.inputs) <= {*chosen} for leaf in leaves[-1]], kit)
    )
    called = OneDraw(called, kit.generators) if objects else called
    about = called, label, kit, precision, tuple(inputs), chosen, grad, tuple(names), trees, tuple(leaves)
    return Subject(*about).ready()


def _with_state(opened: Opened, moves: Sequence[bool], kit: Library) -> Callable[..., Any]:
    """The function of its arguments and of its state, of which some leaves move."""

    def called(*args: Any) -> Any:
        state = zip(args[-1], moves, strict=True)
        return opened.made([x if moving else kit.fixed(x) for x, moving in state])(*args[:-1])

    return called


def on_lines(f: ArrayFunction, xs: Sequence[Any], lines: Sequence[Sequence[Any]]) -> ArrayFunction:
    """`f` of how far `xs` move along each of the lines."""

    def moved(*ts: Any) -> tuple[Any, ...]:
        there = xs
        for t, line in zip(ts, lines, strict=True):
            there = [x + t * v for x, v in zip(there, line, strict=True)]
        return f(*there)

    return moved


def agree_to(share: float, some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether arrays differ from others by at most a share of the largest number of each."""
    for one, other in zip(some, others, strict=True):
        a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
        room = share * float(np.max(np.abs(b), where=np.isfinite(b), initial=0.0))
        with np.errstate(invalid="ignore", over="ignore"):
            if a.shape != b.shape or not np.all((np.abs(a - b) <= room) | (a == b) | ((a != a) & (b != b))):
                return False
    return True


def _dtypes(leaves: Sequence[Any], kit: Library) -> list[np.dtype[Any]]:
    """The float dtypes of the arrays among `leaves`; of complex ones those of their parts."""
    dtypes = {kit.numpy(leaf).dtype for leaf in leaves if _is_array(leaf, kit)}
    return [np.empty(0, d).real.dtype if d.kind == "c" else d for d in dtypes if is_float(d) or d.kind == "c"]


def _wide_enough(dtypes: Sequence[np.dtype[Any]]) -> Precision:
    """The float format that holds all numbers of these dtypes; float64 for none."""
    wide = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    for name, form in FORMATS.items():
        if form.dtype == wide:
            return name
    raise UsageError(f"arguments of dtype {wide} cannot be judged; use one of {', '.join(FORMATS)}")


def _is_array(leaf: Any, kit: Library) -> bool:
    if not (kit.is_array(leaf) or isinstance(leaf, (np.ndarray, np.generic))):
        return False
    try:
        dtype = kit.numpy(leaf).dtype
    except (TypeError, ValueError):  # such as JAX's keys
        return False
    return dtype.kind in "fciub" or is_float(dtype)


def _is_float_array(leaf: Any, kit: Library) -> bool:
    return _is_array(leaf, kit) and kit.numpy(leaf).dtype.kind not in "iub"


def _inputs(path: str, argument: int, leaf: Any, kit: Library, precision: Precision) -> list[Input]:
    """The real inputs of a leaf; none if it is passed on unchanged."""
    if isinstance(leaf, (bool, int)) or not (isinstance(leaf, (float, complex)) or _is_array(leaf, kit)):
        return []
    if kit.is_passed_on(leaf):
        return []
    value = np.array(kit.numpy(leaf))
    if value.dtype.kind in "iub":
        return [Input(path, argument, value, "bool" if value.dtype.kind == "b" else "int")]
    is_python = isinstance(leaf, (float, complex)) and not isinstance(leaf, np.generic)
    floats = FORMATS[precision].dtype if is_python else value.real.dtype
    if value.dtype.kind == "c":
        parts = ((f"{path}.real", value.real), (f"{path}.imag", value.imag))
        return [Input(name, argument, np.array(part, floats), "float") for name, part in parts]
    return [Input(path, argument, value.astype(floats), "float")]


def _chosen(
    inputs: Sequence[Input],
    wrt: Sequence[str | int] | str | int | None,
    names: Sequence[str],
    label: str,
    unlearned: frozenset[str],
) -> tuple[int, ...]:
    """The numbers of the differentiated inputs: those that `wrt` gives by the argument's number or name, by
    their own, or by a pattern; else all but the `unlearned`.
    """
    floats = [k for k, i in enumerate(inputs) if i.kind == "float"]
    if wrt is None:
        return tuple(k for k in floats if inputs[k].name not in unlearned)
    named: Any = [wrt] if isinstance(wrt, (str, int)) else wrt
    if not (isinstance(named, Sequence) and named and all(isinstance(one, (str, int)) for one in named)):
        example = "as in wrt='x' or wrt=[0, 2]"
        raise UsageError(
            f"wrt={wrt!r}: give names of arguments of {label}, or their numbers from 0, {example}"
        )
    result: list[int] = []
    for one in named:
        if isinstance(one, int):
            found = [k for k in floats if inputs[k].argument == one < len(names)]
        else:
            argument = names.index(one) if one in names else None
            found = [k for k in floats if inputs[k].argument == argument or inputs[k].name == one]
            found = found or [k for k in floats if "*" in one and fnmatch.fnmatchcase(inputs[k].name, one)]
        if not found:
            arguments = [inputs[k].argument for k in floats]
            those = [*(names[a] for a in arguments if a < len(names)), *(inputs[k].name for k in floats)]
            known = ", ".join(dict.fromkeys(those))
            raise UsageError(f"wrt={one!r} names no float argument of {label}; it has {known or 'none'}")
        result += found
    return tuple(sorted(set(result)))


def must_take(f: Callable[..., Any], args: Sequence[Any], label: str) -> None:
    """`UsageError` where a function does not take so many arguments, as far as its signature is known."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        what = f"{label}{signature} cannot be called with {len(args)} argument{'s' * (len(args) != 1)}"
        raise UsageError(f"{what}: {error}; pass a value for each argument that has no default") from error


def _kind_of(arg: Any) -> str:
    """The type of an argument: "int", "ndarray of int64"."""
    dtype = getattr(arg, "dtype", None)
    return type(arg).__name__ + (f" of {dtype}" if dtype is not None else "")


def _label(f: Any) -> str:
    owner = getattr(f, "__self__", None)
    if inspect.isclass(owner):
        return owner.__name__
    for named in (f, getattr(f, "__wrapped__", None), getattr(f, "func", None), getattr(f, "fun", None)):
        name = getattr(named, "__name__", None)
        if isinstance(name, str):
            return "f" if name == "<lambda>" else name
    return type(f).__name__
