"""Pictures that readers bring, and pictures with a red shape that models are asked about."""

import io
from pathlib import Path

import pytest
import torch
from PIL import Image

from course_lib.vit import load_kept, load_picture
from course_lib.vit.three_questions import QUESTIONS, answers_right, red_scenes, train_on_scenes


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
