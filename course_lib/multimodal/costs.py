"""Costs of bringing words and patches together, for each layout."""

from typing import Literal, get_args

Layout = Literal["towers", "joint", "cross", "slots"]


def search_scores(
    layout: Layout,
    n_words: int,
    n_patches: int,
    n_layers: int,
    *,
    n_images: int = 1,
    n_texts: int = 1,
    n_slots: int = 16,
) -> int:
    """Count the attention scores of a head, over all layers, to compare N images with M texts.

    What depends on an image or a text alone is computed once and kept; what depends on both, once
    for each of the N M pairs. T words, P patches, L layers for each stack; masks save nothing here.

    - ``"towers"``: an encoder each, which meet in a dot product: ``L (N P^2 + M T^2)``.
    - ``"joint"``: one encoder over both: ``L N M (T + P)^2``.
    - ``"cross"``: an image encoder, and text blocks of self-attention and cross-attention:
      ``L (N P^2 + N M (T^2 + T P))``.
    - ``"slots"``: an image encoder, K learned queries that read it once, and one encoder over
      words and slots: ``N (L P^2 + K P) + L N M (T + K)^2``.
    """
    numbers = (n_words, n_patches, n_layers, n_images, n_texts, n_slots)
    if min(numbers) < 1:
        raise ValueError(f"got the numbers {numbers}, wanted at least 1 each")
    if layout not in get_args(Layout):
        raise ValueError(f"layout is {layout!r}, wanted one of {get_args(Layout)}")
    pairs, image_tower = n_images * n_texts, n_images * n_layers * n_patches**2
    if layout == "towers":
        return image_tower + n_texts * n_layers * n_words**2
    if layout == "joint":
        return pairs * n_layers * (n_words + n_patches) ** 2
    if layout == "cross":
        return image_tower + pairs * n_layers * n_words * (n_words + n_patches)
    read_once = n_images * n_slots * n_patches
    return image_tower + read_once + pairs * n_layers * (n_words + n_slots) ** 2
