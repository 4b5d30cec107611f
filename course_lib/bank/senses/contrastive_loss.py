"""Exercise ``senses.contrastive_loss``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.multimodal import contrastive_loss, pair_similarities


def reference(images: Tensor, texts: Tensor, log_factor: Tensor) -> Tensor:
    """The exam both ways, its factor kept below 100."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    return contrastive_loss(pair_similarities(images, texts, factor))


exercise = Exercise(
    id="senses.contrastive_loss",
    function="contrastive_loss",
    reference=reference,
    points=6,
    minutes=25,
    difficulty=2,
    chapter="19_senses.html#senses-loss",
    outcomes=("senses.contrast",),
    example=lambda t: (t.randn(4, 8), t.randn(4, 8), torch.tensor(2.0)),
)


def hub(t: Trial, n: int) -> tuple[Tensor, Tensor]:
    """A batch in which one picture is near all texts, so that both ways differ."""
    texts = t.randn(n, 6) * 0.4 + 1
    images = texts - t.randn(n, 6)
    images[0] = texts.mean(0)
    return images, texts


def mirrored(t: Trial, n: int) -> tuple[Tensor, Tensor]:
    """Unit vectors whose cosines are a symmetric matrix: both ways are one."""
    images = F.normalize(t.randn(n, 6), dim=-1)
    return images, images * torch.tensor([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])


@exercise.prop(
    "the value is that of the formula",
    points=1,
    hint="Compute a batch of two by hand: four cosines, two softmaxes by row, two by column.",
)
def values(t: Trial) -> None:
    for n in (t.integer(3, 6), 9):
        t.same(*mirrored(t, n), torch.tensor(0.0), note=f"{n} pairs of unit vectors, factor 1")


@exercise.prop(
    "captions look for pictures as pictures look for captions",
    points=1,
    hint="Exchange the two arguments. May the loss change? Then print both halves.",
)
def both_ways(t: Trial) -> None:
    images, texts = (F.normalize(x, dim=-1) for x in hub(t, t.integer(3, 6)))
    factor = torch.tensor(0.0)
    one = t.same(images, texts, factor, note="one picture is near all texts")
    other = t.same(texts, images, factor, note="images and texts exchanged")
    t.close(other, one, "the loss with images and texts exchanged")


@exercise.prop(
    "the lengths of embeddings don't count",
    points=0.5,
    hint="What is the cosine of two vectors, and what has become of their lengths?",
)
def lengths(t: Trial) -> None:
    images, texts, factor = t.randn(4, 6), t.randn(4, 6), torch.tensor(1.5)
    long = images * torch.tensor([[0.1], [1.0], [7.0], [30.0]])
    base = t.a_tensor(t.call(images, texts, factor), ())
    t.close(t.call(long, 5 * texts, factor), base, "the loss with longer embeddings")
    t.expect(
        t.call(texts, texts, factor) < base - 1e-3, "the loss of equal embeddings is no smaller"
    )


@exercise.prop(
    "the factor is the exponential of what is given, and multiplies",
    points=0.5,
    hint="What is given is a logarithm, so the factor stays positive. Try 0: no factor at all.",
)
def factors(t: Trial) -> None:
    images, texts = mirrored(t, 5)
    for log_factor in (-1.0, -9.0, 2.66):
        t.same(images, texts, torch.tensor(log_factor), note=f"log factor {log_factor}")


@exercise.prop(
    "the factor is at most 100, whatever is given",
    points=1,
    hint="`math.log(100)` is about 4.6. What should 6 do, and what 200?",
)
def ceiling(t: Trial) -> None:
    images, texts = t.randn(4, 6), t.randn(4, 6)
    highest = t.a_tensor(t.call(images, texts, torch.tensor(math.log(100))), ())
    for log_factor in (4.8, 6.0, 200.0):
        got = t.call(images, texts, torch.tensor(log_factor))
        t.close(got, highest, note=f"log factor {log_factor}, compared to that of 100")
    t.same(*mirrored(t, 5), torch.tensor(6.0), note="unit vectors, log factor 6")
    lower = t.call(images, texts, torch.tensor(4.3))
    t.expect((lower - highest).abs() > 1e-4, "a log factor of 4.3 does as one of 4.6 does")


