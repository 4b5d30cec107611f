import pytest
import torch

from course_lib.data.shapes import COLOURS, QUADRANTS, SHAPES, ShapeImages, shape_images
from course_tests.refusals import refusals


def make(n: int = 500, n_shapes: int = 2, seed: int = 0, **kwargs: float) -> ShapeImages:
    return shape_images(n, torch.Generator().manual_seed(seed), n_shapes=n_shapes, **kwargs)  # type: ignore[arg-type]


def test_images_are_floats_in_the_unit_interval() -> None:
    made = make(8)
    assert made.images.shape == (8, 3, 32, 32) and made.images.dtype == torch.float32
    assert made.images.min() >= 0 and made.images.max() <= 1


@pytest.mark.parametrize("n_shapes", [1, 2])
def test_all_labels_occur_about_equally(n_shapes: int) -> None:
    made = make(3000, n_shapes)
    for labels, names in ((made.shape, SHAPES), (made.colour, COLOURS), (made.quadrant, QUADRANTS)):
        share = labels.flatten().bincount(minlength=len(names)) / labels.numel()
        assert (share - 1 / len(names)).abs().max() < 0.04


def test_the_labels_describe_the_pixels() -> None:
    """The pixels of each shape's colour are centred where the label says, in that quadrant."""
    made = make(300, noise=0.0)
    rgb = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]]).float()
    for i in range(300):
        columns = []
        for k in range(2):
            hit = (made.images[i] == rgb[made.colour[i, k]].view(3, 1, 1)).all(dim=0)
            rows, cols = hit.nonzero().float().unbind(1)
            box = torch.tensor([(rows.min() + rows.max()) / 2, (cols.min() + cols.max()) / 2])
            assert (box - made.centre[i, k]).abs().max() < 1.0
            columns.append((cols.min(), cols.max()))
        first, second = columns
        assert (first[1] < second[0]) == made.left_of[i]
        assert first[1] < second[0] or second[1] < first[0]


test_bad_arguments_are_refused = refusals(
    ({"n": -1}, "n is -1, wanted at least 0"),
    ({"n": 1, "size": 8}, "size is 8"),
    ({"n": 1, "n_shapes": 3}, "n_shapes is 3"),
    by=lambda **arguments: shape_images(generator=torch.Generator(), **arguments),
)


def test_left_of_needs_two_shapes() -> None:
    with pytest.raises(ValueError, match="has 1 shape, wanted 2"):
        _ = make(1, 1).left_of


def test_no_pictures() -> None:
    assert len(make(0)) == 0
