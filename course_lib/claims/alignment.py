"""Claims about attention as a lookup and about reading its weights."""

import torch
from torch import Tensor

from course_lib.attention import MultiHeadAttention
from course_lib.claims.finding import Finding

_SENTENCE = "The animal didn't cross the street because it was too tired".split()
_ROW_OF_IT = (0.02, 0.42, 0.05, 0.03, 0.03, 0.08, 0.15, 0.06, 0.04, 0.31)


def row_of_it() -> Finding:
    """Add up the printed weights of "it"."""
    total = sum(_ROW_OF_IT)
    slack = len(_ROW_OF_IT) * 0.005
    return Finding(
        holds=abs(total - 1) <= slack and len(_ROW_OF_IT) == len(_SENTENCE),
        evidence=f"{len(_ROW_OF_IT)} printed weights for {len(_SENTENCE)} words add up to "
        f"{total:.2f}, where rounding explains at most {1 + slack:.2f}",
    )


def distances_from_it() -> Finding:
    """Count the words between "it" and what it attends to."""
    it = _SENTENCE.index("it")
    animal, tired = it - _SENTENCE.index("animal"), _SENTENCE.index("tired") - it
    return Finding(
        holds=(animal, tired) == (6, 3),
        evidence=f"“animal” stands {animal} words before “it”, “tired” {tired} words after",
    )


def weights_of_i_love_you() -> Finding:
    """Add up the three weights of the lecture's example."""
    total = 0.72 + 0.15 + 0.13
    return Finding(holds=abs(total - 1) < 1e-9, evidence=f"0.72 + 0.15 + 0.13 = {total:.2f}")


def weights_show_influence() -> Finding:
    """Does the key with the largest weight change the output most when it is left out?"""
    weights = torch.tensor([0.6, 0.3, 0.1])
    cases = {
        "different values": torch.tensor([1.0, -1.0, 0.5]),
        # The favourite only repeats what the others say on average.
        "a redundant favourite": torch.tensor([-0.5, -1.0, 1.0]),
    }
    agrees = {name: _most_influential(weights, v) == 0 for name, v in cases.items()}
    verdicts = set(agrees.values())
    said = "; ".join(f"{name}: {'yes' if yes else 'no'}" for name, yes in agrees.items())
    return Finding(
        holds=verdicts.pop() if len(verdicts) == 1 else None,
        evidence="the same weights 0.6, 0.3, 0.1, and whether leaving out the first key changes "
        f"the output most: {said}",
    )


def _most_influential(weights: Tensor, values: Tensor) -> int:
    whole = weights @ values
    changes = []
    for i in range(len(weights)):
        rest = torch.arange(len(weights)) != i
        changes.append(abs(float(weights[rest] @ values[rest] / weights[rest].sum() - whole)))
    return changes.index(max(changes))


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


def english_and_japanese_order() -> Finding:
    """Order of subject, verb and object in a glossed pair of sentences."""
    english = {"the dog": "S", "bites": "V", "the man": "O"}
    japanese = {"inu ga (dog)": "S", "otoko o (man)": "O", "kamu (bites)": "V"}
    orders = "".join(english.values()), "".join(japanese.values())
    return Finding(
        holds=orders == ("SOV", "SVO"),
        corrected=orders == ("SVO", "SOV"),
        evidence=f"“{' '.join(english)}” is {orders[0]}, “{' '.join(japanese)}” is {orders[1]}",
    )
