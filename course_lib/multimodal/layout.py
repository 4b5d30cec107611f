"""Words on a page: each has a place in the text and a box on the paper."""

import torch
from torch import Tensor, nn


def normalise_boxes(boxes: Tensor, page_width: float, page_height: float) -> Tensor:
    """Boxes ``(..., 4)`` as whole thousandths of the page, so that all pages share one table.

    A box is left, top, right, bottom, in the unit in which the page is measured.

    Example:
        >>> normalise_boxes(torch.tensor([[21.0, 0.0, 105.0, 148.5]]), 210, 297).tolist()
        [[100, 0, 500, 500]]
    """
    if boxes.shape[-1:] != (4,):
        raise ValueError(f"boxes have shape {tuple(boxes.shape)}, wanted (..., 4)")
    if page_width <= 0 or page_height <= 0:
        raise ValueError(f"the page is {page_width} by {page_height}, wanted above 0")
    page = torch.tensor([page_width, page_height] * 2, dtype=torch.float64, device=boxes.device)
    return (1000 * boxes.double() / page).floor().clamp(0, 1000).long()


class LayoutEmbedding(nn.Module):
    """Add to each word its place in the text, and its box: left, top, right, bottom, size.

    Left and right edges share a table, and so do top and bottom ones: an edge at 500 is at 500,
    whichever it is. Height and width have their own. In a table that is read line by line, words of
    a column are far apart in the text and near on the paper; this shows both.

    Source: Xu et al., LayoutLM: Pre-training of Text and Layout for Document Image Understanding
    (2020), section 2.2; height and width as in its code.
    """

    def __init__(
        self,
        n_words: int,
        max_len: int,
        d_model: int,
        *,
        n_places: int = 1001,
        dropout: float = 0.0,
        eps: float = 1e-12,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, d_model)
        self.positions = nn.Parameter(torch.empty(max_len, d_model))
        self.x = nn.Embedding(n_places, d_model)
        self.y = nn.Embedding(n_places, d_model)
        self.height = nn.Embedding(n_places, d_model)
        self.width = nn.Embedding(n_places, d_model)
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)
        tables = (self.words, self.x, self.y, self.height, self.width)
        for table in (self.positions, *(table.weight for table in tables)):
            nn.init.normal_(table, std=0.02, generator=generator)

    def forward(self, tokens: Tensor, boxes: Tensor) -> Tensor:
        """Embed words ``(B, T)`` with their boxes as ``(B, T, D)``.

        Args:
            boxes: Left, top, right, bottom, ``(B, T, 4)``: whole numbers below ``n_places``.
        """
        if tokens.ndim != 2 or tokens.shape[1] > len(self.positions):
            raise ValueError(
                f"tokens have shape {tuple(tokens.shape)}, wanted (B, T) with T at most "
                f"{len(self.positions)}"
            )
        if boxes.shape != (*tokens.shape, 4):
            raise ValueError(f"boxes have shape {tuple(boxes.shape)}, wanted {(*tokens.shape, 4)}")
        left, top, right, bottom = boxes.unbind(-1)
        edges = self.x(left) + self.y(top) + self.x(right) + self.y(bottom)
        size = self.height(bottom - top) + self.width(right - left)
        x = self.words(tokens) + self.positions[: tokens.shape[1]] + edges + size
        return self.dropout(self.norm(x))
