"""Scaled dot-product attention and its multi-head form.

Every function exists on an explicit path, which follows the formula line by line and returns the
weights, and on a fused path, which computes the same output faster and keeps no weights.
"""

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.masks import check_bias, check_mask, masked_softmax

# ``rotate(q, k, offset)`` turns queries ``(B, H, T, Dh)`` and keys ``(B, H, S, Dh)`` by their
# positions, which begin at ``offset``, and returns both.
Rotate = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Average the values by query-key similarity: ``softmax(q k^T / sqrt(Dh) + bias) v``.

    Returns the output ``(..., T, Dv)`` and the weights ``(..., T, S)``. A query that may attend to
    nothing gets the output 0, weights 0 and a zero gradient.

    Source: Vaswani et al., Attention Is All You Need (2017), equation 1.

    Args:
        q, k, v: ``(..., T, Dh)``, ``(..., S, Dh)`` and ``(..., S, Dv)``.
        mask: Boolean, broadcastable to ``(..., T, S)``; ``True`` = may attend.
        bias: Added to the scaled scores, broadcastable to ``(..., T, S)``.
        scale: Factor on ``q k^T``; ``1 / sqrt(Dh)`` if not given.

    Example:
        A query equal to one of two orthogonal keys picks that key's value; the larger the scale,
        the closer it comes to a dictionary.

        >>> q = torch.tensor([[1.0, 0.0]])
        >>> k = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> v = torch.tensor([[10.0], [20.0]])
        >>> scaled_dot_product_attention(q, k, v)
        (tensor([[13.3024]]), tensor([[0.6698, 0.3302]]))
        >>> scaled_dot_product_attention(q, k, v, scale=5.0)[0]
        tensor([[10.0669]])
    """
    check_attention(q, k, v)
    weights = attention_weights(q, k, mask, bias, scale=scale)
    return weights @ v, weights


def attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
) -> Tensor:
    """Weights of each query on each key: ``softmax(q k^T / sqrt(Dh) + bias)``, ``(..., T, S)``.

    Arguments as for :func:`scaled_dot_product_attention`.
    """
    check_attention(q, k)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    # Scaling q before the product, not the product after it, spares half precision an overflow.
    scores = (q * scale) @ k.transpose(-2, -1)
    if bias is not None:
        check_bias(bias, scores.shape, scores.device)
        scores = scores + bias.to(scores.dtype)
    return masked_softmax(scores, mask)


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Compute :func:`scaled_dot_product_attention` in one fused kernel, without the weights.

    On this path the mask does not hide a NaN in a key, nor a score of infinity: torch's kernel adds
    the mask to all scores, so that a query which may not see this key gets NaN as well. And on a
    CPU the kernel takes a row of NaN for an empty one and gives 0. Arguments as for
    :func:`scaled_dot_product_attention`; the dropout is always applied: pass 0 for evaluation.
    """
    check_attention(q, k, v)
    attn_mask = None if mask is None and bias is None else _join(q, k, mask, bias)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=attn_mask, dropout_p=dropout, scale=scale
    )


def _join(q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
    """Join what may be seen and what is added, as the kernel takes one tensor for both."""
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is not None:
        check_mask(mask, shape, q.device)
    if bias is not None:
        check_bias(bias, shape, q.device)
        bias = bias.to(q.dtype)
        if mask is not None:
            bias = bias.expand(shape).masked_fill(~mask, float("-inf"))
    joined = mask if bias is None else bias
    assert joined is not None
    # The kernel knows no mask of fewer than 2 dimensions.
    return joined.expand(shape) if joined.ndim < 2 else joined


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the model width into heads: ``(B, T, D)`` to ``(B, H, T, Dh)``.

    Example:
        Head 0 holds the first Dh channels of each token. A ``reshape`` without the transpose has
        the right shape too, but mixes up tokens and channels.

        >>> x = torch.arange(8).reshape(1, 2, 4)
        >>> split_heads(x, n_heads=2)[0, 0].tolist(), x.reshape(1, 2, 2, 2)[0, 0].tolist()
        ([[0, 1], [4, 5]], [[0, 1], [2, 3]])
    """
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, D)")
    if n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"n_heads is {n_heads}, wanted a divisor of the width {x.shape[-1]}")
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads side by side again: ``(B, H, T, Dh)`` to ``(B, T, D)``."""
    if x.ndim != 4:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, H, T, Dh)")
    return x.transpose(1, 2).flatten(-2)


