"""Attention that costs less: exact by tiles, sparse by pattern, or approximated."""

from course_lib.efficient.convolutional import (
    ConvolutionalAttention,
    CrossShapedAttention,
    ReducedAttention,
    stripe_masks,
)
from course_lib.efficient.linformer import LinformerAttention, linformer_attention
from course_lib.efficient.tiled import Running, online_attention, online_step, tiled_attention

__all__ = [
    "ConvolutionalAttention",
    "CrossShapedAttention",
    "LinformerAttention",
    "ReducedAttention",
    "Running",
    "linformer_attention",
    "online_attention",
    "online_step",
    "stripe_masks",
    "tiled_attention",
]
