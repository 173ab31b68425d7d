"""What torch's operators are to the place level: kinds that its cost model and its detectors know, FLOPs, bytes.

Kinds are those of ONNX (`strata place ops`), which the C level's detectors read a model by. An operator that is not in the table keeps
its own name and is marked unknown: it costs its bytes.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Optional

from .._call import ffi, lib, text

__all__ = ["flops_of", "is_view", "kind_of", "known_kinds"]

# The kind of each line, then the operators of aten that are it. In-place forms ("add_") and "__add__" are found by their plain names.
_TABLE = """
Abs: abs absolute
Acos: acos arccos
Acosh: acosh arccosh
Add: add
And: logical_and
ArgMax: argmax
ArgMin: argmin
Asin: asin arcsin
Asinh: asinh arcsinh
Atan: atan arctan
Atanh: atanh arctanh
Attention: scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention
Attention: _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
Attention: _scaled_dot_product_fused_attention_overrideable _scaled_dot_product_attention_math
AveragePool: avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d
AveragePool: _adaptive_avg_pool3d
BatchNormalization: batch_norm native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training
BatchNormalization: _native_batch_norm_legit_functional cudnn_batch_norm _batch_norm_with_update _batch_norm_no_update
Bernoulli: bernoulli
BitShift: bitwise_left_shift bitwise_right_shift
BitwiseAnd: bitwise_and and
BitwiseNot: bitwise_not
BitwiseOr: bitwise_or or
BitwiseXor: bitwise_xor xor
Cast: to _to_copy type_as float half bfloat16 double int long bool convert_element_type
Ceil: ceil
Celu: celu
Clip: clamp clamp_min clamp_max clip hardtanh relu6
Col2Im: col2im fold
Compress: masked_select
Concat: cat concat concatenate stack hstack vstack
ConstantOfShape: full full_like zeros zeros_like ones ones_like empty empty_like new_zeros new_ones new_full new_empty
ConstantOfShape: new_empty_strided empty_strided empty_permuted fill zero scalar_tensor lift_fresh lift_fresh_copy tensor
Conv: conv1d conv2d conv3d convolution _convolution cudnn_convolution mkldnn_convolution
ConvTranspose: conv_transpose1d conv_transpose2d conv_transpose3d
Cos: cos
Cosh: cosh
CumSum: cumsum
DepthToSpace: pixel_shuffle
Det: det
DFT: _fft_r2c _fft_c2c _fft_c2r fft_fft fft_rfft fft_irfft
Div: div true_divide floor_divide divide
Dropout: dropout native_dropout alpha_dropout feature_dropout
Einsum: einsum bilinear
Elu: elu
Equal: eq equal isclose
Erf: erf
Exp: exp exp2 expm1
Expand: expand expand_as broadcast_to broadcast_tensors
EyeLike: eye
Flatten: flatten
Floor: floor
GRU: gru
Gather: embedding index_select embedding_bag
GatherElements: gather take_along_dim
GatherND: index
Gelu: gelu
Gemm: linear addmm addmv
Greater: gt
GreaterOrEqual: ge
GridSample: grid_sampler grid_sampler_2d grid_sampler_3d grid_sample
GroupNormalization: group_norm native_group_norm
HardSigmoid: hardsigmoid
HardSwish: hardswish
Identity: alias detach clone contiguous copy lift _unsafe_view_copy resolve_conj resolve_neg item _local_scalar_dense
InstanceNormalization: instance_norm
IsInf: isinf
IsNaN: isnan nan_to_num isfinite
LSTM: lstm
LayerNormalization: layer_norm native_layer_norm
LeakyRelu: leaky_relu
Less: lt
LessOrEqual: le
Log: log log2 log10 log1p
LogSoftmax: log_softmax _log_softmax
LpNormalization: renorm
MatMul: matmul mm bmm baddbmm mv dot linalg_vecdot inner tensordot chain_matmul
Max: maximum fmax
MaxPool: max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d adaptive_max_pool2d
MaxPool: adaptive_max_pool3d
Min: minimum fmin
Mish: mish
Mod: remainder fmod
Momentum: _fused_sgd
Mul: mul multiply
Multinomial: multinomial
Neg: neg negative
NegativeLogLikelihoodLoss: nll_loss nll_loss_nd nll_loss_forward nll_loss2d_forward
NonZero: nonzero nonzero_static argwhere
Not: logical_not ne
OneHot: one_hot
Or: logical_or
PRelu: prelu _prelu_kernel
Pad: pad constant_pad_nd reflection_pad1d reflection_pad2d replication_pad2d
Pow: pow square float_power
RMSNormalization: rms_norm _fused_rms_norm
RNN: rnn_tanh rnn_relu
RandomNormal: randn normal
RandomNormalLike: randn_like normal_functional
RandomUniform: rand randint uniform randperm
RandomUniformLike: rand_like randint_like
Range: arange linspace range
Reciprocal: reciprocal
ReduceL2: norm linalg_vector_norm
ReduceLogSumExp: logsumexp
ReduceMax: max amax any
ReduceMean: mean var std var_mean
ReduceMin: min amin all
ReduceProd: prod
ReduceSum: sum
Relu: relu
Reshape: view reshape view_as _unsafe_view unflatten _reshape_alias reshape_as view_as_real view_as_complex as_strided
Resize: upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_bilinear2d upsample_bicubic2d upsample_linear1d
Resize: upsample_trilinear3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa upsample_nearest_exact2d _upsample_nearest_exact2d
Resize: interpolate
ReverseSequence: flip roll rot90
Round: round trunc
ScatterElements: scatter scatter_add scatter_reduce
ScatterND: index_put _unsafe_index_put index_copy index_add index_fill masked_scatter slice_scatter select_scatter
Selu: selu
Shape: sym_size sym_numel sym_stride sym_storage_offset size numel
Sigmoid: sigmoid
Sign: sign
Sin: sin
Sinh: sinh
Slice: slice select narrow diagonal
Softmax: softmax _softmax _safe_softmax
SoftmaxCrossEntropyLoss: cross_entropy_loss
Softplus: softplus
Softsign: softsign
Split: split split_with_sizes chunk unbind tensor_split unsafe_chunk unsafe_split hsplit
Sqrt: sqrt rsqrt
Squeeze: squeeze
Sub: sub rsub subtract
Swish: silu
Tan: tan
Tanh: tanh
Tile: repeat tile repeat_interleave
TopK: topk sort argsort kthvalue
Transpose: transpose permute t movedim swapaxes swapdims mT numpy_T adjoint
Trilu: tril triu
Unique: unique _unique2 unique_consecutive
Unsqueeze: unsqueeze
Where: where masked_fill addcmul addcdiv lerp
Xor: logical_xor
"""

_VIEWS = frozenset("""alias as_strided detach diagonal expand expand_as broadcast_to chunk flatten movedim narrow permute select slice split
split_with_sizes squeeze swapaxes swapdims sym_numel sym_size sym_storage_offset sym_stride t transpose unbind unflatten unsqueeze view
view_as view_as_complex view_as_real _reshape_alias _unsafe_view mT numpy_T adjoint lift_fresh contiguous reshape resolve_conj
resolve_neg size numel item""".split())


@functools.cache
def known_kinds() -> frozenset[str]:
    """The kinds of operators that libstrata knows.

    >>> "MatMul" in known_kinds()
    True
    """
    found, row = [], ffi.new("struct strata_onnx_op *")
    while lib.strata_onnx_op_at(len(found), row):
        found.append(text(row.kind))
    return frozenset(found)


@functools.cache
def _kinds() -> dict[str, str]:
    rows = (line.split(":", 1) for line in _TABLE.strip().splitlines())
    return {name: kind for kind, names in rows for name in names.split()}


def plain_name(target: Any) -> str:
    """aten's name of an operator without overload and marks: "add" for aten.add_.Tensor."""
    packet = getattr(target, "_overloadpacket", None)
    name = packet.__name__ if packet is not None else getattr(target, "__name__", str(target))
    name = name.strip("_") if name.startswith("__") else name
    return name[:-1] if name.endswith("_") and len(name) > 1 else name


