"""Distillation: what each token learns from, and the two losses against their formulas."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.vit import DistilledViT, ViTConfig, distillation_loss
from course_tests.refusals import refusals

SMALL = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "image_size": 12}


LABELS = torch.tensor([0, 1, 2])


def model(**changes):
    generator = torch.Generator().manual_seed(0)
    return DistilledViT(ViTConfig(**{**SMALL, "dropout": 0.0, **changes}), generator=generator)


def images():
    return torch.randn(3, 3, 12, 12, generator=torch.Generator().manual_seed(1))


def logits(n=3, classes=4):
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(n, classes, generator=generator).double() for _ in range(3)]


def test_parameter_count_of_the_smallest_published_one():
    config = ViTConfig(
        image_size=224, patch_size=16, n_classes=1000, d_model=192, n_layers=12, n_heads=3,
        d_ff=768, positions="learned",
    )  # fmt: skip
    with torch.device("meta"):
        assert sum(p.numel() for p in DistilledViT(config).parameters()) == 5_910_800


def test_it_answers_with_the_mean_of_both():
    by_label, by_teacher = model()(images(), apart=True)
    torch.testing.assert_close(model()(images()), (by_label + by_teacher) / 2)
    out, weights = model()(images(), return_weights=True)
    assert weights.shape == (2, 3, 2, 11, 11)
    torch.testing.assert_close(out, (by_label + by_teacher) / 2)


def test_fixed_positions_leave_both_tokens_alone():
    table = model().positions
    assert not table[:2].any() and table[2:].any(-1).all()


def test_what_the_teacher_says_reaches_its_own_classifier_only():
    student = model()
    by_label, by_teacher = student(images(), apart=True)
    teacher = torch.randn(3, 10).requires_grad_()
    distillation_loss(by_label, by_teacher, teacher, LABELS, weight=1.0).backward()
    assert student.distillation_head.weight.grad.any()
    assert student.head.weight.grad is None
    assert teacher.grad is None
    assert student.distillation_token.grad.any() and student.cls_token.grad.any()


def test_hard_is_a_second_label():
    by_label, by_teacher, teacher = logits()
    loss = distillation_loss(by_label, by_teacher, teacher, LABELS, kind="hard")
    want = F.cross_entropy(by_label, LABELS) + F.cross_entropy(by_teacher, teacher.argmax(1))
    torch.testing.assert_close(loss, want / 2)
    hotter = distillation_loss(by_label, by_teacher, teacher, LABELS, temperature=9.0)
    torch.testing.assert_close(loss, hotter)


def test_soft_is_the_formula():
    by_label, by_teacher, teacher = logits()
    loss = distillation_loss(
        by_label, by_teacher, teacher, LABELS, kind="soft", weight=0.1, temperature=2.0
    )
    p, q = (x / 2 for x in (teacher, by_teacher))
    p, q = p.exp() / p.exp().sum(1, keepdim=True), q.exp() / q.exp().sum(1, keepdim=True)
    divergence = (p * (p / q).log()).sum(1).mean()
    want = 0.9 * F.cross_entropy(by_label, LABELS) + 0.1 * 4 * divergence
    torch.testing.assert_close(loss, want)
    # The other way round it is another number.
    turned = (q * (q / p).log()).sum(1).mean()
    assert abs(turned - divergence) > 1e-3


def test_a_class_that_the_teacher_forbids_adds_nothing():
    _, student, teacher = logits()
    teacher[:, 0] = -torch.inf
    student.requires_grad_()
    for answers in (student, student.masked_fill(teacher.isinf(), -torch.inf)):
        got = distillation_loss(answers, answers, teacher, LABELS, kind="soft", weight=1.0)
        p, q = (torch.softmax(x / 3, -1)[:, 1:] for x in (teacher, answers))
        assert got.allclose(9 * (p * (p / q).log()).sum() / len(LABELS))
        assert torch.autograd.grad(got, student)[0].isfinite().all()


def test_the_gradient_keeps_its_size_when_the_temperature_rises():
    by_label, _, teacher = logits()
    sizes = []
    for temperature in (20.0, 40.0):
        student = by_label.clone().requires_grad_()
        loss = distillation_loss(
            by_label, student, teacher, LABELS, kind="soft", weight=1.0, temperature=temperature
        )
        sizes.append(torch.autograd.grad(loss, student)[0].norm().item())
    assert sizes[1] == pytest.approx(sizes[0], rel=0.1)


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: model(pooling="mean"), "pooling is 'mean', wanted 'cls'"),
    (lambda: model()(images(), apart=True, return_weights=True), "wanted one of them"),
    (lambda: model()(images()[:, :2]), r"\(3, 2, 12, 12\), wanted \(B, 3, 12, 12\)"),
    (lambda: distillation_loss(*logits(), LABELS, kind="warm"), "kind is 'warm'"),
    (lambda: distillation_loss(*logits(), LABELS, weight=2), "weight is 2"),
    (lambda: distillation_loss(*logits(), LABELS, temperature=0), "is 0, wanted"),
    (lambda: distillation_loss(*logits(), torch.zeros(2).long()), r"labels \(2,\), wanted"),
)
