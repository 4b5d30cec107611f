"""A language model: self-attention blocks that read with a causal mask, and write."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.attention import KVCache
from course_lib.decoding import Decoded, Method, decode
from course_lib.layers import evaluating
from course_lib.positions.rotary import Rotary
from course_lib.transformer.config import DecoderOnlyConfig
from course_lib.transformer.embedding import PositionedEmbedding
from course_lib.transformer.stacks import Encoder, with_causal_mask


class DecoderOnly(nn.Module):
    """Predict each next token from those before it.

    Source: Radford et al., Language Models are Unsupervised Multitask Learners (2019), section 2.3,
    for the order of the norms and the initial weights.

    Example:
        >>> config = DecoderOnlyConfig(vocab_size=20, d_model=16, n_heads=2, d_ff=32, n_layers=2)
        >>> model = DecoderOnly(config, generator=torch.Generator().manual_seed(0)).eval()
        >>> text = torch.tensor([[3, 1, 4, 1, 5]])
        >>> model(text).shape, model.generate(text, max_len=4).tokens.shape
        (torch.Size([1, 5, 20]), torch.Size([1, 4]))
    """

    def __init__(
        self, config: DecoderOnlyConfig, *, fused: bool = True, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = PositionedEmbedding(
            config.vocab_size,
            config.d_model,
            max_len=config.max_len,
            positions=config.positions,
            dropout=config.dropout,
        )
        self.rotate: Rotary | None = None
        if config.positions == "rotary":
            d_head, base = config.d_model // config.n_heads, config.rotary_base
            self.rotate = Rotary(d_head, base=base, max_len=config.max_len, fused=fused)
        # With a causal mask an encoder is all that is needed: there is no memory to look at.
        self.blocks = Encoder(
            config.d_model,
            config.n_heads,
            config.d_ff,
            config.n_layers,
            dropout=config.dropout,
            norm=config.norm,
            activation=config.activation,
            bias=config.bias,
            fused=fused,
        )
        self.head = (
            None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)
        )
        self._draw_weights(generator)

    def _draw_weights(self, generator: Generator | None) -> None:
        # The residual path adds 2 L parts up; each starts so much smaller.
        small = 0.02 * (2 * self.config.n_layers) ** -0.5
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                std = small if name.endswith("out_proj.weight") else 0.02
                nn.init.normal_(parameter, std=std, generator=generator)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def make_caches(self) -> list[KVCache]:
        """Empty caches for each block."""
        return [KVCache() for _ in self.blocks.blocks]

    def forward(
        self,
        tokens: Tensor,
        *,
        mask: Tensor | None = None,
        caches: Sequence[KVCache] | None = None,
        head_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits ``(B, T, V)`` of what comes after each token.

        Args:
            tokens: Integers ``(B, T)``; with caches those that follow what is cached.
            mask: Boolean, ``True`` = may attend, besides the causal mask; broadcastable to
                ``(B, H, T, S)``, where S is T and what is cached. Learned and sinusoidal positions
                are counted from the first column, so there texts are padded on the right; rotary
                ones and none leave the side open.
            caches: Of each block, as :meth:`make_caches` makes them.
            head_mask: Factors on the output of each head in each block, ``(L, H)``.
            return_weights: Whether to return the attention weights ``(L, B, H, T, S)``, too.
        """
        out = self._read(tokens, mask, caches, head_mask=head_mask, return_weights=return_weights)
        return (self._logits(out[0]), out[1]) if return_weights else self._logits(out)

    def _read(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        caches: Sequence[KVCache] | None = None,
        **options: Any,
    ) -> Any:
        offset = caches[0].length if caches else 0
        x = self.embedding(tokens, offset=offset)
        mask = with_causal_mask(x, mask, offset)
        return self.blocks(x, mask=mask, rotate=self.rotate, caches=caches, **options)

    def _logits(self, x: Tensor) -> Tensor:
        return self.embedding.logits(x) if self.head is None else self.head(x)

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean cross-entropy, a scalar, of each token of ``(B, T + 1)`` given those before it."""
        if tokens.ndim != 2 or tokens[:, 1:].numel() == 0:
            raise ValueError(
                f"tokens have shape {tuple(tokens.shape)}, wanted (B, T + 1) with T at least 1"
            )
        logits = self(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        *,
        max_len: int,
        method: Method = "greedy",
        end: int | None = None,
        pad: int | None = None,
        cached: bool = True,
        **options: Any,
    ) -> Decoded[Any]:
        """Continue a text: the new tokens ``(B, T')``, from a beam ``(B, K, T')``.

        Args:
            tokens: Integers ``(B, T)``, T at least 1; all texts are equally long.
            end, pad: Token that ends a text, if any does; what to write after it, ``end`` if None.
            cached: Whether to keep keys and values. Without, the whole text is read again for each
                new token; the result is the same.
            method, options: As in :func:`course_lib.decoding.decode`.
        """
        if tokens.ndim != 2 or tokens.shape[1] < 1:
            raise ValueError(f"tokens have shape {tuple(tokens.shape)}, wanted (B, T) with T > 0")
        common = {"method": method, "max_len": max_len, "end": end, "pad": pad, **options}
        with evaluating(self):
            if cached:
                return self._continue_cached(tokens, common)
            return self._continue_anew(tokens, common)

    def _continue_cached(self, prompt: Tensor, options: dict[str, Any]) -> Decoded[Any]:
        def step(tokens: Tensor, caches: list[KVCache]) -> tuple[Tensor, list[KVCache]]:
            # The first call reads all of the text, of which ``tokens`` is the end.
            new = tokens[:, None] if caches[0].length else prompt
            x = self._read(new, caches=caches)
            return self._logits(x[:, -1]).log_softmax(-1), caches

        def reorder(caches: list[KVCache], indices: Tensor) -> list[KVCache]:
            return [cache.reorder(indices) for cache in caches]

        return decode(step, prompt[:, -1], self.make_caches(), reorder=reorder, **options)

    def _continue_anew(self, prompt: Tensor, options: dict[str, Any]) -> Decoded[Any]:
        def step(tokens: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
            text = torch.cat([before, tokens[:, None]], dim=1)
            return self._logits(self._read(text)[:, -1]).log_softmax(-1), text

        def reorder(before: Tensor, indices: Tensor) -> Tensor:
            return before[indices]

        return decode(step, prompt[:, -1], prompt[:, :-1], reorder=reorder, **options)
