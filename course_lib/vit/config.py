"""Configuration of a vision transformer, and the parameters and operations that follow from it."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Positions = Literal["fixed", "added", "sinusoid", "learned", "axial", "mixed", "none"]
Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class ViTConfig:
    """Configuration of a :class:`~course_lib.vit.ViT`; the defaults are the CIFAR-10 report's.

    Args:
        image_size, patch_size: Side of the square images, and of a patch.
        dropout: Probability of dropping tokens' channels, weights and hidden channels.
        positions: Where a patch stands is told by

            - ``"fixed"``: sinusoids, half of the channels for the row and half for the column,
            - ``"added"``: sinusoids of row and column, added,
            - ``"sinusoid"``: sinusoids of its number in the sequence,
            - ``"learned"``: a table, with rows for the tokens that are no patches too,
            - ``"axial"``: rotations of queries and keys by row and by column,
            - ``"mixed"``: rotations by learned sums of both, separate for each head and layer,
            - ``"none"``: nothing.
        pooling: What the classifier reads: the ``"cls"`` token or the ``"mean"`` of the patches.
        residual, layer_norm, feed_forward: Whether blocks have them.
    """

    image_size: int = 32
    patch_size: int = 4
    n_channels: int = 3
    n_classes: int = 10
    d_model: int = 400
    n_layers: int = 6
    n_heads: int = 8
    d_ff: int = 512
    dropout: float = 0.1
    positions: Positions = "fixed"
    pooling: Pooling = "cls"
    eps: float = 1e-5
    residual: bool = True
    layer_norm: bool = True
    feed_forward: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if self.positions not in get_args(Positions):
            raise ValueError(
                f"positions is {self.positions!r}, wanted one of {get_args(Positions)}"
            )
        if self.pooling not in get_args(Pooling):
            raise ValueError(f"pooling is {self.pooling!r}, wanted one of {get_args(Pooling)}")
        for name, whole in (("patch_size", "image_size"), ("n_heads", "d_model")):
            part, total = getattr(self, name), getattr(self, whole)
            if part < 1 or total % part:
                raise ValueError(f"{name} is {part}, wanted a divisor of {whole} {total}")

        if self.n_layers < 1:
            raise ValueError(f"n_layers is {self.n_layers}, wanted at least 1")

    @property
    def side(self) -> int:
        """Patches along a side of an image."""
        return self.image_size // self.patch_size

    @property
    def n_patches(self) -> int:
        """Number of patches N of an image."""
        return self.side**2


class ViTCosts(NamedTuple):
    """Numbers that training changes, and multiplications of an image's matrix products."""

    parameters: int
    multiplications: int


def vit_costs(config: ViTConfig) -> ViTCosts:
    """Count a model's parameters and multiplications without building it.

    With N patches there are T = N + 1 tokens if a class token is read, else N. A block multiplies
    ``4 T D^2`` times for its projections, ``2 T^2 D`` times for scores and mixing, and
    ``2 T D d_ff`` times for its feed-forward sub-layer. Norms, softmax and activations don't count.

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
