from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="transformer.next_distribution",
    points=5.5,
    minutes=25,
    difficulty=3,
    chapter="09_decoding.html#transformer-decoding",
    outcomes=("transformer.decode",),
    example=lambda t: (torch.tensor([4.0, 2.0, 3.0, 1.0]).log(),),
)


def logits(t: Trial, *shape: int) -> Tensor:
    """Logits of shape ``(*shape, 6)``, shuffled, whose probabilities are 1..6 of 21."""
    counts = torch.arange(1.0, 7.0).expand(*shape, 6)
    order = torch.rand(*shape, 6, generator=t.generator).argsort(dim=-1)
    return counts.gather(-1, order).log() + t.randn(*shape, 1)


@exercise.prop(
    1.5, "What becomes of the ratio of two probabilities when their logits are divided by T?"
)
def warm_and_cold(t: Trial) -> None:
    """the temperature sharpens below 1 and flattens above"""
    t.same(logits(t, 2))
    for temperature in (0.25, 0.5, 3.0):
        t.same(logits(t), temperature=temperature, note=f"temperature {temperature}")


@exercise.prop(1, "Print two rows for k = 2. How many numbers are not 0, and what is their sum?")
def k_likeliest(t: Trial) -> None:
    """top-k leaves the k likeliest of each row, and they add up to 1"""
    for top_k in (1, t.integer(2, 4)):
        t.same(logits(t), top_k=top_k, note=f"k = {top_k}")
    rows = logits(t, 3) + torch.tensor([0.0, 4.0, 8.0])[:, None]
    t.same(rows, top_k=2, note="rows at different heights")


@exercise.prop(1, "Probabilities 0.5, 0.3, 0.2 and p = 0.6: is 0.5 enough? How many are needed?")
def nucleus(t: Trial) -> None:
    """top-p leaves the fewest that together reach p"""
    # Number of those left: which ones, and what they have then, is asked above and below.
    # Of 21: 6, 11, 15, 18, 20, 21.
    for reached in (8.5, 13.0, 16.5, 19.0):
        rows, p = logits(t, 2), reached / 21
        got = t.a_tensor(t.call(rows, top_p=p), rows.shape)
        want = t.want(rows, top_p=p)
        t.close((got > 0).sum(-1), (want > 0).sum(-1), "the number of tokens", note=f"p = {p:.3f}")


@exercise.prop(0.5, "After top-k the rest adds up to 1 again. Of which probabilities is p a share?")
def in_turn(t: Trial) -> None:
    """temperature first, then k, then p of what is left"""
    # The three likeliest are 6, 5 and 4 of 15: two of them hold 0.73, of all six only 0.52.
    t.same(logits(t), top_k=3, top_p=0.65, note="k and p")
    # Squared, 36 and 25 of 91 hold 0.67; as they were, 0.52.
    t.same(logits(t), temperature=0.5, top_p=0.6, note="temperature and p")
    t.same(logits(t), temperature=2.0, top_k=4, top_p=0.5, note="all three")


@exercise.prop(
    0.5, "Each end has a meaning: what should be left at temperature 0? And of a tiny p?"
)
def ends(t: Trial) -> None:
    """at the ends: temperature 0, p near 0 and 1, k beyond the vocabulary, equal tokens"""
    t.same(logits(t, 2), temperature=0, note="temperature 0")
    t.same(logits(t), temperature=0, top_k=3, top_p=0.9, note="temperature 0 with cuts")
    t.same(logits(t), top_p=0.01, note="p = 0.01")
    t.same(logits(t), top_p=1.0, note="p = 1")
    t.same(logits(t), top_k=t.integer(6, 9), note="k of the vocabulary and beyond")
    equal = torch.tensor([1.0, 3.0, 1.0, 3.0, 3.0])
    t.same(equal, temperature=0, note="equal tokens, temperature 0")
    t.same(equal, top_k=2, note="equal tokens, k = 2")
    t.same(equal, top_p=0.5, note="equal tokens, p = 0.5")
    t.same(torch.zeros(4), top_p=0.5, note="four equal tokens, two hold p exactly")


@exercise.prop(
    0.5,
    "A logit of minus infinity has probability 0, before and after any cut. Which dtype does your"
    " result have for logits in half and in double precision, at temperature 0 as well?",
)
def extremes(t: Trial) -> None:
    """forbidden tokens stay at 0, large logits do no harm, any precision comes back as float32"""
    some = logits(t)
    # Without the likeliest, 5 and 4 of 15 are left first, at any of the temperatures.
    some[some.argmax()] = -torch.inf
    t.same(some, note="a logit of -inf")
    t.same(some, temperature=0.5, top_k=5, top_p=0.5, note="a logit of -inf, and cuts")
    t.same(1e4 * logits(t), top_p=0.9, note="logits of 10^4")
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        rows = logits(t, 2).to(dtype)
        t.same(rows, top_k=4, note=f"{dtype}", exact=True)
        t.same(rows, temperature=0, note=f"{dtype}, temperature 0", exact=True)
    low = torch.tensor([-20_000.0, -20_016.0, -20_032.0])
    t.same(low.half(), top_k=1, note="logits near -20,000")


@exercise.prop(
    0.5, "Does one of your steps end in an underscore, or write into what you were given?"
)
def left_alone(t: Trial) -> None:
    """logits of any shape, every row for itself, left as they were"""
    rows = logits(t, 2, 2) + torch.tensor([[0.0, 4.0], [8.0, 2.0]])[..., None]
    together = t.a_tensor(t.call(rows, temperature=0.7, top_k=4, top_p=0.8), rows.shape)
    t.expect(together.std(-1).min() > 0, "all tokens are equally likely")
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        alone = t.call(rows[i, j], temperature=0.7, top_k=4, top_p=0.8)
        t.close(alone, together[i, j], f"row {i, j} alone")
    t.unchanged(logits(t, 2), 0.7, 4, 0.8)
    t.unchanged(logits(t, 2), 1.0, 2, None)
