"""Time series: ProbSparse attention and the layer that it sits in.

transformers' ProbSparse attention judges by as many keys as there are, drawn with replacement and
alike for all queries, and divides by the number of keys. Ours gets the same draw and the same
divisor, so that what is compared is all of it: the measure, the choice of queries, their attention,
the mean for the others. Of the whole model only the encoder's layer is compared: transformers'
Informer is another architecture around it (a probabilistic head, values scaled by their window,
one step after the other).
"""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.informer import InformerAttention, InformerConfig, InformerEncoderLayer, SparseRules
from course_tests.parity.peers.contract import TOKENS, Mechanism, Reference, drawn
from course_tests.parity.peers.copying import copy_submodules

_DRAW = 20211
_MAPS = ("q_proj", "k_proj", "v_proj", "out_proj")


class _Judged(nn.Module):
    """Attention or a layer, judged by a draw that a peer can repeat."""

    samples: Tensor

    def __init__(self, inner: nn.Module, length: int) -> None:
        super().__init__()
        self.inner = inner
        generator = Generator().manual_seed(_DRAW)
        self.register_buffer("samples", torch.randint(length, (length,), generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x, samples=self.samples)


def _repeat_draw(peer: nn.Module) -> Any:
    """Call the peer, which draws from the global generator, at the same place of its sequence."""

    def call(x: Tensor) -> Tensor:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_DRAW)
            out = peer(x, attention_mask=None)
        return out[0] if isinstance(out, tuple) else out

    return call


def _prob_sparse(
    *, fast: bool, length: int, d_model: int, n_heads: int, factor: int, **sizes: int
) -> nn.Module:
    rules = SparseRules(factor, divisor="keys")
    return _Judged(InformerAttention(d_model, n_heads, rules=rules, fused=fast), length)


def _prob_sparse_peer(module: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers.models.informer.modeling_informer import InformerProbSparseAttention

    attend = module.inner
    factor = attend.sparse.rules.factor
    peer = InformerProbSparseAttention(attend.d_model, attend.n_heads, sampling_factor=factor)
    peer.load_state_dict({k: v for k, v in attend.state_dict().items() if "sparse" not in k})
    return Reference(_repeat_draw(peer.to(inputs[0]).eval()), inputs)


def _layer(
    *, fast: bool, seq_len: int, d_model: int, n_heads: int, d_ff: int, **sizes: int
) -> nn.Module:
    config = InformerConfig(
        seq_len=seq_len,
        label_len=0,
        d_model=d_model,
        n_heads=n_heads,
        d_ff=d_ff,
        dropout=0.0,
        rules=SparseRules(divisor="keys"),
        fused=fast,
    )
    return _Judged(InformerEncoderLayer(config), seq_len)


def _layer_peer(module: Any, inputs: tuple[Any, ...]) -> Reference:
    import transformers
    from transformers.models.informer.modeling_informer import InformerEncoderLayer as PeerLayer

    layer = module.inner
    attend = layer.attention
    config = transformers.InformerConfig(
        prediction_length=1,
        d_model=attend.d_model,
        encoder_attention_heads=attend.n_heads,
        encoder_ffn_dim=layer.feed_forward.in_proj.out_features,
        sampling_factor=attend.sparse.rules.factor,
        attention_type="prob",
        activation_function="gelu",
    )
    peer = PeerLayer(config).to(inputs[0]).eval()
    attention = " ".join(f"self_attn.{part}=attention.{part}" for part in _MAPS)
    copy_submodules(
        peer,
        layer,
        f"{attention} self_attn_layer_norm=attention_norm fc1=feed_forward.in_proj"
        " fc2=feed_forward.out_proj final_layer_norm=feed_forward_norm",
    )
    return Reference(_repeat_draw(peer), inputs)


MECHANISMS = (
    Mechanism(
        name="prob_sparse",
        source="Zhou et al. (2021), section 3 and algorithm 1",
        build=_prob_sparse,
        inputs=TOKENS,
        # Lengths at which ln L and transformers' ln (L + 1) round up to the same number.
        tiny={"batch": 2, "length": 12, "d_model": 8, "n_heads": 2, "factor": 2},
        small=dict(batch=2, length=48, d_model=64, n_heads=4, factor=3),
        large=dict(batch=4, length=336, d_model=256, n_heads=8, factor=5),
        peer=_prob_sparse_peer,
        peer_name="transformers.models.informer.modeling_informer.InformerProbSparseAttention",
        note="the peer is given the draw of keys, and ours the peer's divisor",
    ),
    Mechanism(
        name="informer",
        source="Zhou et al. (2021), section 3: a layer of the encoder with ProbSparse attention",
        build=_layer,
        inputs=drawn("batch seq_len d_model"),
        tiny={"batch": 2, "seq_len": 40, "d_model": 8, "n_heads": 2, "d_ff": 16},
        small=dict(batch=2, seq_len=24, label_len=12, pred_len=12, d_model=32, n_heads=4, d_ff=64),
        large=dict(
            batch=8, seq_len=96, label_len=48, pred_len=24, d_model=256, n_heads=8, d_ff=1024
        ),
        peer=_layer_peer,
        peer_name="transformers.models.informer.modeling_informer.InformerEncoderLayer",
        note="a layer of the encoder; the rest of transformers' Informer is another architecture",
    ),
)
