"""What a call takes, read from signatures, annotations and docstrings of small functions."""

import dataclasses
import enum
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

from gradfuzz.adapters.catalogue import (
    ARRAY,
    ARRAYS,
    DIFFERENTIABLE,
    DTYPE,
    FLAG,
    INTEGER,
    INTEGERS,
    NUMBER,
    STRUCTURE,
    TEXT,
    VARIADIC,
    Function,
    Parameter,
    annotated,
    documented,
    form,
    parameters,
    read,
    write,
)


class Rounding(enum.Enum):
    UP = 1
    TO_EVEN = 2


Rounded = str | Rounding | None
Contracted = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def taken(function: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    return {one.name: one.kinds for one in parameters(function)}


# Annotations ------------------------------------------------------------------------------------------------


class Places(NamedTuple):
    first: tuple[int, ...]
    steps: Sequence[tuple[int, int]]
    strict: bool = True


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("ArrayLike", (ARRAY,)),
        ("Optional[torch.Tensor]", (ARRAY,)),
        ("np.ndarray | Array | Sequence[ArrayLike]", (ARRAYS, ARRAY)),
        ("list[torch.Tensor]", (ARRAYS,)),
        ("int | Sequence[int] | ArrayLike", (ARRAY, INTEGERS, INTEGER)),
        ("Tuple[int, ...]", (INTEGERS,)),
        ("DimSize | Shape", (INTEGERS, INTEGER)),
        ("Axis", (INTEGERS, INTEGER)),
        ("float | Tensor", (ARRAY, NUMBER)),
        ("bool | None", (FLAG,)),
        ("str | Sequence[tuple[int, int]]", (TEXT,)),
        ("Literal['full', 'same']", (TEXT,)),
        ("Union[str, type[Any], numpy.dtype, SupportsDType, NoneType]", (DTYPE,)),
        ("tuple[ArrayLike, bool]", ()),
        ("Sequence[Sequence[int]]", ()),
        ("Sequence[float]", ()),
        ("Callable[[Array], Array]", ()),
        ("GatherDimensionNumbers", ()),
        ("None", ()),
        ("typing.Union[jax.Array, numpy.ndarray, numpy.bool, bool, int, float, complex]", (ARRAY,)),
    ],
)
def test_an_annotation(text: str, kinds: tuple[str, ...]) -> None:
    assert annotated(text) == kinds


def test_annotations_defaults_and_keywords() -> None:
    def f(
        x: np.ndarray,
        axis: int | None = None,
        mode: Literal["full", "same"] = "full",
        *,
        keepdims: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        raise NotImplementedError

    assert parameters(f) == (
        Parameter("x", (ARRAY,), required=True),
        Parameter("axis", (INTEGER,), default="None"),
        Parameter("mode", (TEXT,), choices=("'full'", "'same'"), default="'full'"),
        Parameter("keepdims", (FLAG,), keyword=True, default="False"),
        Parameter("out", (), keyword=True, default="None"),
    )


def test_an_alias_is_followed_where_its_name_says_nothing() -> None:
    def f(axes: "Contracted", rounding: "Rounded" = None) -> None: ...

    axes, rounding = parameters(f)
    assert rounding.kinds == (TEXT,)
    assert rounding.choices == ("'up'", "'to_even'")
    assert axes.kinds == (STRUCTURE,)
    assert axes.form == "(([int], [int]), ([int], [int]))"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, "int"),
        (Sequence[tuple[int, int, int]], "[(int, int, int)]"),
        (str | Sequence[tuple[int, int]], "[(int, int)]"),
        (tuple[np.ndarray, bool], "(array, bool)"),
        (list[float], "[float]"),
        (tuple[int, ...], "[int]"),
        (Places | None, f"{__name__}.Places(first=[int], steps=[(int, int)])"),
        (tuple[str, int], ""),
        (Callable[[int], int], ""),
        (None, ""),
    ],
)
def test_the_form_of_an_annotation(annotation: Any, expected: str) -> None:
    assert form(annotation) == expected


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        (Places, (STRUCTURE,)),
        (int | tuple[Sequence[int], Sequence[int]], (INTEGER, STRUCTURE)),
        (Sequence[int], (INTEGERS,)),
        (list[np.ndarray], (ARRAYS,)),
        (int | None, (INTEGER,)),
    ],
)
def test_lists_in_lists_and_records_are_structures(annotation: Any, kinds: tuple[str, ...]) -> None:
    def f(x: np.ndarray, where: Any) -> None: ...

    f.__annotations__["where"] = annotation
    assert taken(f)["where"] == kinds


def test_a_text_that_only_a_type_checker_understands_is_read_as_text() -> None:
    def f(x, other, k=0):  # type: ignore[no-untyped-def]
        pass

    f.__annotations__ = {"x": "unknown.Array", "other": "unknown.Thing", "k": "unknown.Thing | int"}
    assert taken(f) == {"x": (ARRAY,), "other": (), "k": (INTEGER,)}


