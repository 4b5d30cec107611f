"""Two encoders that meet only at the end: one for images, one for text."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.layers import EncoderBlock
from course_lib.masks import causal_mask
from course_lib.masks.softmax import certain
from course_lib.multimodal.contrastive import Temperature, pair_similarities
from course_lib.positions import keep_in_step
from course_lib.vit import check_images, patchify


@dataclass(frozen=True)
class DualEncoderConfig:
    """Configuration of a :class:`DualEncoder`; the two towers need not have the same width.

    ``end``: number of the token that ends a text and stands for all of it; ``d_embedding``: width
    of the space in which both meet.
    """

    image_size: int = 32
    patch_size: int = 8
    n_channels: int = 3
    image_d_model: int = 64
    image_n_layers: int = 2
    image_n_heads: int = 4
    image_d_ff: int = 256
    n_words: int = 100
    max_len: int = 16
    end: int = 2
    text_d_model: int = 64
    text_n_layers: int = 2
    text_n_heads: int = 4
    text_d_ff: int = 256
    d_embedding: int = 64
    dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        for part, whole in (
            ("patch_size", "image_size"),
            ("image_n_heads", "image_d_model"),
            ("text_n_heads", "text_d_model"),
        ):
            divisor, total = getattr(self, part), getattr(self, whole)
            if divisor < 1 or total % divisor:
                raise ValueError(f"{part} is {divisor}, wanted a divisor of {whole} {total}")
        if not 0 <= self.end < self.n_words:
            raise ValueError(f"end is {self.end}, wanted a number of one of {self.n_words} words")

    @property
    def n_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2


class ImageTower(nn.Module):
    """A ViT with a norm before its blocks, read at the class token.

    Source: Radford et al. (2021), section 2.4.
    """

    def __init__(
        self,
        config: DualEncoderConfig,
        *,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        d_model = config.image_d_model
        self.config = config
        self.patch_proj = nn.Linear(config.n_channels * config.patch_size**2, d_model, bias=False)
        self.cls_token = nn.Parameter(torch.empty(d_model))
        self.positions = nn.Parameter(torch.empty(1 + config.n_patches, d_model))
        self.in_norm = nn.LayerNorm(d_model)
        self.blocks = _blocks(
            config.image_n_layers,
            d_model,
            config.image_n_heads,
            config.image_d_ff,
            config,
            fused,
            generator,
        )
        self.out_norm = nn.LayerNorm(d_model)
        nn.init.normal_(self.patch_proj.weight, std=0.02, generator=generator)
        for table in (self.cls_token, self.positions):
            nn.init.normal_(table, std=d_model**-0.5, generator=generator)

    def forward(self, images: Tensor) -> Tensor:
        """One vector per image: ``(B, C, height, width)`` becomes ``(B, D)``."""
        config = self.config
        check_images(images, config.n_channels, config.image_size)
        patches = self.patch_proj(patchify(images, config.patch_size))
        x = torch.cat([self.cls_token.expand(images.shape[0], 1, -1), patches], dim=1)
        x = self.in_norm(x + self.positions)
        for block in self.blocks:
            x = block(x)
        return self.out_norm(x[:, 0])


class TextTower(nn.Module):
    """A causal Transformer, read where the text ends.

    Under the causal mask the end token alone has seen every word, and padding after it
    cannot be seen by it: no padding mask is needed.

    Source: Radford et al. (2021), section 2.4.

    Example:
        >>> tower = TextTower(DualEncoderConfig(end=2)).eval()
        >>> short, padded = torch.tensor([[5, 6, 2]]), torch.tensor([[5, 6, 2, 0, 9, 0]])
        >>> torch.allclose(tower(short), tower(padded), atol=1e-5)
        True
    """

    mask: Tensor

    def __init__(
        self,
        config: DualEncoderConfig,
        *,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        d_model = config.text_d_model
        self.config = config
        self.embedding = nn.Embedding(config.n_words, d_model)
        self.positions = nn.Parameter(torch.empty(config.max_len, d_model))
        self.blocks = _blocks(
            config.text_n_layers,
            d_model,
            config.text_n_heads,
            config.text_d_ff,
            config,
            fused,
            generator,
        )
        self.out_norm = nn.LayerNorm(d_model)
        self.register_buffer("mask", causal_mask(config.max_len), persistent=False)
        nn.init.normal_(self.embedding.weight, std=0.02, generator=generator)
        nn.init.normal_(self.positions, std=0.01, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """One vector per text: ``(B, T)`` becomes ``(B, D)``; nothing after ``end`` is read."""
        if tokens.ndim != 2 or tokens.shape[1] > self.config.max_len:
            raise ValueError(
                f"tokens have shape {tuple(tokens.shape)}, wanted (B, T) with T at most "
                f"{self.config.max_len}"
            )
        ends = tokens == self.config.end
        if certain(~ends.any(dim=1).all()):
            row = int(ends.any(dim=1).int().argmin())
            raise ValueError(f"tokens[{row}] has no end token, wanted a {self.config.end} in it")
        length = tokens.shape[1]
        x = self.embedding(tokens) + self.positions[:length]
        for block in self.blocks:
            x = block(x, mask=self.mask[:length, :length])
        first = ends.int().argmax(dim=1)
        return self.out_norm(x[torch.arange(x.shape[0], device=x.device), first])


keep_in_step(TextTower, lambda tower: {"mask": causal_mask(tower.config.max_len)})


class DualEncoder(nn.Module):
    """Map images and texts into one space, in which pairs should lie close.

    The towers share nothing and never attend to each other, so the embeddings of a million images
    can be computed once and searched with any text. What this cannot see is which word belongs to
    which part of the image.

    Source: Radford et al. (2021), figures 1 and 3.
    """

    def __init__(
        self,
        config: DualEncoderConfig,
        *,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.image_tower = ImageTower(config, fused=fused, generator=generator)
        self.text_tower = TextTower(config, fused=fused, generator=generator)
        self.image_proj = nn.Linear(config.image_d_model, config.d_embedding, bias=False)
        self.text_proj = nn.Linear(config.text_d_model, config.d_embedding, bias=False)
        self.temperature = Temperature()
        for proj in (self.image_proj, self.text_proj):
            nn.init.normal_(proj.weight, std=proj.in_features**-0.5, generator=generator)

    def embed_images(self, images: Tensor) -> Tensor:
        """Where images ``(N, C, height, width)`` lie: ``(N, d_embedding)``, of any length."""
        return self.image_proj(self.image_tower(images))

    def embed_texts(self, tokens: Tensor) -> Tensor:
        """Where texts ``(M, T)``, each with an end token, lie: ``(M, d_embedding)``."""
        return self.text_proj(self.text_tower(tokens))

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        """Cosines of every image with every text times the learned factor, ``(N, M)``."""
        return pair_similarities(
            self.embed_images(images), self.embed_texts(tokens), self.temperature()
        )


def _blocks(
    n_layers: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    config: DualEncoderConfig,
    fused: bool,
    generator: torch.Generator | None,
) -> nn.ModuleList:
    """Blocks that add the less to the residual path the more of them there are."""
    small = (2 * n_layers * d_model) ** -0.5
    blocks = nn.ModuleList()
    for _ in range(n_layers):
        block = EncoderBlock(d_model, n_heads, d_ff, dropout=config.dropout, fused=fused)
        attend, feed = block.attention, block.feed_forward
        for layer, std in (
            (attend.q_proj, d_model**-0.5),
            (attend.k_proj, d_model**-0.5),
            (attend.v_proj, d_model**-0.5),
            (attend.out_proj, small),
            (feed.in_proj, (2 * d_model) ** -0.5),
            (feed.out_proj, small),
        ):
            nn.init.normal_(layer.weight, std=std, generator=generator)
            nn.init.zeros_(layer.bias)
        blocks.append(block)
    return blocks
