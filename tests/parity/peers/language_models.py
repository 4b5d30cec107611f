"""Language models, and what they write."""

from typing import Any

import torch
from torch import Generator, Tensor, nn

from course_lib.transformer import DecoderOnly, DecoderOnlyConfig
from course_tests.parity.peers.contract import Mechanism, Reference, configured
from course_tests.parity.peers.copying import copy_submodules, packed_qkv


def _words(
    generator: Generator, *, batch: int, length: int, n_words: int, **sizes: int
) -> tuple[Tensor, ...]:
    return (torch.randint(n_words, (batch, length), generator=generator),)


def _gpt2(model: DecoderOnly) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = model.config
    peer = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.max_len,
            n_embd=config.d_model,
            n_layer=config.n_layers,
            n_head=config.n_heads,
            n_inner=config.d_ff,
            activation_function="gelu",
            bos_token_id=None,
            eos_token_id=None,
            tie_word_embeddings=config.tied,
        )
    )
    embedding: Any = model.embedding
    peer.to(embedding.tokens.weight).eval()
    body = peer.transformer
    with torch.no_grad():
        body.wte.weight.copy_(embedding.tokens.weight)
        body.wpe.weight.copy_(embedding.positions)
        if model.head is not None:
            peer.lm_head.weight.copy_(model.head.weight)
        for ours, theirs in zip(model.blocks.blocks, body.h, strict=True):
            _copy_gpt2_block(ours, theirs)
    copy_submodules(body, model, "ln_f=blocks.norm")
    return peer


def _copy_gpt2_block(ours: Any, theirs: Any) -> None:
    feed_forward = ours.feed_forward
    # Their maps are written x W, with W the transpose of what a linear layer holds.
    for (weight, bias), other in (
        (packed_qkv(ours.attention), theirs.attn.c_attn),
        (ours.attention.out_proj.parameters(), theirs.attn.c_proj),
        (feed_forward.in_proj.parameters(), theirs.mlp.c_fc),
        (feed_forward.out_proj.parameters(), theirs.mlp.c_proj),
    ):
        other.weight.copy_(weight.T)
        other.bias.copy_(bias)
    copy_submodules(theirs, ours, "ln_1=attention_norm ln_2=feed_forward_norm")


def _gpt2_peer(model: Any, inputs: tuple[Any, ...]) -> Reference:
    peer = _gpt2(model)
    return Reference(lambda words: peer(words, use_cache=False).logits, inputs)


def _x_transformers_peer(model: Any, inputs: tuple[Any, ...]) -> Reference:
    import x_transformers

    config = model.config
    d_head = config.d_model // config.n_heads
    peer = x_transformers.TransformerWrapper(
        num_tokens=config.vocab_size,
        max_seq_len=config.max_len,
        use_abs_pos_emb=False,
        tie_embedding=True,
        tie_embedding_scale=1.0,
        attn_layers=x_transformers.Decoder(
            dim=config.d_model,
            depth=config.n_layers,
            heads=config.n_heads,
            attn_dim_head=d_head,
            attn_flash=True,
            rotary_pos_emb=True,
            rotary_emb_dim=d_head,
            ff_mult=config.d_ff / config.d_model,
            ff_no_bias=True,
        ),
    )
    weight = model.embedding.tokens.weight
    peer.to(weight).eval()
    layers = peer.attn_layers
    with torch.no_grad():
        peer.token_emb.emb.weight.copy_(weight)
        exponents = torch.arange(0, d_head, 2, dtype=torch.float64) / d_head
        layers.rotary_pos_emb.inv_freq.copy_(config.rotary_base**-exponents)
        for i, block in enumerate(model.blocks.blocks):
            _copy_x_block(block, layers.layers[2 * i], layers.layers[2 * i + 1])
        _copy_x_norm(model.blocks.norm, layers.final_norm)
    return Reference(peer, inputs)


def _copy_x_norm(ours: Any, theirs: Any) -> None:
    # What they learn may be the difference from 1.
    theirs.gamma.copy_(ours.weight - float(theirs.unit_offset))