def test_any_is_an_array_unless_the_name_says_more() -> None:
    def f(x: Any, shape: Any) -> None: ...

    assert taken(f) == {"x": (ARRAY,), "shape": (INTEGER, INTEGERS)}


def test_what_follows_an_argument_that_may_be_left_away_is_no_list_of_arrays() -> None:
    def first(*xs, axis=0):  # type: ignore[no-untyped-def]
        pass

    def later(x, dtype=None, *args):  # type: ignore[no-untyped-def]
        pass

    assert taken(first)["xs"] == (VARIADIC,)
    assert taken(later)["args"] == ()


def test_a_ufunc_takes_its_inputs() -> None:
    assert [one.kinds for one in parameters(np.hypot)] == [(ARRAY,), (ARRAY,)]


# Docstrings -------------------------------------------------------------------------------------------------


def numpydoc(a, axis=None, s=None, mode="valid", sequence=(), func=None, *, b, tol=1e-3, where=None):  # type: ignore[no-untyped-def]
    """Does nothing; "first" is no mode.

    Parameters
    ----------
    a, b : (M, N) array_like
        Arrays of floats or 'strange' things.
    axis : None or int or tuple of ints, optional
        The axis : or axes.

        Another paragraph.
    s : sequence of ints, optional
    mode : {'full', 'valid'}, optional
        With 'same' as a synonym.
    sequence : sequence of array_like
        Arrays.
    func : callable f(x, *args)
        What is called.

    Returns
    -------
    tol : str
        No parameter.

    Other Parameters
    ----------------
    where : array_like of bool, optional
        A mask.
    """


def test_numpydoc() -> None:
    assert taken(numpydoc) == {
        "a": (ARRAY,),
        "axis": (INTEGER, INTEGERS),
        "s": (INTEGERS,),
        "mode": (TEXT,),
        "sequence": (ARRAYS,),
        "func": (),
        "b": (ARRAY,),
        "tol": (NUMBER,),
        "where": (ARRAY, FLAG),
    }
    found = {one.name: one for one in parameters(numpydoc)}
    assert found["mode"].choices == ("'full'", "'valid'", "'same'")
    assert found["b"].keyword
    assert found["b"].required


def test_what_only_the_docstring_names_before_a_list() -> None:
    def sums(*operands, out=None):  # type: ignore[no-untyped-def]
        """Sums.

        Parameters
        ----------
        subscripts : str
            Says how: 'outer'.
        operands : list of array_like
        out : ndarray, optional
        """

    assert parameters(sums) == (
        Parameter("subscripts", (TEXT,), required=True, choices=("'outer'",)),
        Parameter("operands", (VARIADIC,)),
        Parameter("out", (), keyword=True, default="None"),
    )


def google(x, size, n=2, mode="mean", dims=None, pairs=None):  # type: ignore[no-untyped-def]
    """Does nothing.

    Args:
        x (Tensor): the "input".
        size (int or tuple of ints): how large. A float is
            rounded.
        n (int, optional): how often: twice
        mode: the string 'mean' or 'sum'.
        pairs (sequence of pairs of ints): on each side

    Returns:
        dims (Tensor): no parameter.
    """


def test_the_style_of_google() -> None:
    assert taken(google) == {
        "x": (ARRAY,),
        "size": (INTEGER, INTEGERS),
        "n": (INTEGER,),
        "mode": (TEXT,),
        "dims": (INTEGER, INTEGERS),
        "pairs": (ARRAY, INTEGER, NUMBER),
    }
    assert {one.name: one.choices for one in parameters(google)}["mode"] == ("'mean'", "'sum'")


def test_what_is_told_of_a_parameter_ends_with_it() -> None:
    told = documented(inspect.cleandoc(google.__doc__ or ""))
    assert list(told) == ["x", "size", "n", "mode", "pairs"]
    assert told["size"].type == "int or tuple of ints"
    assert told["size"].text.endswith("rounded.")


def test_a_shape_that_a_docstring_calls_an_array_is_drawn_as_integers() -> None:
    def tile(A, reps):  # type: ignore[no-untyped-def]
        """Repeats.

        Parameters
        ----------
        A : array_like
        reps : array_like
        """

    assert taken(tile) == {"A": (ARRAY,), "reps": (INTEGER, INTEGERS)}


def test_neither_annotation_nor_docstring() -> None:
    def f(x, axis, rate=0.5, flag=True, sizes=(1, 2), other=None):  # type: ignore[no-untyped-def]
        pass

    assert taken(f) == {
        "x": (ARRAY, INTEGER, INTEGERS, NUMBER, ARRAYS),
        "axis": (INTEGER, INTEGERS),
        "rate": (NUMBER,),
        "flag": (FLAG,),
        "sizes": (INTEGERS,),
        "other": (ARRAY, INTEGER, NUMBER),
    }


# Files ------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = [Function(("m.f", "m.g"), "f(a)", DIFFERENTIABLE, "a rule", parameters(numpydoc))]
    write(str(tmp_path / "rows.json"), [*rows, dataclasses.replace(rows[0], parameters=())])
    assert read(tmp_path / "rows.json") == [*rows, dataclasses.replace(rows[0], parameters=())]
