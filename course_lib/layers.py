"""Layers around attention in a Transformer block."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import KVCache, MultiHeadAttention, Rotate
from course_lib.masks.softmax import certain

Activation = Literal["relu", "gelu"]
Norm = Literal["pre", "post"]

# Not in place: what a hook on the first map has seen must stay as it was.
_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def layer_norm(
    x: Tensor, scale: Tensor | None = None, shift: Tensor | None = None, *, eps: float = 1e-5
) -> Tensor:
    """Give each token mean 0 and variance 1 over its channels, then scale and shift these.

    ``(x - mean) / sqrt(variance + eps) * scale + shift`` of ``(..., D)``, with ``(D,)`` each. It is
    what ``nn.LayerNorm`` computes, and it is computed in single precision at least, since squares
    of half precision overflow early.

    Source: Ba, Kiros and Hinton, Layer Normalization (2016), equation 4.

    Example:
        A token that is shifted or stretched comes out as before, and no token sees others.

        >>> x = torch.tensor([[1.0, 2.0, 3.0], [110.0, 120.0, 130.0]])
        >>> layer_norm(x)
        tensor([[-1.2247,  0.0000,  1.2247],
                [-1.2247,  0.0000,  1.2247]])
    """
    if not x.is_floating_point():
        raise ValueError(f"x has dtype {x.dtype}, wanted a floating-point one")
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    centred = precise - precise.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    out = centred / torch.sqrt(variance + eps)
    if scale is not None:
        out = out * scale
    if shift is not None:
        out = out + shift
    return out.to(x.dtype)


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between them, for each token on its own.

    ``FFN(x) = act(x W_1 + b_1) W_2 + b_2``. Source: Vaswani et al., Attention Is All You Need
    (2017), equation 2, with ReLU.

    Example:
        >>> x, feed_forward = torch.randn(2, 5, 8), FeedForward(8, d_ff=32)
        >>> out = feed_forward(x)
        >>> torch.allclose(feed_forward(x[:, 3:4]), out[:, 3:4], atol=1e-6)  # no token sees others
        True
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if activation not in get_args(Activation):
            raise ValueError(f"activation is {activation!r}, wanted one of {get_args(Activation)}")
        self.activation = activation
        self.in_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token of ``(..., D)``."""
        hidden = _ACTIVATIONS[self.activation](self.in_proj(x))
        # Outside of training even a module that does nothing takes time in a small model.
        return self.out_proj(self.dropout(hidden) if self.dropout.training else hidden)


class TiedEmbedding(nn.Embedding):
    """One matrix that turns tokens into vectors and, transposed, vectors into logits.

    If ``scaled``, vectors are multiplied by ``sqrt(D)``: the matrix is drawn with a variance of
    1 / D, so that vectors have channels of variance 1 and logits are of order 1.

    Source: Press and Wolf, Using the Output Embedding to Improve Language Models (2017); Vaswani
    et al. (2017), section 3.4, for the factor ``sqrt(D)`` on the vectors.
    """

    def __init__(self, vocab_size: int, d_model: int, *, scaled: bool = False) -> None:
        super().__init__(vocab_size, d_model)
        self.scaled = scaled
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, input: Tensor) -> Tensor:
        """Look integers ``(...)`` up as ``(..., D)``; a CPU refuses those beyond 0..V - 1."""
        if input.is_floating_point() or input.dtype == torch.bool:
            raise ValueError(f"tokens have dtype {input.dtype}, wanted integers")
        # A GPU would have to be waited for.
        last = self.num_embeddings - 1
        if input.device.type == "cpu" and certain(((input < 0) | (input > last)).any()):
            low, high = (int(number) for number in input.aminmax())
            raise ValueError(f"tokens are numbers from {low} to {high}, wanted 0 to {last}")
        x = super().forward(input)
        return x * self.embedding_dim**0.5 if self.scaled else x

    def logits(self, x: Tensor) -> Tensor:
        """Inner products of vectors ``(..., D)`` with all tokens, ``(..., V)``."""
        return F.linear(x, self.weight)


class _Block(nn.Module):
    """Base of both kinds of blocks: a residual connection and a norm around each sub-layer."""

    def __init__(self, dropout: float, norm: Norm) -> None:
        super().__init__()
        if norm not in get_args(Norm):
            raise ValueError(f"norm is {norm!r}, wanted one of {get_args(Norm)}")
        self.norm = norm
        self.dropout = nn.Dropout(dropout)

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        """Input of a sub-layer."""
        return norm(x) if self.norm == "pre" else x

    def _after(self, x: Tensor, out: Tensor, norm: nn.Module) -> Tensor:
        """Tokens after a sub-layer has answered."""
        x = x + (self.dropout(out) if self.dropout.training else out)
        return x if self.norm == "pre" else norm(x)


