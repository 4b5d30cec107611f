from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch

exercise = Exercise(
    id="vit.calibration_error",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="12_training.html#vit-calibration",
    outcomes=("vit.calibrate",),
    severe={
        "confidence_of_the_label": "it measures another number in every bin",
        "empty_bins_count": "every result is divided by a number that has nothing to do with it",
        "answer_by_answer": "it has no bins, and bins are what is asked for",
        "mean_confidence_only": "it never asks whether an answer is right",
        "last_bin_left_out": "the surest answers, most of a model's, are not counted",
        "middle_of_the_bin": "it measures another number in every bin",
    },
    example=lambda t: (2 * t.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2]), 5),
)


def _sure(t: Trial, n: int, confidence: float, n_right: int) -> tuple[Tensor, Tensor]:
    """Logits of n answers of one confidence among four classes, n_right of them right."""
    labels = t.integers(0, 3, n)
    answers = labels.clone()
    answers[n_right:] = (labels[n_right:] + t.integers(1, 3, n - n_right)) % 4
    probabilities = torch.full((n, 4), (1 - confidence) / 3)
    probabilities[torch.arange(n), answers] = confidence
    # A common shift changes no probability.
    return probabilities.log() + t.randn(n, 1), labels


def _both(*parts: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return torch.cat([logits for logits, _ in parts]), torch.cat([labels for _, labels in parts])


@exercise.prop(
    1, "The confidence is the probability of the answer that is given, not of the label."
)
def one_bin(t: Trial) -> None:
    """answers of one confidence: how far it is from the share that is right"""
    for confidence in (0.87, 0.63):
        n = t.integer(8, 14)
        t.same(*_sure(t, n, confidence, t.integer(2, n - 4)), 10)


@exercise.prop(1.5, "A bin of 2 answers and a bin of 20: which should count more?")
def two_bins(t: Trial) -> None:
    """two confidences: each bin is weighted by its number of answers"""
    few, many = _sure(t, 4, 0.93, 1), _sure(t, t.integer(15, 25), 0.47, 8)
    t.same(*_both(few, many), 10)
    # One bin says too much and one too little: in the mean over all they would cancel.
    t.same(*_both(_sure(t, 10, 0.95, 6), _sure(t, 10, 0.55, 9)), 10, note="errors of both signs")


@exercise.prop(1, "Ten answers of confidence 0.8, eight of them right: what should come out?")
def within_a_bin(t: Trial) -> None:
    """within a bin, means are taken before they are compared"""
    t.same(*_sure(t, 10, 0.83, 8), 10)
    t.same(*_both(_sure(t, 10, 0.82, 9), _sure(t, 10, 0.88, 6)), 10)
    # Too sure in every bin, so that signs do not matter here.
    sure = ((7, 0.34, 1), (5, 0.38, 1), (9, 0.52, 3), (6, 0.67, 2), (12, 0.91, 5), (8, 0.97, 6))
    some = [_sure(t, *one) for one in sure]
    t.same(*_both(*some), 5, note="two confidences in a bin, and bins of several sizes")


@exercise.prop(0.5, "With a single bin only the means over all count.")
def bins(t: Trial) -> None:
    """the number of bins is a choice, and 10 if nothing is said"""
    logits, labels = _both(_sure(t, 9, 0.617, 1), _sure(t, 7, 0.683, 7), _sure(t, 5, 0.941, 1))
    for n_bins in (1, 3, t.integer(15, 40)):
        t.same(logits, labels, n_bins)
    t.same(logits, labels)


@exercise.prop(
    1,
    "A confidence of exactly 1 belongs to the last bin, and one of exactly 1/2 to the lower of"
    " two.",
)
def edges(t: Trial) -> None:
    """answers of confidence 1, large logits, and confidences on the edge of two bins"""
    n = t.integer(6, 9)
    answers = t.integers(0, 2, n)
    certain = 200.0 * F.one_hot(answers, 3)
    labels = torch.where(torch.arange(n) < 2, (answers + 1) % 3, answers)
    t.same(certain, labels, 10, note="every confidence is 1")
    logits, others = _sure(t, n, 0.63, 3)
    t.same(logits + 500, others, 10, note="large logits")
    halves = torch.tensor([[0.0, 0.0, -200.0]]).repeat(4, 1)
    upper = torch.tensor([[0.75, 0.125, 0.125]]).log().repeat(6, 1)
    label = torch.tensor([0, 2, 2, 2] + [0] * 6)
    for n_bins in (2, 4):
        note = f"confidences 1/2 and 3/4, {n_bins} bins"
        t.same(torch.cat([halves, upper]), label, n_bins, note=note)
