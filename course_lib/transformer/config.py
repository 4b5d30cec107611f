"""Configurations of an encoder-decoder and of a decoder-only Transformer."""

from dataclasses import dataclass
from typing import Literal, get_args

from course_lib.attention import check_heads
from course_lib.layers import Activation, Norm

Positions = Literal["sinusoidal", "learned", "rotary", "none"]


@dataclass(frozen=True)
class TransformerConfig:
    """Configuration of a :class:`~course_lib.transformer.EncoderDecoder`.

    Args:
        n_layers: Blocks L of the encoder, and as many of the decoder.
        dropout: Of embedding channels, weights, hidden channels, and each sub-layer's output.
        norm: ``"post"`` as in the paper, or ``"pre"`` with a norm after the last block.
        positions: ``"sinusoidal"``, ``"learned"`` or ``"none"``.
        max_len: Longest sentence on either side.
        tied, shared: Whether the matrix of the target embedding gives the logits, and whether it
            embeds the source, too.
        pad_id, bos_id, eos_id: Tokens that fill up short sentences, and that begin and end one.
    """

    source_vocab_size: int
    target_vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_layers: int = 6
    dropout: float = 0.1
    norm: Norm = "post"
    activation: Activation = "relu"
    positions: Positions = "sinusoidal"
    max_len: int = 1024
    tied: bool = True
    shared: bool = False
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if self.positions == "rotary":
            raise ValueError("positions is 'rotary', wanted 'sinusoidal', 'learned' or 'none'")
        if self.shared and self.source_vocab_size != self.target_vocab_size:
            raise ValueError(
                f"source_vocab_size is {self.source_vocab_size} and target_vocab_size "
                f"{self.target_vocab_size}, wanted one size for a shared embedding"
            )
        _check(self)


@dataclass(frozen=True)
class DecoderOnlyConfig:
    """Configuration of a :class:`~course_lib.transformer.DecoderOnly`; the defaults are GPT-2's.

    Args:
        dropout: Of embedding channels, weights, hidden channels, and each sub-layer's output.
        norm: ``"pre"`` with a norm after the last block, or ``"post"``.
        activation: ``"gelu"`` or ``"relu"``. (GPT-2 approximates the first by a tanh.)
        positions: ``"learned"`` or ``"sinusoidal"``, which are added to the embeddings,
            ``"rotary"``, which turn queries and keys, or ``"none"``.
        rotary_base: Base of the rotary frequencies ``base^(-2i/Dh)``.
        bias: Whether projections, feed-forward sub-layers and norms add a bias vector.
        tied: Whether the matrix of the embedding gives the logits too.

    Example:
        >>> DecoderOnlyConfig(n_heads=7)
        Traceback (most recent call last):
        ...
        ValueError: n_heads is 7, wanted a divisor of d_model 768
    """

    vocab_size: int = 50257
    max_len: int = 1024
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    dropout: float = 0.1
    norm: Norm = "pre"
    activation: Activation = "gelu"
    positions: Positions = "learned"
    rotary_base: float = 10_000.0
    bias: bool = True
    tied: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        _check(self)
        if self.positions == "rotary" and self.d_model // self.n_heads % 2:
            raise ValueError(
                f"a head has {self.d_model // self.n_heads} channels, wanted an even number to turn"
            )


def _check(config: TransformerConfig | DecoderOnlyConfig) -> None:
    for name, kind in (("norm", Norm), ("activation", Activation), ("positions", Positions)):
        value = getattr(config, name)
        if value not in get_args(kind):
            raise ValueError(f"{name} is {value!r}, wanted one of {get_args(kind)}")
    check_heads(config.d_model, config.n_heads)
    for name in ("n_layers", "max_len"):
        if getattr(config, name) < 1:
            raise ValueError(f"{name} is {getattr(config, name)}, wanted at least 1")
