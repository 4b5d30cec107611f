"""Linformer: attend to a few learned mixtures of the keys instead of to the keys themselves."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import (
    attention_weights,
    check_attention,
    check_dropout,
    check_heads,
    fused_attention,
    merge_heads,
    split_heads,
)
from course_lib.efficient.keys import expand_key_mask


def linformer_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mix_keys: Tensor,
    mix_values: Tensor,
    key_mask: Tensor | None = None,
    *,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Attend to mixtures of the keys: ``softmax(q (E k)^T / sqrt(Dh)) (F v)``.

    The weights belong to mixtures, each of which holds a bit of every key. So nothing can be
    hidden after the mixing, neither padding nor the future: padding is hidden by mixing zeros in
    its place, and a causal Linformer does not exist. Returns the output ``(B, H, T, Dv)``, 0 where
    no key may be seen, and the weights of the mixtures before dropout, ``(B, H, T, rank)``.

    Source: Wang et al., Linformer: Self-Attention with Linear Complexity (2020), equation 7.

    Args:
        q, k, v: ``(B, H, T or S, Dh)``; keys and values also ``(B, 1, S, Dh)`` for all heads.
        mix_keys, mix_values: The paper's E and F, ``(rank, length)`` with ``length >= S``; of a
            shorter sequence the first S columns count.

    Example:
        With as many mixtures as keys, each of them one key, it is attention as ever.

        >>> from course_lib.attention import scaled_dot_product_attention
        >>> q, k, v = torch.randn(3, 1, 2, 6, 4, generator=torch.Generator().manual_seed(0))
        >>> out, weights = linformer_attention(q, k, v, torch.eye(6), torch.eye(6))
        >>> torch.allclose(out, scaled_dot_product_attention(q, k, v)[0], atol=1e-6)
        True
    """
    # One head of keys and values may stand for all.
    all_k, all_v = (
        x.expand(-1, q.shape[1], -1, -1) if q.ndim == x.ndim == 4 and x.shape[1] == 1 else x
        for x in (k, v)
    )
    check_attention(q, all_k, all_v, n_axes=4, mix_keys=mix_keys, mix_values=mix_values)
    S = k.shape[-2]
    for name, mix in (("mix_keys", mix_keys), ("mix_values", mix_values)):
        _check_length(name, S, mix.shape[-1])
    if key_mask is not None:
        keep = expand_key_mask(key_mask, len(q), S, q.device)
        k, v = k.masked_fill(~keep, 0.0), v.masked_fill(~keep, 0.0)
    heads = (-1, q.shape[1], -1, -1)
    mixed_k = (mix_keys[:, :S].to(k.dtype) @ k).expand(heads)
    mixed_v = (mix_values[:, :S].to(v.dtype) @ v).expand(heads)
    weights = attention_weights(q, mixed_k)
    return F.dropout(weights, dropout) @ mixed_v, weights


class LinformerAttention(nn.Module):
    """Self- or cross-attention whose cost grows with T times rank.

    The mixtures cost ``2 * rank * length`` weights. The fast path mixes the tokens before they
    become keys and values, which gives the same for less work.

    Source: Wang et al. (2020), section 4; the options ``share_kv`` and ``one_kv_head`` and the
    initialisation follow the package ``linformer``.

    Args:
        length: Longest sequence of keys there can be; shorter ones use the first columns.
        rank: Number of mixtures.
        share_projection: Whether keys and values are mixed alike, ``E = F``.
        share_kv: Whether the values are the keys; implies ``share_projection``.
        one_kv_head: Whether all heads search the same keys and values, of width Dh.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        length: int,
        rank: int,
        *,
        share_projection: bool = False,
        share_kv: bool = False,
        one_kv_head: bool = False,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        if length < 1 or rank < 1:
            raise ValueError(f"length is {length} and rank {rank}, wanted at least 1 of each")
        check_dropout(dropout)
        self.d_model, self.n_heads, self.length, self.rank = d_model, n_heads, length, rank
        self.kv_heads = 1 if one_kv_head else n_heads
        self.dropout = dropout
        self.fused = fused
        d_kv = self.kv_heads * (d_model // n_heads)
        # Without a bias a token that is masked to 0 gives a key and a value of 0.
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_kv, bias=False)
        self.v_proj = None if share_kv else nn.Linear(d_model, d_kv, bias=False)
        self.out_proj = nn.Linear(d_model, d_model)
        self.mix_keys = _mixtures(rank, length)
        self.mix_values = None if share_projection or share_kv else _mixtures(rank, length)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        key_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from x ``(B, T, D)`` to mixtures of the memory, S being at most ``length``.

        The weights are ``(B, H, T, rank)``.
        """
        memory = x if memory is None else memory
        for name, tokens in (("x", x), ("memory", memory)):
            if tokens.ndim != 3 or tokens.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} has shape {tuple(tokens.shape)}, wanted (B, length, {self.d_model})"
                )
        _check_length("memory", memory.shape[1], self.length)
        q = split_heads(self.q_proj(x), self.n_heads)
        dropout = self.dropout if self.training else 0.0
        if self.fused and not return_weights:
            mixed_k, mixed_v = self._mix_tokens(memory, key_mask)
            heads = fused_attention(q, mixed_k, mixed_v, dropout=dropout)
            return self.out_proj(merge_heads(heads))
        k = split_heads(self.k_proj(memory), self.kv_heads)
        v = k if self.v_proj is None else split_heads(self.v_proj(memory), self.kv_heads)
        mix_values = self.mix_keys if self.mix_values is None else self.mix_values
        heads, weights = linformer_attention(
            q, k, v, self.mix_keys, mix_values, key_mask, dropout=dropout
        )
        out = self.out_proj(merge_heads(heads))
        return (out, weights) if return_weights else out

    def _mix_tokens(self, memory: Tensor, key_mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Mixed keys and values ``(B, H, rank, Dh)``; ``E (x W) = (E x) W``, and rank << S."""
        S = memory.shape[1]
        if key_mask is not None:
            memory = memory.masked_fill(~expand_key_mask(key_mask, len(memory), S).squeeze(1), 0.0)
        mix = self.mix_keys[:, :S]
        if self.mix_values is not None:
            mix = torch.cat([mix, self.mix_values[:, :S]])
        mixed = torch.bmm(mix.expand(len(memory), -1, -1), memory)
        for_keys, for_values = mixed[:, : self.rank], mixed[:, -self.rank :]
        k = split_heads(self.k_proj(for_keys), self.kv_heads)
        v = k if self.v_proj is None else split_heads(self.v_proj(for_values), self.kv_heads)
        heads = (-1, self.n_heads, -1, -1)
        return k.expand(heads), v.expand(heads)


def _mixtures(rank: int, length: int) -> nn.Parameter:
    bound = rank**-0.5
    return nn.Parameter(torch.empty(rank, length).uniform_(-bound, bound))


def _check_length(name: str, S: int, length: int) -> None:
    if S > length:
        raise ValueError(f"{name}: there are {S} keys, wanted at most {length}, what is mixed")
