"""Claims about the vision transformer: its size, its edges, and how it is trained."""

import warnings

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from course_lib.claims.finding import Finding
from course_lib.data import shape_images
from course_lib.data.cifar import IMAGE_STD, MEAN, PIXEL_STD
from course_lib.resnet import resnet18
from course_lib.training import count_parameters, saved_bytes, train_epoch
from course_lib.vit import VisionBlock, ViT, ViTConfig


def _random(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _small(**changes: object) -> ViT:
    sizes = {"d_model": 32, "n_layers": 2, "n_heads": 2, "d_ff": 48, "dropout": 0.0}
    return ViT(ViTConfig(**(sizes | changes)), generator=_random()).eval()  # type: ignore[arg-type]


def resnet18_size() -> Finding:
    """Count the residual network that small pictures are usually compared with."""
    with torch.device("meta"):
        n = count_parameters(resnet18())
    return Finding(holds=abs(n - 11.2e6) < 0.05e6, evidence=f"it has {n:,} parameters")


def patches_alone_enter() -> Finding:
    """Shuffle the patches of pictures that enter with and without positions."""
    images = torch.randn(3, 3, 32, 32, generator=_random())
    rolled = images.roll((8, 12), dims=(2, 3))  # whole patches change their places
    gaps = {}
    for positions in ("none", "learned"):
        model = _small(positions=positions)
        with torch.no_grad():
            gaps[positions] = float((model(images) - model(rolled)).abs().max())
    return Finding(
        holds=gaps["none"] > 1e-4,
        corrected=gaps["learned"] > 1e-4 > gaps["none"],
        evidence="moving the patches of a picture changes the logits by "
        f"{gaps['none']:.0e} as the formula is printed, by {gaps['learned']:.0e} with positions",
    )


def class_token_stands_nowhere() -> Finding:
    """Move the class token's position into the class token, and compare."""
    model, other = _small(positions="learned"), _small(positions="learned")
    with torch.no_grad():
        other.cls_token.add_(other.positions[0])
        other.positions[0] = 0
        images = torch.randn(4, 3, 32, 32, generator=_random(1))
        gap = float((model(images) - other(images)).abs().max())
    moved = float(model.positions[0].detach().norm())
    return Finding(
        holds=moved > 0 and gap < 1e-5,
        evidence=f"a model whose class token has a position of length {moved:.2f} and one that has "
        f"it in the token itself differ by {gap:.0e}",
    )


def any_deviation_will_do() -> Finding:
    """Divide pictures of many brightnesses by the mean of their own deviations, and by that of all.

    Variance within pictures and between their means adds up, so the first divisor is too small.
    """
    pictures = shape_images(300, _random(), n_shapes=2).images
    pictures = pictures * torch.linspace(0.4, 1.0, 300).view(-1, 1, 1, 1)
    within = pictures.flatten(2).std(dim=2).mean(dim=0)
    of_all = pictures.transpose(0, 1).flatten(1).std(dim=1)
    left = [float((of_all / divisor).mean()) for divisor in (within, of_all)]
    ratios = [large / small for large, small in zip(PIXEL_STD, IMAGE_STD, strict=True)]
    return Finding(
        holds=abs(left[0] - 1) < 0.02 and max(ratios) < 1.02,
        corrected=abs(left[1] - 1) < 1e-3 and min(ratios) > 1.15 and min(MEAN) > 0,
        evidence=f"generated pictures have a deviation of {left[0]:.2f} after division by the mean "
        f"of their own and of {left[1]:.2f} after division by that of all pixels; for CIFAR-10 the "
        f"two constants differ by factors of {min(ratios):.2f} to {max(ratios):.2f}",
    )


def _input_gradient(block: VisionBlock, run: bool, x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    out = checkpoint(block, x, use_reentrant=False) if run else block(x)
    (found,) = torch.autograd.grad(out.square().sum(), x)
    return found


def checkpointing_needs_no_residuals() -> Finding:
    """Run attention, then the feed-forward sub-layer, as printed, and whole blocks."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        block = VisionBlock(32, 2, 64)
    x = torch.randn(2, 17, 32, generator=_random())
    assert block.feed_forward is not None
    with torch.no_grad():
        printed = block.feed_forward(block.attention(x))
        apart = float((printed - block(x)).norm() / block(x).norm())
    gap = float((_input_gradient(block, True, x) - _input_gradient(block, False, x)).abs().max())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint(block, x.clone().requires_grad_())
    warned = any("use_reentrant" in str(w.message) for w in caught)
    kept = []
    for recompute in (False, True):
        model = ViT(ViTConfig(d_model=32, n_layers=4, n_heads=2, d_ff=64), recompute=recompute)
        images = torch.zeros(4, 3, 32, 32)
        kept.append(saved_bytes(lambda m=model, x=images: m(x).sum()))  # type: ignore[misc]
    return Finding(
        holds=apart < 1e-3,
        corrected=warned and gap < 1e-4 and kept[1] < kept[0] / 3,
        evidence=f"what is printed differs from the block by {apart:.0%} of its length; around "
        f"whole blocks gradients agree to {gap:.0e} and {kept[0] / kept[1]:.0f} times less is kept",
    )


def no_gradient_is_zeroed() -> Finding:
    """Run the report's loop for mixed precision without and with zeroing gradients."""
    x = torch.linspace(-1, 1, 32).unsqueeze(1)
    norms: dict[bool, list[float]] = {}
    for zeroed in (False, True):
        weight = torch.zeros(1, 1, requires_grad=True)
        norms[zeroed] = []
        for _ in range(3):
            if zeroed:
                weight.grad = None
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = (x @ weight - x).float().square().mean()
            loss.backward()
            assert weight.grad is not None
            norms[zeroed].append(float(weight.grad.norm()))  # the weight stays where it is
    model = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    row, _ = train_epoch(
        model,
        optimizer,
        [x] * 3,
        lambda m, batch: (m(batch) - batch).square().mean(),
        autocast=torch.bfloat16,
    )
    grown = norms[False][-1] / norms[False][0]
    return Finding(
        holds=abs(grown - 1) < 0.01,
        corrected=abs(norms[True][-1] / norms[True][0] - 1) < 0.01 and row["grad_norm"] > 0,
        evidence=f"without zeroing, the gradient of the third step is {grown:.2f} times what it "
        f"should be; with it, {norms[True][-1] / norms[True][0]:.2f} times",
    )


def class_row_is_a_map() -> Finding:
    """Brighten one patch, and see where the class token's row of the first map changes."""
    model = _small(positions="learned", n_layers=1)
    images = torch.zeros(2, 3, 32, 32)
    images[1, :, 8:12, 20:24] = 1  # row 2, column 5 of the patches
    with torch.no_grad():
        _, weights = model(images, return_weights=True)
    rows = weights[0, :, 0, 0, 1:].log()
    # A softmax shifts all logarithms alike; one key alone has changed.
    change = rows[1] - rows[0]
    side = round(change.numel() ** 0.5)
    found = divmod(int((change - change.median()).abs().argmax()), side)
    return Finding(
        holds=weights.shape[-1] == 65 and side == 8 and found == (2, 5),
        evidence=f"of {weights.shape[-1]} weights the last {side} x {side} are a grid; what was "
        f"changed in row 2, column 5 of the patches is found in row {found[0]}, column {found[1]}",
    )
