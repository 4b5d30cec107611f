from collections.abc import Sequence

from course_lib.bank.prelude import Tensor, nn, torch
from course_lib.bank.transformer.shift_targets import exercise


@exercise.answer
def reference(
    sentences: Sequence[Sequence[int]], bos: int, eos: int, pad: int, ignore: int = -100
) -> tuple[Tensor, Tensor]:
    """Inputs and labels of a decoder in training."""
    T = 1 + max(len(words) for words in sentences)
    inputs = torch.full((len(sentences), T), pad)
    labels = torch.full((len(sentences), T), ignore)
    for row, words in enumerate(sentences):
        inputs[row, : len(words) + 1] = torch.tensor([bos, *words])
        labels[row, : len(words) + 1] = torch.tensor([*words, eos])
    return inputs, labels


@exercise.mistake("What would a decoder have to learn whose inputs are its labels?")
def unshifted(sentences, bos, eos, pad, ignore=-100):
    """The sentence is both input and label."""
    T = 1 + max(len(words) for words in sentences)
    inputs = torch.full((len(sentences), T), pad)
    labels = torch.full((len(sentences), T), ignore)
    for row, words in enumerate(sentences):
        inputs[row, : len(words) + 1] = torch.tensor([*words, eos])
        labels[row, : len(words) + 1] = torch.tensor([*words, eos])
    return inputs, labels


@exercise.mistake("Read your first column aloud: given this, say that. Which way does time run?")
def shifted_back(sentences, bos, eos, pad, ignore=-100):
    """The labels are the inputs moved by one place, it does not matter to which side."""
    T = 1 + max(len(words) for words in sentences)
    inputs = torch.full((len(sentences), T), pad)
    labels = torch.full((len(sentences), T), ignore)
    for row, words in enumerate(sentences):
        inputs[row, : len(words) + 1] = torch.tensor([*words, eos])
        labels[row, : len(words) + 1] = torch.tensor([bos, *words])
    return inputs, labels


@exercise.mistake("A model trained on your labels has read the last word. What does it do next?")
def never_ends(sentences, bos, eos, pad, ignore=-100):
    """After the last word there is nothing to predict."""
    T = 1 + max(len(words) for words in sentences)
    inputs = torch.full((len(sentences), T), pad)
    labels = torch.full((len(sentences), T), ignore)
    for row, words in enumerate(sentences):
        inputs[row, : len(words) + 1] = torch.tensor([bos, *words])
        labels[row, : len(words)] = torch.tensor(words)
    return inputs, labels


@exercise.mistake("How much of your loss comes from places where nothing was said?")
def padding_is_asked_for(sentences, bos, eos, pad, ignore=-100):
    """A label is needed at every place, so padding is predicted, too."""
    T = 1 + max(len(words) for words in sentences)
    inputs = torch.full((len(sentences), T), pad)
    labels = torch.full((len(sentences), T), pad)
    for row, words in enumerate(sentences):
        inputs[row, : len(words) + 1] = torch.tensor([bos, *words])
        labels[row, : len(words) + 1] = torch.tensor([*words, eos])
    return inputs, labels


@exercise.mistake("You know padding by its number. What else might have that number?")
def padding_by_its_number(sentences, bos, eos, pad, ignore=-100):
    """Whatever has the number of the padding is padding."""
    T = 1 + max(len(words) for words in sentences)
    target = torch.full((len(sentences), T + 1), pad)
    for row, words in enumerate(sentences):
        target[row, : len(words) + 2] = torch.tensor([bos, *words, eos])
    lengths = torch.tensor([len(words) + 1 for words in sentences])
    inputs = target[:, :-1].masked_fill(torch.arange(T) >= lengths[:, None], pad)
    return inputs, target[:, 1:].masked_fill(target[:, 1:] == pad, ignore)


@exercise.mistake("Before its first word a translator has read a whole sentence. Is that nothing?")
def first_word_is_free(sentences, bos, eos, pad, ignore=-100):
    """Nothing comes before the first word, so it has no label."""
    T = 1 + max(len(words) for words in sentences)
    inputs = torch.full((len(sentences), T), pad)
    labels = torch.full((len(sentences), T), ignore)
    for row, words in enumerate(sentences):
        inputs[row, : len(words) + 1] = torch.tensor([bos, *words])
        labels[row, : len(words) + 1] = torch.tensor([*words, eos])
    labels[:, 0] = ignore
    return inputs, labels


@exercise.alternative
def one_tensor_cut_twice(sentences, bos, eos, pad, ignore=-100):
    """Makes one tensor and takes both from it, telling padding by lengths; prints to stderr."""
    import sys

    print("cutting", file=sys.stderr)
    lengths = torch.tensor([len(words) + 1 for words in sentences])
    rows = [torch.tensor([bos, *words, eos]) for words in sentences]
    target = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
    beyond = torch.arange(target.shape[1] - 1) >= lengths[:, None]
    return target[:, :-1].masked_fill(beyond, pad), target[:, 1:].masked_fill(beyond, ignore)


@exercise.alternative
def lists_first(sentences, bos, eos, pad, ignore=-100):
    """Fills up lists of numbers and makes tensors at the end."""
    longest = max(map(len, sentences))
    given, asked = [], []
    for words in sentences:
        rest = longest - len(words)
        given.append([bos] + list(words) + [pad] * rest)
        asked.append(list(words) + [eos] + [ignore] * rest)
    return torch.tensor(given), torch.tensor(asked)


@exercise.alternative
def in_narrow_integers(sentences, bos, eos, pad, ignore=-100):
    """Rows of lists, as 32-bit integers."""
    T = 1 + max(map(len, sentences))
    inputs = [[bos, *words] + [pad] * (T - 1 - len(words)) for words in sentences]
    labels = [[*words, eos] + [ignore] * (T - 1 - len(words)) for words in sentences]
    return torch.tensor(inputs, dtype=torch.int32), torch.tensor(labels, dtype=torch.int32)
