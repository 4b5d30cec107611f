"""Attention that costs less: exact by tiles, sparse by pattern, or approximated."""

from course_lib.efficient.convolutional import (
    ConvolutionalAttention,
    CrossShapedAttention,
    ReducedAttention,
    stripe_masks,
)
from course_lib.efficient.keys import key_mask
from course_lib.efficient.linformer import LinformerAttention, linformer_attention
from course_lib.efficient.performer import (
    PerformerAttention,
    RandomFeatureAttention,
    orthogonal_features,
    performer_attention,
    performer_linear_attention,
    softmax_features,
)
from course_lib.efficient.tiled import Running, online_attention, online_step, tiled_attention

__all__ = [
    "ConvolutionalAttention",
    "CrossShapedAttention",
    "LinformerAttention",
    "PerformerAttention",
    "RandomFeatureAttention",
    "ReducedAttention",
    "Running",
    "key_mask",
    "linformer_attention",
    "online_attention",
    "online_step",
    "orthogonal_features",
    "performer_attention",
    "performer_linear_attention",
    "softmax_features",
    "stripe_masks",
    "tiled_attention",
]
