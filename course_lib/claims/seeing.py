"""Claims about vision transformers, and about models that read words and see images."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention_maps import attention_distance, grid_distances
from course_lib.claims.finding import Finding
from course_lib.hybrid import InvertedBottleneck, RelativeBlock, hybrid_cifar
from course_lib.multimodal import (
    DualEncoderConfig,
    TextTower,
    unified_positions,
)
from course_lib.vit import ViT, ViTConfig

# --------------------------------------------------------------------------- by architecture


def _uniform_distance(allowed: Tensor) -> float:
    weights = allowed.float() / allowed.sum(-1, keepdim=True)
    return float(attention_distance(weights, (14, 14), n_prefix=0, patch_size=16))


def all_late_heads_look_far() -> Finding:
    """Attention distances that a grid of 14 x 14 patches of 16 pixels allows."""
    far = grid_distances(14, 14)
    everywhere = _uniform_distance(far >= 0)
    near = _uniform_distance(far < 1.5)
    corner = _uniform_distance(far == far.max(-1, keepdim=True).values)
    return Finding(
        # More than 200 pixels as a mean of all heads of a layer.
        holds=everywhere > 200,
        evidence=f"a head that looks everywhere has a distance of {everywhere:.0f} pixels, one of "
        f"3 x 3 patches {near:.0f}, one that looks at the farthest corner alone {corner:.0f}",
    )


def sees_all_at_once() -> Finding:
    """Pixels that move a patch behind a single block of a vision transformer."""
    config = ViTConfig(d_model=32, n_layers=1, n_heads=2, d_ff=64, dropout=0.0)
    model = ViT(config, generator=torch.Generator().manual_seed(0)).eval()
    images = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    images.requires_grad_()
    model.encode(images)[0][0, 1, 0].backward()
    assert images.grad is not None
    share = float((images.grad != 0).float().mean())
    return Finding(holds=share > 0.99, evidence=f"{share:.1%} of the pixels move the first patch")


def convolutions_need_depth() -> Finding:
    """Pixels of 63 in a line that move the middle, behind five dilated convolutions or one."""

    def reach(network: nn.Module, x: Tensor) -> int:
        x = x.requires_grad_()
        network(x)[..., 31].sum().backward()
        assert x.grad is not None
        return int((x.grad != 0).sum())

    layers = [nn.Conv1d(1, 1, 3, padding=d, dilation=d, bias=False) for d in (1, 2, 4, 8, 16)]
    for layer in layers:
        nn.init.ones_(layer.weight)
    dilated = reach(nn.Sequential(*layers), torch.zeros(1, 1, 63))
    for layer in layers:
        layer.padding = layer.dilation = (1,)
    contiguous = reach(nn.Sequential(*layers), torch.zeros(1, 1, 63))
    return Finding(
        holds=dilated < 63,
        evidence=f"five convolutions of width 3 see {contiguous} of 63 pixels, and with dilations "
        f"from 1 to 16 {dilated}",
    )


def no_prior_at_all() -> Finding:
    """Reach of a pixel before the first block, and effect of shuffled patches."""
    config = ViTConfig(d_model=32, n_layers=2, n_heads=2, d_ff=64, dropout=0.0, positions="none")
    model = ViT(config, generator=torch.Generator().manual_seed(0)).eval().double()
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(1, 3, 32, 32, generator=generator).double()
    order = torch.randperm(64, generator=generator)
    patches = images.unfold(2, 4, 4).unfold(3, 4, 4).flatten(2, 3)
    shuffled = patches[:, :, order].unflatten(2, (8, 8)).permute(0, 1, 2, 4, 3, 5).flatten(2, 3)
    shuffled = shuffled.flatten(3, 4)
    with torch.no_grad():
        same = float((model(images) - model(shuffled)).abs().max())
        mirrored = images.flip(-1)
        other = float((model(images) - model(mirrored)).abs().max())
    symmetric, local = same < 1e-9, other > 1e-6
    return Finding(
        holds=not (symmetric or local),
        evidence=f"any order of the patches gives the same answer up to {same:.0e}, and turning "
        f"pixels around inside of patches changes it by {other:.2f}",
        corrected=symmetric and local,
    )


def hybrids_attend_late() -> Finding:
    """The order of the blocks of a CoAtNet for small pictures, and their sides."""
    hybrid = hybrid_cifar()
    kinds = [type(block) for block in hybrid.blocks]
    first = kinds.index(RelativeBlock)
    early = all(kind is InvertedBottleneck for kind in kinds[:first])
    late = all(kind is RelativeBlock for kind in kinds[first:])
    return Finding(
        holds=early and late and first > 0,
        evidence=f"{first} blocks convolve, then {len(kinds) - first} attend, on "
        f"{hybrid.config.sides[-1]} x {hybrid.config.sides[-1]} places of {hybrid.config.sides[0]} "
        f"x {hybrid.config.sides[0]}",
    )


def clip_reads_both_ways() -> Finding:
    """Effect of the last word on the first one and on the whole, in a text tower like CLIP's."""
    tower = TextTower(DualEncoderConfig(end=2), generator=torch.Generator().manual_seed(0)).eval()
    moved = []
    for texts in ([[5, 2, 6, 7, 2], [5, 2, 6, 8, 2]], [[5, 6, 7, 2], [5, 6, 8, 2]]):
        first, other = tower(torch.tensor(texts)).detach()
        moved.append(float((first - other).abs().max()))
    return Finding(
        holds=moved[0] > 0,
        corrected=moved[0] == 0 < moved[1],
        evidence=f"with another last word the output at the first end moves by {moved[0]:.2g}, "
        f"and the output at the end of the text by {moved[1]:.2g}",
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
