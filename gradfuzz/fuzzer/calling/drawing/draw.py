"""Calls of a function, drawn from what its parameters take, and from what was learned by calling it.

A draw is a sequence of decisions of `Dice`, so Hypothesis draws and shrinks calls (`calls_of`), and a sweep
draws them by its seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

from gradfuzz.adapters import catalogue as of
from gradfuzz.adapters.catalogue import Function, Parameter
from gradfuzz.fuzzer.calling.drawing import dimensions
from gradfuzz.fuzzer.calling.drawing.learned import Choice, Learned, T
from gradfuzz.fuzzer.calling.drawing.structures import Drawing, mixed, structure
from gradfuzz.fuzzer.calling.drawing.values import DTYPES, STYLES, Style, filled
from gradfuzz.fuzzer.results.call import Argument, Call
from gradfuzz.fuzzer.results.views import Shape, can_be, shape_of, stored
from gradfuzz.libraries.layouts import LAYOUTS, Layout
from gradfuzz.strategies.drawing.dice import Dice, Draw, Odds

# Tables of options, the simplest first.
_SIZES = Odds((14, 1), (40, 2), (34, 3), (9, 4), (3, 0))
_RANKS = Odds((8, 0), (30, 1), (34, 2), (16, 3), (8, 4), (4, 5))
_RELATIONS = ((40, "same"), (16, "broadcast"), (26, "own"), (18, "square"))
"""How the shapes of the arrays of a call belong together: all the same; some axes of length 1 or missing;
each with a rank of its own, from the same few sizes; square matrices, and vectors and stacks of their size.
"""
_LAYOUTS: Odds[Layout] = Odds((82, LAYOUTS[0]), (7, LAYOUTS[1]), (7, LAYOUTS[2]), (4, LAYOUTS[3]))
_ROLES = ((76, "float"), (9, "int64"), (4, "bool"), (2, "int32"))
_INDEX_ROLES = ((12, "float"), (60, "int64"), (20, "bool"), (8, "int32"))
_INDEX_WORDS = ("ind", "idx", "mask", "cond", "where", "offset", "length", "start", "segment", "label", "cum")
"""In the names of parameters that take integers or booleans rather than floats."""

_AXES = (-1, 0, 1, -2, 2)
_INTEGERS = (1, 2, 3, 0, -1, 4)
_NUMBERS = ("1.0", "2.0", "0.5", "-1.0", "0.0", "3", "2", "1e-3", "10.0", "-0.5", "1.5")
_DTYPE_NAMES = ("float64", "float32", "complex128", "int64")
_EQUATIONS = tuple(
    repr(text)
    for text in ("i->i", "ij->ji", "ii->i", "ij->", "i,i->", "i,j->ij", "ij,jk->ik", "ij,j->i", "...i->...")
)
_COUNTS = Odds((2, 1), (3, 2), (2, 3), (1, 4))
"""Arrays in a list."""
_GIVEN = 30
"""Percent of optional parameters that are away from their default."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call, and the choices that were made for it."""

    call: Call
    choices: tuple[Choice, ...]


@dataclass(slots=True)
class _Shared:
    """What a call is drawn from, and what its arguments have in common."""

    dice: Dice
    learned: Learned
    dtype: str = "float64"
    relation: str = "own"
    shape: Shape = ()
    sizes: tuple[int, ...] = (2, 2, 1)
    style: Style = STYLES["ordinary"]
    choices: list[Choice] = field(default_factory=list)
    lengths: dimensions.Lengths = field(default_factory=dict)
    """Of the axes that annotations name."""
    is_object: bool = False
    """Whether it is for the parts of an object."""

    def pick(self, place: str, rows: Sequence[tuple[int, T]]) -> T:
        """One of the rows, as `Learned.pick` draws it; the choice is kept."""
        choice, option = self.learned.pick(self.dice, place, rows)
        self.choices.append(choice)
        return option

    def layout(self, shape: Shape) -> Layout:
        """A layout that an array of this shape can have."""
        return self.pick("layout", _LAYOUTS.where(lambda one: can_be(shape, one)).rows)


def refused(function: Function) -> str | None:
    """Why no call of the function can be drawn; None where it can."""
    for parameter in function.parameters:
        if parameter.required and not parameter.kinds:
            return f"its parameter {parameter.name} takes something that gradfuzz cannot make"
    if not function.parameters:
        return "its signature is not known"
    return None


