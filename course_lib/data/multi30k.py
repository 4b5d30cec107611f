"""Multi30K: descriptions of photographs in English, and what translators made of them in German.

Elliott et al., Multi30K: Multilingual English-German Image Descriptions (2016). The photographs are
those of Flickr30K, and are not needed here. Its authors provide it for researchers and educators,
for non-commercial research and education.
"""

import gzip
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from course_lib.data import files

Multi30kSplit = Literal["train", "valid", "test_2016", "test_2017"]

FOLDER = "multi30k"
_URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
)
_STEMS: dict[Multi30kSplit, str] = {
    "train": "train",
    "valid": "val",
    "test_2016": "test_2016_flickr",
    "test_2017": "test_2017_flickr",
}
_FILES = {
    "train.de": (637044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"),
    "train.en": (568929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"),
    "val.de": (24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"),
    "val.en": (21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"),
    "test_2016_flickr.de": (
        22890,
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    ),
    "test_2016_flickr.en": (
        21077,
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    ),
    "test_2017_flickr.de": (
        21471,
        "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    ),
    "test_2017_flickr.en": (
        19138,
        "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    ),
}
FILES = {
    name: files.RemoteFile(f"{FOLDER}/{name}.gz", f"{_URL}{name}.gz", size, f"sha256:{checksum}")
    for name, (size, checksum) in _FILES.items()
}


@dataclass(frozen=True)
class ParallelText:
    """Sentences and their translations, N of each, as they were written."""

    source: tuple[str, ...]
    target: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse texts of unequal length."""
        if len(self.source) != len(self.target):
            raise ValueError(
                f"got {len(self.source)} sentences and {len(self.target)} translations"
            )

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sha256(self) -> str:
        """Of all the text."""
        return sha256("\n".join((*self.source, *self.target)).encode()).hexdigest()

    def turned(self) -> "ParallelText":
        """The same sentences, to be translated the other way."""
        return ParallelText(self.target, self.source)


def load_multi30k(
    split: Multi30kSplit, download: bool = True, progress: bool = True
) -> ParallelText:
    """Load German and English sentences: 29,000 pairs, 1,014 in ``"valid"``, 1,000 in each test."""
    if split not in _STEMS:
        raise ValueError(f"split is {split!r}, wanted one of {', '.join(_STEMS)}")
    german, english = (
        _lines(FILES[f"{_STEMS[split]}.{language}"], download, progress)
        for language in ("de", "en")
    )
    return ParallelText(german, english)


def _lines(file: files.RemoteFile, download: bool, progress: bool) -> tuple[str, ...]:
    path = files.get(file, download, progress)
    text = gzip.decompress(path.read_bytes()).decode()
    return tuple(" ".join(line.split()) for line in text.removesuffix("\n").split("\n"))
