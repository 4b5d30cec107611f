"""Configuration of a vision transformer."""

from dataclasses import dataclass
from typing import Literal, get_args

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
            - ``"mixed"``: rotations by learned sums of both, apart in each head of each layer,
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