class KVCache:
    """Keys and values that one attention layer has computed and need not compute again.

    In self-attention the cache grows: a call with T new tokens appends theirs, and the queries see
    old keys and new. They are the *last* T positions then, so that a causal mask has to be aligned
    at the bottom right, as :func:`course_lib.masks.causal_mask` does. In cross-attention the cache
    is ``fixed``: the first call projects the memory, later calls find it.

    Keys are kept as they enter the scores, that is, rotated if the layer rotates them.

    Example:
        >>> attend, cache = MultiHeadAttention(8, n_heads=2), KVCache()
        >>> x = torch.randn(1, 5, 8)
        >>> outs = [attend(x[:, t : t + 1], cache=cache) for t in range(5)]
        >>> cache.length, torch.allclose(outs[-1], attend(x)[:, -1:], atol=1e-6)
        (5, True)
    """

    def __init__(self, *, fixed: bool = False) -> None:
        self.fixed = fixed
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def length(self) -> int:
        """Number of keys S that are cached."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Take in keys and values ``(B, H, T, Dh)``; returns all of them, ``(B, H, S, Dh)``."""
        if self.keys is not None and self.values is not None:
            if self.fixed:
                raise ValueError("the cache is fixed and holds a memory; make a new one")
            if self.keys[..., :0, :].shape != keys[..., :0, :].shape:
                raise ValueError(
                    f"keys have shape {tuple(keys.shape)}, wanted {tuple(self.keys.shape)} but "
                    "for the length, as in the cache"
                )
            if (keys.dtype, keys.device) != (self.keys.dtype, self.keys.device):
                raise ValueError(
                    f"keys are {keys.dtype} on {keys.device}, wanted {self.keys.dtype} on "
                    f"{self.keys.device}, as in the cache"
                )
            keys = torch.cat([self.keys, keys], dim=-2)
            values = torch.cat([self.values, values], dim=-2)
        self.keys, self.values = keys, values
        return keys, values

    def reorder(self, indices: Tensor) -> "KVCache":
        """A new cache whose sequence n continues ``indices[n]``, as a beam search wants it."""
        other = KVCache(fixed=self.fixed)
        if self.keys is not None and self.values is not None:
            other.keys, other.values = self.keys[indices], self.values[indices]
        return other


