"""Probes: they find what was planted, and control tasks tell memory from knowledge."""

import torch
import torch.nn.functional as F

from course_lib.attention_maps import LinearProbe, control_labels, probe_selectivity
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
    assert found.selectivity > 0.4
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
    assert abs(found.selectivity) < 0.05


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
