"""Probes of vectors, and what attention says of an answer."""

import torch
import torch.nn.functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.attention_maps import (
    LinearProbe,
    control_labels,
    curve_area,
    deletion_curve,
    gradient_importance,
    probe_selectivity,
    random_importance,
)
from course_tests.refusals import refusals


def planted(n=600, n_words=300, d=12, seed=0):
    """Features that hold a label linearly, and words that have nothing to do with it."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (n,), generator=generator)
    words = torch.randint(n_words, (n,), generator=generator)
    features = torch.randn(n, d, generator=generator)
    features[:, :3] += 4 * F.one_hot(labels, 3)
    return features, labels, words.tolist(), generator


def test_a_probe_finds_what_was_planted_and_not_what_was_not():
    features, labels, words, generator = planted()
    found = probe_selectivity(features, labels, words, 400, generator)
    assert found.accuracy > 0.95
    assert found.control < found.majority + 0.1
    assert found.accuracy - found.control > 0.4
    nothing = probe_selectivity(features[:, 3:], labels, words, 400, generator)
    assert nothing.accuracy < 0.5


def test_where_the_features_are_the_word_accuracy_proves_nothing():
    # The label is a function of the word, and the features are the word and nothing else.
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(30, (900,), generator=generator)
    labels = torch.randint(2, (30,), generator=generator)[words]
    features = F.one_hot(words, 30).float()
    found = probe_selectivity(features, labels, words.tolist(), 600, generator)
    assert found.accuracy > 0.95 and found.control > 0.95
    assert abs(found.accuracy - found.control) < 0.05


def test_control_labels_go_by_the_word_alone():
    words = ["a", "b", "a", "c", "b", "a"]
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    control = control_labels(words, labels, torch.Generator().manual_seed(1))
    assert len({int(control[i]) for i in (0, 2, 5)}) == 1
    assert int(control[1]) == int(control[4])
    again = control_labels(words, labels, torch.Generator().manual_seed(1))
    assert torch.equal(control, again)


def test_the_fit_is_the_minimum_and_nothing_in_it_is_random():
    features, labels, _, _ = planted(n=120)
    probe = LinearProbe(3, l2=0.1).fit(features, labels)
    x = (features.double() - probe.mean) / probe.deviation
    weight, bias = probe.weight.requires_grad_(), probe.bias.requires_grad_()
    loss = F.cross_entropy(F.linear(x, weight, bias), labels) + 0.1 * weight.square().sum()
    for gradient in torch.autograd.grad(loss, (weight, bias)):
        assert gradient.abs().max() < 1e-4
    again = LinearProbe(3, l2=0.1).fit(features, labels)
    assert torch.equal(again.weight, probe.weight)


def test_a_constant_channel_and_its_scale_do_not_matter():
    features, labels, _, _ = planted(n=120)
    plain = LinearProbe(3).fit(features, labels).predict(features)
    scaled = torch.cat([1000 * features, torch.full((120, 1), 7.0)], dim=1)
    assert torch.equal(LinearProbe(3).fit(scaled, labels).predict(scaled), plain)


def test_no_gradient_reaches_the_features_and_grad_mode_is_left_alone():
    features, labels, _, _ = planted(n=60)
    features.requires_grad_()
    with torch.no_grad():
        LinearProbe(3).fit(features, labels)
    assert features.grad is None and torch.is_grad_enabled()


FEATURES, LABELS, WORDS, GENERATOR = planted(n=20)
test_wrong_input_is_named = refusals(
    (lambda: LinearProbe(1), "n_classes is 1"),
    (lambda: LinearProbe(3).fit(FEATURES[0], LABELS), "wanted \\(N, D\\)"),
    (lambda: LinearProbe(2).fit(FEATURES, LABELS), "labels reach 2"),
    (lambda: control_labels(WORDS[:3], LABELS, GENERATOR), "wanted \\(3,\\)"),
    (lambda: probe_selectivity(FEATURES, LABELS, WORDS, 20, GENERATOR), "n_train is 20"),
)


def test_the_right_order_falls_first_and_the_reverse_last():
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(4, 10, generator=generator)

    def score(keep):
        return (values * keep).sum(dim=1) / values.sum(dim=1)

    right, wrong = deletion_curve(score, values), deletion_curve(score, -values)
    chance = deletion_curve(score, random_importance((4, 10), generator))
    assert (curve_area(right) < curve_area(chance)).all()
    assert (curve_area(chance) < curve_area(wrong)).all()
    torch.testing.assert_close(curve_area(right) + curve_area(wrong), torch.ones(4))


def test_all_is_there_at_the_start_and_nothing_at_the_end_whatever_the_length():
    present = torch.tensor([[True] * 7, [True] * 3 + [False] * 4])
    seen = []

    def score(keep):
        seen.append(keep.clone())
        return keep.sum(dim=1).float()

    curve = deletion_curve(score, torch.rand(2, 7), present=present, n_steps=4)
    assert curve.shape == (5, 2)
    assert torch.equal(seen[0], present) and not seen[-1].any()
    assert all(not (keep & ~present).any() for keep in seen)
    assert (curve.diff(dim=0) <= 0).all()


def test_gradient_times_input_is_exact_for_a_linear_answer():
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    found = gradient_importance(lambda x: (x * weight).sum(dim=(1, 2)), x)
    torch.testing.assert_close(found, (x * weight).sum(-1).abs())
    assert not x.requires_grad


def test_attention_may_point_at_what_does_not_matter():
    # The most attended token has the value 0: the answer comes from the others.
    v = torch.tensor([[[0.0], [3.0], [5.0]]])
    k = torch.tensor([[[4.0], [1.0], [1.0]]])
    q = torch.ones(1, 1, 1)

    def answer(keep):
        return scaled_dot_product_attention(q, k, v * keep[..., None])[0][:, 0, 0]

    attention = scaled_dot_product_attention(q, k, v)[1][:, 0]
    assert attention.argmax() == 0
    by_attention = deletion_curve(answer, attention)
    by_gradient = deletion_curve(
        answer, gradient_importance(lambda v: scaled_dot_product_attention(q, k, v)[0][:, 0, 0], v)
    )
    assert by_attention[1] == by_attention[0]
    assert curve_area(by_gradient) < curve_area(by_attention)


IMPORTANCE = torch.rand(2, 4)
test_wrong_orders_are_named = refusals(
    (lambda: deletion_curve(lambda k: k.sum(1), IMPORTANCE[0]), "wanted \\(B, T\\)"),
    (lambda: deletion_curve(lambda k: k.sum(1), IMPORTANCE, n_steps=0), "n_steps is 0"),
    (lambda: deletion_curve(lambda k: k.sum(), IMPORTANCE), "wanted \\(2,\\)"),
    (lambda: deletion_curve(lambda k: k.sum(1), IMPORTANCE, present=IMPORTANCE), "boolean"),
    (lambda: curve_area(torch.ones(1, 2)), "at least 2 points"),
    (lambda: gradient_importance(lambda x: x, torch.ones(2, 2)), r"\(B, T, D\)"),
)
