"""Pictures with a red shape, and models that are asked about it."""

import torch

from course_lib.vit.three_questions import QUESTIONS, answers_right, red_scenes, train_on_scenes


def scenes(n: int, seed: int = 0, size: int = 24):
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


def test_all_answers_occur_about_equally_often():
    answers = scenes(1500).answers
    for number, n in enumerate(QUESTIONS.values()):
        shares = answers[:, number].bincount(minlength=n) / 1500
        assert len(shares) == n and (shares - 1 / n).abs().max() < 0.06


def test_same_seed_same_pictures_and_model():
    assert scenes(20).images.equal(scenes(20).images)
    one, other = (train_on_scenes(scenes(64, size=16), "axial", steps=3) for _ in range(2))
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert a.equal(b)


def test_a_model_without_positions_guesses_places():
    test = scenes(300, seed=1, size=16)
    model = train_on_scenes(scenes(500, size=16), "none", steps=60)
    right = answers_right(model, test)
    assert list(right) == list(QUESTIONS)
    assert right["where"] < 0.4 and right["left of"] < 0.65
