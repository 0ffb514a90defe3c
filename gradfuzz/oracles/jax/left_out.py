"""The functions of JAX that the catalogue leaves out, each for a reason that a person wrote."""

from __future__ import annotations

PUBLIC: dict[str, str] = {
    "writes or loads files and foreign memory": (
        "jax.numpy.load jax.numpy.save jax.numpy.savez jax.numpy.from* jax.numpy.set_printoptions "
        "jax.numpy.get_printoptions jax.numpy.printoptions"
    ),
    "calls a function that it is given": (
        "jax.numpy.apply_* jax.numpy.piecewise jax.numpy.vectorize jax.numpy.frompyfunc jax.lax.scan "
        "jax.lax.map jax.lax.cond jax.lax.switch jax.lax.while_loop jax.lax.fori_loop jax.lax.reduce "
        "jax.lax.reduce_window jax.lax.associative_scan jax.lax.composite jax.lax.custom_linear_solve "
        "jax.lax.custom_root jax.lax.platform_dependent jax.lax.scatter_apply jax.scipy.optimize.minimize"
    ),
    "talks to other devices, along a named axis": (
        "jax.lax.all_* jax.lax.axis_* jax.lax.pmax jax.lax.pmin jax.lax.pmean jax.lax.psum* jax.lax.ppermute "
        "jax.lax.pshuffle jax.lax.pswapaxes jax.lax.pbroadcast jax.lax.pcast jax.lax.psend jax.lax.precv "
        "jax.lax.ragged_all_to_all jax.lax.with_sharding_constraint"
    ),
    "orders effects, and is no function of arrays": (
        "jax.lax.after_all jax.lax.create_token jax.lax.dce_sink jax.lax.stage jax.lax.optimization_barrier"
    ),
    "hides its operand from differentiation on purpose": "jax.lax.stop_gradient",
    "returns integers, of which JAX knows how many only when it computes": (
        "jax.numpy.argwhere jax.numpy.nonzero jax.numpy.flatnonzero"
    ),
    "returns integers or booleans": (
        "jax.numpy.unravel_index jax.numpy.ravel_multi_index jax.numpy.unpackbits "
        "jax.lax.linalg.lu_pivots_to_permutation"
    ),
    "returns what depends on the shape of its operand alone": (
        "jax.numpy.zeros_like jax.numpy.ones_like jax.numpy.empty_like"
    ),
    "returns the bits of its operand as another type": "jax.lax.bitcast_convert_type",
    "returns a setting": "jax.nn.get_scaled_dot_general_config",
    "returns text": "jax.numpy.array_repr jax.numpy.array_str",
    "writes in place: it refuses, or needs inplace=False": (
        "jax.numpy.fill_diagonal jax.numpy.place jax.numpy.put jax.numpy.put_along_axis"
    ),
    "returns shapes, dtypes or Python's values": (
        "jax.numpy.*dtype jax.numpy.can_cast jax.numpy.result_type jax.numpy.promote_types jax.numpy.is*obj "
        "jax.numpy.isscalar jax.numpy.iterable jax.numpy.broadcast_shapes jax.numpy.einsum_path "
        "jax.numpy.shape jax.numpy.size jax.numpy.ndim jax.lax.*_shape_tuple jax.lax.shape_as_value "
        "jax.lax.dtype jax.lax.broadcast_shapes jax.lax.padtype_to_pads jax.lax.conv_dimension_numbers "
        "jax.lax.conv_general_permutations"
    ),
    "makes indices or numbers from sizes": (
        "jax.numpy.diag_indices* jax.numpy.tri*_indices* jax.numpy.mask_indices jax.numpy.indices "
        "jax.numpy.ix_ "
        "jax.numpy.identity jax.numpy.eye jax.numpy.tri jax.numpy.arange jax.numpy.zeros jax.numpy.ones "
        "jax.numpy.empty jax.numpy.bartlett jax.numpy.blackman jax.numpy.hamming jax.numpy.hanning "
        "jax.numpy.kaiser jax.lax.iota jax.lax.broadcasted_iota jax.lax.empty jax.numpy.fft.*fftfreq "
        "jax.scipy.linalg.dft jax.scipy.linalg.hadamard jax.scipy.linalg.hilbert jax.scipy.linalg.invhilbert "
        "jax.scipy.linalg.helmert jax.scipy.linalg.pascal jax.scipy.linalg.invpascal"
    ),
    "random bits": "jax.lax.rng_*",
}
"""Reason -> patterns of public names."""
