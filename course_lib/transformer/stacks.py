"""Blocks on top of each other: the encoder and the decoder, from vectors to vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from course_lib.attention import KVCache, Rotate
from course_lib.layers import Activation, DecoderBlock, EncoderBlock, Norm
from course_lib.masks import causal_mask

__all__ = ["Decoder", "Encoder", "with_causal_mask"]


class Encoder(nn.Module):
    """A stack of self-attention blocks.

    Source: Vaswani et al. (2017), section 3.1.

    Args:
        d_model: Width D.
        n_heads: Number of heads H, which divides D.
        d_ff: Hidden width of the feed-forward parts.
        n_layers: Number of blocks L.
        dropout: Probability of dropping weights, hidden channels and the output of each part.
        norm: ``"pre"``, with a norm after the last block, or ``"post"``, which needs none.
        activation: ``"relu"`` or ``"gelu"``.
        eps: Added to the variance in the norms.
        bias: Whether projections, feed-forward parts and norms add a bias vector.
        fused: Whether to use the fused attention kernel when no weights are asked for.

    Raises:
        ValueError: If the norm or activation is unknown or ``n_heads`` does not divide D.

    Example:
        >>> encoder = Encoder(8, n_heads=2, d_ff=16, n_layers=3)
        >>> x = torch.randn(1, 5, 8)
        >>> out, weights = encoder(x, return_weights=True)
        >>> out.shape, weights.shape
        (torch.Size([1, 5, 8]), torch.Size([3, 1, 2, 5, 5]))
        >>> torch.allclose(encoder(x.flip(1)), out.flip(1), atol=1e-5)  # it knows no order
        True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        *,
        dropout: float = 0.0,
        norm: Norm = "pre",
        activation: Activation = "gelu",
        eps: float = 1e-5,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(
                d_model, n_heads, d_ff, dropout=dropout, norm=norm, activation=activation, eps=eps,
                bias=bias, fused=fused,
            )
            for _ in range(n_layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(d_model, eps=eps, bias=bias) if norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        caches: Sequence[KVCache] | None = None,
        head_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Run all blocks.

        Args:
            x: Tokens ``(B, T, D)``.
            mask: Boolean, broadcastable to ``(B, H, T, S)``; ``True`` = may attend. S is T and
                what is cached.
            bias: Added to the scaled scores in every block, broadcastable to ``(B, H, T, S)``.
            rotate: Turns queries and keys by their positions in every block.
            caches: One for each block, for a stack that reads with a causal mask.
            head_mask: Factors on the output of each head in each block, ``(L, H)``.
            return_weights: Whether to return the attention weights too.

        Returns:
            Tokens ``(B, T, D)``, and if asked for the weights of all blocks ``(L, B, H, T, S)``.

        Raises:
            ValueError: If the shapes don't fit together, the mask is not boolean, or the number of
                caches or rows of ``head_mask`` is not L.
        """
        check_one_each("caches", caches, len(self.blocks))
        check_one_each("head_mask", head_mask, len(self.blocks))
        maps: list[Tensor] = []
        for layer, block in enumerate(self.blocks):
            x = block(
                x, mask=mask, bias=bias, rotate=rotate,
                cache=None if caches is None else caches[layer],
                head_mask=None if head_mask is None else head_mask[layer],
                return_weights=return_weights,
            )  # fmt: skip
            if return_weights:
                x, weights = x
                maps.append(weights)
        x = self.norm(x)
        return (x, torch.stack(maps)) if return_weights else x


class Decoder(nn.Module):
    """A stack of blocks that look back at their own tokens and at a memory.

    No token sees those after it.

    Source: Vaswani et al. (2017), section 3.1.

    Args:
        d_model: Width D.
        n_heads: Number of heads H, which divides D.
        d_ff: Hidden width of the feed-forward parts.
        n_layers: Number of blocks L.
        d_memory: Width M of the memory; D if not given.
        dropout: Probability of dropping weights, hidden channels and the output of each part.
        norm: ``"pre"``, with a norm after the last block, or ``"post"``, which needs none.
        activation: ``"relu"`` or ``"gelu"``.
        eps: Added to the variance in the norms.
        bias: Whether projections, feed-forward parts and norms add a bias vector.
        fused: Whether to use the fused attention kernel when no weights are asked for.

    Raises:
        ValueError: If the norm or activation is unknown or ``n_heads`` does not divide D.

    Example:
        Step by step, with caches, it gives what it gives at once.

        >>> decoder = Decoder(8, n_heads=2, d_ff=16, n_layers=3)
        >>> x, memory = torch.randn(1, 4, 8), torch.randn(1, 6, 8)
        >>> caches = decoder.make_caches()
        >>> steps = [decoder(x[:, t : t + 1], memory, caches=caches) for t in range(4)]
        >>> torch.allclose(torch.cat(steps, dim=1), decoder(x, memory), atol=1e-5)
        True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
        *,
        d_memory: int | None = None,
        dropout: float = 0.0,
        norm: Norm = "pre",
        activation: Activation = "gelu",
        eps: float = 1e-5,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            DecoderBlock(
                d_model, n_heads, d_ff, d_memory=d_memory, dropout=dropout, norm=norm,
                activation=activation, eps=eps, bias=bias, fused=fused,
            )
            for _ in range(n_layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(d_model, eps=eps, bias=bias) if norm == "pre" else nn.Identity()

    def make_caches(self) -> list[tuple[KVCache, KVCache]]:
        """Empty caches for each block: of its tokens, and of the memory."""
        return [(KVCache(), KVCache(fixed=True)) for _ in self.blocks]

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        caches: Sequence[tuple[KVCache, KVCache]] | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """Run all blocks.

        Args:
            x: Tokens ``(B, T, D)``.
            memory: What the encoder has made of the source, ``(B, S, M)``; not needed any more
                once the caches hold it.
            mask: What no token may see besides those after it: boolean, broadcastable to
                ``(B, H, T, T')``, where T' is T and what is cached; ``True`` = may attend.
            memory_mask: Boolean, broadcastable to ``(B, H, T, S)``.
            caches: Of each block, as :meth:`make_caches` makes them.
            return_weights: Whether to return the attention weights too.

        Returns:
            Tokens ``(B, T, D)``, and if asked for the weights among the tokens
            ``(L, B, H, T, T')`` and on the memory ``(L, B, H, T, S)``.

        Raises:
            ValueError: If the shapes don't fit together, a mask is not boolean, there is no
                memory, or the number of caches is not L.
        """
        check_one_each("caches", caches, len(self.blocks))
        mask = with_causal_mask(x, mask, caches[0][0].length if caches else 0)
        maps, memory_maps = [], []
        for layer, block in enumerate(self.blocks):
            x = block(
                x, memory, mask=mask, memory_mask=memory_mask,
                cache=None if caches is None else caches[layer], return_weights=return_weights,
            )  # fmt: skip
            if return_weights:
                x, weights, memory_weights = x
                maps.append(weights)
                memory_maps.append(memory_weights)
        x = self.norm(x)
        return (x, torch.stack(maps), torch.stack(memory_maps)) if return_weights else x


def with_causal_mask(x: Tensor, mask: Tensor | None, offset: int) -> Tensor | None:
    """Hide from each token those after it, besides what ``mask`` hides.

    Args:
        x: Tokens ``(B, T, D)``, which come after ``offset`` cached ones.
        mask: Boolean, broadcastable to ``(B, H, T, offset + T)``, or None.
        offset: Number of cached tokens.

    Returns:
        Boolean mask ``(..., T, offset + T)``, or None if nothing is hidden.

    Example:
        >>> with_causal_mask(torch.zeros(1, 2, 8), None, offset=1).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
        >>> with_causal_mask(torch.zeros(1, 1, 8), None, offset=2) is None
        True
    """
    T = x.shape[1]
    if T == 1:
        # The last token may see everything, and a mask would only take time.
        return mask
    causal = causal_mask(T, offset + T, device=x.device)
    return causal if mask is None else mask & causal


def check_one_each(name: str, given: Tensor | Sequence[object] | None, n_layers: int) -> None:
    """Refuse a list or tensor that has not one entry for each layer."""
    if given is not None and len(given) != n_layers:
        raise ValueError(f"{name} has {len(given)} entries, wanted one for each of {n_layers}")
