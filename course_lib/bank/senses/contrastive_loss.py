from course_lib.bank.prelude import Exercise, F, Tensor, Trial, math, torch

exercise = Exercise(
    id="senses.contrastive_loss",
    points=6,
    minutes=25,
    difficulty=2,
    chapter="19_senses.html#senses-loss",
    outcomes=("senses.contrast",),
    example=lambda t: (t.randn(4, 8), t.randn(4, 8), torch.tensor(2.0)),
)


def hub(t: Trial, n: int) -> tuple[Tensor, Tensor]:
    """A batch in which one image is near all texts, so that both ways differ."""
    texts = t.randn(n, 6) * 0.4 + 1
    images = texts - t.randn(n, 6)
    images[0] = texts.mean(0)
    return images, texts


def mirrored(t: Trial, n: int) -> tuple[Tensor, Tensor]:
    """Unit vectors whose cosines are a symmetric matrix: both ways are one."""
    images = F.normalize(t.randn(n, 6), dim=-1)
    return images, images * torch.tensor([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])


@exercise.prop(
    1, "Compute a batch of two by hand: four cosines, two softmaxes by row, two by column."
)
def values(t: Trial) -> None:
    """the value is that of the formula"""
    for n in (t.integer(3, 6), 9):
        t.same(*mirrored(t, n), torch.tensor(0.0), note=f"{n} pairs of unit vectors, factor 1")


@exercise.prop(1, "Exchange the two arguments. May the loss change? Then print both halves.")
def both_ways(t: Trial) -> None:
    """captions look for images as images look for captions"""
    images, texts = (F.normalize(x, dim=-1) for x in hub(t, t.integer(3, 6)))
    factor = torch.tensor(0.0)
    one = t.same(images, texts, factor, note="one image is near all texts")
    other = t.same(texts, images, factor, note="images and texts exchanged")
    t.close(other, one, "the loss with images and texts exchanged")


@exercise.prop(0.5, "What is the cosine of two vectors, and what has become of their lengths?")
def lengths(t: Trial) -> None:
    """the lengths of embeddings don't count"""
    images, texts, factor = t.randn(4, 6), t.randn(4, 6), torch.tensor(1.5)
    long = images * torch.tensor([[0.1], [1.0], [7.0], [30.0]])
    base = t.a_tensor(t.call(images, texts, factor), ())
    t.close(t.call(long, 5 * texts, factor), base, "the loss with longer embeddings")
    t.expect(
        t.call(texts, texts, factor) < base - 1e-3, "the loss of equal embeddings is no smaller"
    )


@exercise.prop(
    0.5, "What is given is a logarithm, so the factor stays positive. Try 0: no factor at all."
)
def factors(t: Trial) -> None:
    """the factor is the exponential of what is given, and multiplies"""
    images, texts = mirrored(t, 5)
    for log_factor in (-1.0, -9.0, 2.66):
        t.same(images, texts, torch.tensor(log_factor), note=f"log factor {log_factor}")


@exercise.prop(1, "`math.log(100)` is about 4.6. What should 6 do, and what 200?")
def ceiling(t: Trial) -> None:
    """the factor is at most 100, whatever is given"""
    images, texts = t.randn(4, 6), t.randn(4, 6)
    highest = t.a_tensor(t.call(images, texts, torch.tensor(math.log(100))), ())
    for log_factor in (4.8, 6.0, 200.0):
        got = t.call(images, texts, torch.tensor(log_factor))
        t.close(got, highest, note=f"log factor {log_factor}, compared to that of 100")
    t.same(*mirrored(t, 5), torch.tensor(6.0), note="unit vectors, log factor 6")
    lower = t.call(images, texts, torch.tensor(4.3))
    t.expect((lower - highest).abs() > 1e-4, "a log factor of 4.3 gives the loss of 4.6")


@exercise.prop(0.5, "If all embeddings are equal every softmax is uniform. How large is -log(1/N)?")
def guessing(t: Trial) -> None:
    """knowing nothing costs ln N, and one pair alone nothing"""
    factor = torch.tensor(2.0)
    n = t.integer(3, 9)
    t.same(torch.ones(n, 4), torch.ones(n, 4), factor, note=f"{n} equal pairs")
    t.same(t.randn(1, 5), t.randn(1, 5), factor, note="one pair")


@exercise.prop(1, "Is something taken out of the graph, by `.item()` or `.detach()`?")
def gradients(t: Trial) -> None:
    """gradients reach both towers and the factor"""
    images, texts = (t.randn(4, 5, dtype=torch.float64) for _ in range(2))
    t.gradient(images, texts, torch.tensor(1.0, dtype=torch.float64))


@exercise.prop(0.5, "`x /= norm` changes the caller's embeddings.")
def no_side_effect(t: Trial) -> None:
    """embeddings are left as they were"""
    t.unchanged(t.randn(3, 5), t.randn(3, 5), torch.tensor(1.0))
