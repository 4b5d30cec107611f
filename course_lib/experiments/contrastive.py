"""Matching captions to images: towers, one encoder, and words and patches in turn.

A shape stands in one of four corners, and its caption names colour, shape and corner. Six pairs of
colour and shape are kept back. Every arm scores a picture with five captions, the right one and
four that differ from it in one word, and learns to score the right one highest.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.data.shapes import COLOURS, QUADRANTS, SHAPES
from course_lib.experiments.generated import Batch, Recipe, sha256_of, train_generated
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.layers import xavier_init
from course_lib.multimodal import (
    KEPT_BACK,
    DualEncoder,
    DualEncoderConfig,
    InterleavedConfig,
    InterleavedDecoder,
    UnifiedConfig,
    UnifiedEncoder,
    close_ups,
)
from course_lib.training import count_parameters, seeded_generator
from course_lib.vit import patchify

Layout = Literal["separate", "unified-line", "unified-dual", "interleaved"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
ATTRIBUTES = ("colour", "shape", "vertical", "horizontal")
_SIZES = (len(COLOURS), len(SHAPES), 2, 2)

_TEST_SEED = 1_000_000
_END, _YES, _FIRST = 1, 2, 3
_N_WORDS = _FIRST + sum(_SIZES)
_LENGTH = len(ATTRIBUTES) + 1
_SIDE, _PATCH = 32, 8


@dataclass(frozen=True)
class ContrastiveConfig:
    """Settings that all arms share."""

    d_model: int = 64
    n_heads: int = 2
    d_ff: int = 128
    n_layers: int = 2
    n_test: int = 400  # pictures to test on
    batch_size: int = 32
    epochs: int = 3  # parts of the training
    steps: int = 200  # steps of a part
    learning_rate: float = 2e-3


CPU = ContrastiveConfig()
# The documents name no setting; this is ours for a GPU.
FULL = ContrastiveConfig(
    d_model=256, n_heads=8, d_ff=1024, n_layers=4, n_test=2000, batch_size=64, epochs=20,
    steps=1000, learning_rate=5e-4,
)  # fmt: skip


def kept_back(attributes: Tensor) -> Tensor:
    """Tell whether colour and shape of ``(..., 4)`` together are kept back: boolean ``(...)``."""
    caption = len(SHAPES) * attributes[..., 0] + attributes[..., 1]
    return torch.isin(caption, torch.tensor(KEPT_BACK))


def scenes(n: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Draw pictures ``(B, 3, 32, 32)`` of a shape in a corner, and colour, shape, row, column."""
    # In the middle of its corner: told apart after hundreds of steps and not thousands.
    made = close_ups(n, generator, jitter=0)
    corner = torch.randint(len(QUADRANTS), (n,), generator=generator)
    images = 0.1 * torch.randn(n, 4, 3, _SIDE // 2, _SIDE // 2, generator=generator)
    images[torch.arange(n), corner] = made.images
    grid = images.unflatten(1, (2, 2)).permute(0, 3, 1, 4, 2, 5).reshape(n, 3, _SIDE, _SIDE)
    parts = [made.caption // len(SHAPES), made.caption % len(SHAPES), corner // 2, corner % 2]
    return grid, torch.stack(parts, dim=1)


def write(attributes: Tensor) -> Tensor:
    """Captions of attributes ``(..., 4)`` as numbers of words, with an end: ``(..., 5)``."""
    starts = torch.tensor([_FIRST + sum(_SIZES[:i]) for i in range(len(_SIZES))])
    return F.pad(attributes + starts, (0, 1), value=_END)


def all_attributes() -> Tensor:
    """Numbers of all 96 captions, ``(96, 4)``."""
    return torch.cartesian_prod(*(torch.arange(size) for size in _SIZES))


def one_word_wrong(attributes: Tensor, generator: Generator) -> Tensor:
    """Change each word of a caption in turn; no colour or shape makes a pair that is kept back.

    ``attributes``: numbers ``(B, 4)``. Returns ``(B, 5, 4)``: first the caption itself, then with
    another colour, shape, row, column.
    """
    made = attributes[:, None].repeat(1, 1 + len(_SIZES), 1)
    for i, size in enumerate(_SIZES):
        tried = made[:, 1 + i : 2 + i].repeat(1, size, 1)
        tried[:, :, i] = torch.arange(size)
        # Colour and shape stay as they are where the row or the column changes.
        allowed = (tried[:, :, i] != attributes[:, i : i + 1]) & (~kept_back(tried) | (i > 1))
        lot = torch.rand(allowed.shape, generator=generator).masked_fill(~allowed, -1.0)
        made[:, 1 + i, i] = lot.argmax(dim=1)
    return made


class Scorer(nn.Module):
    """Score of each caption for an image, by one of :data:`LAYOUTS`."""

    def __init__(self, layout: Layout, config: ContrastiveConfig, generator: Generator) -> None:
        super().__init__()
        if layout not in LAYOUTS:
            raise ValueError(f"layout is {layout!r}, wanted one of {', '.join(LAYOUTS)}")
        self.layout = layout
        D, H, F_, L = config.d_model, config.n_heads, config.d_ff, config.n_layers
        self.inner: Any
        self.head: nn.Linear | None = None
        if layout == "separate":
            self.inner = DualEncoder(
                DualEncoderConfig(
                    image_size=_SIDE,
                    patch_size=_PATCH,
                    image_d_model=D,
                    image_n_layers=L,
                    image_n_heads=H,
                    image_d_ff=F_,
                    n_words=_N_WORDS,
                    max_len=_LENGTH,
                    end=_END,
                    text_d_model=D,
                    text_n_layers=L,
                    text_n_heads=H,
                    text_d_ff=F_,
                    d_embedding=D,
                ),
                generator=generator,
            )
        elif layout == "interleaved":
            # A head of an interleaved decoder needs an even number of channels, at least six.
            self.inner = InterleavedDecoder(
                InterleavedConfig(
                    n_words=_N_WORDS,
                    d_patch=3 * _PATCH**2,
                    d_model=D,
                    n_layers=L,
                    n_heads=H,
                    d_ff=F_,
                ),
                generator=generator,
            )
        else:
            self.inner = UnifiedEncoder(
                UnifiedConfig(
                    image_size=_SIDE,
                    patch_size=_PATCH,
                    n_words=_N_WORDS,
                    max_len=_LENGTH,
                    d_model=D,
                    n_layers=L,
                    n_heads=H,
                    d_ff=F_,
                    places="dual" if layout == "unified-dual" else "line",
                ),
                generator=generator,
            )
            self.head = nn.Linear(D, 1)
        # Each of the three has a scale of its own at the start; layouts are to be compared, not it.
        xavier_init(self, generator=generator)

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        """Scores ``(B, C)`` of C captions ``(B, C, 5)`` for each picture ``(B, 3, 32, 32)``."""
        B, C, T = tokens.shape
        captions = tokens.reshape(B * C, T)
        if self.layout == "separate":
            pictures = F.normalize(self.inner.embed_images(images), dim=-1)
            texts = F.normalize(self.inner.embed_texts(captions), dim=-1).view(B, C, -1)
            return self.inner.temperature() * (texts @ pictures[..., None]).squeeze(-1)
        each = images.repeat_interleave(C, dim=0)
        if self.layout == "interleaved":
            side = _SIDE // _PATCH
            logits = self.inner(captions, patchify(each, _PATCH), [(side, side), T])
            return logits[:, -1, _YES].view(B, C)
        words, _ = self.inner(captions, each)
        assert self.head is not None
        return self.head(words[:, -1]).view(B, C)


@torch.no_grad()
def swaps(model: nn.Module, test: Batch) -> dict[str, float]:
    """Share of pictures whose caption beats the one with another colour, shape, row or column.

    ``test``: pictures and their five captions' attributes ``(B, 5, 4)``. Returns one share for each
    attribute, and for those who must lose together: ``place`` for another row and another column,
    ``right`` for all four.
    """
    device = next(model.parameters()).device
    images, attributes = test
    scores = model(images.to(device), write(attributes).to(device)).cpu()
    beaten = scores[:, :1] > scores[:, 1:]
    found = dict(zip(ATTRIBUTES, beaten.double().mean(dim=0).tolist(), strict=True))
    both = {"place": beaten[:, 2:], "right": beaten}
    return found | {name: all_.all(dim=1).double().mean().item() for name, all_ in both.items()}


@torch.no_grad()
def name_among(model: nn.Module, images: Tensor, candidates: Tensor) -> Tensor:
    """Candidate ``(B,)``, of attributes ``(C, 4)``, that is the best caption of each image."""
    tokens = write(candidates)
    found = [
        model(part, tokens.expand(len(part), -1, -1)).argmax(dim=1) for part in images.split(10)
    ]
    return torch.cat(found)


def zero_shot(model: nn.Module, images: Tensor, attributes: Tensor) -> dict[str, float]:
    """Share of pictures that are named rightly, by what they are chosen among.

    Captions of training, and those kept back, among all 96; those kept back among the 24 of them.
    ``images`` ``(B, 3, 32, 32)``; ``attributes``: of the pictures ``(B, 4)``.
    """
    every = all_attributes()
    new = kept_back(attributes)
    right = (every[name_among(model, images, every)] == attributes).all(dim=1).double()
    few = every[kept_back(every)]
    among = (few[name_among(model, images[new], few)] == attributes[new]).all(dim=1).double()
    return {
        "trained_captions": right[~new].mean().item(),
        "kept_back": right[new].mean().item(),
        "kept_back_among_themselves": among.mean().item(),
    }


QUESTIONS = from_table("contrastive")
"""Claims of the essay's table on layouts, on unseen pairs, and a control."""


@experiment(
    "contrastive",
    "naming pictures of shapes: two towers, one encoder, words and patches in turn",
    arms={layout: {"layout": layout} for layout in LAYOUTS},
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.6, "one CPU core"),
        "full": Size(asdict(FULL), (0, 1, 2), 30, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one layout and let it name pictures."""
    config = ContrastiveConfig(**{k: v for k, v in job.config.items() if k != "layout"})
    images, attributes = scenes(config.n_test, seeded_generator(_TEST_SEED))
    test = (images, one_word_wrong(attributes, seeded_generator(_TEST_SEED, 1)))
    model = Scorer(job.config["layout"], config, seeded_generator(job.seed))

    def draw(generator: Generator) -> Batch:
        # A quarter of the pairs is kept back: half as many again leave enough.
        pictures, said = scenes(2 * config.batch_size, generator)
        shown = (~kept_back(said)).nonzero()[: config.batch_size, 0]
        said = one_word_wrong(said[shown], generator)
        return pictures[shown], write(said)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        scores = model(*batch)
        return F.cross_entropy(scores, scores.new_zeros(len(scores), dtype=torch.long))

    recipe = Recipe(config.epochs, config.steps, config.learning_rate, config.steps // 5)
    history = train_generated(model, draw, loss, lambda model: swaps(model, test), recipe, job)
    model.cpu().eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(images[:1], write(all_attributes())[None])
    results = {
        **zero_shot(model, images, attributes),
        **{key: history[-1][key] for key in ("right", "place", *ATTRIBUTES)},
        "n_parameters": count_parameters(model),
        "multiplications": counter.get_total_flops() // 2,
    }
    data = DataUse("shapes in corners", "generated, 18 of 24 pairs shown", sha256_of(test))
    return Outcome([data], history, results)
