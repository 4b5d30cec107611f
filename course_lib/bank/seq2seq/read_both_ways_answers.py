from course_lib.bank.prelude import Tensor, nn, torch
from course_lib.bank.seq2seq.read_both_ways import colleagues_read_both_ways, exercise, read


@exercise.answer
def reference(
    x: Tensor, lengths: Tensor, forward: list[Tensor], backward: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """One sentence after the other, so that there is no padding to read."""
    D = forward[1].shape[0]
    memory, last = [], []
    for sentence, length in zip(x, lengths.tolist(), strict=True):
        words = sentence[None, :length]
        ahead = read(words, *forward)[0]
        back = read(words.flip(1), *backward)[0].flip(0)
        memory.append(
            torch.cat([torch.cat([ahead, back], -1), x.new_zeros(x.shape[1] - length, 2 * D)])
        )
        last.append(torch.cat([ahead[-1], back[0]]))
    return torch.stack(memory), torch.stack(last)


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with a sentence without padding: what is off?")(
    colleagues_read_both_ways
)


@exercise.mistake("The row turned round begins with padding. What does the backward state hold?")
def padding_read_first(x, lengths, forward, backward):
    """To read a batch backwards its rows are turned round."""
    keep = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
    ahead, back = read(x, *forward), read(x.flip(1), *backward).flip(1)
    memory = torch.cat([ahead, back], -1) * keep
    ends = ahead[torch.arange(len(x)), lengths - 1]
    return memory, torch.cat([ends, back[:, 0]], -1)


@exercise.mistake("Memory at word 0: whose states are side by side there, for one sentence?")
def states_not_turned_back(x, lengths, forward, backward):
    """States come out in the order in which they are needed."""
    S = x.shape[1]
    places, ends = torch.arange(S), lengths[:, None]
    keep = (places < ends)[..., None]
    turned = torch.where(places < ends, ends - 1 - places, places)
    rows = torch.arange(len(x))
    ahead = read(x, *forward)
    back = read(x[rows[:, None], turned], *backward)
    last = torch.cat([ahead[rows, lengths - 1], back[rows, lengths - 1]], -1)
    return torch.cat([ahead, back], -1) * keep, last


@exercise.mistake("At which place of the row does a sentence of two words end?")
def last_place_of_the_row(x, lengths, forward, backward):
    """The last state is in the last place."""
    S = x.shape[1]
    places, ends = torch.arange(S), lengths[:, None]
    keep = (places < ends)[..., None]
    turned = torch.where(places < ends, ends - 1 - places, places)
    rows = torch.arange(len(x))[:, None]
    ahead = read(x, *forward)
    back = read(x[rows, turned], *backward)[rows, turned]
    last = torch.cat([ahead[:, -1], back[:, 0]], -1)
    return torch.cat([ahead, back], -1) * keep, last


@exercise.mistake("What has the backward direction read when it is at the last word?")
def both_end_at_the_last_word(x, lengths, forward, backward):
    """Both directions have their last state at the last word."""
    S = x.shape[1]
    places, ends = torch.arange(S), lengths[:, None]
    keep = (places < ends)[..., None]
    turned = torch.where(places < ends, ends - 1 - places, places)
    rows = torch.arange(len(x))[:, None]
    back = read(x[rows, turned], *backward)[rows, turned]
    memory = torch.cat([read(x, *forward), back], -1) * keep
    return memory, memory[torch.arange(len(x)), lengths - 1]


@exercise.mistake("Print the memory of a short sentence beyond its last word.")
def padding_has_states(x, lengths, forward, backward):
    """What comes after the end does no harm, as it is not looked at."""
    S = x.shape[1]
    places, ends = torch.arange(S), lengths[:, None]
    turned = torch.where(places < ends, ends - 1 - places, places)
    rows = torch.arange(len(x))[:, None]
    ahead = read(x, *forward)
    back = read(x[rows, turned], *backward)[rows, turned]
    last = torch.cat([ahead[torch.arange(len(x)), lengths - 1], back[:, 0]], -1)
    return torch.cat([ahead, back], -1), last


@exercise.mistake(
    "Five places, and the longest of your sentences has three words: print the shape."
)
def as_wide_as_the_longest(x, lengths, forward, backward):
    """The memory has as many places as the longest sentence has words, however wide x is."""
    ahead = [read(s[None, :n], *forward)[0] for s, n in zip(x, lengths, strict=True)]
    back = [read(s[None, :n].flip(1), *backward)[0] for s, n in zip(x, lengths, strict=True)]
    last = torch.stack([torch.cat([a[-1], b[-1]]) for a, b in zip(ahead, back, strict=True)])
    both = [torch.cat([a, b.flip(0)], -1) for a, b in zip(ahead, back, strict=True)]
    return nn.utils.rnn.pad_sequence(both, batch_first=True), last


@exercise.mistake("`backward` has come with the call. Where do you use it?")
def one_network_for_both(x, lengths, forward, backward):
    """The same network reads in both directions."""
    S = x.shape[1]
    places, ends = torch.arange(S), lengths[:, None]
    keep = (places < ends)[..., None]
    turned = torch.where(places < ends, ends - 1 - places, places)
    rows = torch.arange(len(x))[:, None]
    ahead = read(x, *forward)
    back = read(x[rows, turned], *forward)[rows, turned]
    last = torch.cat([ahead[torch.arange(len(x)), lengths - 1], back[:, 0]], -1)
    return torch.cat([ahead, back], -1) * keep, last


@exercise.alternative
def packed(x, lengths, forward, backward):
    """Torch's own bidirectional network over packed sentences, called with these weights."""
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    rnn = nn.RNN(x.shape[-1], len(forward[2]), batch_first=True, bidirectional=True, dtype=x.dtype)
    weights = {}
    for end, (w, u, b) in (("l0", forward), ("l0_reverse", backward)):
        weights |= {f"weight_ih_{end}": w, f"weight_hh_{end}": u, f"bias_ih_{end}": b}
        weights[f"bias_hh_{end}"] = torch.zeros_like(b)
    together = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states, ends = torch.func.functional_call(rnn, weights, (together,))
    memory, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])
    return memory, ends.transpose(0, 1).flatten(1)


@exercise.alternative
def state_stays_in_padding(x, lengths, forward, backward):
    """Walks over places in either direction; the state waits while there is no word. Warns."""
    import warnings

    warnings.warn("the slow way", stacklevel=1)
    B, S, _ = x.shape

    def walk(places, weight_ih, weight_hh, bias):
        h = torch.zeros(B, bias.shape[0], dtype=x.dtype)
        found = [None] * S
        for s in places:
            word = (s < lengths).unsqueeze(1)
            seen = torch.where(word, x[:, s], torch.zeros_like(x[:, s]))
            new = torch.tanh(seen @ weight_ih.T + h @ weight_hh.T + bias)
            h = torch.where(word, new, h)
            found[s] = torch.where(word, new, torch.zeros_like(new))
        return torch.stack(found, 1), h

    ahead, first = walk(range(S), *forward)
    back, second = walk(reversed(range(S)), *backward)
    return torch.cat([ahead, back], 2), torch.cat([first, second], 1)
