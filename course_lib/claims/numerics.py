"""Claims about the numbers that masks and softmax work with."""

import torch
from torch import Tensor

from course_lib.claims.finding import Finding

_SCORES = torch.tensor([[1.0, 2.0, 3.0, 0.5], [1.0, 2.0, 3.0, 0.5]])
# The first query may see two keys, the second one none.
_MASK = torch.tensor([[True, True, False, False], [False] * 4])


def _filled(number: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return _SCORES.to(dtype).masked_fill(~_MASK, number).softmax(dim=-1)


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


def large_number_masks_in_16_bits() -> Finding:
    """Fill in -1e9 in both formats of 16 bits."""
    said = {}
    for dtype in (torch.bfloat16, torch.float16):
        try:
            left = float(_filled(-1e9, dtype)[0, 2:].max())
            said[dtype] = "hides its keys" if left == 0 else f"leaves them {left:.2f}"
        except RuntimeError:
            said[dtype] = "is refused"
    half, brain = said[torch.float16], said[torch.bfloat16]
    return Finding(
        holds=half == brain == "hides its keys",
        corrected=brain == "hides its keys" and half == "is refused",
        evidence=f"-1e9 {brain} in bfloat16 and {half} in float16, whose numbers end at "
        f"{torch.finfo(torch.float16).max:,.0f}",
    )
