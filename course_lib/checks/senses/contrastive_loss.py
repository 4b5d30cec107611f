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


def slopes(t: Trial, *args: Tensor) -> None:
    """Expect the gradients of a scalar to be those of the reference."""
    leaves = [a.clone().requires_grad_() if a.is_floating_point() else a for a in args]
    t.exercise.reference(*leaves).backward()
    t.same(*(a.float() if a.is_floating_point() else a for a in args))
    found = t.vjp(args, [torch.ones((), dtype=torch.float64)]).inputs
    wanted = [(i, leaf.grad) for i, leaf in enumerate(leaves, start=1) if leaf.requires_grad]
    for (place, want), gradient in zip(wanted, found, strict=True):
        t.expect(gradient is not None, f"no gradient reaches argument {place}")
        assert gradient is not None and want is not None
        # In single precision, which is as much as the text asks for.
        t.close(gradient.float(), want.float(), f"the gradient of argument {place}")


def hub(t: Trial, n: int) -> tuple[Tensor, Tensor]:
    """A batch in which one picture is near all texts, so that both ways differ."""
    texts = t.randn(n, 6) * 0.4 + 1
    images = texts - t.randn(n, 6)
    images[0] = texts.mean(0)
    return images, texts


@exercise.prop(
    "the value is that of the formula",
    points=1,
    hint="Compute a batch of two by hand: four cosines, two softmaxes by row, two by column.",
)
def values(t: Trial) -> None:
    n = t.integer(3, 6)
    t.same(t.randn(n, 8), t.randn(n, 8), torch.tensor(0.5), note=f"{n} pairs")
    t.same(t.randn(9, 4), t.randn(9, 4), torch.tensor(1.0), note="more pairs than channels")


@exercise.prop(
    "captions look for pictures as pictures look for captions",
    points=1,
    hint="Exchange the two arguments. May the loss change? Then print both halves.",
)
def both_ways(t: Trial) -> None:
    images, texts = hub(t, t.integer(3, 6))
    factor = torch.tensor(2.0)
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
    base = t.same(images, texts, factor)
    t.close(t.call(long, 5 * texts, factor), base, "the loss with longer embeddings")


@exercise.prop(
    "the factor is the exponential of what is given, and multiplies",
    points=0.5,
    hint="What is given is a logarithm, so the factor stays positive. Try 0: no factor at all.",
)
def factors(t: Trial) -> None:
    images, texts = t.randn(5, 8), t.randn(5, 8)
    for log_factor in (0.0, -1.0, 2.66):
        t.same(images, texts, torch.tensor(log_factor), note=f"log factor {log_factor}")


@exercise.prop(
    "the factor is at most 100, whatever is given",
    points=1,
    hint="`math.log(100)` is about 4.6. What should 6 do, and what 200?",
)
def ceiling(t: Trial) -> None:
    images, texts = t.randn(4, 6), t.randn(4, 6)
    for log_factor in (4.5, 4.8, 6.0, 200.0):
        t.same(images, texts, torch.tensor(log_factor), note=f"log factor {log_factor}")


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
    slopes(t, images, texts, torch.tensor(1.0, dtype=torch.float64))


@exercise.prop(
    "embeddings are left as they were",
    points=0.5,
    hint="`x /= norm` changes the caller's embeddings.",
)
def no_side_effect(t: Trial) -> None:
    images, texts = t.randn(3, 5), t.randn(3, 5)
    t.unchanged(images, texts, torch.tensor(1.0))
    t.same(images, texts, torch.tensor(1.0))


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


@exercise.mistake("What would your loss say of towers that map everything to one point?")
def pulls_only(images, texts, log_factor):
    """It is enough to pull each picture to its caption."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    return (factor * (1 - F.cosine_similarity(images, texts, dim=-1))).mean()


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
