"""Claims about attention that is factorised into groups of heads."""

import math

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from course_lib.claims.finding import Finding
from course_lib.favit import (
    Operator,
    favit,
    informative_keys,
)
from course_lib.informer import ProbSparse, SparseRules


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


def cosine_and_steps() -> Finding:
    """Learning rate after 30 of 300 epochs, and after 60, by both rules."""
    cosine = [(1 + math.cos(math.pi * epoch / 300)) / 2 for epoch in (30, 60)]
    steps = [0.1 ** (epoch // 30) for epoch in (30, 60)]
    return Finding(
        holds=max(abs(a - b) for a, b in zip(cosine, steps, strict=True)) < 0.05,
        evidence=f"after 30 and 60 of 300 epochs a cosine leaves {cosine[0]:.3f} and "
        f"{cosine[1]:.3f} of the learning rate, a factor of 10 every 30 epochs {steps[0]:.3g} and "
        f"{steps[1]:.3g}",
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
