"""Shapes in corners and their captions: the data, four layouts and the rule."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.experiments import contrastive
from course_lib.experiments.contrastive import (
    LAYOUTS,
    Scorer,
    all_attributes,
    kept_back,
    name_among,
    one_word_wrong,
    scenes,
    swaps,
    write,
    zero_shot,
)
from course_lib.training import seeded_generator

TINY = replace(
    contrastive.CPU, d_model=12, n_heads=2, d_ff=8, n_test=12, batch_size=4, epochs=2, steps=2
)


class Knows(torch.nn.Module):
    """Scores captions by the words they share with what is drawn; pictures hold it as numbers."""

    def __init__(self):
        super().__init__()
        self.anything = torch.nn.Parameter(torch.zeros(()))

    def forward(self, images, tokens):
        return (tokens == write(images.long())[:, None]).float().sum(-1)


def test_a_shape_stands_in_the_corner_that_its_caption_names():
    images, attributes = scenes(40, seeded_generator(0))
    # Noise is weak and a shape is not grey: its corner varies most.
    corners = images.unfold(2, 16, 16).unfold(3, 16, 16).std(dim=(1, 4, 5)).flatten(1)
    assert torch.equal(corners.argmax(1), 2 * attributes[:, 2] + attributes[:, 3])
    again, same = scenes(40, seeded_generator(0))
    assert torch.equal(images, again) and torch.equal(attributes, same)


def test_every_caption_is_written_differently():
    tokens = write(all_attributes())
    assert len(tokens.unique(dim=0)) == 96 and tokens.max() == contrastive._N_WORDS - 1
    assert kept_back(all_attributes()).sum() == 24


def test_wrong_captions_differ_in_one_word_and_name_nothing_kept_back():
    _, attributes = scenes(300, seeded_generator(1))
    attributes = attributes[~kept_back(attributes)]
    made = one_word_wrong(attributes, seeded_generator(2))
    assert torch.equal(made[:, 0], attributes)
    assert torch.equal(
        made[:, 1:] != attributes[:, None], torch.eye(4).bool().expand(len(made), 4, 4)
    )
    assert not kept_back(made).any()
    assert len(made[:, 1, 0].unique()) == 6


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_arm_is_trained_and_measured(layout, train):
    outcome = train(contrastive.EXPERIMENT, asdict(TINY) | {"layout": layout})
    assert len(outcome.metrics) == 2 and outcome.results["multiplications"] > 0
    assert all(0 <= outcome.results[key] <= 1 for key in ("right", "place", "colour", "kept_back"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_caption_is_scored_by_itself(layout):
    model = Scorer(layout, TINY, seeded_generator(0)).eval()
    images, attributes = scenes(3, seeded_generator(1))
    tokens = write(one_word_wrong(attributes, seeded_generator(2)))
    with torch.no_grad():
        scores = model(images, tokens)
        alone = model(images[1:2], tokens[1:2, 3:4])
    assert scores.shape == (3, 5) and scores.std() > 0
    assert torch.allclose(alone[0, 0], scores[1, 3], atol=1e-5)


def test_who_knows_everything_gets_everything():
    _, attributes = scenes(40, seeded_generator(0))
    test = (attributes.float(), one_word_wrong(attributes, seeded_generator(1)))
    assert set(swaps(Knows(), test).values()) == {1.0}
    assert set(zero_shot(Knows(), attributes.float(), attributes).values()) == {1.0}
    few = all_attributes()[:5]
    assert name_among(Knows(), few.float(), few).tolist() == [0, 1, 2, 3, 4]