class MultiHeadAttention(nn.Module):
    """Attention in H subspaces at once, for one sequence or between two.

    Called as ``attend(x)`` it is self-attention, as ``attend(x, memory)`` cross-attention; the
    three can be given separately as ``attend(q, k, v)``. ``d_memory`` is the width M of k and v, D
    if not given.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.2.

    Example:
        The four projections cost 4 D^2 weights, however many heads share them.

        >>> sum(p.numel() for p in MultiHeadAttention(512, n_heads=8, bias=False).parameters())
        1048576
        >>> x, memory = torch.zeros(1, 3, 8), torch.zeros(1, 5, 8)
        >>> MultiHeadAttention(8, n_heads=2)(x, memory, return_weights=True)[1].shape
        torch.Size([1, 2, 3, 5])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_memory: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        check_dropout(dropout)
        self.d_model = d_model
        self.d_memory = d_model if d_memory is None else d_memory
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.dropout = dropout
        self.fused = fused
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(self.d_memory, d_model, bias=bias)
        self.v_proj = nn.Linear(self.d_memory, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        q: Tensor,
        k: Tensor | None = None,
        v: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: KVCache | None = None,
        head_mask: Tensor | None = None,
        return_weights: bool = False,
        return_heads: bool = False,
    ) -> Tensor | tuple[Tensor, ...]:
        """Attend from q ``(B, T, D)`` to k and v ``(B, S, M)``: ``(B, T, D)``.

        If asked for, the weights ``(B, H, T, S)`` follow as they were before dropout, so that their
        rows sum to 1 in training too, and the heads ``(B, H, T, Dh)`` as they enter the last
        projection.

        Args:
            k, v: What is searched and what is returned; q and k if not given.
            mask, bias: As for :func:`scaled_dot_product_attention`, scores being ``(B, H, T, S)``.
            rotate: Turns projected queries and keys; its offset is the number of cached keys.
            cache: Keys and values of earlier calls, to which this one adds its own; S counts both.
                A fixed one holds a memory: the call that gives k fills it, later ones find it.
            head_mask: Factors on the output of each head, ``(H,)`` or ``(B, H)``; 0 silences it.
        """
        _check_tokens("q", q, self.d_model)
        q_heads = self._split(self.q_proj(q))
        if cache is not None:
            _check_cache(cache, k, rotate)
        if (
            cache is not None
            and cache.keys is not None
            and cache.values is not None
            and cache.fixed
        ):
            k_heads, v_heads = cache.keys, cache.values
        else:
            k = q if k is None else k
            v = k if v is None else v
            if k is not q or self.d_memory != self.d_model:
                _check_tokens("k", k, self.d_memory)
            if v is not k:
                _check_tokens("v", v, self.d_memory)
            k_heads = self._split(self.k_proj(k))
            v_heads = self._split(self.v_proj(v))
            if rotate is not None:
                q_heads, k_heads = rotate(q_heads, k_heads, 0 if cache is None else cache.length)
            if cache is not None:
                check_attention(q_heads, k_heads, v_heads)
                k_heads, v_heads = cache.append(k_heads, v_heads)
        dropout = self.dropout if self.training else 0.0
        results: tuple[Tensor, ...] = ()
        if self.fused and not return_weights:
            heads = fused_attention(q_heads, k_heads, v_heads, mask, bias, dropout=dropout)
        else:
            check_attention(q_heads, k_heads, v_heads)
            weights = attention_weights(q_heads, k_heads, mask, bias)
            heads = F.dropout(weights, dropout) @ v_heads
            results = (weights,) if return_weights else ()
        if head_mask is not None:
            _check_head_mask(head_mask, *heads.shape[:2])
            heads = heads * head_mask[..., None, None].to(heads.dtype)
        out = self.out_proj(merge_heads(heads))
        if return_heads:
            results = (*results, heads)
        return (out, *results) if results else out

    def _split(self, x: Tensor) -> Tensor:
        # As split_heads, without looking again at what has been checked.
        return x.reshape(x.shape[0], x.shape[1], self.n_heads, self.d_head).transpose(1, 2)

    def prune_heads(self, heads: Iterable[int]) -> None:
        """Take heads out for good: the same output as a 0 in the head mask, for less work.

        The rest keep their order and are renumbered. The last projection keeps its bias.

        Source: Michel et al., Are Sixteen Heads Really Better than One? (2019).
        """
        heads = set(heads)
        if not heads < set(range(self.n_heads)):
            raise ValueError(
                f"heads are {sorted(heads)}, wanted some but not all of 0..{self.n_heads - 1}"
            )
        keep = [h for h in range(self.n_heads) if h not in heads]
        channels = torch.arange(self.n_heads * self.d_head).unflatten(0, (self.n_heads, -1))
        index = channels[keep].flatten().to(self.q_proj.weight.device)
        for part in (self.q_proj, self.k_proj, self.v_proj):
            _replace(part, "weight", part.weight[index])
            if part.bias is not None:
                _replace(part, "bias", part.bias[index])
            part.out_features = len(index)
        _replace(self.out_proj, "weight", self.out_proj.weight[:, index])
        self.out_proj.in_features = len(index)
        self.n_heads = len(keep)


def _replace(part: nn.Module, name: str, value: Tensor) -> None:
    old = getattr(part, name)
    setattr(part, name, nn.Parameter(value.detach().clone(), requires_grad=old.requires_grad))


def _check_tokens(name: str, x: Tensor, width: int) -> None:
    if x.ndim != 3 or x.shape[-1] != width:
        raise ValueError(f"{name} has shape {tuple(x.shape)}, wanted (B, length, {width})")


def _check_cache(cache: KVCache, k: Tensor | None, rotate: Rotate | None) -> None:
    if not cache.fixed and k is not None:
        raise ValueError("got k and a cache that grows, wanted KVCache(fixed=True) for a memory")
    if cache.fixed and k is None and cache.keys is None:
        raise ValueError("got an empty cache for a memory and no k, wanted k to fill it with")
    if cache.fixed and rotate is not None:
        raise ValueError("got rotate and a fixed cache; a memory has no position beside a query's")


def _check_head_mask(head_mask: Tensor, B: int, H: int) -> None:
    if tuple(head_mask.shape) not in ((H,), (B, H)):
        raise ValueError(
            f"head_mask has shape {tuple(head_mask.shape)}, wanted ({H},) or ({B}, {H})"
        )


def check_heads(d_model: int, n_heads: int) -> None:
    """Refuse a number of heads that does not divide the width."""
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"n_heads is {n_heads}, wanted a divisor of d_model {d_model}")


def check_dropout(dropout: float) -> None:
    """Refuse what is no probability in [0, 1)."""
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}, wanted a probability in [0, 1)")


def check_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor | None = None,
    *,
    n_axes: int | None = None,
    aligned: bool = False,
    **others: Tensor,
) -> None:
    """Refuse queries, keys and values that do not fit together.

    They are ``(..., T, Dh)``, ``(..., S, Dh)`` and ``(..., S, Dv)``. ``n_axes``: how many
    dimensions each must have; 2 or more if not given; ``aligned``: whether T = S; ``others``: what
    else they are multiplied with. Under autocast the precision may differ.
    """
    queries, keys, third = q.shape, k.shape, k if v is None else v
    lead, S = "..." if n_axes is None else "B, H", "T" if aligned else "S"
    if (
        (len(queries) < 2 if n_axes is None else len(queries) != n_axes)
        or len(keys) != len(queries)
        or keys[-1] < 1
        or (queries != keys and (aligned or queries != (*keys[:-2], queries[-2], keys[-1])))
    ):
        raise ValueError(
            f"q has shape {tuple(queries)} and k {tuple(keys)}, wanted ({lead}, T, Dh) and "
            f"({lead}, {S}, Dh) with the same leading sizes and the same Dh, at least 1"
        )
    if third.shape != keys and third.shape[:-1] != keys[:-1]:
        raise ValueError(
            f"k has shape {tuple(keys)} and v {tuple(third.shape)}, wanted ({lead}, {S}, Dh) and "
            f"({lead}, {S}, Dv): one value for each key"
        )
    dtype, device = q.dtype, q.device
    if not (k.dtype == third.dtype == dtype and dtype.is_floating_point) and not (
        torch.is_autocast_enabled(device.type) and all(x.is_floating_point() for x in (q, k, third))
    ):
        raise ValueError(f"{_listed(q, k, v, 'dtype')}, wanted the same floating-point one of all")
    if k.device != device or third.device != device:
        raise ValueError(f"{_listed(q, k, v, 'device')}, wanted the same of all")
    for name, other in others.items():
        if other.device != device or not other.is_floating_point():
            raise ValueError(
                f"{name} has dtype {other.dtype} on {other.device}, wanted a floating-point one "
                f"on {device}, where q is"
            )


def _listed(q: Tensor, k: Tensor, v: Tensor | None, kind: str) -> str:
    """Description of the arguments, such as ``q has dtype torch.float32 and k torch.int64``."""
    text = f"q has {kind} {getattr(q, kind)}"
    if v is None:
        return f"{text} and k {getattr(k, kind)}"
    return f"{text}, k {getattr(k, kind)} and v {getattr(v, kind)}"
