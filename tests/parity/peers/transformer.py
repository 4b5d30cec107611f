"""Transformers: stacks of blocks, which torch has too."""

from typing import Any

from torch import Generator, Tensor, nn

from course_lib.layers import Norm
from course_lib.masks import causal_mask, to_blocked
from course_lib.transformer import Decoder, Encoder
from course_tests.parity.peers.attention import copy_attention
from course_tests.parity.peers.contract import TOKENS, WITH_MEMORY, Mechanism, Reference, built
from course_tests.parity.peers.copying import copy_submodules

_FEED_FORWARD = "linear1=feed_forward.in_proj linear2=feed_forward.out_proj norm1=attention_norm"


def _torch_sizes(block: Any) -> dict[str, Any]:
    return {
        "d_model": block.attention.d_model,
        "nhead": block.attention.n_heads,
        "dim_feedforward": block.feed_forward.in_proj.out_features,
        "dropout": 0.0,
        "activation": block.feed_forward.activation,
        "norm_first": block.norm == "pre",
        "batch_first": True,
    }


def _final_norm(stack: Encoder | Decoder) -> nn.Module | None:
    return stack.norm if isinstance(stack.norm, nn.LayerNorm) else None


def torch_encoder(encoder: Encoder) -> nn.TransformerEncoder:
    """``nn.TransformerEncoder`` with the same weights."""
    block: Any = encoder.blocks[0]
    peer = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**_torch_sizes(block)),
        len(encoder.blocks),
        norm=_final_norm(encoder),
        enable_nested_tensor=False,
    )
    blocks: Any = zip(encoder.blocks, peer.layers, strict=True)
    for ours, theirs in blocks:
        copy_attention(ours.attention, theirs.self_attn)
        copy_submodules(theirs, ours, f"{_FEED_FORWARD} norm2=feed_forward_norm")
    return peer.to(block.feed_forward.in_proj.weight).eval()


def torch_decoder(decoder: Decoder) -> nn.TransformerDecoder:
    """``nn.TransformerDecoder`` with the same weights."""
    block: Any = decoder.blocks[0]
    layer = nn.TransformerDecoderLayer(**_torch_sizes(block))
    peer = nn.TransformerDecoder(layer, len(decoder.blocks), norm=_final_norm(decoder))
    blocks: Any = zip(decoder.blocks, peer.layers, strict=True)
    for ours, theirs in blocks:
        copy_attention(ours.attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        norms = "norm2=cross_attention_norm norm3=feed_forward_norm"
        copy_submodules(theirs, ours, f"{_FEED_FORWARD} {norms}")
    return peer.to(block.feed_forward.in_proj.weight).eval()


class _Both(nn.Module):
    """Encoder and decoder on vectors, which is what ``nn.Transformer`` is."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decoder(target, self.encoder(source))


def _stack(kind: type[Encoder] | type[Decoder], norm: Norm) -> Any:
    sizes = ("d_model", "n_heads", "d_ff", "n_layers")
    return built(kind, *sizes, norm=norm, activation="relu")


def _both(**options: Any) -> nn.Module:
    return _Both(_stack(Encoder, "post")(**options), _stack(Decoder, "post")(**options))


def _source_and_target(generator: Generator, **sizes: int) -> tuple[Tensor, ...]:
    target, source = WITH_MEMORY(generator, **sizes)
    return source, target


def _decoder_peer(module: Any, inputs: tuple[Any, ...]) -> Reference:
    peer, blocked = torch_decoder(module), _blocked(inputs[0])
    return Reference(
        lambda x, memory: peer(x, memory, tgt_mask=blocked, tgt_is_causal=True), inputs
    )


def _both_peer(module: Any, inputs: tuple[Any, ...]) -> Reference:
    block = module.encoder.blocks[0]
    # It draws all weights anew at the end of its constructor, so that ours come in after it.
    nothing = nn.Identity()
    peer = nn.Transformer(
        block.attention.d_model,
        block.attention.n_heads,
        custom_encoder=nothing,
        custom_decoder=nothing,
        batch_first=True,
    ).eval()
    peer.encoder = torch_encoder(module.encoder)
    peer.decoder = torch_decoder(module.decoder)
    blocked = _blocked(inputs[1])
    return Reference(
        lambda source, target: peer(source, target, tgt_mask=blocked, tgt_is_causal=True), inputs
    )


def _blocked(target: Tensor) -> Tensor:
    return to_blocked(causal_mask(target.shape[1], device=target.device))


_TINY = {"batch": 2, "length": 5, "d_model": 8, "n_heads": 2, "d_ff": 16, "n_layers": 2}

MECHANISMS = (
    Mechanism(
        name="encoder_post_norm",
        source="Vaswani et al. (2017), section 3.1",
        build=_stack(Encoder, "post"),
        inputs=TOKENS,
        tiny=_TINY,
        small=dict(batch=4, length=32, d_model=64, n_heads=4, d_ff=256, n_layers=2),
        large=dict(batch=4, length=128, d_model=512, n_heads=8, d_ff=2048, n_layers=2),
        peer=lambda module, inputs: Reference(torch_encoder(module), inputs),
        peer_name="torch.nn.TransformerEncoder",
    ),
    Mechanism(
        name="encoder_pre_norm",
        source="Xiong et al. (2020), figure 1",
        build=_stack(Encoder, "pre"),
        inputs=TOKENS,
        tiny=_TINY,
        small=dict(batch=4, length=32, d_model=64, n_heads=4, d_ff=256, n_layers=2),
        large=dict(batch=4, length=128, d_model=512, n_heads=8, d_ff=2048, n_layers=2),
        peer=lambda module, inputs: Reference(torch_encoder(module), inputs),
        peer_name="torch.nn.TransformerEncoder",
    ),
    Mechanism(
        name="decoder",
        source="Vaswani et al. (2017), section 3.1",
        build=_stack(Decoder, "post"),
        inputs=WITH_MEMORY,
        tiny={**_TINY, "memory": 4},
        small=dict(batch=4, length=32, memory=32, d_model=64, n_heads=4, d_ff=256, n_layers=2),
        large=dict(batch=4, length=64, memory=128, d_model=512, n_heads=8, d_ff=2048, n_layers=2),
        peer=_decoder_peer,
        peer_name="torch.nn.TransformerDecoder",
    ),
    Mechanism(
        name="encoder_decoder",
        source="Vaswani et al. (2017), figure 1",
        build=_both,
        inputs=_source_and_target,
        tiny={**_TINY, "memory": 4},
        small=dict(batch=4, length=32, memory=32, d_model=64, n_heads=4, d_ff=256, n_layers=2),
        large=dict(batch=4, length=64, memory=64, d_model=512, n_heads=8, d_ff=2048, n_layers=2),
        peer=_both_peer,
        peer_name="torch.nn.Transformer",
    ),
)
