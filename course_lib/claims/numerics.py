"""Claims about the numbers that masks and softmax work with."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.claims.finding import Finding
from course_lib.masks import masked_softmax

__all__ = [
    "clamping_prevents_overflow",
    "dropped_weights_are_weights",
    "infinity_gives_zero",
    "large_number_masks",
    "padding_gets_zero",
]

_SCORES = torch.tensor([[1.0, 2.0, 3.0, 0.5], [1.0, 2.0, 3.0, 0.5]])
# The first query may see two keys, the second one none.
_MASK = torch.tensor([[True, True, False, False], [False] * 4])


def _filled(number: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return _SCORES.to(dtype).masked_fill(~_MASK, number).softmax(dim=-1)


def padding_gets_zero() -> Finding:
    """A row with some padding and a row of nothing but padding."""
    weights = _filled(float("-inf"))
    partly, fully = float(weights[0, 2:].abs().max()), bool(weights[1].isnan().all())
    ours = float(masked_softmax(_SCORES, _MASK)[1].abs().max())
    return Finding(
        holds=partly == 0 and not fully,
        corrected=partly == 0 and fully and ours == 0,
        evidence=f"padded keys get {partly:.0f} beside real ones; a row of padding becomes "
        f"{'NaN' if fully else 'finite'}, and {ours:.0f} with the course's softmax",
    )


def infinity_gives_zero() -> Finding:
    """A query that may attend to nothing, by hand and in torch's kernel."""
    by_hand = _filled(float("-inf"))[1]
    q, v = torch.zeros(2, 4), torch.ones(4, 4)
    kernel = F.scaled_dot_product_attention(q, torch.ones(4, 4), v, attn_mask=_MASK)[1]
    partly = float(_filled(float("-inf"))[0, 2:].abs().max())
    return Finding(
        holds=not bool(by_hand.isnan().any()),
        corrected=partly == 0 and bool(by_hand.isnan().all()) and bool((kernel == 0).all()),
        evidence=f"exactly {partly:.0f} where a query sees another key; where it sees none, "
        f"{int(by_hand.isnan().sum())} of 4 weights are NaN by hand, and torch's kernel puts out 0",
    )


def large_number_masks() -> Finding:
    """Fill in -1e9: a partly masked row, a fully masked one, half precision."""
    weights = _filled(-1e9)
    partly, fully = float(weights[0, 2:].max()), float(weights[1].max())
    try:
        _filled(-1e9, torch.float16)
        half = "runs"
    except RuntimeError:
        half = "raises an error"
    return Finding(
        holds=partly == 0 and fully == 0 and half == "runs",
        corrected=partly == 0,
        evidence=f"masked keys get {partly:.0f} beside others, but {fully:.2f} each where all four "
        f"are masked, and half precision {half}",
    )


def clamping_prevents_overflow() -> Finding:
    """Softmax of huge scores, without and with the clamp at 1e4."""
    huge = torch.tensor([2e4, 1.5e4, 0.0])
    plain, clamped = huge.softmax(dim=-1), huge.clamp(min=-1e9, max=1e4).softmax(dim=-1)
    naive = huge.clamp(max=1e4).exp()
    overflows = bool(torch.tensor([1e30, 0.0]).softmax(dim=-1).isnan().any())
    unchanged = bool((plain == clamped).all())
    listed = " and ".join(str([round(x, 2) for x in row.tolist()]) for row in (plain, clamped))
    return Finding(
        holds=overflows and bool(naive.isfinite().all()) and unchanged,
        evidence=f"softmax of [20000, 15000, 0] without and with the clamp: {listed}; a score of "
        f"1e30 {'overflows' if overflows else 'does not overflow'} without it, and exp(1e4) is "
        f"{float(naive[0])}",
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
