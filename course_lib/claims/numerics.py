"""Claims about the numbers that masks and softmax work with."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.claims.finding import Finding

_SCORES = torch.tensor([[1.0, 2.0, 3.0, 0.5], [1.0, 2.0, 3.0, 0.5]])
# The first query may see two keys, the second one none.
_MASK = torch.tensor([[True, True, False, False], [False] * 4])


def _filled(number: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return _SCORES.to(dtype).masked_fill(~_MASK, number).softmax(dim=-1)


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


def implementations_agree() -> Finding:
    """A query that may attend to nothing, in five calls that agree on all other queries."""
    x = torch.randn(1, 2, 4, generator=torch.Generator().manual_seed(0))
    additive = torch.zeros(2, 2)
    additive[1] = float("-inf")
    module = nn.MultiheadAttention(4, 1, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(4))
        outputs = {
            "by hand": (x @ x.transpose(1, 2) / 2 + additive).softmax(dim=-1) @ x,
            "from torch's kernel": F.scaled_dot_product_attention(x, x, x, attn_mask=additive),
            "from the module with weights": module(x, x, x, attn_mask=additive)[0],
        }
    bare = module(x, x, x, attn_mask=additive, need_weights=False)[0]
    outputs["from the module without"] = bare.detach()
    first = outputs["by hand"][0, 0]
    apart = max(float((out[0, 0] - first).abs().max()) for out in outputs.values())
    said = {
        name: "NaN" if out[0, 1].isnan().all() else f"{float(out[0, 1].abs().max()):.0f}"
        for name, out in outputs.items()
    }
    return Finding(
        holds=apart < 1e-5 and len(set(said.values())) == 1,
        corrected=apart < 1e-5 and set(said.values()) == {"NaN", "0"},
        evidence=f"the query that sees something gets the same up to {apart:.0e}; the other gets "
        + ", ".join(f"{what} {name}" for name, what in said.items()),
    )


def added_numbers_mask() -> Finding:
    """Add -1e9 to a row with a visible key and to a whole row, in float32 and in float64."""
    found = {}
    for dtype in (torch.float32, torch.float64):
        scores = _SCORES.to(dtype)
        weights = (scores - 1e9 * (~_MASK).to(dtype)).softmax(dim=-1)
        unmasked = float((weights[1] - scores[1].softmax(dim=-1)).abs().max())
        found[dtype] = (float(weights[0, 2:].max()), unmasked, float(weights[1].max()))
    single, double = found[torch.float32], found[torch.float64]
    beside = max(single[0], double[0])
    return Finding(
        holds=beside == 0 and min(single[1], double[1]) > 1e-3,
        corrected=beside == 0 and single[2] == 0.25 and double[1] < 1e-6,
        evidence=f"masked keys beside a visible one get {beside:.0f}; on a row without any, the "
        f"weights in float64 are those without a mask up to {double[1]:.0e}, and the largest of "
        f"the four in float32 is {single[2]:.2f}",
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