@st.composite
def calls_of(draw: Draw, library: str, function: Function, learned: Learned | None = None) -> Call:
    """Calls of a function of a library. Not every call is valid: what a function needs, it says itself."""
    return drawn(Dice(draw), library, function, function.names[0], learned or Learned()).call


def drawn(dice: Dice, library: str, function: Function, name: str, learned: Learned) -> Drawn:
    """A call of the function by one of its names."""
    shared = _Shared(dice, learned)
    shared.dtype = shared.pick("dtype", _dtypes(learned))
    shared.relation = shared.pick("relation", _RELATIONS)
    shared.sizes = tuple(dice.weighted(_SIZES) for _ in range(3))
    rank = shared.pick("rank", learned.said(_RANKS.rows))
    shared.shape = _shape(dice, shared.relation, rank, shared.sizes)
    shared.style = STYLES[shared.pick("style", _STYLE_WEIGHTS)]
    arguments = tuple(_arguments(function.parameters, shared))
    return Drawn(Call(library, name, arguments), tuple(shared.choices))


def _dtypes(learned: Learned) -> list[tuple[int, str]]:
    return [(weight, one) for weight, one in DTYPES if one in learned.dtypes or not learned.dtypes]


_STYLE_WEIGHTS = tuple((style.weight, name) for name, style in STYLES.items())


def _arguments(parameters: Sequence[Parameter], shared: _Shared) -> Iterator[Argument]:
    positional, dice = True, shared.dice
    for parameter in parameters:
        if of.VARIADIC in parameter.kinds or _is_spread(parameter, shared):
            for _ in range(dice.weighted(_COUNTS)):
                yield _array(parameter, shared)
            positional = False
            continue
        percent = 100 if parameter.required else _GIVEN if parameter.kinds else 0
        given = dice.chance(percent) if percent < 100 else True
        if given and not parameter.required:
            given = shared.pick(f"{parameter.name}?", ((3, True), (1, False)))
        if not given:
            positional = False
            continue
        argument = _argument(parameter, shared)
        by_keyword = parameter.keyword or not positional
        yield replace(argument, keyword=parameter.name) if by_keyword else argument


def _is_spread(parameter: Parameter, shared: _Shared) -> bool:
    """Whether the arrays of a list are given one after the other, as some functions of Python want them."""
    if parameter.kinds != (of.ARRAYS,) or not parameter.required:
        return False
    return shared.pick(f"{parameter.name} as", ((3, False), (1, True)))


def _argument(parameter: Parameter, shared: _Shared) -> Argument:
    learned = shared.learned
    rows = [(8 - k if k < 7 else 1, kind) for k, kind in enumerate(parameter.kinds)]
    kind = shared.pick(f"{parameter.name}:", rows) if len(rows) > 1 else parameter.kinds[0]
    if kind == of.ARRAY:
        return _array(parameter, shared)
    if kind == of.ARRAYS:
        count = shared.pick(f"{parameter.name} count", _COUNTS.rows)
        return Argument(items=tuple(_array(parameter, shared) for _ in range(count)))
    if kind == of.STRUCTURE:
        return _structure(parameter, shared)
    if kind == of.OBJECT:
        return _object(parameter, shared)
    options = dict.fromkeys(_literals(kind, parameter, shared))
    if kind == of.TEXT:
        options |= learned.texts
    if kind == of.INTEGERS:
        options |= dict.fromkeys(repr((one,) * count) for count in learned.numbers for one in (1, 2))
    return Argument(literal=shared.pick(parameter.name, [(1, text) for text in options]))


def _object(parameter: Parameter, shared: _Shared) -> Argument:
    """An object of the class, or of one of the classes, that a parameter takes."""
    if not parameter.made:
        rows = [(1, one.made) for one in parameter.parts]
        name = shared.pick(f"{parameter.name} is", rows)
        parameter = next(one for one in parameter.parts if one.made == name)
    parts = tuple(_arguments(parameter.parts, replace(shared, is_object=True)))
    return Argument(items=parts, made=f"{parameter.made}()")


def _structure(parameter: Parameter, shared: _Shared) -> Argument:
    is_axes = any(word in parameter.name for word in _AXIS_WORDS)
    rank = len(shared.shape)
    drawing = Drawing(
        shared.dice,
        shared.shape,
        is_axes,
        lambda axes: _lists(shared.shape, rank, axes),
        lambda: _array(parameter, shared),
    )
    return structure(parameter.form, drawing)


