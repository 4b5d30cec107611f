from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.start import see
from course_lib.bank.start.pair_scores import exercise


@exercise.answer
def reference(q: Tensor, k: Tensor, bias: Tensor) -> Tensor:
    """A score for each query and key of a sentence, and a bias for each key."""
    return q @ k.transpose(-2, -1) + bias.unsqueeze(-2)


@exercise.mistake(
    see("shapes", "Print `k` and what you multiply by. Do columns hold what rows held?")
)
def reshaped(q, k, bias):
    """A reshape to the right shape is a transpose."""
    return q @ k.reshape(k.shape[0], k.shape[2], k.shape[1]) + bias[:, None]


@exercise.mistake(
    see("broadcasting", "With as many sentences as queries nothing complains. What is added where?")
)
def bias_of_another_sentence(q, k, bias):
    """A bias (B, S) lines up with (B, T, S) by itself."""
    return q @ k.transpose(-2, -1) + bias


@exercise.mistake(
    see("broadcasting", "The bias belongs to keys. Along which axis of (B, T, S) do they lie?")
)
def bias_of_the_query(q, k, bias):
    """The new axis comes last, as it does with keepdim."""
    return q @ k.transpose(-2, -1) + bias[:, :, None]


@exercise.mistake(see("shapes", "Row t of your result: does it belong to query t, or to key t?"))
def keys_ask(q, k, bias):
    """A product of all pairs is the same from either side."""
    return k @ q.transpose(-2, -1) + bias[:, :, None]


@exercise.alternative
def einsum(q, k, bias):
    """Einstein sums, and a warning."""
    import warnings

    warnings.warn("no transpose needed", stacklevel=1)
    return torch.einsum("btd,bsd->bts", q, k) + bias[:, None, :]


@exercise.alternative
def one_wider(q, k, bias):
    """The bias as one more channel of the keys, which every query multiplies by 1."""
    ones = torch.ones_like(q[..., :1])
    wide = torch.cat([k, bias.unsqueeze(-1)], dim=-1)
    return torch.bmm(torch.cat([q, ones], dim=-1), wide.permute(0, 2, 1))
