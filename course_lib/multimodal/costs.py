"""What it costs to bring words and patches together, for each way of doing it."""

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
    """Count the attention scores of a head for comparing all images with all texts.

    What depends on an image or a text alone is computed once and kept; what depends on both, once
    for each of the N M pairs, and a block in which anything does is computed whole. T words, P
    patches, L layers for each stack of blocks:

    - ``"towers"``: an encoder each, which meet in a dot product: ``L (N P^2 + M T^2)``.
    - ``"joint"``: one encoder over both: ``L N M (T + P)^2``.
    - ``"cross"``: an image encoder, and text blocks of self-attention and cross-attention:
      ``L (N P^2 + N M (T^2 + T P))``.
    - ``"slots"``: an image encoder, K learned queries that read it once, and one encoder over
      words and slots: ``N (L P^2 + K P) + L N M (T + K)^2``.

    Masks don't count as savings here.

    Args:
        layout: One of the four.
        n_words: Words of a text T.
        n_patches: Patches of an image P.
        n_layers: Blocks of each stack L.
        n_images: Images N.
        n_texts: Texts M.
        n_slots: Queries K, for ``"slots"`` only.

    Returns:
        The number of scores of one head per layer, over all layers.

    Raises:
        ValueError: If the layout is unknown or a number is below 1.

    Example:
        One pair costs about the same everywhere; ten images for ten texts do not:

        >>> [search_scores(layout, 4, 16, 1) for layout in ("towers", "joint", "cross")]
        [272, 400, 336]
        >>> [search_scores(way, 4, 16, 1, n_images=10, n_texts=10) for way in ("towers", "joint")]
        [2720, 40000]
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