_AXIS_WORDS = ("dim", "axis", "axes")
"""In the names of parameters whose integers are axes."""


def _literals(kind: str, parameter: Parameter, shared: _Shared) -> Iterator[str]:
    """The literals to choose from for a parameter."""
    if not parameter.required and parameter.default == "None":
        yield "None"
    is_axis = any(word in parameter.name for word in _AXIS_WORDS)
    rank = len(shared.shape)
    if kind == of.INTEGER and shared.is_object and not is_axis:  # a size, as those of the arrays
        yield from map(str, dict.fromkeys((*reversed(shared.shape[1:]), *shared.sizes, 1, 2, 3)))
    elif kind == of.INTEGER:
        yield from map(str, _AXES if is_axis else _INTEGERS)
    elif kind == of.INTEGERS:
        yield from dict.fromkeys(map(str, _lists(shared.shape, rank, is_axis)))
    elif kind == of.NUMBER:
        yield from _NUMBERS
    elif kind == of.FLAG:
        yield from ("True", "False")
    elif kind == of.TEXT:
        yield from parameter.choices
        if parameter.name in ("equation", "subscripts"):
            yield from _EQUATIONS
        if not parameter.choices and parameter.name not in ("equation", "subscripts"):
            yield parameter.default or "'mean'"
    elif kind == of.DTYPE:
        yield from (f"dtype:{name}" for name in _DTYPE_NAMES)


def _lists(shape: Shape, rank: int, is_axis: bool) -> Iterator[Shape]:
    if is_axis:
        yield from ((0,), (-1,), (0, 1), (-2, -1), (1, 0), tuple(range(rank)), tuple(reversed(range(rank))))
        yield (*range(1, rank), 0) if rank else ()
        return
    yield from ((1,), (2,), (1, 1), (2, 2), (2, 1), (1, 1, 1), (2, 2, 2), (0,), (0, 0), (1, 2), (3,))
    yield shape
    yield shape[-1:]
    yield shape[-2:]
    yield shape[2:]
    yield shape[::-1]
    yield (math.prod(shape),)
    yield (-1,)
    yield (2, *shape)
    yield tuple(range(rank))
    yield (0,) * rank
    yield (1,) * rank


# Arrays -----------------------------------------------------------------------------------------------------


def _shape(dice: Dice, relation: str, rank: int, sizes: Sequence[int]) -> Shape:
    if relation == "square":
        n = max(1, sizes[0])
        return (*(dice.pick(sizes) for _ in range(max(0, rank - 2))), n, n)
    small = sizes if rank < 4 else [min(n, 2) for n in sizes]  # the entries are asked for one by one
    return tuple(dice.pick(small) for _ in range(rank))


def _array(parameter: Parameter, shared: _Shared) -> Argument:
    """An array as the view of a drawn one."""
    name = parameter.name
    if parameter.dims is not None:
        return _annotated(parameter, parameter.dims, shared)
    roles = _INDEX_ROLES if any(word in name.lower() for word in _INDEX_WORDS) else _ROLES
    role = shared.pick(f"{name} of", roles)
    shape = _own_shape(name, shared)
    layout = shared.layout(shape)
    return Argument(array=_entries(role, stored(shape, layout), shared), layout=layout)


def _annotated(parameter: Parameter, dims: str, shared: _Shared) -> Argument:
    """An array with the dimensions and of a dtype that its annotation names."""
    shape = dimensions.shape(dims, shared.dice, shared.lengths)
    layout = shared.layout(shape)
    allowed = parameter.entries or (shared.dtype,)
    dtype = shared.dtype if shared.dtype in allowed else allowed[0]
    role = dtype if dtype in ("int64", "int32", "bool") else "float"
    entries = _entries(role, stored(shape, layout), replace(shared, dtype=dtype))
    return Argument(array=entries, layout=layout)


def _own_shape(name: str, shared: _Shared) -> Shape:
    shape, dice = shared.shape, shared.dice
    if shared.relation == "same":
        if shared.pick(f"{name} same", ((12, True), (1, False))):
            return shape
    elif shared.relation == "broadcast":
        kept = tuple(1 if dice.chance(30) else n for n in shape)
        return kept[dice.below(len(kept) + 1) if kept and dice.chance(30) else 0 :]
    elif shared.relation == "square":
        n = shape[-1:]
        options = (shape, n, (*shape[:-1], max(1, shared.sizes[1])), shape[-2:], (*shape[:-2], *n))
        return options[shared.pick(f"{name} square", ((6, 0), (2, 1), (2, 2), (1, 3), (1, 4)))]
    rank = shared.pick(f"{name} rank", shared.learned.said(_RANKS.rows))
    return _shape(dice, "own", rank, shared.sizes)


