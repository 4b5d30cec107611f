from course_lib.bank.masks.decoder_mask import exercise
from course_lib.bank.prelude import Tensor, torch
from course_lib.masks import causal_mask, padding_mask


@exercise.answer
def reference(lengths: Tensor, T: int, S: int, side: str = "right") -> Tensor:
    """What the exercise asks for, put together from the library."""
    real = padding_mask(lengths, S)
    return (real.flip(-1) if side == "left" else real) & causal_mask(T, S)


@exercise.mistake("A padded key must be hidden from whom? Along which axis do the keys lie?")
def pads_do_not_ask(lengths, T, S, side="right"):
    """Padding is masked where it asks, not where it is asked."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    causal = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return real[:, None, S - T :, None] & causal


@exercise.mistake(
    "What a padded query finds is not read. What happens to its row if you forbid it everything?"
)
def neither_asks_nor_answers(lengths, T, S, side="right"):
    """Padding must be masked twice, as a key and as a query."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    causal = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return real[:, None, None, :] & real[:, None, S - T :, None] & causal


@exercise.mistake("Two sentences of 1 and 2 words in 4 places: which of your tables has 4 columns?")
def as_long_as_the_longest(lengths, T, S, side="right"):
    """The longest sentence of a batch has no padding, so it says how many places there are."""
    longest = int(lengths.max())
    real = torch.arange(longest) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return real[:, None, None, :] & past[:, :longest]


@exercise.mistake("A key lies in the future but isn't padding: may a query see it?")
def either_allows(lengths, T, S, side="right"):
    """What one of two masks allows is allowed."""
    real = torch.arange(S) < lengths[:, None]
    real = real.flip(-1) if side == "left" else real
    return real[:, None, None, :] | torch.ones(T, S, dtype=torch.bool).tril(S - T)


@exercise.mistake("At which position of the whole sequence is the first new query?")
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


@exercise.mistake("Which positions does `arange(S) < length` mark, and where are the tokens?")
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
