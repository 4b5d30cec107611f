from course_lib.bank.prelude import F, Tensor, changed, torch
from course_lib.bank.transformer.loss_by_place import exercise


@exercise.answer
def reference(logits: Tensor, tokens: Tensor, pad: int) -> Tensor:
    """Average the loss of each place over all texts."""
    scores, target = logits[:, :-1], tokens[:, 1:]
    losses = -scores.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    real = target != pad
    return (losses * real).sum(0) / real.sum(0)


@exercise.mistake("Can a model read its target? Compare the places of logits and targets.")
@changed(
    reference, ("tokens[:, 1:]", "tokens[:, :-1]"), ("= target != pad", "= tokens[:, 1:] != pad")
)
def not_shifted():
    """The logits of a place are those of its own token."""


@exercise.mistake("Is the end of a short text hard to predict, or is there nothing to predict?")
@changed(reference, ("(losses * real).sum(0) / real.sum(0)", "losses.mean(0)"))
def padding_counts():
    """Padding is a token like any other."""


@exercise.mistake("Only one text reaches the last place, with a loss of 2. What is the mean there?")
@changed(reference, ("real.sum(0)", "len(real)"))
def all_texts():
    """A place is the mean over all texts, with 0 for those that have ended."""


@exercise.mistake("Two texts, with losses of 1 and 3. What do you get, and what is their mean?")
@changed(
    reference,
    ("losses = -scores.log_softmax(-1).gather", "chances = scores.softmax(-1).gather"),
    ("(losses * real).sum(0) / real.sum(0)", "-((chances * real).sum(0) / real.sum(0)).log()"),
)
def mean_chance():
    """The loss of a place is that of the mean probability."""


@exercise.mistake("Logits of 0 and 300: is the loss of the first infinite?")
@changed(reference, ("scores.log_softmax(-1)", "scores.softmax(-1).log()"))
def logarithm_of_a_softmax():
    """The logarithm of a softmax can be taken in two steps."""


@exercise.alternative
def ignoring(logits, tokens, pad):
    """Lets `cross_entropy` ignore the padding, place by place; prints to stderr."""
    import sys

    print(logits.shape, file=sys.stderr)
    found = [
        F.cross_entropy(logits[:, t], tokens[:, t + 1], ignore_index=pad)
        for t in range(tokens.shape[1] - 1)
    ]
    return torch.stack(found)


@exercise.alternative
def text_by_text(logits, tokens, pad):
    """Cuts each text where it ends, and adds in double precision."""
    total = torch.zeros(2, tokens.shape[1] - 1, dtype=torch.float64)
    for scores, text in zip(logits.double(), tokens, strict=True):
        n = int((text != pad).sum()) - 1
        if n > 0:
            own = scores[:n].gather(1, text[1 : n + 1, None])[:, 0]
            total[0, :n] += scores[:n].logsumexp(1) - own
            total[1, :n] += 1
    return (total[0] / total[1]).to(logits.dtype)