def _entries(role: str, shape: Shape, shared: _Shared) -> np.ndarray:
    count, dice = math.prod(shape), shared.dice
    if role == "bool":
        return np.array([dice.below(2) == 0 for _ in range(count)], np.bool_).reshape(shape)
    if role != "float":
        first = dice.below(2) if dice.chance(40) else 0
        most = max(1, min([n for n in shared.sizes if n], default=1))
        return np.array([first + dice.below(most) for _ in range(count)], role).reshape(shape)
    return filled(dice, shape, shared.dtype, shared.style)


# Changes ----------------------------------------------------------------------------------------------------


def changed(dice: Dice, call: Call, function: Function, learned: Learned, *, arrays: bool = False) -> Drawn:
    """A call that differs from another in one thing: an argument that is no array and has another value, a
    keyword more or less, the values of the arrays, a layout, the dtype, or an axis that is broadcast; with
    `arrays` also the shape of an
    array, its dtype, one array as a whole, or the count of a list.
    """
    what = dice.weighted(_CHANGES_OF_ARRAYS if arrays else _CHANGES)
    several = sum(1 for _ in call.differentiated()) > 1
    if several and not arrays and dice.chance(_BROADCAST):
        what = "broadcast"
    if what == "shape":
        return Drawn(_reshaped(dice, call, learned), ())
    if what == "count":
        return Drawn(_recounted(dice, call), ())
    if what == "broadcast":
        return Drawn(_broadcast(dice, call), ())
    if what == "values":
        choice, name = learned.pick(dice, "style", _STYLE_WEIGHTS)
        return Drawn(revalued(dice, call, STYLES[name]), (choice,))
    if what == "dtype":
        choice, dtype = learned.pick(dice, "dtype", _dtypes(learned))
        return Drawn(redrawn(dice, call, STYLES["ordinary"], dtype), (choice,))
    if what == "layout":
        return Drawn(_relaid(dice, call), ())
    shape = max((a.array.shape for a in call.arrays() if a.array is not None), key=len, default=())
    sizes = (*dict.fromkeys([n for n in shape if n]), 2, 3, 1)[:3]
    dtypes = [a.array.dtype.name for a in call.differentiated() if a.array is not None]
    relation = "own" if dice.chance(50) else "same"
    shared = _Shared(dice, learned, (*dtypes, "float64")[0], relation, shape, sizes)
    own = {a.keyword: a for a in call.arguments if a.keyword}
    positional = [a for a in call.arguments if not a.keyword]
    free = [p for k, p in enumerate(function.parameters) if _is_free(p, k, positional, arrays)]
    if not free:
        return Drawn(revalued(dice, call, STYLES["ordinary"]), ())
    parameter = dice.pick(free)
    k = function.parameters.index(parameter)
    if parameter.name in own and not parameter.required and dice.chance(40):
        rest = tuple(a for a in call.arguments if a.keyword != parameter.name)
        return Drawn(replace(call, arguments=rest), ((f"{parameter.name}?", str(False)),))
    argument = _argument(parameter, shared)
    if of.STRUCTURE in parameter.kinds:
        before = positional[k] if k < len(positional) else own.get(parameter.name)
        literal = mixed(dice, before.literal if before else None, argument.literal)
        argument = replace(argument, literal=literal)
    if k < len(positional):
        arguments = (*positional[:k], argument, *positional[k + 1 :], *own.values())
    else:
        own[parameter.name] = replace(argument, keyword=parameter.name)
        arguments = (*positional, *own.values())
    return Drawn(replace(call, arguments=arguments), tuple(shared.choices))


_CHANGES = Odds((50, "argument"), (25, "values"), (12, "dtype"), (13, "layout"))
_BROADCAST = 25
"""Percent of the changes of calls with several arrays that broadcast one of them."""

_CHANGES_OF_ARRAYS = Odds((30, "argument"), (44, "shape"), (6, "values"), (6, "dtype"), (14, "count"))


