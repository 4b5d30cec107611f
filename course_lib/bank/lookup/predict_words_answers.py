from course_lib.bank.lookup.predict_words import exercise
from course_lib.bank.prelude import F, Tensor, changed, math, torch
from course_lib.masks import padding_mask
from course_lib.seq2seq import attend, luong_general, luong_readout


@exercise.answer
def reference(
    hidden: Tensor, states: Tensor, lengths: Tensor, w_a: Tensor, w_c: Tensor, w_out: Tensor
) -> tuple[Tensor, Tensor]:
    """What the exercise asks for, put together from the library."""
    real = padding_mask(lengths, states.shape[1])[:, 0]
    context, weights = attend(luong_general(hidden, states, w_a), states, real)
    return luong_readout(context, hidden, w_c) @ w_out.T, weights


@exercise.mistake("Whose states are the last ones of a short sentence, and may they be looked at?")
def padding_answers(hidden, states, lengths, w_a, w_c, w_out):
    """The decoder learns by itself not to look at padding."""
    weights = (hidden @ w_a @ states.mT).softmax(-1)
    readout = torch.cat([weights @ states, hidden], -1) @ w_c.T
    return readout.tanh() @ w_out.T, weights


@exercise.mistake("What does `attend_padded` take: scores, or what a softmax has made of them?")
def softmax_twice(hidden, states, lengths, w_a, w_c, w_out):
    """Scores have to be turned into weights before they can be masked and averaged with."""
    padding = torch.arange(states.shape[1]) >= lengths[:, None, None]
    scores = (hidden @ w_a @ states.mT).softmax(-1)
    weights = scores.masked_fill(padding, -math.inf).softmax(-1)
    readout = torch.cat([weights @ states, hidden], -1) @ w_c.T
    return readout.tanh() @ w_out.T, weights


def right(hidden, states, lengths, w_a, w_c, w_out):
    """Base of the mistakes, itself right."""
    padding = torch.arange(states.shape[1]) >= lengths[:, None, None]
    weights = (hidden @ w_a @ states.mT).masked_fill(padding, -math.inf).softmax(-1)
    readout = torch.cat([weights @ states, hidden], -1) @ w_c.T
    return readout.tanh() @ w_out.T, weights


@exercise.mistake("What makes weights of scores? Look at the sum and the signs of one row.")
@changed(right, ("-math.inf).softmax(-1", "0.0"))
def raw_scores():
    """A score already says how much of a state is taken."""


@exercise.mistake("Draw your map of two sentences. Does a row ever look anywhere else?")
def last_word_only(hidden, states, lengths, w_a, w_c, w_out):
    """The last state of the encoder has read everything, so it is the one to look at."""
    weights = F.one_hot(lengths - 1, states.shape[1]).to(states.dtype)
    weights = weights[:, None].expand(-1, hidden.shape[1], -1)
    readout = torch.cat([weights @ states, hidden], -1) @ w_c.T
    return readout.tanh() @ w_out.T, weights


@exercise.mistake("Over which axis do your weights sum to 1, and what if there is only one query?")
@changed(
    right, ("masked_fill(padding, -math.inf).softmax(-1", "softmax(1).masked_fill(padding, 0.0")
)
def softmax_over_queries():
    """The softmax runs over the words that are written."""


@exercise.mistake("Which of the two does the formula of 2.3 name first?")
@changed(right, ("weights @ states, hidden", "hidden, weights @ states"))
def state_first():
    """Context and state can be joined in either order."""


@exercise.mistake("The loss applies a softmax itself. What does it want from you?")
@changed(right, ("readout.", "(readout."), ("w_out.T", "w_out.T).softmax(-1)"))
def probabilities():
    """A decoder returns how probable each word is."""


@exercise.mistake("How does W_a learn that a weight was in the wrong place?")
@changed(right, ("softmax(-1)", "softmax(-1).detach()"))
def weights_detached():
    """Weights are computed, not learned, so no gradient has to pass them."""


@exercise.alternative
def sentence_by_sentence(hidden, states, lengths, w_a, w_c, w_out):
    """Cuts the padding off each sentence, and puts zeros there afterwards; says so on stderr."""
    import sys

    print("one sentence at a time", file=sys.stderr)
    logits, weights = [], []
    for queries, keys, n in zip(hidden, states, lengths.tolist(), strict=True):
        rows = torch.softmax(queries @ w_a @ keys[:n].T, dim=1)
        readout = torch.tanh(w_c @ torch.cat([rows @ keys[:n], queries], 1).T)
        logits.append((w_out @ readout).T)
        weights.append(F.pad(rows, (0, len(keys) - n)))
    return torch.stack(logits), torch.stack(weights)


@exercise.alternative
def two_halves(hidden, states, lengths, w_a, w_c, w_out):
    """Projects the keys once, cuts W_c in two, and masks by adding."""
    real = torch.arange(states.shape[1])[None, None] < lengths[:, None, None]
    mask = torch.zeros(real.shape, dtype=states.dtype).masked_fill_(~real, -math.inf)
    weights = F.softmax(torch.bmm(hidden, F.linear(states, w_a).mT) + mask, dim=2)
    width = states.shape[-1]
    context = torch.einsum("bts,bsd->btd", weights, states)
    readout = context @ w_c[:, :width].T + hidden @ w_c[:, width:].T
    return F.linear(readout.tanh(), w_out), weights


@exercise.alternative
def exponentials(hidden, states, lengths, w_a, w_c, w_out):
    """Writes the softmax out over the real words."""
    real = (torch.arange(states.shape[1]) < lengths[:, None]).unsqueeze(1)
    scores = torch.einsum("btq,qk,bsk->bts", hidden, w_a, states)
    e = torch.exp(scores - scores.amax(-1, keepdim=True).detach()) * real
    weights = e / e.sum(-1, keepdim=True)
    joined = torch.cat((weights @ states, hidden), dim=2)
    return torch.tanh(joined @ w_c.transpose(0, 1)) @ w_out.transpose(0, 1), weights