def kind_of(target: Any) -> tuple[str, bool]:
    """The kind of an operator, and whether the place level knows it.

    >>> import torch
    >>> kind_of(torch.ops.aten.linear.default), kind_of(torch.ops.aten.add_.Tensor)
    (('Gemm', True), ('Add', True))
    """
    name = plain_name(target)
    kind = _kinds().get(name) or _kinds().get(name.lstrip("_"))
    if kind is None and name in ("mod", "floordiv", "truediv", "neg", "sym_max", "sym_min", "sym_float", "sym_int", "sym_not", "sym_sum", "pow"):
        kind = "Shape"  # of numbers that shapes are made of
    if kind is not None and kind in known_kinds():
        return kind, True
    return f"{getattr(target, 'namespace', '') or 'python'}::{name}", False


def is_view(target: Any) -> bool:
    """Whether an operator makes no data of its own (at most sometimes, as reshape)."""
    return plain_name(target) in _VIEWS


# ---- FLOPs: 2 for each multiply and add of products, convolutions and recurrent layers, as for ONNX; 0 for all else ----

Shape = Sequence[int]


def _product(shapes: Sequence[Optional[Shape]], out: Shape) -> float:
    """Any product of matrices: each element of the result takes the inner dimension."""
    first = shapes[0] or ()
    return 2.0 * math.prod(out) * (first[-1] if first else 1)


