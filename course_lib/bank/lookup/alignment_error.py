from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="lookup.alignment_error",
    points=3,
    minutes=18,
    difficulty=3,
    chapter="02_weights.html#lookup-alignment",
    outcomes=("lookup.evidence",),
    example=lambda t: (t.randn(4, 4).softmax(-1), torch.eye(4).bool()),
)

RATE = "the error rate"


def attention(t: Trial, best: list[int], n_source: int) -> Tensor:
    """Weights whose rows have their maximum, between 0.55 and 0.7, at ``best``."""
    most = 0.55 + 0.15 * torch.rand(len(best), generator=t.generator)
    rest = torch.rand(len(best), n_source, generator=t.generator) + 0.2
    rest[range(len(best)), best] = 0.0
    weights = (1 - most)[:, None] * rest / rest.sum(-1, keepdim=True)
    weights[range(len(best)), best] = most
    return weights


def links(n_target: int, n_source: int, *pairs: tuple[int, int]) -> Tensor:
    """A boolean matrix from (target, source) pairs."""
    matrix = torch.zeros(n_target, n_source, dtype=torch.bool)
    for target, source in pairs:
        matrix[target, source] = True
    return matrix


def two_sentences(t: Trial) -> tuple[Tensor, Tensor]:
    """A long sentence with 3 hits among 6 links drawn and 5 true ones, a short one, all right."""
    order = t.permutation(4).tolist()
    long = attention(t, [order[0], order[1], order[2], order[0], order[1], order[3]], 4)
    true = links(6, 4, (0, order[0]), (1, order[1]), (2, order[2]), (3, order[1]), (5, order[2]))
    short = torch.zeros(6, 4)
    short[:2, :2] = attention(t, [1, 0], 2)
    return torch.stack([long, short]), torch.stack([true, links(6, 4, (0, 1), (1, 0))])


@exercise.prop(1, "Draw both sets of links on paper: count A, count G, count what they share.")
def values(t: Trial) -> None:
    """each target word is linked to its strongest source word, and the rate is 1 − 2 |A ∩ G| / (|A|
    + |G|)
    """
    weights, gold = two_sentences(t)
    got = t.call(weights[0], gold[0])
    t.close(got, t.want(weights[0], gold[0]), RATE, note="6 links drawn, 5 true, 3 in common")
    order = t.permutation(5).tolist()
    weights = attention(t, order[:3], 5)
    gold = links(3, 5, (0, order[0]), (0, order[3]), (1, order[1]), (2, order[4]), (2, order[3]))
    t.close(t.call(weights, gold), t.want(weights, gold), RATE, note="3 drawn, 5 true, 2 in common")


@exercise.prop(0.5, "Put the true links in as weights, and then others: what should come out?")
def ends(t: Trial) -> None:
    """the rate is 0 for the true links and 1 for none of them"""
    order = t.permutation(4).tolist()
    weights = attention(t, order, 5)
    gold = links(4, 5, *enumerate(order))
    t.close(t.call(weights, gold), 0.0, RATE, note="all links right")
    t.close(t.call(weights, gold.roll(1, dims=1)), 1.0, RATE, note="no link right")


@exercise.prop(0.5, "One source word for each target word cannot say that two words became one.")
def threshold(t: Trial) -> None:
    """with a threshold, every pair of at least that weight is linked: many, one or none per word"""
    # Only where the rate has to be 0: its formula is asked above.
    order = t.permutation(4).tolist()
    weights = torch.zeros(3, 4)
    weights[0, order[:2]] = 0.5
    weights[1, order] = torch.tensor([0.125, 0.25, 0.375, 0.25])
    weights[2, order] = torch.tensor([0.0, 0.25, 0.0, 0.75])
    for least in (0.5, 0.25, 0.125):
        gold = weights >= least
        t.close(t.call(weights, gold, least), 0.0, RATE, note=f"threshold {least}, all links true")
        got = t.call(weights, gold & links(3, 4, (2, order[3])), least)
        rate = got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got
        t.expect(rate != 0, f"threshold {least}: the rate is 0 although a link is not true")
    every = torch.ones(4, 5, dtype=torch.bool)
    t.close(t.call(attention(t, order, 5), every, 0.0), 0.0, RATE, note="threshold 0, all linked")


@exercise.prop(0.5, "What does argmax answer for a row of zeros?")
def zero_rows(t: Trial) -> None:
    """a row of zeros, as padding has it, gets no link, whatever the threshold"""
    order = t.permutation(3).tolist()
    weights = torch.cat([attention(t, order, 3), torch.zeros(3, 3)])
    gold = links(6, 3, *enumerate(order))
    t.close(t.call(weights, gold), 0.0, RATE, note="all links true, three rows of zeros")
    zero = torch.tensor([[0.75, 0.25], [0.0, 0.0]])
    t.close(t.call(zero, zero.bool(), 0.0), 0.0, RATE, note="threshold 0")
    nothing = torch.zeros(2, 3)
    t.close(t.call(nothing, nothing.bool()), 0.0, RATE, note="no links on either side")


@exercise.prop(0.5, "Which sentence should weigh more, one of two words or one of twenty?")
def pooled(t: Trial) -> None:
    """for a batch the links of all sentences are counted together"""
    # The same words as one long sentence have the same links.
    weights, gold = two_sentences(t)
    short = weights[1, :2, :2], gold[1, :2, :2]
    one = torch.block_diag(weights[0], short[0]), torch.block_diag(gold[0], short[1]).bool()
    alone = t.call(*one)
    rate = alone.item() if isinstance(alone, torch.Tensor) and alone.numel() == 1 else alone
    t.expect(isinstance(rate, float) and rate > 0, f"{RATE} is not positive with wrong links")
    t.close(t.call(weights, gold), rate, RATE, note="against all words in one sentence")
