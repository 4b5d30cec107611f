"""Parameters and operations of a vision transformer, from its configuration alone."""

from typing import NamedTuple

from course_lib.vit.config import ViTConfig


class ViTCosts(NamedTuple):
    """Numbers that training changes, and multiplications of an image's matrix products."""

    parameters: int
    multiplications: int


def vit_costs(config: ViTConfig) -> ViTCosts:
    """Count a model's parameters and multiplications without building it.

    With N patches there are T = N + 1 tokens if a class token is read, else N. A block multiplies
    ``4 T D^2`` times for its projections, ``2 T^2 D`` times for scores and mixing, and
    ``2 T D d_ff`` times for its feed-forward part. Norms, softmax and activations don't count.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), equations 1 to 4.
    """
    if config.positions in ("axial", "mixed"):
        raise ValueError(f"positions is {config.positions!r}, wanted positions that are added")
    d_model, d_ff = config.d_model, config.d_ff
    n_cls = int(config.pooling == "cls")
    tokens = config.n_patches + n_cls
    pixels = config.n_channels * config.patch_size**2

    parameters = pixels * d_model + d_model  # the projection of patches
    parameters += n_cls * d_model
    parameters += tokens * d_model if config.positions == "learned" else 0
    norm = 2 * d_model if config.layer_norm else 0
    block = 4 * (d_model**2 + d_model) + norm
    if config.feed_forward:
        block += 2 * d_model * d_ff + d_ff + d_model + norm
    parameters += config.n_layers * block + norm
    parameters += d_model * config.n_classes + config.n_classes

    products = 4 * tokens * d_model**2 + 2 * tokens**2 * d_model
    products += 2 * tokens * d_model * d_ff if config.feed_forward else 0
    multiplications = config.n_patches * pixels * d_model + config.n_layers * products
    multiplications += d_model * config.n_classes
    return ViTCosts(parameters, multiplications)
