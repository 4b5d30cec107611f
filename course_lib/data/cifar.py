"""CIFAR-10: 60,000 colour images of 32 x 32 in ten classes (Krizhevsky, 2009).

Read from the official "binary version": six files of 10,000 records, each a label byte and 3,072
pixel bytes. Lossy copies of the images circulate in the same layout, and an accuracy measured on
one is not an accuracy on CIFAR-10. So a folder's checksums decide what it is called.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from course_lib.data import files
from course_lib.data.errors import DataError

FOLDER = "cifar-10-batches-bin"
ARCHIVE = files.RemoteFile(
    "cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    170_052_171,
    "md5:c32a1d4ab5d03f1284b67883e8d87530",
)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
_N_RECORDS, _RECORD = 10_000, 1 + 3 * 32 * 32

OFFICIAL, JPEG_COPY, UNKNOWN = "CIFAR-10", "CIFAR-10 (JPEG copy)", "CIFAR-10 (unknown copy)"
# SHA-256 of each file, in the order of FILES.
_VARIANTS = {
    OFFICIAL: (
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    ),
    JPEG_COPY: (
        "95bc40a96c189b4ae973b8e377256610c0b0865f59a76bf2e7b5f5d3b6a9cd51",
        "5bb5b7448ab13050c953f52e49624887d937f2dbc737ba8308b771b88b6f5ced",
        "ecc5c793ff8d4a06b657d4f9dfc1eb1e29f15f7e75fed9b9c34eb4df9459108d",
        "9e28b99d5925a27d404ec940d84ec491ea1cd48e3ceb0e9db193afd19c93e65b",
        "887c29d30b4a78aa9e3c200efd2298570173503aa557ab013e8e62afb37a242a",
        "27510dceb090e887f9424124a1302375eea207f1debd1501081084547e6b732a",
    ),
}

MEAN = (0.4914, 0.4822, 0.4465)
"""Mean of the training pixels by channel, in [0, 1].

These three constants are the customary ones; a test measures how far the data at hand is from them.
"""
PIXEL_STD = (0.2470, 0.2435, 0.2616)
"""Standard deviation of all training pixels: with it, normalised pixels have a deviation of 1."""
IMAGE_STD = (0.2023, 0.1994, 0.2010)
"""Mean of the standard deviations *within* single images: smaller, as images differ in brightness.

The CIFAR-10 report and much code divide by this one; normalised pixels then deviate by about 1.2.
"""


@dataclass(frozen=True)
class Cifar10:
    """One split of CIFAR-10: bytes ``(N, 3, 32, 32)`` and numbers of ``CLASSES`` ``(N,)``.

    ``variant``: "CIFAR-10", or which copy; ``sha256``: over the six files' checksums.
    """

    images: Tensor
    labels: Tensor
    variant: str
    sha256: str

    def __len__(self) -> int:
        return len(self.labels)


def normalise(
    images: Tensor,
    mean: tuple[float, float, float] = MEAN,
    std: tuple[float, float, float] = PIXEL_STD,
) -> Tensor:
    """Bytes ``(..., 3, H, W)`` to floats of mean 0 and deviation 1 over the training set."""
    if images.dtype != torch.uint8 or images.ndim < 3 or images.shape[-3] != 3:
        raise ValueError(f"expected bytes (..., 3, H, W), got {images.dtype} {tuple(images.shape)}")
    shift = torch.tensor(mean, device=images.device).view(3, 1, 1)
    scale = torch.tensor(std, device=images.device).view(3, 1, 1)
    return (images.float() / 255 - shift) / scale


def variant_of(folder: Path) -> tuple[str, str]:
    """Tell by content what a folder holds: the variant, and a SHA-256 over the files' checksums."""
    checksums = tuple(files.sha256_of(_checked(folder / name)) for name in FILES)
    combined = hashlib.sha256("\n".join(checksums).encode()).hexdigest()
    for variant, known in _VARIANTS.items():
        if checksums == known:
            return variant, combined
    return UNKNOWN, combined


def locate(download: bool = True, progress: bool = True) -> Path:
    """The folder with the six files, fetched and unpacked if need be."""
    folder = files.find(FOLDER)
    if folder is not None:
        return folder
    if not download:
        raise DataError(
            "CIFAR-10 is not on this machine",
            files.data_dir() or files.cache_dir(),
            f"set COURSE_DATA to a folder that holds {FOLDER}, or let it be fetched "
            f"({ARCHIVE.size:,} bytes from {ARCHIVE.url})",
        )
    return files.unpack(files.fetch(ARCHIVE, progress), FOLDER, FILES)


def load_cifar10(
    split: Literal["train", "test"], download: bool = True, progress: bool = True
) -> Cifar10:
    """Load ``"train"`` (50,000 images) or ``"test"`` (10,000), in the order of the files."""
    if split not in ("train", "test"):
        raise ValueError(f"split is {split!r}, wanted 'train' or 'test'")
    folder = locate(download, progress)
    variant, checksum = variant_of(folder)
    images, labels = _read(folder / name for name in (FILES[:5] if split == "train" else FILES[5:]))
    return Cifar10(images, labels, variant, checksum)


def _checked(path: Path) -> Path:
    remedy = f"delete {path.parent.name} and try again, or copy the official files there"
    if not path.is_file():
        raise DataError(f"{path.name} is missing", path.parent, remedy)
    size, expected = path.stat().st_size, _N_RECORDS * _RECORD
    if size != expected:
        cut = "is cut short" if size < expected else "is too long"
        raise DataError(f"{path.name} {cut}: {size:,} bytes of {expected:,}", path, remedy)
    return path


def _read(paths: Iterable[Path]) -> tuple[Tensor, Tensor]:
    records = np.concatenate(
        [np.fromfile(_checked(path), np.uint8).reshape(-1, _RECORD) for path in paths]
    )
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    if int(labels.max()) >= len(CLASSES):
        raise DataError(
            f"a label is {int(labels.max())}, but there are {len(CLASSES)} classes",
            FOLDER,
            "these are not CIFAR-10 files: copy the official ones there",
        )
    images = torch.from_numpy(np.ascontiguousarray(records[:, 1:])).view(-1, 3, 32, 32)
    return images, labels
