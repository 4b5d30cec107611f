"""Real texts: two sets of sentence pairs, and Shakespeare."""

import pytest
import torch

from course_lib.data import SONNET, load_shakespeare, multi30k, tatoeba
from course_lib.data.multi30k import ParallelText, load_multi30k
from course_lib.data.shapes import COLOURS, QUADRANTS, SHAPES, shape_images
from course_lib.data.tatoeba import load_tatoeba
from course_tests.refusals import refusals


def test_pairs_that_share_a_sentence_are_in_one_split():
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


def test_the_real_pairs(course_data):
    sizes = {"train": 29_000, "valid": 1_014, "test_2016": 1_000, "test_2017": 1_000}
    for split, size in sizes.items():
        assert len(load_multi30k(split)) == size
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


def test_the_published_text_is_cut_as_others_cut_it(course_data):
    train, valid = load_shakespeare()
    assert (len(train), len(valid), len(set(train))) == (1_003_854, 111_540, 65)
    assert train.startswith("First Citizen:\nBefore we proceed any further")
    assert (train + valid).encode() == (course_data / "tinyshakespeare.txt").read_bytes()
    assert not any(line in train + valid for line in SONNET.splitlines())


def make(n=500, n_shapes=2, seed=0, **kwargs):
    return shape_images(n, torch.Generator().manual_seed(seed), n_shapes=n_shapes, **kwargs)


def test_images_are_floats_in_the_unit_interval():
    made = make(8)
    assert made.images.shape == (8, 3, 32, 32) and made.images.dtype == torch.float32
    assert made.images.min() >= 0 and made.images.max() <= 1


@pytest.mark.parametrize("n_shapes", [1, 2])
def test_all_labels_occur_about_equally(n_shapes):
    made = make(3000, n_shapes)
    for labels, names in ((made.shape, SHAPES), (made.colour, COLOURS), (made.quadrant, QUADRANTS)):
        share = labels.flatten().bincount(minlength=len(names)) / labels.numel()
        assert (share - 1 / len(names)).abs().max() < 0.04


def test_the_labels_describe_the_pixels():
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


def test_left_of_needs_two_shapes():
    with pytest.raises(ValueError, match="has 1 shape, wanted 2"):
        _ = make(1, 1).left_of


def test_no_pictures():
    assert len(make(0)) == 0
