from course_lib.bank.lookup.luong_general import exercise
from course_lib.bank.prelude import F, math, torch
from course_lib.seq2seq import luong_general

reference = exercise.answer(luong_general)


@exercise.mistake("Which index of W_a is summed with the query: the first or the second?")
def weight_transposed(query, keys, weight):
    """W_a belongs to the keys, so it is the keys that are multiplied from the right."""
    return query @ (keys @ weight).transpose(-2, -1)


@exercise.mistake("Double W_a: what should happen to the scores, and what happens to yours?")
def plain_dot(query, keys, weight):
    """A score is the plain inner product; W_a acts elsewhere in the model."""
    return query @ keys.transpose(-2, -1)


@exercise.mistake("Which numbers does softmax turn into weights, and have you returned those?")
def already_weights(query, keys, weight):
    """Scores are the numbers that sum to 1."""
    return (query @ weight @ keys.transpose(-2, -1)).softmax(-1)


@exercise.mistake("Luong's formula has a learned matrix. Does it have a scale as well?")
def scaled(query, keys, weight):
    """Every inner product in attention is divided by the root of the width."""
    return query @ weight @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])


@exercise.mistake("Of the two papers of 2015, whose score has a tanh in it?")
def bent_query(query, keys, weight):
    """A learned score passes through tanh, as Bahdanau's does."""
    return torch.tanh(query @ weight) @ keys.transpose(-2, -1)


@exercise.mistake("How often is W_a in the formula, and on how many sides of your product?")
def both_projected(query, keys, weight):
    """W_a takes queries and keys into the space in which they are compared."""
    return (query @ weight) @ (keys @ weight).transpose(-2, -1)


@exercise.mistake("May a long key score higher than a short one of the same direction?")
def cosine(query, keys, weight):
    """Similarity is the cosine of the angle, whatever the lengths."""
    query, keys = F.normalize(query @ weight, dim=-1), F.normalize(keys, dim=-1)
    return query @ keys.transpose(-2, -1)


@exercise.alternative
def one_einsum(query, keys, weight):
    """All three factors in one Einstein sum."""
    return torch.einsum("btq,qk,bsk->bts", query, weight, keys)


@exercise.alternative
def keys_first(query, keys, weight):
    """Projects the keys, which a decoder could do once for all its steps."""
    projected = F.linear(keys, weight)
    return torch.bmm(query, projected.mT)


@exercise.alternative
def pair_by_pair(query, keys, weight):
    """One number at a time, by elementwise products, with a word on stderr."""
    import sys

    print("three nested loops", file=sys.stderr)
    rows = []
    for b in range(len(query)):
        for q in query[b]:
            asks = (q[:, None] * weight).sum(0)
            rows.append(torch.stack([(asks * key).sum() for key in keys[b]]))
    return torch.stack(rows).reshape(query.shape[0], query.shape[1], keys.shape[1])