@exercise.prop(
    "knowing nothing costs ln N, and one pair alone nothing",
    points=0.5,
    hint="If all embeddings are equal every softmax is uniform. How large is -log(1/N)?",
)
def guessing(t: Trial) -> None:
    factor = torch.tensor(2.0)
    n = t.integer(3, 9)
    t.same(torch.ones(n, 4), torch.ones(n, 4), factor, note=f"{n} equal pairs")
    t.same(t.randn(1, 5), t.randn(1, 5), factor, note="one pair")


@exercise.prop(
    "gradients reach both towers and the factor",
    points=1,
    hint="Is something taken out of the graph, by `.item()` or `.detach()`?",
)
def gradients(t: Trial) -> None:
    images, texts = (t.randn(4, 5, dtype=torch.float64) for _ in range(2))
    t.gradient(images, texts, torch.tensor(1.0, dtype=torch.float64))


@exercise.prop(
    "embeddings are left as they were",
    points=0.5,
    hint="`x /= norm` changes the caller's embeddings.",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(3, 5), t.randn(3, 5), torch.tensor(1.0))


@exercise.mistake("Transpose the matrix of similarities. Whose exam is that?")
def one_direction(images, texts, log_factor):
    """Pictures that find their captions are found by their captions, too."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return F.cross_entropy(s, torch.arange(len(s)))


@exercise.mistake("Multiply all images by 10. Should the loss care?")
def lengths_count(images, texts, log_factor):
    """The inner product is the similarity, whatever the lengths are."""
    s = log_factor.clamp(max=math.log(100)).exp() * images @ texts.T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("A temperature divides. Is it a temperature that you are given?")
def divided_by_factor(images, texts, log_factor):
    """The factor is a temperature, and one divides by temperatures."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / factor
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("Give 0, and then -1. What do your similarities become?")
def log_is_the_factor(images, texts, log_factor):
    """What is learned is the factor itself."""
    factor = log_factor.clamp(max=100)
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("How many classes does the exam of one picture have? And your softmax?")
def whole_matrix(images, texts, log_factor):
    """One softmax over all N times N similarities serves pictures and captions at once."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -s.flatten().log_softmax(0).view_as(s).diagonal().mean()


@exercise.mistake("Give -9. May the factor become as small as it likes?")
def floor_as_well(images, texts, log_factor):
    """What is kept below 100 is kept above a hundredth, too."""
    factor = log_factor.clamp(-math.log(100), math.log(100)).exp()
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("Which axis holds the channels of one embedding?")
def normalised_over_the_batch(images, texts, log_factor):
    """Normalising works along the first axis."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = factor * F.normalize(images, dim=0) @ F.normalize(texts, dim=0).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("A weight that is learned may grow. What does the text say about 100?")
def no_ceiling(images, texts, log_factor):
    """A learned factor finds its own limits."""
    s = log_factor.exp() * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("What should a picture's row of targets be if another picture looks like it?")
def soft_targets(images, texts, log_factor):
    """Pairs that look alike are half right: targets are a softmax of similarities, too."""
    factor = log_factor.exp().clamp(max=100.0)
    i, t = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    s, wanted = factor * i @ t.T, ((i @ i.T + t @ t.T) / 2 * factor).softmax(-1)
    rows = -(wanted * F.log_softmax(s, -1)).sum(1).mean()
    columns = -(wanted.T * F.log_softmax(s.T, -1)).sum(1).mean()
    return (rows + columns) / 2


@exercise.alternative
def by_logsumexp(images, texts, log_factor):
    """Writes the softmaxes as logsumexp, and norms as roots of squares."""
    factor = torch.minimum(log_factor.exp(), torch.full_like(log_factor, 100.0))
    u = images / images.norm(dim=1, keepdim=True)
    v = texts / texts.norm(dim=1, keepdim=True)
    s = torch.einsum("id,jd->ij", u, v) * factor
    return (0.5 * (s.logsumexp(0) + s.logsumexp(1)) - s.diagonal()).mean()


@exercise.alternative
def pair_by_pair(images, texts, log_factor):
    """Loops over the pairs and asks both questions of each; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    factor = log_factor.clamp(max=math.log(100)).exp()
    total = 0.0
    for i in range(len(images)):
        by_text = factor * F.cosine_similarity(images[i : i + 1], texts)
        by_image = factor * F.cosine_similarity(images, texts[i : i + 1])
        total = total - by_text.log_softmax(0)[i] - by_image.log_softmax(0)[i]
    return total / (2 * len(images))
