"""Claims about several heads: what they cost, what one cannot do, what they can be spared."""

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention, attention_weights
from course_lib.attention_maps import offset_score
from course_lib.claims.finding import Finding

# The sentence that both figures of the paper of 2017 with "making" show.
_MAKING = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 "
    "making the registration or voting process more difficult ."
)


def typical_heads_are_64_wide() -> Finding:
    """Divide the widths that the report names by its number of heads."""
    typical, own = 512 // 8, 400 // 8
    return Finding(
        holds=own == 64,
        corrected=typical == 64 and MultiHeadAttention(400, 8).d_head == own,
        evidence=f"a width of 512 in 8 heads gives {typical}; the report's own 400 gives {own}",
    )


def _worth(n_heads: int) -> list[float]:
    """Worth of heads that have learned to fetch two neighbours: the error without each."""
    random = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        attend = MultiHeadAttention(24, n_heads, bias=False)
        read, write = nn.Linear(1, 24, bias=False), nn.Linear(24, 2, bias=False)
        places = nn.Parameter(torch.randn(8, 24))
    parts = (attend, read, write)
    parameters = [places, *(p for part in parts for p in part.parameters())]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)

    def error(head_mask: Tensor | None = None) -> Tensor:
        x = torch.randn(64, 8, 1, generator=random)
        asks = places.expand(64, 8, 24)
        wanted = torch.cat([x.roll(1, dims=1), x.roll(-1, dims=1)], dim=-1)
        out = write(attend(asks, asks, read(x), head_mask=head_mask))
        return (out - wanted).square().mean()

    for _ in range(200):
        loss = error()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        masks = 1 - torch.eye(n_heads)
        return [float(sum(error(mask) - error() for _ in range(8)) / 8) for mask in masks]


def heads_complement_each_other() -> Finding:
    """Take single heads out of two trained layers that solve one task, with two heads and six."""
    two, six = _worth(2), _worth(6)
    needed, spare = min(two) > 0.3, min(six) < 0.05
    return Finding(
        holds=None if needed and spare else needed,
        evidence=f"a layer that fetches two numbers with two heads has an error of "
        f"{min(two):.2f} without either; one that does so with six heads has one of "
        f"{abs(min(six)):.2f} without the least of them, {max(six):.2f} without the foremost",
    )


def making_looks_back() -> Finding:
    """Find both words in the sentence of the figure."""
    words = _MAKING.split()
    making, seen = words.index("making"), [words.index("more"), words.index("difficult")]
    return Finding(
        holds=max(seen) < making,
        corrected=min(seen) > making,
        evidence=f"making is word {making}, more and difficult are words {seen[0]} and {seen[1]}",
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
