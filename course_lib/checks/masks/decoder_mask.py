"""Exercise ``masks.decoder_mask``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.masks import causal_mask, padding_mask


def reference(lengths: Tensor, T: int, S: int, side: str = "right") -> Tensor:
    """What the exercise asks for, put together from the library."""
    real = padding_mask(lengths, S)
    return (real.flip(-1) if side == "left" else real) & causal_mask(T, S)


exercise = Exercise(
    id="masks.decoder_mask",
    function="decoder_mask",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="05_masks.html#masks-padding",
    outcomes=("masks.build",),
    example=lambda t: (torch.tensor([4, 2, 3]), 4, 4),
)


@exercise.prop(
    "without padding: the causal mask, once for each sentence, as booleans (B, 1, T, S)",
    points=0.5,
    hint="Which axes must have size 1, so that heads and sentences fall into place?",
)
def axes(t: Trial) -> None:
    B, T = t.integer(2, 3), t.integer(4, 6)
    t.same(torch.full((B,), T), T, T)


@exercise.prop(
    "padding on the right is hidden from every query of its sentence, and from no other",
    points=1.5,
    hint="Take three sentences of three tokens: which tables does an axis in the wrong place mix?",
)
def padded_right(t: Trial) -> None:
    # As many sentences as positions: axes in the wrong place go unnoticed by broadcasting.
    t.same(torch.tensor([5, t.integer(1, 2), t.integer(3, 4), 1, 2]), 5, 5)
    t.same(torch.tensor([t.integer(2, 4), 6]), 6, 6)


@exercise.prop(
    "padding on the left, where the queries on the padding see nothing",
    points=1.5,
    hint='The causal half stays as it is. Which positions are real if side="left"?',
)
def padded_left(t: Trial) -> None:
    t.same(torch.tensor([5, t.integer(1, 2), t.integer(3, 4), 1, 2]), 5, 5, "left")
    t.same(torch.tensor([t.integer(2, 4), 6]), 6, 6, "left")


@exercise.prop(
    "T new queries after S - T cached keys, with padding on either side",
    points=1,
    hint="Lengths count positions of the whole sequence, cached ones too.",
)
def cached(t: Trial) -> None:
    T, S = t.integer(2, 3), t.integer(6, 8)
    lengths = torch.tensor([S, S - 1, T + 1])
    t.same(lengths, T, S)
    t.same(lengths, T, S, "left")


@exercise.prop(
    "a sentence of length 0 sees nothing at all",
    points=0.5,
    hint="Such rows are the business of the softmax: the mask only tells the truth about them.",
)
def empty(t: Trial) -> None:
    n = t.integer(3, 5)
    t.same(torch.tensor([0, n, 2]), n, n)
    t.same(torch.tensor([0, n, 2]), n, n, "left")


@exercise.mistake("A padded key must be hidden from whom? Along which axis do the keys lie?")
def pads_do_not_ask(lengths, T, S, side="right"):
    """Padding is masked where it asks, not where it is asked."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    causal = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return real[:, None, S - T :, None] & causal


@exercise.mistake(
    "Nobody reads what a padded query finds. What happens to its row if you forbid it everything?"
)
def neither_asks_nor_answers(lengths, T, S, side="right"):
    """Padding must be masked twice, as a key and as a query."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    causal = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return real[:, None, None, :] & real[:, None, S - T :, None] & causal


@exercise.mistake("A sentence of length 3 ends at which position? Count its keys in your mask.")
def one_pad_too_many(lengths, T, S, side="right"):
    """A token is real if its position is at most the length."""
    real = torch.arange(S) <= lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    return real[:, None, None, :] & torch.ones(T, S, dtype=torch.bool).tril(S - T)


@exercise.mistake("A key lies in the future but isn't padding: may a query see it?")
def either_allows(lengths, T, S, side="right"):
    """What one of two masks allows is allowed."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    return real[:, None, None, :] | torch.ones(T, S, dtype=torch.bool).tril(S - T)


@exercise.mistake("At which position of the whole sequence does the first new query stand?")
def top_left(lengths, T, S, side="right"):
    """The triangle starts at the first key, however many keys there are."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    return real[:, None, None, :] & torch.ones(T, S, dtype=torch.bool).tril()


@exercise.mistake("Reading the padding backwards is right. Does time run backwards, too?")
def all_mirrored(lengths, T, S, side="right"):
    """Padding on the left is padding on the right, with the whole mask mirrored."""
    real = torch.arange(S) < lengths[:, None]
    keep = real[:, None, None, :] & torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return keep.flip(-1) if side == "left" else keep


@exercise.mistake("Which positions does `arange(S) < length` mark, and where do the tokens stand?")
def lengths_say_it_all(lengths, T, S, side="right"):
    """A length says how many tokens are real, so the side makes no difference."""
    real = torch.arange(S) < lengths[:, None]
    return real[:, None, None, :] & torch.ones(T, S, dtype=torch.bool).tril(S - T)


@exercise.mistake("A query with nothing to see: does your mask tell the truth about it?")
def empty_sees_itself(lengths, T, S, side="right"):
    """A softmax needs at least one key, so a query that sees nothing is shown itself."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    keep = real[:, None, None, :] & torch.ones(T, S, dtype=torch.bool).tril(S - T)
    itself = torch.arange(S) == torch.arange(S - T, S)[:, None]
    return keep | (itself & ~keep.any(-1, keepdim=True))


@exercise.alternative
def key_positions(lengths, T, S, side="right"):
    """One comparison of positions for each of the three reasons to hide a key."""
    key = torch.arange(S).view(1, 1, 1, S)
    query = torch.arange(S - T, S).view(1, 1, T, 1)
    n = lengths.view(-1, 1, 1, 1)
    begin = S - n if side == "left" else torch.zeros_like(n)
    return (key >= begin) & (key < begin + n) & (key <= query)


@exercise.alternative
def sentence_by_sentence(lengths, T, S, side="right"):
    """Starts from the causal mask and blanks columns, sentence by sentence."""
    masks = []
    for n in lengths.tolist():
        mask = torch.ones(S, S).tril()[S - T :].bool()
        if side == "right":
            mask[:, n:] = False
        else:
            mask[:, : S - n] = False
        masks.append(mask[None])
    return torch.stack(masks)


@exercise.alternative
def by_products(lengths, T, S, side="right"):
    """Multiplies zeros and ones, and logs to stderr."""
    import logging

    logging.getLogger("masks").warning("integers in between")
    row = torch.ones(len(lengths), S, dtype=torch.long).cumsum(-1)
    if side == "left":
        row = S + 1 - row
    real = (row <= lengths.unsqueeze(1)).long()
    causal = torch.tril(torch.ones(T, S, dtype=torch.long), diagonal=S - T)
    return torch.einsum("bs,ts->bts", real, causal).bool().unsqueeze(1)
