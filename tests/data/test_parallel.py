"""Real texts: two sets of sentence pairs, and Shakespeare."""

from pathlib import Path

from course_lib.data import SONNET, load_shakespeare, multi30k, tatoeba
from course_lib.data.multi30k import ParallelText, load_multi30k
from course_lib.data.tatoeba import load_tatoeba
from course_tests.refusals import refusals


def test_pairs_that_share_a_sentence_are_in_one_split() -> None:
    chain = [(f"k{i}", f"e{i // 2}") for i in range(40)] + [(f"k{i}", f"e{i}") for i in range(20)]
    alone = [(f"a{i}", f"b{i}") for i in range(400)]
    splits = [tatoeba._split([*chain, *alone], split) for split in ("train", "valid", "test")]
    assert sum(len(text) for text in splits) == 460 and all(len(text) > 20 for text in splits[1:])
    for first, second in ((0, 1), (0, 2), (1, 2)):
        for side in ("source", "target"):
            assert not {*getattr(splits[first], side)} & {*getattr(splits[second], side)}


test_what_is_no_split_or_no_pair_is_refused = refusals(
    (lambda: load_multi30k("dev"), "'dev'"),
    (lambda: load_tatoeba("dev"), "'dev'"),
    (lambda: ParallelText(("a", "b"), ("c",)), "2 sentences and 1"),
)


def test_the_real_pairs(course_data: Path) -> None:
    sizes = {"train": 29_000, "valid": 1_014, "test_2016": 1_000, "test_2017": 1_000}
    for split, size in sizes.items():
        assert len(load_multi30k(split)) == size  # type: ignore[arg-type]
    text = load_multi30k("test_2016")
    assert text.source[12] == "Eine Frau, die in einer Küche eine Schale mit Essen hält."
    assert text.turned().source[12] == "A woman holding a bowl of food in a kitchen."
    korean = [load_tatoeba(split) for split in ("train", "valid", "test")]
    assert [len(text) for text in korean] == [2_669, 338, 311]
    assert ("사랑은 아프다.", "Love hurts.") in {
        pair for text in korean for pair in zip(text.source, text.target, strict=True)
    }
    found = tatoeba.tatoeba_authors(ParallelText(("사랑은 아프다.",), ("Love hurts.",)))
    assert found["사랑은 아프다."].endswith("tatoeba.org #2111604 (CK) & #6304969 (Queserasera)")
    english = load_multi30k("train").target
    share = sum(text.startswith(("A man ", "A woman ")) for text in english) / len(english)
    assert 0.22 < share < 0.25  # as data_and_ethics.md says
    assert all((course_data / file.name).is_file() for file in multi30k.FILES.values())


def test_the_published_text_is_cut_as_others_cut_it(course_data: Path) -> None:
    train, valid = load_shakespeare()
    assert (len(train), len(valid), len(set(train))) == (1_003_854, 111_540, 65)
    assert train.startswith("First Citizen:\nBefore we proceed any further")
    assert (train + valid).encode() == (course_data / "tinyshakespeare.txt").read_bytes()
    assert not any(line in train + valid for line in SONNET.splitlines())
