"""The functions that TensorFlow offers: `python tensorflow_catalogue.py FILE`.

They are what can be called in the namespaces below. Of an op, the op definitions say which tensors it takes
and returns, and the gradient registry whether it is differentiable. A function of Python is composed of ops:
it is followed in a graph, with placeholders of a few shapes, and TensorFlow says what it returns and which
gradient it misses. One that takes none of them counts as differentiable by its signature, unless a person
wrote a reason against it.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")

import tensorflow as tf
from catalogue import (
    A_CLASS,
    ARRAY,
    ARRAYS,
    DIFFERENTIABLE,
    DTYPE,
    FLAG,
    INTEGER,
    INTEGERS,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    NUMBER,
    TEXT,
    Function,
    Parameter,
    Public,
    arguments,
    outcome,
    parameters,
    public,
    read_rows,
    returned,
    signature,
    write,
    written,
)

try:
    from tensorflow.python.framework import op_def_registry
    from tensorflow.python.framework.ops import gradient_registry
except ImportError as gone:
    sys.exit(f"tensorflow {tf.__version__} has lost a private name that its catalogue needs: {gone}")

NAMESPACES = "math linalg nn signal raw_ops"

REASONS = {
    "makes, changes or reads variables, queues, tables or other state": (
        "*.Variable *.assign* *.raw_ops.*Resource* *.raw_ops.*Variable* *.raw_ops.*Summary* *.raw_ops.*Queue*"
        " *.raw_ops.*Tensor[AL]* *.raw_ops.*Stack* *.raw_ops.*Barrier* *.raw_ops.*Accumulator*"
        " *.raw_ops.Assign* *.raw_ops.Scatter[!N]* *.raw_ops.ScatterN[!do]* *.raw_ops.*Apply*"
    ),
    "writes, loads, connects or prints": (
        "*.io.* *.print *.py_function *.numpy_function *.raw_ops.Print* *.raw_ops.*PyFunc* *.raw_ops.Save*"
        " *.raw_ops.*Restore* *.raw_ops.*Write* *.raw_ops.*Read* *.raw_ops.*Collective* *.raw_ops.*Send*"
        " *.raw_ops.*Recv* *.raw_ops.*Log *.raw_ops.Nccl* *.raw_ops.*Reduce?ync* *.raw_ops.DebugI*"
    ),
    "control flow of graphs, which is not executed op by op": (
        "*.raw_ops.Ref* *.raw_ops.Exit *.raw_ops.Enter *.raw_ops.NextIteration *.raw_ops.Merge"
        " *.raw_ops.Switch *.raw_ops.LoopCond *.raw_ops.DebugGradient*"
    ),
    "returns integers or booleans alone, or decodes into them": (
        "*.shape_n *.in_top_k *.histogram_fixed_width* *.compute_accidental_hits *.ctc_*_decoder"
        " *.edit_distance"
    ),
    "raises where it is differentiated, which is its purpose": "*.raw_ops.PreventGradient",
    "for sparse or ragged arrays, whose parts gradfuzz does not draw": (
        "*.raw_ops.SparseSparse* *.raw_ops.SparseTensor* *.raw_ops.SparseDense* *.raw_ops.SparseReduce*"
        " *.raw_ops.SparseAdd *.raw_ops.SparseSlice *.raw_ops.SparseSoftmax *.raw_ops.SparseReorder"
        " *.raw_ops.SparseFill* *.raw_ops.SparseConcat *.raw_ops.SparseMatrix* *.raw_ops.SparseReshape"
        " *.raw_ops.*Ragged* *.ragged_* *.nn.*embedding_lookup_sparse"
    ),
    "takes functions, not arrays": (
        "*.nondifferentiable_batch_function"
        " *.cond *.case *.while_loop *.switch_case *.map_fn *.scan *.foldl *.foldr *.vectorized_map"
        " *.custom_gradient *.recompute_grad *.function *.no_gradient *.grad_pass_through *.stop_gradient"
        " *.raw_ops.*If *.raw_ops.*While *.raw_ops.*Case *.raw_ops.*PartitionedCall"
        " *.raw_ops.SymbolicGradient"
    ),
    "a setting or a tool of TensorFlow, not a function of arrays": (
        "*.Assert *.assert_* *.hessians *.import_graph_def *.as_dtype *.make_* *.broadcast_*_shape"
        " *.device *.name_scope *.init_scope *.control_dependencies *.get_logger *.executing_eagerly *.group"
        " *.load_* *.register_tensor_conversion_function *.type_spec_from_value *.ensure_shape"
        " *.get_static_value *.is_tensor *.is_symbolic_tensor *.inside_function *.no_op *.debugging.*"
    ),
    "needs a GPU, a TPU or another device": (
        "*.raw_ops.*Cudnn* *.raw_ops.*TPU* *.raw_ops.*Infeed* *.raw_ops.*Outfeed* *.raw_ops.Xla*"
        " *.raw_ops.CTCLossV2 *.raw_ops.BatchNormWithGlobalNormalization"
        " *.raw_ops.AllToAll *.raw_ops.*Relayout* *.raw_ops.CopyToMesh*"
        " *.raw_ops.*OneDnn* *.raw_ops._*"
    ),
    "the gradient of another op": (
        "*.raw_ops.*Grad *.raw_ops.*GradV[0-9] *.raw_ops.*Grad[A-Z]* *.raw_ops.*Grad2"
    ),
    "for quantized numbers": "*.raw_ops.*Quanti* *.raw_ops.*Dequanti*",
    "makes an array from sizes alone": (
        "*.zeros *.ones *.eye *.*_window *.linear_to_mel_weight_matrix *.sequence_mask *.*_window_fn *.range"
    ),
    "for neural networks distributed over machines": "*.nn.experimental.* *.raw_ops.CrossReplicaSum",
}
"""Reason that a person wrote -> patterns of public names."""

FLOATS = frozenset(one.as_datatype_enum for one in (tf.float32, tf.float64))
INTS = frozenset(one.as_datatype_enum for one in (tf.int32, tf.int64, tf.bool))


def namespaces() -> dict[str, Any]:
    found = {f"tensorflow.{name}": getattr(tf, name) for name in NAMESPACES.split()}
    return {"tensorflow": tf, **found}


def functions() -> list[Function]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_rows(merged(public(namespaces())), row)


def merged(things: Any) -> Any:
    """A function and the raw op that has the same code are one thing with the names of both."""
    by_op: dict[Any, Any] = {}
    for thing in things:
        name = op_of(thing.value)
        if name is None:
            yield thing
        else:
            by_op.setdefault(name, []).append(thing)
    for same in by_op.values():
        yield Public(tuple(name for thing in same for name in thing.names), same[0].value)


def row(thing: Public) -> Function:
    last = thing.names[0].rpartition(".")[2]
    if isinstance(thing.value, type):
        return Function(thing.names, last, LEFT_OUT, A_CLASS)
    name = op_of(thing.value)
    definition = None if name is None else op_def_registry.get(name)
    if definition is not None:
        taken = taken_by(definition, thing.value)
    else:
        taken = tuple(mended(one) for one in parameters(thing.value) if one.name != "name")
    told = outcome_of(thing, definition, taken)
    taken = taken if told[0] == DIFFERENTIABLE else ()
    return Function(thing.names, signature(last, thing.value), *told, taken)


def outcome_of(thing: Public, definition: Any, taken: tuple[Parameter, ...]) -> tuple[str, str]:
    reason = written(REASONS, thing.names)
    if reason:
        return LEFT_OUT, reason
    if definition is not None:
        by_registry = of_op(definition)
        if by_registry[0] != DIFFERENTIABLE:
            return by_registry
        told = outcome(taken, functools.partial(followed, thing.value))
        return told if told[0] == NOT_DIFFERENTIABLE else by_registry
    if not any({ARRAY, ARRAYS} & set(one.kinds) for one in taken):
        return LEFT_OUT, "takes no array"
    return outcome(taken, functools.partial(followed, thing.value))


# Ops --------------------------------------------------------------------------------------------------------


def op_of(value: Any) -> Any:
    """The name of the op that a function makes; None where it is composed in Python."""
    return ops_by_code().get(getattr(inspect.unwrap(value), "__code__", None))


@functools.cache
def ops_by_code() -> Any:
    """The op by the code of the function that makes it: other namespaces have the same function."""
    raw = {name: getattr(tf.raw_ops, name) for name in dir(tf.raw_ops) if not name.startswith("_")}
    return {
        inspect.unwrap(value).__code__: name for name, value in raw.items() if not isinstance(value, type)
    }


def of_op(definition: Any) -> Any:
    if not any(FLOATS & types_of(one, definition) for one in definition.input_arg):
        return LEFT_OUT, "takes no array of floats by its definition"
    if not any(FLOATS & types_of(one, definition) for one in definition.output_arg):
        return NOT_DIFFERENTIABLE, "returns no array of floats by its definition"
    if any(not (FLOATS | INTS) & types_of(one, definition) for one in definition.input_arg):
        return LEFT_OUT, "takes more than arrays by its definition: texts, handles or variants"
    try:
        rule = gradient_registry.lookup(definition.name)
    except LookupError:
        return NOT_DIFFERENTIABLE, "the gradient registry has no entry for the op"
    if rule is None:
        return NOT_DIFFERENTIABLE, "the gradient registry says so of the op"
    return DIFFERENTIABLE, "the gradient registry has a gradient of the op"


def types_of(argument: Any, definition: Any) -> Any:
    """The dtypes that an argument of an op may have."""
    if argument.type:
        return frozenset([argument.type])
    name = argument.type_attr or argument.type_list_attr
    allowed = next(a for a in definition.attr if a.name == name).allowed_values.list.type
    return frozenset(allowed) or FLOATS | INTS


OF_ATTRIBUTE = {
    "int": (INTEGER,),
    "float": (NUMBER,),
    "bool": (FLAG,),
    "string": (TEXT,),
    "shape": (INTEGERS,),
    "list(int)": (INTEGERS,),
    "type": (DTYPE,),
}


def mended(parameter: Any) -> Any:
    """What a docstring says of some parameters in a way of TensorFlow's own: a tensor "of the same dtype as"
    another one is no dtype, and a padding is a text.
    """
    if parameter.name == "padding" and TEXT not in parameter.kinds:
        return replace(parameter, kinds=(TEXT,), choices=("'SAME'", "'VALID'"))
    if parameter.kinds == (DTYPE,) and "type" not in parameter.name:
        return replace(parameter, kinds=(ARRAY,))
    return parameter


def taken_by(definition: Any, value: Any) -> Any:
    """What a call of an op takes, by names as raw ops want it. The dtypes and counts of its tensors it sees
    itself.
    """
    names = renamed(definition, value)
    seen = {one.type_attr for one in definition.input_arg}
    seen |= {one.number_attr or one.type_list_attr for one in definition.input_arg}
    taken = []
    for one in definition.input_arg:
        is_list = one.number_attr or one.type_list_attr
        kinds: tuple[str, ...] = (ARRAYS,) if is_list else (ARRAY,)
        if not FLOATS & types_of(one, definition):
            kinds = (ARRAYS,) if is_list else (INTEGERS, INTEGER, ARRAY)
        taken.append(Parameter(names.get(one.name, one.name), kinds, required=True, keyword=True))
    for one in definition.attr:
        if one.name in seen:
            continue
        texts = tuple(repr(text.decode()) for text in one.allowed_values.list.s) or at_least(one)
        kinds = (TEXT,) if texts else OF_ATTRIBUTE.get(one.type, ())
        has_default = one.HasField("default_value")
        default = default_of(one) if has_default else ""
        taken.append(Parameter(names.get(one.name, one.name), kinds, not has_default, True, texts, default))
    return tuple(taken)


def at_least(attribute: Any) -> Any:
    """Literals for an attribute that has a minimum: of a number, or of the length of a list."""
    least = attribute.minimum if attribute.has_minimum else 0
    if attribute.type == "int" and least > 1:
        return repr(least), repr(least + 1)
    if attribute.type in ("list(int)", "list(float)") and least > 2:
        one, more = (1, 2) if attribute.type == "list(int)" else (1.0, 1.5)
        return repr((one,) * least), repr((one, *[more] * (least - 2), one))
    return ()


def renamed(definition: Any, value: Any) -> Any:
    """The names in Python of those parameters that have others in the definition."""
    known = [one.name for one in (*definition.input_arg, *definition.attr)]
    own = [name for name in inspect.signature(value).parameters if name != "name"]
    others = iter([name for name in own if name not in known])
    return {name: next(others, name) for name in known if name not in own}


def default_of(attribute: Any) -> Any:
    value = attribute.default_value
    kind = value.WhichOneof("value")
    if kind == "s":
        return repr(value.s.decode())
    return repr(getattr(value, kind)) if kind in ("i", "f", "b") else ""


# Functions of Python ----------------------------------------------------------------------------------------


def followed(
    value: Any, required: Sequence[Parameter], dtype: str, shape: tuple[int, ...]
) -> tuple[str, str] | None:
    """What TensorFlow says of a function that it follows in a graph; nothing is computed."""
    with tf.Graph().as_default():
        given, inputs = arguments(required, lambda: tf.compat.v1.placeholder(dtype, shape))
        out = [y for y in tf.nest.flatten(value(**given), expand_composites=True) if tf.is_tensor(y)]
        if not inputs or not out:
            return None
        smooth = [y for y in out if y.dtype.is_floating or y.dtype.is_complex]
        if not smooth:
            return returned([y.dtype.name for y in out])
        try:
            slopes = tf.gradients(smooth, inputs)
        except LookupError as error:
            return NOT_DIFFERENTIABLE, "TensorFlow: " + str(error).partition(" (op type")[0]
    if any(slope is not None for slope in slopes):
        return DIFFERENTIABLE, "TensorFlow follows it, and misses no gradient"
    return NOT_DIFFERENTIABLE, "TensorFlow follows it, and returns None for its gradient"


if __name__ == "__main__":
    write(sys.argv[1], functions())
