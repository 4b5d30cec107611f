"""Cheaper attention: exact by tiles, sparse by pattern, low-rank, and by random features."""

import contextlib
import functools
import io
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient.block_sparse import BlockSparseAttention
from course_lib.efficient.linformer import LinformerAttention
from course_lib.efficient.performer import RandomFeatureAttention
from course_lib.efficient.strided import fused_strided_attention, strided_attention
from course_lib.efficient.tiled import online_attention, tiled_attention
from course_tests.parity.peers.contract import HEADS, TOKENS, Mechanism, Reference, built, called
from course_tests.parity.peers.copying import copy_submodules


def _linformer_peer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    from linformer import LinformerSelfAttention

    peer = LinformerSelfAttention(
        attend.d_model, attend.length, k=attend.rank, heads=attend.n_heads
    ).to(inputs[0])
    with torch.no_grad():
        peer.proj_k.copy_(attend.mix_keys.T)
        peer.proj_v.copy_(attend.mix_values.T)
    copy_submodules(peer, attend, "to_q=q_proj to_k=k_proj to_v=v_proj to_out=out_proj")
    return Reference(peer.eval(), inputs)


def _performer(
    *, fast: bool, d_head: int, n_features: int, causal: bool = False, **sizes: int
) -> nn.Module:
    # The package adds 1e-6 to the sums of its causal form alone.
    return RandomFeatureAttention(
        d_head,
        n_features,
        causal=causal,
        sum_eps=1e-6 if causal else 0.0,
        generator=Generator().manual_seed(0),
        fused=fast,
    )


def _performer_peer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    from performer_pytorch import FastAttention

    n_features, d_head = attend.directions.shape
    # Announces on stdout that its extension for CUDA is missing.
    with contextlib.redirect_stdout(io.StringIO()):
        peer = FastAttention(d_head, n_features, causal=attend.causal)
    peer.projection_matrix = attend.directions.clone()
    return Reference(peer.eval(), inputs)


def _block_sparse(
    *, fast: bool, d_model: int, n_heads: int, length: int, block: int, n_random: int, **sizes: int
) -> nn.Module:
    return BlockSparseAttention(
        d_model,
        n_heads,
        length=length,
        block_size=block,
        n_random=n_random,
        generator=Generator().manual_seed(0),
        fused=fast,
    )


def _bigbird_peer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers import BigBirdConfig, BigBirdModel
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

    (x,) = inputs
    blocks = attend.blocks.numpy()
    size = attend.length // (blocks.shape[1] + 2)
    config = BigBirdConfig(
        hidden_size=attend.d_model,
        num_attention_heads=attend.n_heads,
        block_size=size,
        num_random_blocks=blocks.shape[2],
        max_position_embeddings=attend.length,
    )
    peer = BigBirdBlockSparseAttention(config).to(x).eval()
    copy_submodules(peer, attend, "query=q_proj key=k_proj value=v_proj")
    # In evaluation it draws nothing and counts block 0 once more for each block it should draw.
    peer._bigbird_block_rand_mask_with_head = lambda **_: list(blocks)  # type: ignore[method-assign]
    of_blocks, band, of_queries, of_keys = BigBirdModel.create_masks_for_block_sparse_attn(
        x.new_ones(x.shape[:2]), size
    )

    def call(x: Tensor) -> Tensor:
        heads, _ = peer(x, band, of_queries, of_keys, of_blocks, of_blocks)
        return attend.out_proj(heads)

    return Reference(call, inputs)


MECHANISMS = (
    Mechanism(
        name="tiled",
        source="Dao et al. (2022), algorithms 1 and 4",
        build=called(tiled_attention, scaled_dot_product_attention),
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 3, "length": 7, "d_head": 4},
        small=dict(batch=1, n_heads=4, length=256, d_head=32),
        large=dict(batch=1, n_heads=4, length=2048, d_head=64),
        peer=lambda module, inputs: Reference(F.scaled_dot_product_attention, inputs),
        peer_name="torch.nn.functional.scaled_dot_product_attention",
        oracle=lambda module, inputs: Reference(
            lambda *qkv: online_attention(*qkv, tile=3), inputs
        ),
    ),
    Mechanism(
        name="linformer",
        source="Wang et al. (2020), equation 7",
        build=built(LinformerAttention, "d_model", "n_heads", "length", "rank"),
        inputs=TOKENS,
        tiny={"batch": 2, "length": 9, "d_model": 8, "n_heads": 2, "rank": 3},
        small=dict(batch=2, length=256, d_model=128, n_heads=4, rank=32),
        large=dict(batch=1, length=2048, d_model=256, n_heads=4, rank=128),
        peer=_linformer_peer,
        peer_name="linformer.LinformerSelfAttention",
    ),
    Mechanism(
        name="performer",
        source="Choromanski et al. (2021), section 2",
        build=_performer,
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 2, "length": 9, "d_head": 4, "n_features": 10},
        small=dict(batch=1, n_heads=4, length=256, d_head=32, n_features=64),
        large=dict(batch=1, n_heads=4, length=2048, d_head=64, n_features=128),
        peer=_performer_peer,
        peer_name="performer_pytorch.FastAttention",
    ),
    Mechanism(
        name="causal_performer",
        source="Choromanski et al. (2021), appendix B",
        build=functools.partial(_performer, causal=True),
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 2, "length": 9, "d_head": 4, "n_features": 10},
        small=dict(batch=1, n_heads=2, length=256, d_head=16, n_features=32),
        large=dict(batch=1, n_heads=4, length=1024, d_head=32, n_features=64),
        peer=_performer_peer,
        peer_name="performer_pytorch.FastAttention",
    ),
    Mechanism(
        name="block_sparse",
        source="Zaheer et al. (2020), section 2",
        build=_block_sparse,
        inputs=TOKENS,
        tiny={
            "batch": 2, "length": 14, "d_model": 8, "n_heads": 2, "block": 2, "n_random": 1,
        },
        small=dict(batch=1, length=512, d_model=128, n_heads=4, block=32, n_random=3),
        large=dict(batch=1, length=2048, d_model=256, n_heads=4, block=64, n_random=3),
        peer=_bigbird_peer,
        peer_name="transformers.models.big_bird.modeling_big_bird.BigBirdBlockSparseAttention",
    ),
    Mechanism(
        name="strided",
        home=__name__,
        source="Child et al. (2019), section 4",
        build=called(fused_strided_attention, strided_attention, "stride=stride"),
        inputs=HEADS,
        tiny={"batch": 2, "n_heads": 2, "length": 11, "d_head": 4, "stride": 3},
        small=dict(batch=1, n_heads=4, length=256, d_head=32, stride=16),
        large=dict(batch=1, n_heads=8, length=1024, d_head=64, stride=32),
    ),
)  # fmt: skip
