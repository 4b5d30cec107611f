import hashlib

import numpy as np
import pytest
import torch

from course_lib.data import DataError, cifar, load_cifar10
from course_tests.refusals import refusals

RECORD = 3073


@pytest.fixture
def made(tmp_path, monkeypatch):
    folder = tmp_path / cifar.FOLDER
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in cifar.FILES:
        records = rng.integers(0, 256, (10_000, RECORD), np.uint8)
        records[:, 0] %= 10
        records.tofile(folder / name)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return folder


def test_records_are_label_then_red_green_blue(made):
    data = load_cifar10("test")
    raw = np.fromfile(made / "test_batch.bin", np.uint8).reshape(10_000, RECORD)
    assert data.images.shape == (10_000, 3, 32, 32) and data.images.dtype == torch.uint8
    assert data.labels.tolist() == raw[:, 0].tolist()
    # Byte 1 + 1024 + 32 * 5 + 7 is green, row 5, column 7.
    assert data.images[123, 1, 5, 7] == raw[123, 1 + 1024 + 32 * 5 + 7]


def test_training_files_keep_their_order(made):
    labels = load_cifar10("train").labels
    assert len(labels) == 50_000
    for i in range(5):
        raw = np.fromfile(made / f"data_batch_{i + 1}.bin", np.uint8)[::RECORD]
        assert labels[10_000 * i : 10_000 * (i + 1)].tolist() == raw.tolist()


def test_the_variant_is_decided_by_content(made, monkeypatch):
    assert load_cifar10("test").variant == cifar.UNKNOWN
    checksums = tuple(
        hashlib.sha256((made / name).read_bytes()).hexdigest() for name in cifar.FILES
    )
    monkeypatch.setitem(cifar._VARIANTS, cifar.OFFICIAL, checksums)
    assert load_cifar10("test").variant == cifar.OFFICIAL
    # One changed byte in one file, and it is no longer the official data.
    with (made / "data_batch_3.bin").open("r+b") as file:
        file.seek(5000)
        byte = file.read(1)[0]
        file.seek(5000)
        file.write(bytes([byte ^ 1]))
    assert load_cifar10("test").variant == cifar.UNKNOWN


@pytest.mark.parametrize(("size", "message"), [(-1, "cut short"), (1, "too long")])
def test_a_file_of_the_wrong_size_is_named(made, size, message):
    path = made / "data_batch_2.bin"
    content = path.read_bytes()
    path.write_bytes(content[:size] if size < 0 else content + b"x")
    with pytest.raises(DataError, match=f"data_batch_2.bin is {message}") as caught:
        load_cifar10("test")
    assert caught.value.where == str(path)


def test_a_label_above_nine_is_refused(made):
    with (made / "test_batch.bin").open("r+b") as file:
        file.write(bytes([10]))
    with pytest.raises(DataError, match="label is 10"):
        load_cifar10("test")


test_what_does_not_fit_is_refused = refusals(
    (lambda: load_cifar10("valid"), "'valid'"),
    (lambda: cifar.normalise(torch.zeros(1, 3, 2, 2)), r"torch\.float32"),
)


def test_normalise_by_hand():
    images = torch.tensor([0, 128, 255], dtype=torch.uint8).view(1, 3, 1, 1)
    got = cifar.normalise(images, (0.5, 0.0, 1.0), (1.0, 2.0, 0.5)).flatten()
    torch.testing.assert_close(got, torch.tensor([-0.5, 128 / 255 / 2, 0.0]))


def test_real_counts_and_first_and_last_images(course_data):
    train, test = load_cifar10("train"), load_cifar10("test")
    assert train.labels.bincount().tolist() == [5000] * 10
    assert test.labels.bincount().tolist() == [1000] * 10
    assert train.variant == test.variant in (cifar.OFFICIAL, cifar.JPEG_COPY)
    assert train.sha256 == test.sha256
    if train.variant == cifar.JPEG_COPY:
        assert train.labels[:5].tolist() == [5, 1, 2, 5, 1]
        assert test.labels[-5:].tolist() == [8, 9, 6, 5, 9]
        assert train.images[0, :, 0, 0].tolist() == [137, 157, 129]
        assert test.images[-1, :, -1, -1].tolist() == [144, 144, 136]
        assert train.sha256.startswith("c81b2efcafad9c1d")


def test_which_standard_deviation_is_which(course_data):
    """The constants name what they are: measured on the data at hand, lossy copy or not."""
    pixels = load_cifar10("train").images.float() / 255
    mean = pixels.mean(dim=(0, 2, 3))
    pixel_std = pixels.transpose(0, 1).flatten(1).std(dim=1)
    image_std = pixels.flatten(2).std(dim=-1).mean(dim=0)
    torch.testing.assert_close(mean, torch.tensor(cifar.MEAN), atol=5e-4, rtol=0)
    torch.testing.assert_close(pixel_std, torch.tensor(cifar.PIXEL_STD), atol=2e-3, rtol=0)
    torch.testing.assert_close(image_std, torch.tensor(cifar.IMAGE_STD), atol=2e-3, rtol=0)
    # Normalised by the smaller one, the pixels do not have deviation 1.
    assert (pixel_std / torch.tensor(cifar.IMAGE_STD)).min() > 1.15
