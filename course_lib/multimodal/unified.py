"""One Transformer for both: words on a line, patches on a grid, in one sequence."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.layers import EncoderBlock, xavier_init
from course_lib.positions import keep_in_step, sinusoidal_positions, spatial_positions
from course_lib.vit import check_images, patchify

Places = Literal["dual", "line"]


def unified_positions(
    n_words: int, rows: int, columns: int, d_model: int, *, places: Places = "dual"
) -> Tensor:
    """Positions of words T followed by patches: a table ``(T + rows * columns, D)``.

    ``"dual"`` gives words a place on a line and patches a place on a grid; ``"line"`` counts on
    through the patches, row after row, as if they were words. D is a multiple of 4. With
    ``"dual"`` the first word and the first patch get the same code: something else must tell them
    apart.
    """
    if places not in get_args(Places):
        raise ValueError(f"places is {places!r}, wanted one of {get_args(Places)}")
    if places == "line":
        return sinusoidal_positions(n_words + rows * columns, d_model)
    return torch.cat(
        [sinusoidal_positions(n_words, d_model), spatial_positions(rows, columns, d_model)]
    )


@dataclass(frozen=True)
class UnifiedConfig:
    """Configuration of a :class:`UnifiedEncoder`; a text has ``max_len`` words, padding included.

    ``places``: ``"dual"`` or ``"line"``, as in :func:`unified_positions`.
    """

    image_size: int = 32
    patch_size: int = 8
    n_channels: int = 3
    n_words: int = 100
    max_len: int = 16
    pad: int = 0
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    d_ff: int = 256
    dropout: float = 0.0
    places: Places = "dual"

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for part, whole in (("patch_size", "image_size"), ("n_heads", "d_model")):
            divisor, total = getattr(self, part), getattr(self, whole)
            if divisor < 1 or total % divisor:
                raise ValueError(f"{part} is {divisor}, wanted a divisor of {whole} {total}")

    @property
    def n_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2


class UnifiedEncoder(nn.Module):
    """Encoder blocks over words and patches together.

    Every block is a fusion: from the first layer on each word sees each patch. One set of weights
    serves both, which is cheaper than two towers, but image and text can no longer be encoded
    apart: to search N images with M texts takes N M passes instead of N + M.

    Source: Kim et al., ViLT: Vision-and-Language Transformer Without Convolution or Region
    Supervision (2021), section 3; fixed codes in place of its learned positions.
    """

    positions: Tensor

    def __init__(
        self, config: UnifiedConfig, *, fused: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        d_model = config.d_model
        self.embedding = nn.Embedding(config.n_words, d_model)
        self.patch_proj = nn.Linear(config.n_channels * config.patch_size**2, d_model)
        self.kinds = nn.Parameter(torch.empty(2, d_model))
        self.register_buffer("positions", _tables(self)["positions"], persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, config.n_heads, config.d_ff, dropout=config.dropout, fused=fused)
            for _ in range(config.n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        xavier_init(self, generator=generator)
        for table in (self.embedding.weight, self.kinds):
            nn.init.normal_(table, std=0.02, generator=generator)

    def forward(self, tokens: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        """Encode texts and images: words ``(B, max_len, D)`` and patches ``(B, N, D)``."""
        config = self.config
        check_images(images, config.n_channels, config.image_size)
        if tokens.shape != (images.shape[0], config.max_len):
            raise ValueError(
                f"tokens have shape {tuple(tokens.shape)}, wanted ({images.shape[0]}, "
                f"{config.max_len})"
            )
        words = self.embedding(tokens) + self.kinds[0]
        patches = self.patch_proj(patchify(images, config.patch_size)) + self.kinds[1]
        x = self.dropout(torch.cat([words, patches], dim=1) + self.positions)
        keep = torch.cat(
            [tokens != config.pad, tokens.new_ones(1, dtype=torch.bool).expand(patches.shape[:2])],
            dim=1,
        )
        for block in self.blocks:
            x = block(x, mask=keep[:, None, None])
        x = self.norm(x)
        return x[:, : config.max_len], x[:, config.max_len :]


def _tables(model: UnifiedEncoder) -> dict[str, Tensor]:
    config = model.config
    side = config.image_size // config.patch_size
    table = unified_positions(config.max_len, side, side, config.d_model, places=config.places)
    return {"positions": table}


keep_in_step(UnifiedEncoder, _tables)
