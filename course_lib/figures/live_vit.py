"""The course's trained vision transformer at work on an image that a reader chooses or paints."""

import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import torch
from PIL import Image, ImageDraw
from torch import Tensor

from course_lib.attention_maps import attention_rollout
from course_lib.calibration import reliability
from course_lib.data.cifar import CLASSES, MEAN, PIXEL_STD
from course_lib.figures.base import Figure, choice, switch, table
from course_lib.figures.models import ARM, kilobytes, trained_vit
from course_lib.vit import ViT, load_kept, load_picture, rearrange_patches

_SHAPES: dict[str, str] = {
    "ship": "r a8c4dc 0 0 32 21; r 33546e 0 21 32 32; p 444444 3 18.5 29 18.5 26 24 6 24;"
    "r ffffff 11 14 21 18.5; r aa3333 14 9 17.5 14",
    "airplane": "r 8fb8dd 0 0 32 32; e e8e8ec 3 13 29 18; p c4c8d0 13 15 19 15 11 27 7 27;"
    "p c4c8d0 14 14 18 14 15 6 12 6; p d0d4da 3 15 7 14.5 5 7 2 7",
    "horse": "r b8cfe0 0 0 32 14; r 7d9a4c 0 14 32 32; e 6b3f22 7 11 23 20;"
    "p 6b3f22 19 13 24 4 27 5 24 16; p 6b3f22 23 4 30 8 29 11 24 9;"
    "p 6b3f22 8 17 10.5 17 10 29 8 29; p 5a331a 11.5 18 13.5 18 13 29 11.5 29;"
    "p 6b3f22 18 18 20 18 20 29 18 29; p 5a331a 21 17 23 17 23 29 21.5 29;"
    "p 2a1a10 7.5 12 5 16 5 24 7 20; p 2a1a10 20 12 23.5 3.5 21 6 18.5 12",
    "deer": "r 6d7f4a 0 0 32 20; r 8d8a50 0 20 32 32; e 9a6a3c 6 13 21 21;"
    "p 9a6a3c 17 15 21 7 25 7 21 18; p 9a6a3c 20 7 27 9 26 12 21 11;"
    "p 86592f 7.5 18 9.5 18 9 29 7.5 29; p 86592f 10.5 19 12 19 12 29 10.5 29;"
    "p 86592f 16 19 17.5 19 17.5 29 16 29; p 86592f 18.5 18 20.5 18 20.5 29 19 29;"
    "p 5c452c 21 7 18 1 19 1 22 7; p 5c452c 22 7 25 1 26 1 23 7",
    "bird": "r 93b7a0 0 0 32 32; e 70553d 8 11 24 22; e 70553d 19 6 27 14;"
    "p d09030 26.5 9 31 10.5 26.5 12; e 111111 23 8.5 25 10.5; p 4c3828 9 14 2 22 5 23 12 19;"
    "e 57402e 10 13 20 19; r 604020 14 21 15 27; r 604020 18 21 19 27; r 5a4a3a 6 26 28 28",
    "automobile": "r c8ccd0 0 0 32 20; r 777777 0 20 32 32;"
    "p b3202c 2 17 8 16 12 10 22 10 26 16 30 17.5 30 24 2 24;"
    "p 20303c 10 15.5 13 11.5 16 11.5 16 15.5; p 20303c 17.5 15.5 17.5 11.5 21 11.5 24 15.5;"
    "e 151515 5 20 12 27; e 151515 20 20 27 27; e 999999 7 22 10 25; e 999999 22 22 25 25",
    "frog": "r 8a7a58 0 0 32 32; e 5f8a34 6 11 27 26; e 5f8a34 7 7 14 14; e 5f8a34 18 7 25 14;"
    "e e8e088 8.5 8.5 12.5 12.5; e e8e088 19.5 8.5 23.5 12.5; e 111111 10 9.5 11.5 12;"
    "e 111111 21 9.5 22.5 12; e b9c47a 10 18 23 25; e 4c7429 2 20 10 29; e 4c7429 22 20 30 29",
    "cat": "r b9a58c 0 0 32 32; e 77706a 7 8 25 27; p 77706a 8 14 8 3 15 9;"
    "p 77706a 24 14 24 3 17 9; e d8d070 10.5 13 14 17; e d8d070 18 13 21.5 17;"
    "e 111111 11.7 13 12.9 17; e 111111 19.1 13 20.3 17; p d08080 15 19 17 19 16 21;"
    "e e8e2dc 12 20 20 26",
}
"""Rectangles, ellipses and polygons of each image: a colour, then coordinates in pixels."""

