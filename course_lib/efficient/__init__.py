"""Attention that costs less: exact by tiles, sparse by pattern, or approximated."""

from course_lib.efficient.banded import (
    band_average,
    band_offsets,
    band_weights,
    banded_attention,
    fused_banded_attention,
)
from course_lib.efficient.block_sparse import (
    BlockSparseAttention,
    block_layout,
    block_sparse_attention,
    fused_block_sparse_attention,
    layout_mask,
    random_blocks,
    strided_mask,
)
from course_lib.efficient.costs import (
    KINDS,
    Cost,
    attention_costs,
    largest_tensor,
    longformer_pairs,
    window_pairs,
)
from course_lib.efficient.delta import GatedDeltaAttention, gated_delta
from course_lib.efficient.keys import expand_key_mask
from course_lib.efficient.linformer import LinformerAttention, linformer_attention
from course_lib.efficient.longformer import LongformerAttention
from course_lib.efficient.performer import (
    PerformerAttention,
    RandomFeatureAttention,
    orthogonal_features,
    performer_attention,
    performer_linear_attention,
    softmax_features,
)
from course_lib.efficient.tiled import Running, online_attention, online_step
