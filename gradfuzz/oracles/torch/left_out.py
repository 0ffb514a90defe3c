"""The functions of Torch that the catalogue leaves out, each for a reason that a person wrote."""

from __future__ import annotations

OPERATORS: dict[str, str] = {
    "needs a backend of its own (cuDNN, MIOpen, oneDNN, MPS, Vulkan, XNNPACK)": (
        "*cudnn* *miopen* *mkldnn* mps_* *_mps *_mps_* *vulkan*"
    ),
    "needs CUDA: a part of synchronized batch normalization": (
        "batch_norm_elemt batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_gather_* "
        "batch_norm_stats batch_norm_update_stats"
    ),
    "quantized numbers": (
        "*quantize* quantized_* q_scale q_zero_point q_per_* qscheme int_repr choose_qparams* fbgemm_*"
    ),
    "sparse layouts": (
        "*sparse* smm sspaddmm hspmm coalesce is_coalesced *crow_indices* *ccol_indices* col_indices* "
        "row_indices* indices indices_copy values values_copy dense_dim to_dense to_dense_backward"
    ),
    "nested tensors": "*nested* to_padded_tensor",
    "the derivative of another function calls it": "*_backward *_backward_* *_jvp",
    "returns booleans": ("greater greater_equal less less_equal not_equal isclose isfinite isreal can_cast"),
    "returns integers": "argwhere linalg_matrix_rank",
    "counts into bins": "histogramdd",
    "hides its operand from autograd on purpose": "detach detach_copy data",
    "connects: it shares or pins memory, or follows a stream": "pin_memory record_stream",
    "reads a file": "from_file",
    "made for the compiler, without a document": "slice_inverse",
}
"""Reason -> the operators, by patterns of their names without overloads."""

PUBLIC: dict[str, str] = {
    "sparse layouts": "torch.dsmm torch.hsmm torch.saddmm torch.spmm torch.Tensor.to_sparse_coo",
    "quantized numbers": "torch.quantized_gru torch.quantized_lstm",
    "writes, loads or shares memory": (
        "torch.load torch.save torch.from_dlpack torch.to_dlpack torch.from_numpy torch.frombuffer "
        "torch.import_ir_module* torch.Tensor.share_memory_ torch.Tensor.module_load torch.Tensor.numpy "
        "torch.Tensor.*data_ptr torch.Tensor.*storage torch.Tensor.storage_type torch.Tensor.is_shared"
    ),
    "calls a function that it is given": (
        "torch.compile torch.cond torch.while_loop torch.vmap torch.fork torch.wait torch.Tensor.apply_ "
        "torch.Tensor.map_ torch.Tensor.map2_ torch.nn.functional.boolean_dispatch "
        "torch.nn.functional.handle_torch_function"
    ),
    "asks for a derivative or watches one, and is no function of arrays": (
        "torch.Tensor.backward torch.Tensor.register_hook torch.Tensor.reinforce "
        "torch.Tensor.register_post_accumulate_grad_hook"
    ),
    "makes a tensor from Python's numbers": "torch.tensor torch.Tensor.new torch.Tensor.new_tensor",
    "makes a tensor of what it is given": "torch.as_tensor torch.asarray torch.Tensor.as_subclass",
    "moves to another device": (
        "torch.Tensor.cpu torch.Tensor.cuda torch.Tensor.ipu torch.Tensor.mtia torch.Tensor.xpu"
    ),
    "returns integers or booleans": (
        "torch.Tensor.bool torch.Tensor.byte torch.Tensor.char torch.Tensor.int torch.Tensor.long "
        "torch.Tensor.short torch.unravel_index"
    ),
    "returns Python's numbers, names or lists": (
        "torch.Tensor.dim_order torch.Tensor.element_size torch.Tensor.ndimension torch.Tensor.nelement "
        "torch.Tensor.tolist torch.Tensor.type torch.is_tensor torch.is_storage torch.typename "
        "torch.broadcast_shapes torch.sym_*"
    ),
    "works on first-class dimensions, not on arrays": "torch.Tensor.index",
    "in-place: the function without the underscore covers it": "torch.nn.functional.*_",
    "removed: it only raises and names another function": (
        "torch.eig torch.lstsq torch.matrix_rank torch.solve torch.symeig torch.Tensor.eig "
        "torch.Tensor.lstsq torch.Tensor.solve torch.Tensor.symeig"
    ),
    "another name: the function that it calls covers it": (
        "torch.Tensor.resize torch.Tensor.resize_as torch.Tensor.unflatten torch.nn.functional.upsample* "
        "torch.nn.functional.sigmoid torch.nn.functional.tanh"
    ),
    "its operator, _unique2, has no derivative: derivatives.yaml says not_implemented": (
        "torch.unique torch.Tensor.unique"
    ),
    "multiplies formats of eight bits and fewer": (
        "torch.nn.functional.scaled_mm torch.nn.functional.scaled_grouped_mm"
    ),
    "a setting, a generator's state or a tool, not a function of arrays": (
        "torch.*autocast* torch.*anomaly* torch.*num_threads torch.*num_interop_threads torch.*rng_state "
        "torch.*default_d* torch.*default_tensor_type torch.*deterministic* torch.*float32_matmul_precision "
        "torch.*_warn_always* torch.*seed torch.set_* torch.is_grad_enabled torch.is_inference_mode_enabled "
        "torch.parse_* torch.*type_comment torch.unify_type_list torch.get_file_path torch.get_device_module "
        "torch.compiled_with_cxx11_abi torch.prepare_multiprocessing_environment torch.profiler_* "
        "torch.thread_safe_generator torch.classproperty torch.nn.functional.has_torch_function* "
        "torch.nn.functional.assert_int_or_pair"
    ),
}
"""Reason -> what Python defines itself or has no operator, by patterns of public names."""
