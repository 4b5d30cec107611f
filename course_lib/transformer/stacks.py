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
        norm: ``"pre"``, with a norm after the last block, or ``"post"``, which needs none.
        bias: Whether projections, feed-forward sub-layers and norms add a bias vector.

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
                d_model,
                n_heads,
                d_ff,
                dropout=dropout,
                norm=norm,
                activation=activation,
                eps=eps,
                bias=bias,
                fused=fused,
            )
            for _ in range(n_layers)
        )
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
        """Run all blocks on tokens ``(B, T, D)``.

        Mask, bias and rotation are those of every block. ``caches``: one for each block, for a
        stack that reads with a causal mask; ``head_mask``: factors on each head's output,
        ``(L, H)``. If asked for, the weights ``(L, B, H, T, S)`` follow.
        """
        check_one_each("caches", caches, len(self.blocks))
        check_one_each("head_mask", head_mask, len(self.blocks))
        maps: list[Tensor] = []
        for layer, block in enumerate(self.blocks):
            x = block(
                x,
                mask=mask,
                bias=bias,
                rotate=rotate,
                cache=None if caches is None else caches[layer],
                head_mask=None if head_mask is None else head_mask[layer],
                return_weights=return_weights,
            )
            if return_weights:
                x, weights = x
                maps.append(weights)
        x = self.norm(x)
        return (x, torch.stack(maps)) if return_weights else x


class Decoder(nn.Module):
    """A stack of blocks that look back at their own tokens and at a memory.

    No token sees those after it. Arguments as for :class:`Encoder`; the memory is ``d_memory``
    wide, or D.

    Source: Vaswani et al. (2017), section 3.1.

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
                d_model,
                n_heads,
                d_ff,
                d_memory=d_memory,
                dropout=dropout,
                norm=norm,
                activation=activation,
                eps=eps,
                bias=bias,
                fused=fused,
            )
            for _ in range(n_layers)
        )
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
        """Run all blocks on tokens ``(B, T, D)`` and a memory ``(B, S, M)``, until caches hold it.

        The mask hides more than what comes later, broadcastable to ``(B, H, T, T')``, where T' is T
        and what is cached; ``memory_mask`` is to ``(B, H, T, S)``. ``caches``: of each block, as
        :meth:`make_caches` makes them. If asked for, the weights among the tokens
        ``(L, B, H, T, T')`` and on the memory ``(L, B, H, T, S)`` follow.
        """
        check_one_each("caches", caches, len(self.blocks))
        mask = with_causal_mask(x, mask, caches[0][0].length if caches else 0)
        maps, memory_maps = [], []
        for layer, block in enumerate(self.blocks):
            x = block(
                x,
                memory,
                mask=mask,
                memory_mask=memory_mask,
                cache=None if caches is None else caches[layer],
                return_weights=return_weights,
            )
            if return_weights:
                x, weights, memory_weights = x
                maps.append(weights)
                memory_maps.append(memory_weights)
        x = self.norm(x)
        return (x, torch.stack(maps), torch.stack(memory_maps)) if return_weights else x


def with_causal_mask(x: Tensor, mask: Tensor | None, offset: int) -> Tensor | None:
    """Hide from each of ``(B, T, D)``, after ``offset`` cached tokens, those after it.

    This comes besides what ``mask`` hides: ``(..., T, offset + T)``, or None if nothing is hidden.
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
