from course_lib.bank.prelude import F, torch
from course_lib.bank.vit.calibration_error import exercise
from course_lib.calibration import expected_calibration_error

reference = exercise.answer(expected_calibration_error)


@exercise.mistake("Your confidences: can one be below a third, with three classes?")
def confidence_of_the_label(logits, labels, n_bins=10):
    """Confidence is the probability that the model gives to the right class."""
    p = logits.double().softmax(-1)
    confidence = p[torch.arange(len(labels)), labels]
    right = (p.argmax(-1) == labels).double()
    bins = torch.bucketize(confidence, torch.arange(1, n_bins, dtype=torch.float64) / n_bins)
    error = 0.0
    for m in range(n_bins):
        inside = bins == m
        if inside.any():
            gap = confidence[inside].mean() - right[inside].mean()
            error += inside.double().mean().item() * abs(gap.item())
    return error


@exercise.mistake("A bin with a single answer and a bin with a hundred: what does each weigh?")
def bins_weigh_alike(logits, labels, n_bins=10):
    """The error is the mean of the bins' errors."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    bins = torch.bucketize(confidence, torch.arange(1, n_bins, dtype=torch.float64) / n_bins)
    errors = []
    for m in range(n_bins):
        inside = bins == m
        if inside.any():
            errors.append(abs((confidence[inside].mean() - right[inside].mean()).item()))
    return sum(errors) / len(errors)


@exercise.mistake("Empty bins: do they make your model better?")
def empty_bins_count(logits, labels, n_bins=10):
    """A bin without answers has an error of 0 and counts like the others."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    bins = torch.bucketize(confidence, torch.arange(1, n_bins, dtype=torch.float64) / n_bins)
    error = 0.0
    for m in range(n_bins):
        inside = bins == m
        if inside.any():
            error += abs((confidence[inside].mean() - right[inside].mean()).item())
    return error / n_bins


@exercise.mistake("Eight of ten are right at a confidence of 0.8. Is that an error?")
def answer_by_answer(logits, labels, n_bins=10):
    """Each answer's confidence is compared with whether it is right."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    return (confidence - right).abs().mean().item()


@exercise.mistake("One bin too sure, one too modest: do they make up for each other?")
def signs_cancel(logits, labels, n_bins=10):
    """The gaps of the bins are added with their signs."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    return abs((confidence - right).mean().item())


@exercise.mistake("Say 'confidence 0.9, all right' and '0.9, none right'. Do you get the same?")
def mean_confidence_only(logits, labels, n_bins=10):
    """A calibrated model is one that is as sure as it can be."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    return (1 - confidence).mean().item()


@exercise.mistake("Where do answers of confidence 1 go when you cut at 0, 0.1, 0.2, and so on?")
def right_open(logits, labels, n_bins=10):
    """A bin goes from its lower edge up to, and without, its upper one."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    error = 0.0
    for m in range(n_bins):
        inside = (confidence >= m / n_bins) & (confidence < (m + 1) / n_bins)
        if inside.any():
            gap = confidence[inside].mean() - right[inside].mean()
            error += inside.double().mean().item() * abs(gap.item())
    return error


@exercise.mistake("With two bins, into which does an answer of confidence 0.9 go?")
def last_bin_left_out(logits, labels, n_bins=10):
    """`n_bins` edges cut the confidences into bins."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    error = 0.0
    for m in range(n_bins - 1):
        inside = (confidence > m / n_bins) & (confidence <= (m + 1) / n_bins)
        if inside.any():
            gap = confidence[inside].mean() - right[inside].mean()
            error += inside.double().mean().item() * abs(gap.item())
    return error


@exercise.mistake("Is a model that says 0.92 and is right 92 times in 100 calibrated?")
def middle_of_the_bin(logits, labels, n_bins=10):
    """An answer's confidence is the middle of its bin."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    right = (answer == labels).double()
    error = 0.0
    for m in range(n_bins):
        inside = (confidence > m / n_bins) & (confidence <= (m + 1) / n_bins)
        if inside.any():
            gap = (m + 0.5) / n_bins - right[inside].mean().item()
            error += inside.double().mean().item() * abs(gap)
    return error


@exercise.alternative
def loop_over_bins(logits, labels, n_bins=10):
    """Bins by comparisons, one after the other; warns."""
    import warnings

    warnings.warn("binning", stacklevel=1)
    p = torch.exp(logits.double() - logits.double().logsumexp(1, keepdim=True))
    confidence, answer = p.max(1)
    total = 0.0
    for m in range(n_bins):
        low, high = m / n_bins, (m + 1) / n_bins
        inside = [i for i, c in enumerate(confidence.tolist()) if low < min(c, 1.0) <= high]
        if inside:
            sure = sum(confidence[i].item() for i in inside)
            hits = sum(bool(answer[i] == labels[i]) for i in inside)
            total += abs(sure - hits)
    return total / len(labels)


@exercise.alternative
def sums_of_gaps(logits, labels, n_bins=10):
    """Adds up confidence minus correctness in each bin: the counts cancel."""
    confidence, answer = F.softmax(logits, dim=-1, dtype=torch.float64).max(dim=-1)
    gap = confidence - answer.eq(labels).double()
    bins = (confidence * n_bins).ceil().long().clamp(1, n_bins) - 1
    sums = torch.zeros(n_bins, dtype=torch.float64).scatter_add(0, bins, gap)
    return sums.abs().sum().item() / labels.numel()


@exercise.alternative
def with_numpy(logits, labels, n_bins=10):
    """Counts with numpy and returns its number."""
    import numpy as np

    confidence, answer = (x.numpy() for x in logits.softmax(-1).max(-1))
    right = answer == labels.numpy()
    edges = (torch.arange(1, n_bins) / n_bins).numpy()
    inside = np.digitize(confidence, edges, right=True)[:, None] == np.arange(n_bins)
    sums = (inside * (right - confidence.astype(np.float64))[:, None]).sum(0)
    return np.abs(sums).sum() / len(right)
