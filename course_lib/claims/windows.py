"""Claims about attention in windows and about groups of heads."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import attention_weights
from course_lib.claims.finding import Finding
from course_lib.favit import (
    Operator,
    favit,
    informative_keys,
)
from course_lib.informer import ProbSparse, SparseRules
from course_lib.swin import (
    Swin,
    SwinBlock,
    SwinConfig,
)


def windows_move_by_half() -> Finding:
    """By how much the blocks of a Swin move their windows of 7, stage by stage."""
    with torch.device("meta"):
        model = Swin(SwinConfig(d_model=8, n_heads=(1, 1, 1, 1)))
    shifts: list[list[int]] = [[] for _ in model.stages]
    for stage, moved in zip(model.stages, shifts, strict=True):
        blocks = [part for part in stage.modules() if isinstance(part, SwinBlock)]
        moved += [max(block.layout.shift) for block in blocks]
    return Finding(
        holds=all(moved == [0, 7 // 2] * (len(moved) // 2) for moved in shifts[:-1]),
        evidence=f"shifts, stage by stage: {shifts}; on the last map, of 7 x 7, nothing moves",
    )


def windows_are_convolutions() -> Finding:
    """Move a picture, and see whether what layers make of it moves along."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 16, 16, 8, generator=generator).double()
    kernel = torch.randn(8, 8, 3, 3, generator=generator).double()

    def convolve(grid: Tensor) -> Tensor:
        ring = F.pad(grid.permute(0, 3, 1, 2), (1, 1, 1, 1), mode="circular")
        return torch.conv2d(ring, kernel).permute(0, 2, 3, 1)

    convolution = float((convolve(x.roll(1, 2)) - convolve(x).roll(1, 2)).abs().max())
    block = SwinBlock(8, 2, 16, grid=(16, 16), window=4).double()
    for weights in block.parameters():
        torch.nn.init.normal_(weights, std=0.3, generator=generator)
    with torch.no_grad():
        steps = [
            float((block(x.roll(step, 2)) - block(x).roll(step, 2)).abs().max()) for step in (1, 4)
        ]
    return Finding(
        holds=max(convolution, *steps) < 1e-9,
        corrected=convolution < 1e-9 and steps[1] < 1e-9 and steps[0] > 0.01,
        evidence=f"moved by one token, outputs differ by up to {convolution:.0e} for a convolution "
        f"and {steps[0]:.2f} for windows of 4; moved by four, by up to {steps[1]:.0e} for windows",
    )


def a_pyramid_is_enough() -> Finding:
    """Pairs on the first and largest map of a pyramid, with all keys and with fewer of them."""
    x = torch.zeros(1, 8, 16, 16)
    pairs = []
    for reduction in (1, 4):
        keys = F.avg_pool2d(x, reduction)
        pairs.append(attention_weights(x.flatten(2).mT, keys.flatten(2).mT).numel())
    return Finding(
        holds=pairs[0] < 256**2,
        corrected=pairs == [256**2, 256**2 // 4**2],
        evidence=f"a map of 256 tokens has {pairs[0]:,} pairs a head, whatever follows; with keys "
        f"reduced by 4 it has {pairs[1]:,}",
    )


def windows_are_linear() -> Finding:
    """Operations of a block with windows when the side of the picture is doubled."""
    counts = []
    for side in (8, 16):
        block = SwinBlock(8, 2, 32, grid=(side, side), window=4, shift=2, fused=False)
        with FlopCounterMode(display=False) as counter:
            block(torch.zeros(1, side, side, 8))
        counts.append(counter.get_total_flops())
    return Finding(
        holds=counts[1] == 4 * counts[0],
        evidence=f"four times the tokens take {counts[1] / counts[0]:.0f} times the operations",
    )


def _parameters(operator: Operator, n_classes: int) -> int:
    with torch.device("meta"):
        return sum(
            p.numel() for p in favit("b0", n_classes=n_classes, operator=operator).parameters()
        )


def _multiplications(operator: Operator) -> float:
    """Billions of multiplications of FaViT-B0 on one picture of 224 x 224, 100 classes."""
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        favit("b0", n_classes=100, operator=operator).eval()(torch.zeros(1, 3, 224, 224))
    return counter.get_total_flops() / 2e9


def sizes_of_table_1() -> Finding:
    """Parameters of FaViT-B0 with each operator, for 100 classes and for 1000."""
    document: dict[Operator, float] = {
        "pointwise": 3.5,
        "linear": 3.5,
        "mean": 3.4,
        "max": 3.4,
        "prob_sparse": 3.4,
    }
    millions = {
        classes: {name: round(_parameters(name, classes) / 1e6, 1) for name in document}
        for classes in (100, 1000)
    }
    others = [name for name in document if name != "linear"]
    multiplications = _multiplications("mean")
    return Finding(
        holds=millions[100] == document,
        corrected=all(millions[1000][name] == document[name] for name in others)
        and round(multiplications, 1) == 0.6,
        evidence="; ".join(
            f"millions of parameters for {classes} classes: "
            + ", ".join(f"{name} {n}" for name, n in row.items())
            for classes, row in millions.items()
        )
        + f"; {multiplications:.2f} G multiplications with the mean",
    )


def sampling_costs_no_more() -> Finding:
    """Multiplications of FaViT-B0 with the mean over windows and with sampled keys."""
    mean, sampled = _multiplications("mean"), _multiplications("prob_sparse")
    return Finding(
        holds=round(mean, 1) == round(sampled, 1),
        corrected=sampled > 1.3 * mean,
        evidence=f"{mean:.2f} G multiplications with the mean, {sampled:.2f} G with sampled keys",
    )


def one_key_per_query() -> Finding:
    """The sum over the keys of weights from the scores of query i with key i, and with all keys."""
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 6, 4, generator=generator)
    written = (q * k).sum(-1, keepdim=True).softmax(-1).expand(6, 6).sum(-1)
    meant = (q @ k.T).softmax(-1).sum(-1)
    return Finding(
        holds=bool((written - 1).abs().max() < 1e-6),
        corrected=bool((meant - 1).abs().max() < 1e-6),
        evidence=f"with one key for each query the weights of a row of six sum to {written[0]:.3g},"
        f" with all keys to {meant[0]:.3g}",
    )


def keeps_the_square_of_the_keys() -> Finding:
    """Keys of 196 that can be kept: the square of their number, or of the window's side."""
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 1, 1, 196, 8, generator=generator)
    kept = {}
    for side in (196, 7):
        try:
            kept[side] = informative_keys(q, k, side**2).shape[-1]
        except ValueError:
            kept[side] = 0
    return Finding(
        holds=kept[196] > 0,
        corrected=kept[7] == 49,
        evidence=f"of 196 keys, {kept[7]} are kept for a window of 7 x 7; 196 * 196 = "
        f"{196**2} is more than there are",
    )


def sampling_keys_is_prob_sparse() -> Finding:
    """Keys that ProbSparse attention leaves out of 96 tokens, and the report's operator."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, 96, 8, generator=generator)
    weights: Tensor = ProbSparse(SparseRules()).eval()(q, k, v, return_weights=True)[1]
    rows = weights[0, 0]
    active = rows.std(dim=-1) > 1e-6
    met = int((rows[active] > 0).sum(dim=-1).min())
    kept = informative_keys(q, k, 25).shape[-1]
    return Finding(
        holds=met == kept,
        corrected=int(active.sum()) == 25 and met == 96 and kept == 25,
        evidence=f"of 96 tokens ProbSparse attention lets {int(active.sum())} ask, each of them "
        f"all {met} keys; the operator lets all ask, and only {kept} keys answer",
    )
