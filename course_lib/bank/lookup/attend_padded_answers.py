from course_lib.bank.lookup.attend_padded import exercise
from course_lib.bank.prelude import F, Tensor, torch
from course_lib.masks import padding_mask
from course_lib.seq2seq import attend


@exercise.answer
def reference(scores: Tensor, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """What the exercise asks for, put together from the library."""
    return attend(scores, values, padding_mask(lengths, scores.shape[-1])[:, 0])


@exercise.mistake("The padding adds nothing to the sum. Does it take nothing from the others?")
def zero_values(scores, values, lengths):
    """If the values of padding are zero, padding does no harm."""
    real = torch.arange(scores.shape[-1]) < lengths[:, None]
    weights = scores.softmax(-1)
    return weights @ (values * real[..., None].to(values.dtype)), weights


@exercise.mistake("After your mask is applied, do the weights of a row still sum to 1?")
def mask_after_softmax(scores, values, lengths):
    """Masking means to set unwanted weights to zero, whenever that is done."""
    real = torch.arange(scores.shape[-1]) < lengths[:, None]
    weights = scores.softmax(-1) * real[:, None].to(scores.dtype)
    return weights @ values, weights


@exercise.mistake("If padding wins the softmax by far, what is left for you to renormalise?")
def renormalised(scores, values, lengths):
    """Zeroing weights and dividing by what is left is the same as masking the scores."""
    real = torch.arange(scores.shape[-1]) < lengths[:, None]
    weights = scores.softmax(-1) * real[:, None].to(scores.dtype)
    total = weights.sum(-1, keepdim=True)
    weights = weights / torch.where(total > 0, total, torch.ones_like(total))
    return weights @ values, weights


@exercise.mistake("What does exp give for a score of 0, and is that nothing?")
def zero_scores(scores, values, lengths):
    """A score of 0 means no attention."""
    real = torch.arange(scores.shape[-1]) < lengths[:, None]
    weights = scores.masked_fill(~real[:, None], 0.0).softmax(-1)
    return weights @ values, weights


@exercise.mistake("A sentence of length 3 ends at which index? Count its words in your mask.")
def one_pad_too_many(scores, values, lengths):
    """A word is real if its position is at most the length."""
    real = torch.arange(scores.shape[-1]) <= lengths[:, None]
    scores = scores.masked_fill(~real[:, None], -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return weights @ values, weights


@exercise.mistake("What does the softmax see if every score of a row is your number?")
def minus_a_billion(scores, values, lengths):
    """Any very negative number is as good as minus infinity."""
    real = torch.arange(scores.shape[-1]) < lengths[:, None]
    weights = scores.masked_fill(~real[:, None], -1e9).softmax(-1)
    return weights @ values, weights


@exercise.mistake("`lengths` counts source words. Along which axis of the scores do they lie?")
def queries_masked(scores, values, lengths):
    """Padding is masked where it asks, not where it is asked."""
    real = torch.arange(scores.shape[-2]) < lengths[:, None]
    weights = scores.softmax(-1).masked_fill(~real[..., None], 0.0)
    return weights @ values, weights


@exercise.mistake("The caller may want to look at the scores again: are they still there?")
def masks_in_place(scores, values, lengths):
    """The scores are used up anyway, so they can be overwritten."""
    pad = torch.arange(scores.shape[-1]) >= lengths[:, None]
    with torch.no_grad():
        scores.masked_fill_(pad[:, None], -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return weights @ values, weights


@exercise.mistake("Words that all score -150 beside padding: what does yours give them?")
def minus_a_hundred(scores, values, lengths):
    """Scores are small numbers, so that -100 hides a key."""
    real = torch.arange(scores.shape[-1]) < lengths[:, None]
    weights = scores.masked_fill(~real[:, None], -100.0).softmax(-1)
    return weights @ values, weights


@exercise.alternative
def sentence_by_sentence(scores, values, lengths):
    """Cuts the padding off each sentence and puts zeros in its place afterwards."""
    contexts, weights = [], []
    for i, n in enumerate(lengths.tolist()):
        row = scores[i, :, :n].softmax(-1)
        contexts.append(row @ values[i, :n])
        weights.append(F.pad(row, (0, scores.shape[-1] - n)))
    return torch.stack(contexts), torch.stack(weights)


@exercise.alternative
def shifted_exponentials(scores, values, lengths):
    """Writes the softmax out, over the real words only."""
    position = torch.arange(scores.shape[-1], device=scores.device)
    real = (position[None, :] < lengths[:, None]).unsqueeze(1).expand_as(scores)
    smallest = torch.finfo(scores.dtype).min
    top = torch.where(real, scores, torch.full_like(scores, smallest)).amax(-1, keepdim=True)
    exponent = torch.where(real, scores - top.detach(), torch.zeros_like(scores))
    e = torch.exp(exponent) * real
    total = e.sum(-1, keepdim=True)
    weights = e / (total + (total == 0))
    return torch.einsum("bts,bsd->btd", weights, values), weights


@exercise.alternative
def additive_mask(scores, values, lengths):
    """Adds minus infinity, repairs empty rows, and warns about them."""
    import warnings

    warnings.warn("rows without a word are set to zero", stacklevel=1)
    penalty = torch.zeros(len(lengths), 1, scores.shape[-1], dtype=scores.dtype)
    for i in range(len(lengths)):
        if lengths[i] > 0:
            penalty[i, :, int(lengths[i]) :] = float("-inf")
    weights = F.softmax(scores + penalty, dim=2) * (lengths > 0)[:, None, None]
    return torch.bmm(weights, values), weights


@exercise.alternative
def softmax_in_single(scores, values, lengths):
    """A softmax in single precision, cast back, as large models write it."""
    padding = (torch.arange(scores.shape[-1]) >= lengths[:, None]).unsqueeze(1)
    hidden = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
    weights = F.softmax(hidden, dim=-1, dtype=torch.float32).to(values.dtype)
    weights = weights.masked_fill(padding, 0.0)
    return weights @ values, weights
