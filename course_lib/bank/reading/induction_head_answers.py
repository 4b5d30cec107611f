from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.reading.induction_head import exercise


@exercise.answer
def reference(maps: Tensor, tokens: Tensor) -> tuple[Tensor, int | None]:
    """Score heads by induction."""
    last: dict[int, int] = {}
    query, key = [], []
    for t, token in enumerate(tokens.tolist()):
        if token in last:
            query.append(t)
            key.append(last[token] + 1)
        last[token] = t
    if not query:
        return maps.new_zeros(len(maps)), None
    scores = maps[:, query, key].mean(-1)
    return scores, int(scores.argmax())


@exercise.mistake("At the second a of a b a, should the head look at a or at what came after it?")
@changed(reference, ("last[token] + 1", "last[token]"))
def the_same_token():
    """An induction head looks at the earlier occurrence of its token."""


@exercise.mistake("Which axis has the queries? A decoder's map is 0 above the diagonal.")
@changed(reference, ("[:, query, key]", "[:, key, query]"))
def keys_first():
    """The first axis of a map has the keys."""


@exercise.mistake("In a b a c a: which a is the latest before the last one, and what follows it?")
@changed(reference, ("last[token] = t", "last.setdefault(token, t)"))
def first_occurrence():
    """A token is looked up where it occurred first."""


@exercise.mistake("A perfect head on a text whose second half repeats the first: is your score 1?")
@changed(reference, (".mean(-1)", ".sum(-1) / len(tokens)"))
def all_queries():
    """The mean is over all queries of the map."""


@exercise.mistake("A head looks back once, at a single token. Is it an induction head?")
@changed(reference, (".mean(-1)", ".amax(-1)"))
def best_query():
    """A head is as good as its best query."""


@exercise.mistake("The map of the first head is `maps[0]`. Which number does it have?")
@changed(reference, ("int(scores.argmax())", "int(scores.argmax()) + 1"))
def counted_from_one():
    """The heads are numbered from 1."""


@exercise.mistake("In a b c b, how far is it from the second b to the token after the first?")
def one_period(maps, tokens):
    """A text repeats itself as a whole."""
    period = len(tokens.unique())
    if period == len(tokens):
        return maps.new_zeros(len(maps)), None
    scores = torch.diagonal(maps, 1 - period, dim1=-2, dim2=-1)[:, 1:].mean(-1)
    return scores, int(scores.argmax())


@exercise.alternative
def by_comparison(maps, tokens):
    """Compares all pairs of tokens, and keeps the latest place of each row."""
    T = len(tokens)
    earlier = (tokens[:, None] == tokens).tril(-1)
    after = (earlier * torch.arange(1, T + 1)).amax(-1)
    if not after.any():
        return torch.zeros(len(maps)), None
    chosen = torch.zeros(T, T + 1).scatter_(1, after[:, None], 1.0)[:, :T]
    chosen[:, 0] = 0
    scores = torch.einsum("hts,ts->h", maps, chosen) / (after > 0).sum()
    return scores, scores.max(0).indices.item()


@exercise.alternative
def looking_back(maps, tokens):
    """Looks back from each place with loops; prints to stderr."""
    import sys

    text, found = tokens.tolist(), []
    for t in range(1, len(text)):
        places = [s for s in range(t) if text[s] == text[t]]
        if places:
            found.append(maps[:, t, places[-1] + 1])
    print(len(found), file=sys.stderr)
    if not found:
        return torch.zeros(maps.shape[0]), None
    scores = sum(found) / len(found)
    return scores, max(range(len(scores)), key=lambda h: float(scores[h]))
