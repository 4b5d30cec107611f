"""Korean and English sentences of the Tatoeba project, as prepared by manythings.org.

Each line of the file names the authors of both sentences; its licence is CC BY 2.0 FR. The project
grows, so one edition is pinned.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from course_lib.data import files
from course_lib.data.multi30k import ParallelText

TatoebaSplit = Literal["train", "valid", "test"]

FILE = files.RemoteFile(
    "tatoeba-kor-eng.txt",
    "https://raw.githubusercontent.com/virsagothethird/Korean-English-translator/"
    "4cdd6fb5975f98bf2bc5253c0537fdf30b44efc8/data/kor.txt",
    484_226,
    "sha256:c119d4fd78dd5f8064528c5a267095a3b54338fd5a5fe2f4e0c22329089f3901",
)
_SPLITS = ("train", "valid", "test")


def load_tatoeba(split: TatoebaSplit, download: bool = True, progress: bool = True) -> ParallelText:
    """Load Korean sentences and their English translations: 3,318 pairs in three splits.

    No Korean or English sentence is in two splits. Many differ from one in another split by a word.
    """
    if split not in _SPLITS:
        raise ValueError(f"split is {split!r}, wanted one of {', '.join(_SPLITS)}")
    rows = _rows(download, progress)
    return _split([(korean, english) for english, korean, _ in rows], split)


def tatoeba_authors(text: ParallelText) -> dict[str, str]:
    """Authors to name, by Korean sentence, where pairs are shown, as the licence asks."""
    named = {(korean, english): authors for english, korean, authors in _rows()}
    return {pair[0]: named[pair] for pair in zip(text.source, text.target, strict=True)}


def _rows(download: bool = True, progress: bool = True) -> list[list[str]]:
    text = files.get(FILE, download, progress).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def _split(pairs: Sequence[tuple[str, str]], split: TatoebaSplit) -> ParallelText:
    """The pairs of a split: a tenth valid, a tenth test, those that share a sentence together."""
    root: dict[str, str] = {}

    def find(sentence: str) -> str:
        while (parent := root.setdefault(sentence, sentence)) != sentence:
            sentence = parent
        return sentence

    for korean, english in pairs:
        first, second = sorted((find(korean), find(english)))
        root[second] = first
    chosen = [pair for pair in pairs if _fold(find(pair[0])) == split]
    return ParallelText(*(tuple(side) for side in zip(*chosen, strict=True)))


def _fold(group: str) -> TatoebaSplit:
    fold = sha256(group.encode()).digest()[0] * 10 // 256
    return "test" if fold == 0 else "valid" if fold == 1 else "train"
