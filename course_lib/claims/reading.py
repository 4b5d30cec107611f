"""Claims about scores, weights and heads: what maps look like, and what they show."""

import torch
from torch import Tensor

from course_lib.attention import MultiHeadAttention, attention_weights
from course_lib.attention_maps import diagonality, offset_score, stripe_score
from course_lib.claims.finding import Finding
from course_lib.transformer import Encoder


def columns_are_hubs() -> Finding:
    """Two heads with one map, a single column: the value there is large, or nothing."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.full((8, 8), 0.02)
    weights[:, 0] = 0.86
    brought = {}
    for name, scale in (("hub", 3.0), ("sink", 0.0)):
        values = torch.randn(8, 4, generator=generator)
        values[0] = scale * values[0].sign()
        share = (weights[:, :1] * values[:1]).norm() / (weights[:, 1:] @ values[1:]).norm()
        brought[name] = float(share)
    stripe = float(stripe_score(weights))
    hub = brought["hub"] > 5
    return Finding(
        holds=None if hub and brought["sink"] < 1e-6 and stripe > 0.8 else hub,
        evidence=f"{stripe:.0%} of the attention goes to one column in both; it brings "
        f"{brought['hub']:.0f} times what all others bring in the one, "
        f"{brought['sink']:.0f} times in the other",
    )


def diagonality_counts_neighbours() -> Finding:
    """A head that looks at the previous token: its share on the diagonal, and near it."""
    previous = torch.eye(8).roll(-1, dims=1)
    previous[0] = torch.eye(8)[0]
    exact, near = float(diagonality(previous)), float(diagonality(previous, 1))
    return Finding(
        holds=exact > 0.9,
        corrected=exact < 0.2 and near > 0.99,
        evidence=f"a previous-token head over 8 tokens has {exact:.3f} on the diagonal and "
        f"{near:.3f} within one place of it",
    )


def weights_do_not_explain() -> Finding:
    """Look for quite other weights that give a query the same output."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(12, 4, generator=generator, dtype=torch.float64)
    weights = torch.randn(12, generator=generator, dtype=torch.float64).softmax(0)
    # Additions that do not change the output, or the sum.
    fixed = torch.cat([values, torch.ones(12, 1, dtype=torch.float64)], dim=1)
    free = torch.linalg.svd(fixed.T).Vh[5:]
    apart, change = 0.0, 0.0
    for direction in torch.randn(500, 7, generator=generator, dtype=torch.float64) @ free:
        # As far as no weight gets negative.
        reach = (weights / -direction)[direction < 0].min()
        moved = weights + reach * direction
        if float((moved - weights).abs().sum() / 2) > apart:
            apart = float((moved - weights).abs().sum() / 2)
            change = float((moved @ values - weights @ values).abs().max())
    return Finding(
        holds=apart > 0.25 and change < 1e-9,
        evidence=f"of 12 keys of width 4, {apart:.0%} of the attention can be moved elsewhere, and "
        f"the output changes by {change:.0e}",
    )


def cross_attention_is_rectangular() -> Finding:
    """Shape of the weights from 3 target to 5 source words, and what the first one sees."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        attend = MultiHeadAttention(8, n_heads=2)
    random = torch.Generator().manual_seed(0)
    target, source = torch.randn(1, 3, 8, generator=random), torch.randn(1, 5, 8, generator=random)
    _, weights = attend(target, source, return_weights=True)
    last = float(weights[0, :, 0, -1].detach().min())
    return Finding(
        holds=weights.shape == (1, 2, 3, 5) and last > 0,
        evidence=f"the weights have the shape {tuple(weights.shape)}, and the first target word "
        f"gives the last source word at least {last:.2f}",
    )


def _encoder() -> Encoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Encoder(16, 2, 32, 2).double()


def _exchanged(name: str, weight: Tensor, order: Tensor) -> Tensor:
    """A weight of the encoder whose input has its channels in another order."""
    if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "in_proj.weight")):
        return weight[:, order]
    reads_only = name.endswith(("q_proj.bias", "k_proj.bias", "v_proj.bias", "in_proj.bias"))
    return weight if reads_only else weight[order]


def training_commutes_with_exchange() -> Finding:
    """Train on data, on the same with tokens exchanged, and with channels exchanged."""
    random = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 4, 6, 16, generator=random, dtype=torch.float64)
    tokens, channels = (torch.randperm(n, generator=random) for n in (6, 16))

    def trained(x: Tensor, y: Tensor, order: Tensor | None = None) -> dict[str, Tensor]:
        model = _encoder()
        if order is not None:
            state = model.state_dict()
            model.load_state_dict({n: _exchanged(n, w, order) for n, w in state.items()})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
        return {name: w.detach() for name, w in model.named_parameters()}

    def gap(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
        return max(float((one[name] - other[name]).abs().max()) for name in one)

    plain = trained(x, y)
    wanted = {name: _exchanged(name, w, channels) for name, w in plain.items()}
    inter = gap(plain, trained(x[:, tokens], y[:, tokens]))
    same_start = gap(wanted, trained(x[..., channels], y[..., channels]))
    moved_start = gap(wanted, trained(x[..., channels], y[..., channels], channels))
    return Finding(
        holds=max(inter, same_start) < 1e-9,
        corrected=max(inter, moved_start) < 1e-9 < same_start,
        evidence=f"after five steps weights differ by {inter:.0e} if tokens were exchanged; if "
        f"channels were, by {same_start:.2f} from the same start and by {moved_start:.0e} from one "
        "with its rows and columns exchanged likewise",
    )


def _looks(of_content: bool, seed: int) -> Tensor:
    """A map of six words with random contents, led by contents or by places."""
    content = torch.randn(6, 8, generator=torch.Generator().manual_seed(seed))
    places = torch.eye(6)
    if of_content:
        return attention_weights(content, content, scale=1.0)
    return attention_weights(places.roll(-1, dims=1), places, scale=10.0)


def attention_follows_content() -> Finding:
    """Does a map change with the words, for a head led by contents and for one led by places?"""
    changes = {
        of_content: float((_looks(of_content, 0) - _looks(of_content, 1)).abs().max())
        for of_content in (True, False)
    }
    previous = float(offset_score(_looks(False, 0), -1))
    follows = changes[True] > 0.1
    return Finding(
        holds=None if follows and changes[False] < 1e-6 and previous > 0.9 else follows,
        evidence=f"other words change the weights of a head that compares contents by up to "
        f"{changes[True]:.2f}, and those of one that compares places by {changes[False]:.0f}: it "
        f"gives {previous:.2f} to the previous word, whatever that is",
    )


def uniform_heads_do_nothing() -> Finding:
    """Take out a uniform head that counts, and one whose values are small."""
    random = torch.Generator().manual_seed(0)
    marked = (torch.rand(500, 12, generator=random) < torch.rand(500, 1, generator=random)).float()
    share = marked.mean(dim=1)
    even = torch.full((12,), 1 / 12)
    lost = {}
    for name, scale in (("counts", 1.0), ("idles", 0.0)):
        added = scale * (marked @ even)
        target = added + 0.1 * torch.randn(500, generator=random)
        lost[name] = float(target.square().mean() - (target - added).square().mean())
    exact = float((marked @ even - share).abs().max()) < 1e-6
    matters = lost["counts"] > 0.2 and exact
    return Finding(
        holds=None if matters and abs(lost["idles"]) < 1e-6 else not matters,
        evidence=f"with equal weights a head computes the share of marked words; without it the "
        f"error rises by {lost['counts']:.2f}, without an equally uniform head that adds nothing "
        f"by {lost['idles']:.2f}",
    )