_FINE = 8


def _draw(shapes: str, x: float = 0.0, y: float = 0.0) -> Tensor:
    picture = Image.new("RGB", (32 * _FINE, 32 * _FINE), "#" + shapes.split()[1])
    pen = ImageDraw.Draw(picture)
    for shape in shapes.split(";"):
        kind, colour, *told = shape.split()
        numbers = [float(number) for number in told]
        at = [_FINE * (n + by) for n, by in zip(numbers, (x, y) * len(numbers), strict=False)]
        if kind == "r":  # what reaches an edge of the image goes on beyond it
            at = [a + 1e3 * ((n >= 32) - (n <= 0)) for a, n in zip(at, numbers, strict=True)]
        {"r": pen.rectangle, "e": pen.ellipse, "p": pen.polygon}[kind](at, fill="#" + colour)
    file = io.BytesIO()
    picture.save(file, "png")
    return load_picture(file)[0]


def draw_pictures(x: float = 0.0, y: float = 0.0) -> dict[str, Tensor]:
    """Draw a small image of each of a few classes: bytes ``(3, 32, 32)`` by the class's name."""
    return {name: _draw(shapes, x, y) for name, shapes in _SHAPES.items()}


def mixed_order(n: int = 64, seed: int = 0) -> list[int]:
    """Draw which of n patches comes to each place."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()


def _encode(picture: Tensor) -> str:
    return b64encode(picture.permute(1, 2, 0).contiguous().numpy().tobytes()).decode()


@cache
def _pictures() -> dict[str, str]:
    return {name: _encode(picture) for name, picture in draw_pictures().items()}


@cache
def _bins() -> list[tuple[int, float]]:
    kept = load_kept(ARM)
    counts, _, accuracy = reliability(kept.logits, kept.labels)
    return [(int(n), round(a, 4)) for n, a in zip(counts, accuracy.tolist(), strict=True)]


def _map_names() -> dict[int, str]:
    config = trained_vit().config
    named = (divmod(n, config.n_heads) for n in range(config.n_layers * config.n_heads))
    heads = [f"layer {layer + 1}, head {head + 1}" for layer, head in named]
    return dict(enumerate(["rollout", *heads]))


@dataclass(frozen=True)
class Options(Figure):
    """First state of the figure.

    ``shown``: whose map is large, 0 for rollout; ``images``: base64 of bytes, row after row, three
    a pixel; ``bins``: for each tenth of confidence, number of images and share of right answers.
    """

    title = "A trained vision transformer at work."
    use = (
        "Choose a drawing, load an image of yours or paint on it. Shuffle the patches, take the "
        "positions away, and see what becomes of the answer and of each head's map."
    )

    picture: str = choice("horse", "picture", tuple(_SHAPES))  # which drawing is read
    shuffled: bool = switch(False, "shuffle the patches")
    placed: bool = switch(True, "positions")  # whether each patch is told its place
    shown: int = choice(0, "map", lambda _: _map_names())
    pictures: Mapping[str, str] = field(default_factory=_pictures)
    bins: Sequence[tuple[int, float]] = field(default_factory=_bins)
    kilobytes: int = field(default_factory=partial(kilobytes, "vit"))

    @property
    def seen(self) -> Tensor:
        """The image as it is read, its patches in their order ``(3, 32, 32)``."""
        pixels = draw_pictures()[self.picture]
        order = torch.tensor(self._order)
        return rearrange_patches(pixels[None].float(), order, 4)[0].byte()

    @property
    def _order(self) -> list[int]:
        return mixed_order() if self.shuffled else list(range(64))

    def find(self) -> dict[str, Any]:
        pixels = draw_pictures()[self.picture].flatten().tolist()
        return live_vit(pixels, self._order, self.placed)

    def say(self, found: dict[str, Any]) -> str:
        """Tell the answer, and where the shown map is largest."""
        best = max(range(len(CLASSES)), key=found["logits"].__getitem__)
        weights = self._shown(found)
        most = max(range(64), key=weights.__getitem__)
        return (
            f"Answer: {CLASSES[best]}, with probability {found['probabilities'][best]:.2f}. "
            f"Map: {_map_names()[self.shown]}, largest at row {most // 8 + 1}, column "
            f"{most % 8 + 1}, with {weights[most]:.2f}."
        )

    def _shown(self, found: dict[str, Any]) -> list[float]:
        rows = [found["rollout"], *(head for heads in found["attention"] for head in heads)]
        return rows[self.shown][1:]

    def _images(self, found: dict[str, Any]) -> list[str]:
        """The image as it is read, and the shown map, as HTML."""
        weights = torch.tensor(self._shown(found)).view(8, 8)
        heat = torch.tensor([59.0, 130.0, 196.0])[:, None, None] - 255
        map_ = (255 + heat * weights / weights.max()).byte()
        told = (
            f"{self.picture} as it is read, {_state(self.shuffled, self.placed)}",
            f"map of its patches: {_map_names()[self.shown]}",
        )
        return [_image(*both) for both in zip((self.seen, map_), told, strict=True)]

    @property
    def still(self) -> str:
        """The image with and without its order and its positions, where no script draws it."""
        heads = (f"<th scope='col'>{text}</th>" for text in ("read", "map", "answer"))
        rows = [["<td></td>", *heads]]
        for shuffled, placed in ((False, True), (True, True), (False, False), (True, False)):
            at = Options(self.picture, shuffled, placed, self.shown, {}, [], 0)
            found = at.find()
            best = torch.tensor(found["probabilities"]).topk(2)
            said = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            answers = "<br/>".join(f"{CLASSES[n]} {share:.2f}" for n, share in said)
            cells = (f"<td>{text}</td>" for text in (*at._images(found), answers))
            rows.append([f"<th scope='row'>{_state(shuffled, placed)}</th>", *cells])
        caption = (
            f"A {self.picture} as the model reads it, the {_map_names()[self.shown]} of the class "
            "token, and the two likeliest classes"
        )
        drawn = table(rows).replace("<table>", f"<table><caption>{caption}</caption>")
        named = f'tabindex="0" role="region" aria-label="{caption}"'
        return f'<div class="figure-scroll live-still" {named}>{drawn}</div>'


def _state(shuffled: bool, placed: bool) -> str:
    return ("shuffled" if shuffled else "in order") + ("" if placed else ", no positions")


def _image(picture: Tensor, alt: str) -> str:
    file = io.BytesIO()
    made = Image.fromarray(picture.permute(1, 2, 0).contiguous().numpy())
    made.resize((96, 96), Image.Resampling.NEAREST).save(file, "png", optimize=True)
    data = b64encode(file.getvalue()).decode()
    return f'<img width="72" height="72" alt="{alt}" src="data:image/png;base64,{data}"/>'


@cache
def _exact(placed: bool) -> ViT:
    """The model in double precision, as a page computes, with or without places of patches."""
    model = trained_vit().double()
    if not placed:
        model.positions.data[model.n_prefix :] = 0
    return model


@torch.no_grad()
def live_vit(pixels: Sequence[int], order: Sequence[int], placed: bool = True) -> dict[str, Any]:
    """Classify an image, and say where the class token looks.

    Returns ``logits`` and ``probabilities`` (10), ``attention`` (L, H, T) of the class token, and
    its row of the ``rollout`` (T); the class token itself is before the patches.

    Example:
        Where no patch is told its place, their order makes no difference.

        >>> ship = draw_pictures()["ship"].flatten().tolist()
        >>> read = [live_vit(ship, order, placed=False) for order in (range(64), mixed_order())]
        >>> abs(read[0]["logits"][8] - read[1]["logits"][8]) < 1e-9
        True
    """
    model = _exact(placed)
    size = model.config.image_size
    image = torch.tensor(pixels, dtype=torch.float64).view(1, 3, size, size) / 255
    mean, std = (torch.tensor(c, dtype=torch.float64).view(3, 1, 1) for c in (MEAN, PIXEL_STD))
    read = rearrange_patches((image - mean) / std, torch.tensor([*order]), model.config.patch_size)
    logits, weights = model(read, return_weights=True)
    return {
        "logits": logits[0].tolist(),
        "probabilities": logits[0].softmax(-1).tolist(),
        "attention": weights[:, 0, :, 0].tolist(),
        "rollout": attention_rollout(weights)[0, 0].tolist(),
    }
