"""Claims about masks: what they mean, whom they let look, and the numbers they work with."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import attention_weights, scaled_dot_product_attention
from course_lib.claims.finding import Finding
from course_lib.masks import causal_mask, padding_mask, sliding_window_mask


def _random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask == 0, float("-inf")).softmax(dim=-1)


def one_means_keep_everywhere() -> Finding:
    """The same causal mask in two interfaces of one library."""
    keep = causal_mask(4)
    x = _random(1, 4, 8)
    expected = attention_weights(x, x, keep)
    functional = F.scaled_dot_product_attention(x, x, torch.eye(4)[None], attn_mask=keep)
    module = nn.MultiheadAttention(8, 1, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(8).repeat(3, 1))
        raw = module(x, x, x, attn_mask=keep)[1]
        inverted = module(x, x, x, attn_mask=~keep)[1]
    future = float(raw[0, 0, 1:].sum())
    return Finding(
        holds=torch.allclose(raw, expected, atol=1e-5),
        corrected=torch.allclose(functional, expected, atol=1e-5)
        and torch.allclose(inverted, expected, atol=1e-5),
        evidence="F.scaled_dot_product_attention takes it as it is; nn.MultiheadAttention lets the "
        f"first word put {future:.2f} of its weight on the future, and agrees once it is inverted",
    )


def encoder_needs_no_mask() -> Finding:
    """A sentence alone and in a padded batch, without and with a padding mask."""
    x = _random(1, 3, 8)
    padded = torch.cat([x, torch.zeros(1, 2, 8)], dim=1)
    alone, _ = scaled_dot_product_attention(x, x, x)
    mask = padding_mask(torch.tensor([3]), 5)[:, 0]
    bare, _ = scaled_dot_product_attention(padded, padded, padded)
    masked, _ = scaled_dot_product_attention(padded, padded, padded, mask)
    errors = [float((out[:, :3] - alone).abs().max()) for out in (bare, masked)]
    return Finding(
        holds=errors[0] < 1e-6,
        corrected=errors[0] > 0.01 and errors[1] < 1e-6,
        evidence=f"two padded positions change the sentence by up to {errors[0]:.2f} without a "
        f"mask and by {errors[1]:.1g} with one, although their embeddings are zero",
    )


def adding_is_cleaner() -> Finding:
    """Gradients when minus infinity is added, and when it is filled in."""
    mask, target = causal_mask(4), _random(4, 4)
    additive = torch.zeros(4, 4).masked_fill(~mask, float("-inf"))
    gradients = []
    for apply in (lambda s: s + additive, lambda s: s.masked_fill(~mask, float("-inf"))):
        scores = _random(4, 4).requires_grad_()
        (gradient,) = torch.autograd.grad((apply(scores).softmax(-1) * target).sum(), scores)
        gradients.append(gradient)
    above = [float(gradient[~mask].abs().max()) for gradient in gradients]
    difference = float((gradients[0] - gradients[1]).abs().max())
    return Finding(
        holds=difference > 0 or above[0] < above[1],
        evidence=f"both gradients are {above[0]:.0f} and {above[1]:.0f} above the diagonal and "
        f"differ by {difference:.0f} below it",
    )


def product_of_masks() -> Finding:
    """Multiply a causal mask of ones with a boolean padding mask, padded right and left."""
    real = torch.tensor([4])
    right = padding_mask(real, 6)
    triangle = torch.tril(torch.ones(6, 6))[None, None]
    combined = triangle * right
    same = bool(((combined == 1) == (causal_mask(6) & right)).all())
    empty = [int((~(triangle * side).bool().any(-1)).sum()) for side in (right, right.flip(-1))]
    return Finding(
        holds=same and empty[0] == 0,
        evidence=f"the product is the logical and; with padding on the right {empty[0]} rows are "
        f"empty, with padding on the left {empty[1]} of 6",
    )


def masks_fit_the_module() -> Finding:
    """A (B, 1, 1, S) mask given to a module that inserts another axis."""

    def heads_merged(batch: int, mask: Tensor) -> Tensor:
        q, k, v = _random(3, batch, 2, 3, 4)
        context = _masked(q @ k.transpose(-2, -1) / 2, mask) @ v
        return context.transpose(1, 2).contiguous().view(batch, 3, 8)

    one = padding_mask(torch.tensor([2]), 3)
    difference = float((heads_merged(1, one[:, None]) - heads_merged(1, one)).abs().max())
    try:
        heads_merged(2, padding_mask(torch.tensor([2, 3]), 3)[:, None])
        fits = True
    except RuntimeError:
        fits = False
    return Finding(
        holds=difference < 1e-6 and fits,
        evidence=f"a batch of one runs and is off by up to {difference:.2f}; a batch of two "
        f"{'runs' if fits else 'raises an error'}",
    )


def window_size() -> Finding:
    """Keys that a middle position sees for several window sizes, w // 2 on each side."""
    seen = {w: int(sliding_window_mask(32, radius=w // 2)[16].sum()) for w in (3, 4, 5, 8)}
    edge = int(sliding_window_mask(32, radius=4)[0].sum())
    listed = ", ".join(f"{count} for {w}" for w, count in seen.items())
    return Finding(
        holds=all(count == w for w, count in seen.items()),
        corrected=all(count == 2 * (w // 2) + 1 for w, count in seen.items()),
        evidence=f"a position in the middle sees {listed}; the first one sees {edge} for 8",
    )


def dropped_weights_are_weights() -> Finding:
    """Row sums before and after dropout with probability one half."""
    random = torch.Generator().manual_seed(0)
    weights = torch.randn(3, 6, generator=random).softmax(dim=-1)
    kept = torch.bernoulli(torch.full((3, 6), 0.5), generator=random)
    before, after = weights.sum(dim=-1), (weights * kept / 0.5).sum(dim=-1)
    listed = ", ".join(f"{total:.2f}" for total in after.tolist())
    return Finding(
        holds=torch.allclose(after, torch.ones(3), atol=1e-5),
        corrected=torch.allclose(before, torch.ones(3), atol=1e-5),
        evidence=f"after dropout the rows add up to {listed}, before it to {float(before[0]):.2f}",
    )
