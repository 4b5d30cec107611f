from course_lib.bank.prelude import changed, math, nn, torch
from course_lib.bank.vit.vit_size import exercise
from course_lib.vit import ViTConfig, vit_costs


@exercise.answer
def reference(
    image_size: int,
    patch_size: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    n_classes: int = 10,
    learned: bool = True,
    pooling: str = "cls",
) -> tuple[int, int]:
    """Parameters, and multiplications for one image."""
    config = ViTConfig(
        image_size=image_size,
        patch_size=patch_size,
        d_model=d_model,
        d_ff=d_ff,
        n_layers=n_layers,
        n_classes=n_classes,
        n_heads=n_heads,
        positions="learned" if learned else "none",
        pooling="cls" if pooling == "cls" else "mean",
    )
    parameters, multiplications = vit_costs(config)
    return parameters, multiplications


def right(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
          learned=True, pooling="cls"):  # fmt: skip
    """Base of the mistakes, itself right."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes
    products = 4 * T * d_model**2 + 2 * T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("The table of positions is learned. Do its entries count as parameters?")
@changed(right, ("+ T * learned)", ")"))
def table_is_free():
    """Positions come from a formula, so they cost no parameters."""


@exercise.mistake("How many tokens enter the first block? Count them in the table, too.")
def class_forgotten(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                    learned=True, pooling="cls"):  # fmt: skip
    """There are as many tokens as patches."""
    N, pixels = (image_size // patch_size) ** 2, 3 * patch_size**2
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes + N * d_model * learned
    products = 4 * N * d_model**2 + 2 * N * N * d_model + 2 * N * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("How many numbers does a patch have, in an image with colours?")
@changed(right, ("** 2, 3 *", "** 2,"))
def grey():
    """A patch has as many numbers as pixels."""


@exercise.mistake("What is added to the product of each projection?")
def biases_forgotten(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                     learned=True, pooling="cls"):  # fmt: skip
    """Linear layers are matrices."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model
    parameters = (pixels + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += d_model * n_classes
    products = 4 * T * d_model**2 + 2 * T * T * d_model + 2 * T * d_model * d_ff
    return parameters, N * pixels * d_model + n_layers * products + d_model * n_classes


@exercise.mistake("Pre-norm: has what comes out of the last block been normalised?")
@changed(right, ("block + 2 * d_model", "block"))
def no_last_norm():
    """All norms are in the blocks."""


@exercise.mistake("The weights are there. What are they multiplied with?")
@changed(right, ("2 + 2 *", "2 +"))
def scores_only():
    """The square of the tokens comes in once, with the scores."""


@exercise.mistake("Twice as many tokens with the same weights: is that twice the work, or none?")
def a_product_for_each_weight(image_size, patch_size, d_model, n_heads, d_ff, n_layers,
                              n_classes=10, learned=True, pooling="cls"):  # fmt: skip
    """A model multiplies as often as it has weights."""
    N, pixels, front = (image_size // patch_size) ** 2, 3 * patch_size**2, int(pooling == "cls")
    T = N + front
    block = 4 * d_model * (d_model + 1) + 2 * d_model * d_ff + d_ff + 5 * d_model
    parameters = (pixels + 1 + front + T * learned) * d_model + n_layers * block + 2 * d_model
    parameters += (d_model + 1) * n_classes
    return parameters, parameters


@exercise.alternative
def built(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
          learned=True, pooling="cls"):  # fmt: skip
    """Builds the layers without their numbers and counts; warns."""
    import warnings

    warnings.warn("building", stacklevel=1)
    n = (image_size // patch_size) ** 2
    tokens = n + (pooling == "cls")
    with torch.device("meta"):
        embed = nn.Conv2d(3, d_model, patch_size, patch_size)
        blocks = [nn.TransformerEncoderLayer(d_model, 1, d_ff) for _ in range(n_layers)]
        rest = [nn.LayerNorm(d_model), nn.Linear(d_model, n_classes)]
    count = sum(p.numel() for m in (embed, *blocks, *rest) for p in m.parameters())
    count += d_model * (tokens - n)
    if learned:
        count += tokens * d_model
    matrices = [p for block in blocks for p in block.parameters() if p.ndim == 2]
    work = n * embed.weight.numel() + rest[1].weight.numel()
    work += tokens * sum(p.numel() for p in matrices)
    return count, work + n_layers * 2 * tokens * tokens * d_model


@exercise.alternative
def shapes_listed(image_size, patch_size, d_model, n_heads, d_ff, n_layers, n_classes=10,
                  learned=True, pooling="cls"):  # fmt: skip
    """Lists every matrix with how often it is used."""
    rows = image_size // patch_size
    N = rows * rows
    T = N + 1 if pooling == "cls" else N
    uses = [((3 * patch_size * patch_size, d_model), N), ((d_model, n_classes), 1)]
    for _ in range(n_layers):
        uses += [((d_model, d_model), T)] * 4
        uses += [((d_model, d_ff), T), ((d_ff, d_model), T)]
    weights = sum(math.prod(shape) + shape[1] for shape, _ in uses)
    norms = (2 * n_layers + 1) * 2 * d_model
    extra = (T - N) * d_model + (T * d_model if learned else 0)
    mixing = sum(T * T * d_model * 2 for _ in range(n_layers))
    return weights + norms + extra, sum(math.prod(s) * n for s, n in uses) + mixing
