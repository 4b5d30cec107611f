from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.seq2seq.shift_targets import exercise


@exercise.answer
def reference(sentences: list[list[int]], bos: int, eos: int, pad: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of a decoder."""
    width = max(map(len, sentences)) + 1
    going_in = torch.full((len(sentences), width), pad)
    wanted = going_in.clone()
    for row, words in enumerate(sentences):
        going_in[row, : len(words) + 1] = torch.tensor([bos, *words])
        wanted[row, : len(words) + 1] = torch.tensor([*words, eos])
    return going_in, wanted


@exercise.mistake("What has the model read at the place where a word is its target?")
def unshifted(sentences, bos, eos, pad):
    """The inputs are the targets."""
    width = max(map(len, sentences)) + 1
    rows = [[*words, eos] + [pad] * (width - len(words) - 1) for words in sentences]
    return torch.tensor(rows), torch.tensor(rows)


@exercise.mistake("At the first place the model has read nothing but the start. Its target?")
def shifted_the_other_way(sentences, bos, eos, pad):
    """The targets begin one place earlier, with the start token, and the inputs with the words."""
    width = max(map(len, sentences)) + 1
    first = [[bos, *words] + [pad] * (width - len(words) - 1) for words in sentences]
    second = [[*words, eos] + [pad] * (width - len(words) - 1) for words in sentences]
    return torch.tensor(second), torch.tensor(first)


@exercise.mistake("In the shortest sentence of a batch, which targets follow its last word?")
def end_after_the_padding(sentences, bos, eos, pad):
    """The end token is at the end of the row."""
    width = max(map(len, sentences))
    padded = [words + [pad] * (width - len(words)) for words in sentences]
    return torch.tensor([[bos, *p] for p in padded]), torch.tensor([[*p, eos] for p in padded])


@exercise.alternative
def end_goes_in(sentences, bos, eos, pad):
    """One padded tensor without its last column goes in, end tokens of short sentences and all."""
    width = max(map(len, sentences)) + 2
    rows = [[bos, *words, eos] + [pad] * (width - len(words) - 2) for words in sentences]
    return torch.tensor(rows)[:, :-1], torch.tensor(rows)[:, 1:]


@exercise.mistake("A loss ignores what equals `pad`. What is asked of the model after an end?")
def ends_for_padding(sentences, bos, eos, pad):
    """After the end come more ends."""
    width = max(map(len, sentences)) + 1
    first = [[bos, *words] + [pad] * (width - len(words) - 1) for words in sentences]
    second = [[*words] + [eos] * (width - len(words)) for words in sentences]
    return torch.tensor(first), torch.tensor(second)


@exercise.mistake("Call it with a padding id of 90 and look.")
def zeros_for_padding(sentences, bos, eos, pad):
    """Padding is 0."""
    width = max(map(len, sentences)) + 1
    first, second = torch.zeros(2, len(sentences), width, dtype=torch.long)
    for row, words in enumerate(sentences):
        first[row, : len(words) + 1] = torch.tensor([bos, *words])
        second[row, : len(words) + 1] = torch.tensor([*words, eos])
    return first, second


@exercise.mistake("Which word does a decoder read first in your short rows?")
def padded_on_the_left(sentences, bos, eos, pad):
    """All sentences should end at the same place, so padding comes first."""
    width = max(map(len, sentences)) + 1
    first = [[pad] * (width - len(words) - 1) + [bos, *words] for words in sentences]
    second = [[pad] * (width - len(words) - 1) + [*words, eos] for words in sentences]
    return torch.tensor(first), torch.tensor(second)


@exercise.alternative
def torch_pads(sentences, bos, eos, pad):
    """Lets torch pad both lists of rows, and warns."""
    import warnings

    from torch.nn.utils.rnn import pad_sequence

    warnings.warn("padded by torch", stacklevel=1)
    first = [torch.tensor([bos] + list(words)) for words in sentences]
    second = [torch.tensor(list(words) + [eos]) for words in sentences]
    return pad_sequence(first, True, pad), pad_sequence(second, True, pad)


@exercise.alternative
def by_masks(sentences, bos, eos, pad):
    """Fills one long vector and tells by lengths what each place holds."""
    lengths = torch.tensor([len(words) for words in sentences])
    places = torch.arange(int(lengths.max()) + 1).expand(len(sentences), -1)
    flat = torch.tensor([word for words in sentences for word in words], dtype=torch.long)
    wanted = torch.full(places.shape, pad)
    wanted[places < lengths[:, None]] = flat
    going_in = wanted.roll(1, dims=1)
    going_in[:, 0] = bos
    return going_in, wanted.masked_fill(places == lengths[:, None], eos)
