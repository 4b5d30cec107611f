"""Other resolutions, and pictures of one's own."""

import io
from pathlib import Path
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from course_lib.vit import (
    DistilledViT,
    Positions,
    ViT,
    ViTConfig,
    load_kept,
    load_picture,
    resample_positions,
)
from course_lib.vit.three_questions import QUESTIONS, answers_right, red_scenes, train_on_scenes
from course_tests.refusals import refusals

SMALL = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "image_size": 12}


def make(positions, fused=True, kind=ViT, **changes):
    generator = torch.Generator().manual_seed(0)
    config = ViTConfig(**{**SMALL, "positions": positions, **changes})
    return kind(config, fused=fused, generator=generator).eval()


def images(size=12):
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_what_each_scheme_costs():
    extra = {name: count(make(name)) - count(make("none")) for name in get_args(Positions)}
    assert extra.pop("learned") == 10 * 16
    assert extra.pop("mixed") == 2 * 16  # a number for each channel of each layer
    assert set(extra.values()) == {0}


@pytest.mark.parametrize("positions", get_args(Positions))
def test_both_paths_agree(positions):
    fast, explicit = (make(positions, fused=fused).double() for fused in (True, False))
    x = images().double()
    torch.testing.assert_close(fast(x), explicit(x), atol=1e-10, rtol=0)
    logits, _ = fast(x, return_weights=True)
    torch.testing.assert_close(logits, explicit(x), atol=1e-10, rtol=0)


def test_mixed_rotations_are_learned_in_each_layer():
    model = make("mixed")
    model(images()).square().sum().backward()
    assert all(rotation.frequencies.grad.any() for rotation in model.rotations)


@pytest.mark.parametrize("kind", [ViT, DistilledViT])
@pytest.mark.parametrize("positions", get_args(Positions))
@pytest.mark.parametrize("size", [8, 20])
def test_another_resolution_keeps_all_other_weights(positions, size, kind):
    model = make(positions, kind=kind)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    other = model.resized(size)
    assert other(images(size)).shape == (2, 10)
    fresh = make(positions, kind=kind, image_size=size)
    assert [(n, v.shape) for n, v in fresh.state_dict().items()] == [
        (n, v.shape) for n, v in other.state_dict().items()
    ]
    fresh.load_state_dict(other.state_dict())
    torch.testing.assert_close(fresh(images(size)), other(images(size)))
    for name, value in other.state_dict().items():
        assert name == "positions" or torch.equal(value, before[name])
    assert all(torch.equal(v, before[n]) for n, v in model.state_dict().items())
    torch.testing.assert_close(model.resized(12)(images()), model(images()))


@given(
    grid=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    new_grid=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    n_prefix=st.integers(0, 2),
)
@settings(max_examples=20, deadline=None)
def test_a_flat_table_stays_flat_and_other_tokens_keep_their_rows(grid, new_grid, n_prefix):
    table = torch.full((n_prefix + grid[0] * grid[1], 3), 0.5)
    table[:n_prefix] = torch.arange(n_prefix)[:, None] + 7.0
    new = resample_positions(table, grid, new_grid, n_prefix=n_prefix)
    assert torch.equal(new[:n_prefix], table[:n_prefix])
    torch.testing.assert_close(new[n_prefix:], torch.full((new_grid[0] * new_grid[1], 3), 0.5))


@pytest.mark.parametrize("antialias", [True, False])
def test_with_antialiasing_every_row_counts_in_a_coarser_grid(antialias):
    table = torch.randn(1 + 12 * 12, 1, requires_grad=True)
    new = resample_positions(table, (12, 12), (2, 2), antialias=antialias)
    new.square().sum().backward()
    # Four new rows look at 4 x 4 old ones each, or at all of them.
    assert int((table.grad[1:] != 0).sum()) == (144 if antialias else 64)


def test_antialiasing_is_the_convolution_of_an_image_library():
    """Pillow's bicubic filter, whose kernel is widened by the factor, along one axis."""
    line = torch.randn(1, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    place = (torch.arange(12.0, dtype=torch.float64) + 0.5)[None]
    centre = (torch.arange(4.0, dtype=torch.float64)[:, None] + 0.5) * 3
    x = ((place - centre) / 3).abs()
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    weights = near.where(x < 1, far.where(x < 2, torch.zeros_like(x)))
    weights = weights / weights.sum(dim=1, keepdim=True)
    ours = resample_positions(line.T, (1, 12), (1, 4), n_prefix=0, antialias=True)
    torch.testing.assert_close(ours, weights @ line.T)


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: make("fixed").resized(14), "patch_size is 4, wanted a divisor of image_size 14"),
    (lambda: make("axial", n_heads=8), "d_head is 2, wanted a positive multiple of 4"),
    (lambda: make("learned").resized(8)(images(12)), r"\(2, 3, 12, 12\), wanted \(B, 3, 8, 8"),
    (lambda: resample_positions(torch.zeros(9, 2), (3, 3), (4, 4)), r"\(9, 2\), wanted \(10"),
)