def _copy_x_block(ours: Any, attention: Any, feed_forward: Any) -> None:
    _copy_x_norm(ours.attention_norm, attention[0][0])
    _copy_x_norm(ours.feed_forward_norm, feed_forward[0][0])
    for mine, theirs in (
        (ours.attention.q_proj, attention[1].to_q),
        (ours.attention.k_proj, attention[1].to_k),
        (ours.attention.v_proj, attention[1].to_v),
        (ours.attention.out_proj, attention[1].to_out),
        (ours.feed_forward.in_proj, feed_forward[1].ff[0][0]),
        (ours.feed_forward.out_proj, feed_forward[1].ff[2]),
    ):
        theirs.weight.copy_(mine.weight)


class _Writes(nn.Module):
    """What a model writes, with caches or without: tokens as numbers, and their log-probability."""

    def __init__(self, model: DecoderOnly, n_new: int, *, cached: bool) -> None:
        super().__init__()
        self.model = model
        self.n_new = n_new
        self.cached = cached

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        decoded = self.model.generate(words, max_len=self.n_new, cached=self.cached)
        return decoded.tokens.double(), decoded.log_probs


def _writes(*, fast: bool, n_new: int, d_model: int, **sizes: int) -> nn.Module:
    build = configured(DecoderOnly, DecoderOnlyConfig, dropout=0.0, tied=False)
    model = build(fast=True, n_new=n_new, d_model=d_model, **sizes)
    for parameter in model.parameters():
        # With the small weights of the start a model repeats one word for ever.
        nn.init.normal_(parameter, std=2 * d_model**-0.5)
    return _Writes(model, n_new, cached=fast)


def _generate_peer(module: Any, inputs: tuple[Any, ...]) -> Reference:
    peer = _gpt2(module.model)

    def call(words: Tensor) -> tuple[Tensor, Tensor]:
        out = peer.generate(
            words,
            attention_mask=torch.ones_like(words),
            max_new_tokens=module.n_new,
            do_sample=False,
            pad_token_id=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        tokens = out.sequences[:, words.shape[1] :]
        log_probs = torch.stack(out.logits, dim=1).log_softmax(-1)
        return tokens.double(), log_probs.gather(-1, tokens[..., None])[..., 0].sum(-1)

    return Reference(call, inputs)


_TINY = {"batch": 2, "length": 5, "d_model": 8, "n_heads": 2, "d_ff": 16, "n_layers": 2}

MECHANISMS = (
    Mechanism(
        name="decoder_only",
        source="Radford et al. (2019), section 2.3",
        build=configured(DecoderOnly, DecoderOnlyConfig, dropout=0.0),
        inputs=_words,
        tiny={**_TINY, "n_words": 11},
        small=dict(batch=2, length=32, d_model=64, n_heads=4, d_ff=256, n_layers=2, n_words=100),
        large=dict(
            batch=2, length=128, d_model=512, n_heads=8, d_ff=2048, n_layers=2, n_words=1000
        ),
        peer=_gpt2_peer,
        peer_name="transformers.GPT2LMHeadModel",
    ),
    Mechanism(
        name="decoder_only_rotary",
        source="Su et al. (2021), equation 34, in the blocks of Radford et al. (2019)",
        build=configured(
            DecoderOnly, DecoderOnlyConfig, dropout=0.0, positions="rotary", bias=False
        ),
        inputs=_words,
        # The peer turns no fewer than 32 channels of a head.
        tiny={**_TINY, "d_model": 64, "d_ff": 96, "n_words": 11},
        small=dict(batch=2, length=32, d_model=128, n_heads=4, d_ff=512, n_layers=2, n_words=100),
        large=dict(
            batch=2, length=128, d_model=512, n_heads=8, d_ff=2048, n_layers=2, n_words=1000
        ),
        peer=_x_transformers_peer,
        peer_name="x_transformers.TransformerWrapper",
    ),
    Mechanism(
        name="cached_generation",
        source="Vaswani et al. (2017), section 3.1: the model is auto-regressive",
        build=_writes,
        inputs=_words,
        tiny={**_TINY, "n_words": 11, "n_new": 4},
        small=dict(
            batch=2, length=4, n_new=8, d_model=64, n_heads=4, d_ff=256, n_layers=2, n_words=100
        ),
        large=dict(
            batch=2,
            length=16,
            n_new=32,
            d_model=256,
            n_heads=8,
            d_ff=1024,
            n_layers=4,
            n_words=1000,
        ),
        peer=_generate_peer,
        peer_name="transformers.GPT2LMHeadModel.generate",
        trains=False,
        peer_double=False,
        note="no gradient flows from chosen tokens; the peer casts logits to float32",
    ),
)