def _is_free(parameter: Parameter, place: int, positional: Sequence[Argument], arrays: bool) -> bool:
    """Whether another argument can be drawn for it: no array that is given by its place, unless `arrays` may
    change.
    """
    if not parameter.kinds or of.VARIADIC in parameter.kinds:
        return False
    return arrays or place >= len(positional) or positional[place].literal is not None


def _reshaped(dice: Dice, call: Call, learned: Learned) -> Call:
    """The call with one array of another shape or dtype: an axis more or less, or of another length, one that
    another array has; or of a rank that the library named.
    """
    arrays = [a for a in call.arrays() if a.array is not None]
    if not arrays:
        return call
    chosen = dice.pick(arrays)
    old = np.asarray(chosen.array)
    lengths = [n for a in arrays if a.array is not None for n in a.array.shape] or [2]
    shape = list(old.shape)
    change = dice.weighted(_RESHAPES)
    if change == "length" and shape:
        shape[dice.below(len(shape))] = dice.pick([*lengths, 1, 2, 3, 4])
    elif change == "more" or not shape:
        shape.insert(dice.below(len(shape) + 1), dice.pick([*lengths, 1, 2]))
    elif change == "less":
        del shape[dice.below(len(shape))]
    elif change == "like":
        shape = list(dice.pick(arrays).array.shape)  # type: ignore[union-attr]  # they all have one
    elif change == "said" and learned.numbers:
        rank = dice.pick(learned.numbers)
        shape = [*(dice.pick([*lengths, 1, 2]) for _ in range(rank - len(shape))), *shape][-rank:]
    dtype = old.dtype.name
    if change == "dtype":
        dtype = dice.pick([(*learned.dtypes, "float64")[0], "int64", "int32", "bool"])
    is_float = dtype not in ("int64", "int32", "bool")
    entries = _entries("float" if is_float else dtype, tuple(shape), _Shared(dice, learned, dtype))
    return call.with_argument(chosen, replace(chosen, array=entries, layout="contiguous"))


_RESHAPES = Odds((34, "length"), (22, "more"), (18, "less"), (16, "like"), (10, "dtype"), (16, "said"))


def _broadcast(dice: Dice, call: Call) -> Call:
    """The call with one array that has an axis of length 1, or lacks its first axis; the others keep it."""
    free = [a for a in call.differentiated() if a.array is not None and a.array.ndim]
    if len(free) < 2:
        return revalued(dice, call, STYLES["ordinary"])
    chosen = dice.pick(free)
    old = np.asarray(chosen.array)
    shape = list(old.shape)
    if dice.chance(40):
        del shape[0]
    else:
        shape[dice.below(len(shape))] = 1
    entries = filled(dice, tuple(shape), old.dtype.name, STYLES["ordinary"])
    return call.with_argument(chosen, replace(chosen, array=entries, layout="contiguous"))


def _recounted(dice: Dice, call: Call) -> Call:
    """The call with an array more or less in one of its lists."""
    lists = [a for a in call.arguments if a.items is not None and a.made is None]
    if not lists:
        return call
    chosen = dice.pick(lists)
    items = list(chosen.items or ())
    if items and dice.chance(40):
        del items[dice.below(len(items))]
    elif items:
        items.append(dice.pick(items))
    other = replace(chosen, items=tuple(items))
    return replace(call, arguments=tuple(other if a is chosen else a for a in call.arguments))


def revalued(dice: Dice, call: Call, style: Style) -> Call:
    """The call with other values of its float arrays."""
    return redrawn(dice, call, style, None)


def redrawn(dice: Dice, call: Call, style: Style, dtype: str | None) -> Call:
    """The call with other values of its float arrays, in another dtype if one is given."""

    def again(argument: Argument) -> Argument:
        array = argument.array
        if array is None or not argument.is_differentiated:
            return argument
        return replace(argument, array=filled(dice, array.shape, dtype or array.dtype.name, style))

    return call.changed(again)


def _relaid(dice: Dice, call: Call) -> Call:
    """The call with another layout of one array, whose entries stay where they can."""
    free = [a for a in call.arguments if a.is_differentiated]
    if not free:
        return call
    argument = dice.pick(free)
    assert argument.array is not None, "chosen for it"
    shape = shape_of(argument.array.shape, argument.layout)
    layout = dice.pick([one for one in LAYOUTS if can_be(shape, one)])
    entries = filled(dice, stored(shape, layout), argument.array.dtype.name, STYLES["ordinary"])
    return call.with_argument(argument, replace(argument, array=entries, layout=layout))