def file_of(picture, kind="png", **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file


def test_the_middle_square_is_cut_out():
    picture = Image.new("RGB", (60, 20), "blue")
    picture.paste("red", (20, 0, 40, 20))
    found = load_picture(file_of(picture), size=5)
    assert found.shape == (1, 3, 5, 5) and found.dtype == torch.uint8
    assert found[0, :, 2, 2].tolist() == [255, 0, 0]
    assert load_picture(file_of(picture.transpose(Image.Transpose.ROTATE_90)), size=5).equal(found)


def test_what_is_made_smaller_is_averaged():
    board = Image.new("RGB", (64, 64))
    board.putdata([(255, 255, 255) if (n + n // 64) % 2 else (0, 0, 0) for n in range(64 * 64)])
    found = load_picture(file_of(board), size=8)
    assert found.min() >= 120 and found.max() <= 135


def test_grey_transparent_and_turned_pictures_are_read():
    grey = load_picture(file_of(Image.new("L", (9, 9), 77)), size=3)
    assert grey.unique().tolist() == [77]
    clear = load_picture(file_of(Image.new("RGBA", (9, 9), (0, 0, 0, 0))), size=3)
    assert clear.unique().tolist() == [255]
    upright = Image.new("RGB", (8, 8), "black")
    upright.paste("white", (0, 0, 8, 4))
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    turned = load_picture(file_of(upright, exif=exif), size=2)
    assert turned[0, 0, 0].max() < 128 < turned[0, 0, 1].min()


def test_a_size_below_one_and_what_is_no_picture_are_refused(tmp_path):
    with pytest.raises(ValueError, match="size is 0"):
        load_picture(file_of(Image.new("L", (4, 4))), size=0)
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(OSError, match=r"cannot identify image file .*text\.png"):
        load_picture(tmp_path / "text.png")


def test_what_ships_is_as_good_as_its_record_says():
    from course_lib.calibration import expected_calibration_error
    from course_lib.experiments import load_records

    records = {r.arm: r for r in load_records(Path("book/results"), "vit-recipe")}
    for arm in ("few", "many"):
        kept, results = load_kept(arm), records[arm].results
        right = (kept.logits.argmax(-1) == kept.labels).float().mean().item()
        assert right == pytest.approx(results["accuracy"], abs=1e-4)
        error = expected_calibration_error(kept.logits, kept.labels)
        assert error == pytest.approx(results["calibration_error"], abs=1e-3)
        assert (kept.model is None) == (arm == "few")


def test_a_missing_file_tells_how_to_make_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="course run vit-recipe --arms many"):
        load_kept(folder=tmp_path)


def scenes(n, seed=0, size=24):
    return red_scenes(n, torch.Generator().manual_seed(seed), size=size)


def test_the_answers_are_about_the_red_shape():
    made = scenes(300)
    red, green, blue = made.images.unbind(dim=1)
    reddish = ((red > 0.5) & (green < -0.5) & (blue < -0.5)).float()
    other = ((torch.maximum(green, blue) > 0.5) & (torch.minimum(red, green) > -2)).float()
    row = (reddish.sum(dim=2) * torch.arange(24)).sum(dim=1) / reddish.sum(dim=(1, 2))
    column = (reddish.sum(dim=1) * torch.arange(24)).sum(dim=1) / reddish.sum(dim=(1, 2))
    beside = (other.sum(dim=1) * torch.arange(24)).sum(dim=1) / other.sum(dim=(1, 2))
    _, where, left = made.answers.unbind(dim=1)
    clear = (row - 11.5).abs().minimum((column - 11.5).abs()) > 1
    seen = 2 * (row > 11.5).long() + (column > 11.5).long()
    assert clear.sum() > 150 and seen[clear].equal(where[clear])
    assert (column < beside).long().equal(left)


def test_a_model_without_positions_guesses_places():
    test = scenes(300, seed=1, size=16)
    model = train_on_scenes(scenes(500, size=16), "none", steps=60)
    right = answers_right(model, test)
    assert list(right) == list(QUESTIONS)
    assert right["where"] < 0.4 and right["left of"] < 0.65
