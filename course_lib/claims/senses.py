"""Claims about models that read words and see pictures."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.claims.finding import Finding
from course_lib.multimodal import (
    BertText,
    BertTextConfig,
    DualEncoderConfig,
    QueryDecoderLayer,
    TextTower,
    UnifiedConfig,
    UnifiedEncoder,
    unified_positions,
)


def clip_reads_like_bert() -> Finding:
    """Effect of the last word on the first one, in both kinds of text encoder."""
    generator = torch.Generator().manual_seed(0)
    words, other = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[5, 6, 8, 2]])
    clip = TextTower(DualEncoderConfig(end=2), generator=generator).eval()
    bert = BertText(BertTextConfig(), generator=generator).eval()

    def first_of_clip(tokens: Tensor) -> Tensor:
        return clip(torch.cat([tokens[:, :1], torch.tensor([[2]]), tokens[:, 1:]], dim=1))

    in_clip = bool((first_of_clip(words) - first_of_clip(other)).abs().max() > 0)
    in_bert = bool((bert(words)[0][:, 0] - bert(other)[0][:, 0]).abs().max() > 0)
    reads_on = bool((clip(words) - clip(other)).abs().max() > 0)
    return Finding(
        holds=in_clip and in_bert,
        corrected=in_bert and reads_on and not in_clip,
        evidence=f"later words change what an earlier one becomes: in BERT {in_bert}, in CLIP's "
        f"tower {in_clip}; the token at the end sees all of them: {reads_on}",
    )


def _weights(model: torch.nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def places_decide_the_cost() -> Finding:
    """Weights and scores of one encoder with positions on a line, and on a line and a grid."""
    with torch.device("meta"):
        line, dual = (
            _weights(UnifiedEncoder(UnifiedConfig(places=places))) for places in ("line", "dual")
        )
    return Finding(
        holds=dual < line,
        evidence=f"{dual:,} weights with positions on a line and a grid, {line:,} with all of them "
        "on a line",
    )


def unified_means_a_line() -> Finding:
    """Likeness of a patch and the one below it, against the end of its row and the next."""
    alike = {}
    for places in ("line", "dual"):
        table = unified_positions(8, 8, 8, 64, places=places)[8:].unflatten(0, (8, 8))
        below = F.cosine_similarity(table[3, 7], table[4, 7], dim=0)
        line_break = F.cosine_similarity(table[3, 7], table[4, 0], dim=0)
        alike[places] = (float(below), float(line_break))
    lost = {places: below < line_break for places, (below, line_break) in alike.items()}
    told = "; ".join(f"{name}: {b:.2f} and {n:.2f}" for name, (b, n) in alike.items())
    return Finding(
        holds=lost["line"] and lost["dual"],
        corrected=lost["line"] and not lost["dual"],
        evidence=f"cosines of the codes of a patch with the one below and with the start of the "
        f"next row, {told}",
    )


def queries_cost_n_times_m() -> Finding:
    """Scores that a set decoder computes, and those of the image encoder in front of it."""
    slots, side = 100, 25
    layer = QueryDecoderLayer(8, n_heads=1, d_ff=8).eval()
    zeros = torch.zeros(1, slots, 8)
    _, weights = layer(zeros, torch.zeros(1, side**2, 8), return_weights=True)
    across, encoder = weights[0].numel(), side**4
    return Finding(
        holds=across == slots * side**2 and across + slots**2 > encoder,
        corrected=across == slots * side**2 and across + slots**2 < encoder,
        evidence=f"{slots} queries and {side**2} places: {across:,} scores across, {slots**2:,} "
        f"among the queries, and {encoder:,} in each layer of the encoder before",
    )