def _added_product(shapes: Sequence[Optional[Shape]], out: Shape) -> float:
    return _product(shapes[1:], out)


def _convolution(shapes: Sequence[Optional[Shape]], out: Shape) -> float:
    weight = shapes[1] or ()
    return 2.0 * math.prod(out) * math.prod(weight[1:])


def _convolution_back(shapes: Sequence[Optional[Shape]], out: Shape) -> float:
    weight = shapes[1] or ()
    return 2.0 * math.prod(shapes[0] or ()) * math.prod(weight[1:])


def _attention(shapes: Sequence[Optional[Shape]], out: Shape) -> float:
    query, key, value = (shapes[index] or () for index in range(3))
    if len(query) < 2 or len(key) < 2 or not value:
        return 0.0
    return 2.0 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _recurrent(shapes: Sequence[Optional[Shape]], out: Shape) -> float:
    """Every weight matrix is used once for each element of batch and time."""
    steps = math.prod((shapes[0] or ())[:-1])
    return 2.0 * steps * sum(math.prod(shape) for shape in shapes[1:] if shape is not None and len(shape) == 2)


_FLOPS: dict[str, Callable[[Sequence[Optional[Shape]], Shape], float]] = {
    **dict.fromkeys(("linear", "matmul", "mm", "bmm", "mv", "dot", "inner"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _added_product),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution", "_convolution", "cudnn_convolution", "mkldnn_convolution"), _convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _convolution_back),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
}


def flops_of(target: Any, shapes: Sequence[Optional[Shape]], out: Optional[Shape], arguments: Sequence[Any] = ()) -> float:
    """FLOPs of an operator on tensors of these shapes (None: an argument that is no tensor).

    >>> import torch
    >>> flops_of(torch.ops.aten.linear.default, [(8, 16), (4, 16)], (8, 4))
    1024.0
    """
    if out is None:
        return 0.0
    name = plain_name(target)
    if kind_of(target)[0] == "Attention":
        return _attention(shapes, out)
    if name in ("convolution", "_convolution") and len(arguments) > 6 and arguments[6] is True:
        return _convolution_back(shapes, out)
    if name == "einsum" and arguments and isinstance(arguments[0], str):
        return _einsum(arguments[0], [shape for shape in shapes if shape is not None])
    rule = _FLOPS.get(name)
    return rule(shapes, out) if rule else 0.0


def _einsum(equation: str, shapes: Sequence[Shape]) -> float:
    sizes: dict[str, int] = {}
    for letters, shape in zip(equation.replace(" ", "").split("->")[0].split(","), shapes):
        if "." not in letters:
            sizes.update(zip(letters, shape))
    return 2.0 * math.prod(sizes.values()) if sizes else 0.0