class EncoderBlock(_Block):
    """Self-attention, then feed-forward, each with a residual connection and a norm.

    Pre-norm, ``x + f(norm(x))``, leaves the residual path untouched and needs one more norm after
    the last block. Post-norm, ``norm(x + f(x))``, is the original order. With a causal mask this is
    the block of a model that has a decoder only. ``dropout`` acts on weights, hidden channels and
    each sub-layer's output, ``bias`` says whether projections, feed-forward maps and norms add one.

    Source: Vaswani et al. (2017), section 3.1, for post-norm; Xiong et al., On Layer Normalization
    in the Transformer Architecture (2020), for pre-norm.

    Example:
        >>> block = EncoderBlock(8, n_heads=2, d_ff=16)
        >>> out, weights = block(torch.randn(1, 5, 8), return_weights=True)
        >>> out.shape, weights.shape
        (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm: Norm = "pre",
        activation: Activation = "gelu",
        eps: float = 1e-5,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__(dropout, norm)
        self.attention_norm = nn.LayerNorm(d_model, eps=eps, bias=bias)
        self.attention = MultiHeadAttention(
            d_model, n_heads, dropout=dropout, bias=bias, fused=fused
        )
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=eps, bias=bias)
        self.feed_forward = FeedForward(
            d_model, d_ff, activation=activation, dropout=dropout, bias=bias
        )

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: KVCache | None = None,
        head_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens exchange information, then transform each: ``(B, T, D)``.

        Arguments as for :meth:`MultiHeadAttention.forward`; the weights ``(B, H, T, S)`` are those
        before dropout, and S is T and what is cached.
        """
        out = self.attention(
            self._before(x, self.attention_norm),
            mask=mask,
            bias=bias,
            rotate=rotate,
            cache=cache,
            head_mask=head_mask,
            return_weights=return_weights,
        )
        if return_weights:
            out, weights = out
        x = self._after(x, out, self.attention_norm)
        out = self.feed_forward(self._before(x, self.feed_forward_norm))
        x = self._after(x, out, self.feed_forward_norm)
        return (x, weights) if return_weights else x


class DecoderBlock(_Block):
    """Self-attention, attention to a memory, feed-forward, each with a residual and a norm.

    Arguments as for :class:`EncoderBlock`; the memory is ``d_memory`` = M wide, D if None.

    Source: Vaswani et al. (2017), section 3.1 and figure 1.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        d_memory: int | None = None,
        dropout: float = 0.0,
        norm: Norm = "pre",
        activation: Activation = "gelu",
        eps: float = 1e-5,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__(dropout, norm)
        self.attention_norm = nn.LayerNorm(d_model, eps=eps, bias=bias)
        self.attention = MultiHeadAttention(
            d_model, n_heads, dropout=dropout, bias=bias, fused=fused
        )
        self.cross_attention_norm = nn.LayerNorm(d_model, eps=eps, bias=bias)
        self.cross_attention = MultiHeadAttention(
            d_model, n_heads, d_memory=d_memory, dropout=dropout, bias=bias, fused=fused
        )
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=eps, bias=bias)
        self.feed_forward = FeedForward(
            d_model, d_ff, activation=activation, dropout=dropout, bias=bias
        )

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: tuple[KVCache, KVCache] | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Let tokens ``(B, T, D)`` look at each other, then at the memory, then transform each.

        The memory, what the encoder has made of the source, ``(B, S, M)``, may be left out once the
        cache holds it. ``memory_mask`` says who sees what of it, broadcastable to ``(B, H, T, S)``;
        mask, bias and rotations are of the tokens. If asked for, the weights among the tokens
        ``(B, H, T, T')`` and on the memory ``(B, H, T, S)`` follow, both before dropout. Other
        arguments as for :meth:`EncoderBlock.forward`.
        """
        token_cache, memory_cache = cache or (None, None)
        if memory is None and (memory_cache is None or memory_cache.length == 0):
            raise ValueError("got no memory, wanted one or a cache that holds it")
        out = self.attention(
            self._before(x, self.attention_norm),
            mask=mask,
            bias=bias,
            rotate=rotate,
            cache=token_cache,
            return_weights=return_weights,
        )
        if return_weights:
            out, weights = out
        x = self._after(x, out, self.attention_norm)
        out = self.cross_attention(
            self._before(x, self.cross_attention_norm),
            memory,
            mask=memory_mask,
            cache=memory_cache,
            return_weights=return_weights,
        )
        if return_weights:
            out, memory_weights = out
        x = self._after(x, out, self.cross_attention_norm)
        out = self.feed_forward(self._before(x, self.feed_forward_norm))
        x = self._after(x, out, self.feed_forward_norm)
        return (x, weights, memory_weights) if return_weights else x


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode for a while; afterwards each part has its own mode again."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def xavier_init(
    module: nn.Module, *, uniform: bool = False, generator: torch.Generator | None = None
) -> None:
    """Draw all linear weights with variance ``2 / (n_in + n_out)`` and set their biases to 0.

    Norms keep scale 1 and shift 0; other parameters keep what they have. The module is changed in
    place, with all modules inside it.

    Source: Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural
    Networks (2010), equation 16 for the uniform draw.
    """
    draw = nn.init.xavier_uniform_ if uniform else nn.init.xavier_normal_
    for part in module.modules():
        if isinstance(part, nn.Linear):
            draw(part.weight, generator=generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
