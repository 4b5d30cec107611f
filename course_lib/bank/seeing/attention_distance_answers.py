from course_lib import attention_maps
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.seeing.attention_distance import exercise


@exercise.answer
def reference(
    weights: Tensor, grid: tuple[int, int], n_prefix: int = 1, patch_size: float = 1.0
) -> Tensor:
    """The library's, without keywords."""
    return attention_maps.attention_distance(
        weights, grid, n_prefix=n_prefix, patch_size=patch_size
    )


def right(weights, grid, n_prefix=1, patch_size=1.0):
    """Base of the mistakes, itself right."""
    rows, columns = grid
    patches = weights[..., n_prefix:, n_prefix:]
    patches = patches / patches.sum(-1, keepdim=True)
    index = torch.arange(rows * columns)
    y, x = index // columns, index % columns
    far = torch.hypot((y[:, None] - y).to(weights), (x[:, None] - x).to(weights))
    return (patches * far).sum(-1).mean(-1) * patch_size


@exercise.mistake("Give nine tenths of a row to the class token. Does your head look less far?")
@changed(right, ("    patches = patches / patches.sum(-1, keepdim=True)\n", ""))
def the_rest_counts_as_near():
    """What goes to the class token goes nowhere, so it adds nothing to a distance."""


@exercise.mistake("From a patch to the one below and to the right: which of two ways do you go?")
@changed(
    right,
    ("torch.hypot(", "("),
    ("to(weights),", "abs() +"),
    ("to(weights))", "abs()).to(weights)"),
)
def around_the_corner():
    """The distance of two patches is rows plus columns."""


@exercise.mistake("How far apart are the last patch of a row and the first of the next one?")
def along_the_line(weights, grid, n_prefix=1, patch_size=1.0):
    """Patches are as far apart as their numbers in the sequence."""
    patches = weights[..., n_prefix:, n_prefix:]
    patches = patches / patches.sum(-1, keepdim=True)
    index = torch.arange(grid[0] * grid[1])
    far = (index[:, None] - index).abs().to(weights)
    return (patches * far).sum(-1).mean(-1) * patch_size


@exercise.mistake("Which numbers sum to 1: those of one query, or those of one key?")
@changed(right, ("n_prefix:]", "n_prefix:].transpose(-1, -2)"))
def who_is_looked_at():
    """A column says where a patch looks."""


@exercise.mistake("Number the patches of a grid of 2 x 5 on paper, row after row. Where is 7?")
@changed(right, ("columns, index % columns", "rows, index % rows"))
def divided_by_rows():
    """A patch's row is its number divided by the number of rows."""


@exercise.mistake("A head gives 0.6 to its own patch and the rest to a corner. Is its distance 0?")
def favourite_alone(weights, grid, n_prefix=1, patch_size=1.0):
    """A head looks at the patch with the largest weight."""
    rows, columns = grid
    patches = weights[..., n_prefix:, n_prefix:]
    index = torch.arange(rows * columns)
    best = patches.argmax(-1)
    far = torch.hypot(
        (index // columns - best // columns).to(weights),
        (index % columns - best % columns).to(weights),
    )
    return far.mean(-1) * patch_size


@exercise.mistake("Your distance is in patches. In which unit is it asked for?")
@changed(right, (") * patch_size", ")"))
def in_patches():
    """A distance is the same number whatever the size of a patch."""


@exercise.mistake("Give it weights in half precision. Which function of yours has no half?")
def lengths_by_cdist(weights, grid, n_prefix=1, patch_size=1.0):
    """Every function knows every precision."""
    rows, columns = grid
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).to(weights)
    patches = weights[..., n_prefix:, n_prefix:]
    patches = patches / patches.sum(-1, keepdim=True)
    return (patches * torch.cdist(places, places)).sum(-1).mean(-1) * patch_size


@exercise.alternative
def patch_by_patch(weights, grid, n_prefix=1, patch_size=1.0):
    """Loops over the patches that ask; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    rows, columns = grid
    places = torch.tensor([[y, x] for y in range(rows) for x in range(columns)]).to(weights)
    total = 0
    for number, place in enumerate(places):
        row = weights[..., n_prefix + number, n_prefix:]
        lengths = (places - place).square().sum(-1).sqrt()
        total = total + (row @ lengths) / row.sum(-1)
    return patch_size * total / len(places)


@exercise.alternative
def by_norms(weights, grid, n_prefix=1, patch_size=1.0):
    """Pixel coordinates, lengths of differences, and one einsum."""
    places = torch.cartesian_prod(torch.arange(grid[0]), torch.arange(grid[1])).to(weights)
    far = (patch_size * (places[:, None] - places)).norm(dim=-1)
    patches = weights[..., n_prefix:, n_prefix:]
    mass = torch.einsum("...ij->...i", patches)
    return (torch.einsum("...ij,ij->...i", patches, far) / mass).sum(-1) / math.prod(grid)
