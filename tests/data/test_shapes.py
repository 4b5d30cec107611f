import pytest
import torch

from course_lib.data.shapes import COLOURS, QUADRANTS, SHAPES, ShapeImages, shape_images


def make(n: int = 500, n_shapes: int = 2, seed: int = 0, **kwargs: float) -> ShapeImages:
    return shape_images(n, torch.Generator().manual_seed(seed), n_shapes=n_shapes, **kwargs)  # type: ignore[arg-type]


def test_images_are_floats_in_the_unit_interval() -> None:
    made = make(8)
    assert made.images.shape == (8, 3, 32, 32) and made.images.dtype == torch.float32
    assert made.images.min() >= 0 and made.images.max() <= 1


def test_same_seed_same_pictures() -> None:
    a, b, c = make(20), make(20), make(20, seed=1)
    assert torch.equal(a.images, b.images) and torch.equal(a.shape, b.shape)
    assert not torch.equal(a.images, c.images)


def test_no_global_random_state_is_used() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    make(5)
    assert torch.equal(before, torch.get_rng_state())


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


def test_shapes_can_be_told_apart_by_their_area() -> None:
    made = make(2000, 1, noise=0.0)
    area = (made.images != 0.5).any(dim=1).flatten(1).sum(dim=1) / (2 * made.radius[:, 0]) ** 2
    means = [area[made.shape[:, 0] == s].mean().item() for s in range(4)]
    # Share of the square of side 2 radius that each shape covers.
    cross = 2 * 0.35 - 0.35**2
    assert means == pytest.approx([torch.pi / 4, 0.9**2, 1 / 2, cross], abs=0.06)


def test_left_of_is_not_given_away_by_the_half_of_the_first_shape() -> None:
    made = make(3000)
    in_left_half = made.quadrant[:, 0] % 2 == 0
    agreement = (in_left_half == made.left_of).float().mean()
    assert 0.6 < agreement < 0.9
    both_left = (made.quadrant % 2 == 0).all(dim=1)
    assert both_left.sum() > 100
    assert 0.4 < made.left_of[both_left].float().mean() < 0.6


def test_shapes_stay_inside_the_picture() -> None:
    made = make(500, size=16)
    assert (made.centre - made.radius.unsqueeze(-1)).min() >= 0
    assert (made.centre + made.radius.unsqueeze(-1)).max() <= 15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n is -1, wanted at least 0"),
        ({"n": 1, "size": 8}, "size is 8"),
        ({"n": 1, "n_shapes": 3}, "n_shapes is 3"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shape_images(generator=torch.Generator(), **arguments)  # type: ignore[arg-type]


def test_left_of_needs_two_shapes() -> None:
    with pytest.raises(ValueError, match="has 1 shape, wanted 2"):
        _ = make(1, 1).left_of


def test_no_pictures() -> None:
    assert len(make(0)) == 0
