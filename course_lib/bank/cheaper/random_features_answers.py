from course_lib.bank.cheaper.random_features import exercise
from course_lib.bank.prelude import Tensor, torch
from course_lib.efficient import performer_linear_attention


@exercise.answer
def reference(q: Tensor, k: Tensor, v: Tensor, directions: Tensor) -> Tensor:
    """The library's output, with any axes in front."""
    lead = q.shape[:-2]
    q, k, v = (x.reshape(1, -1, *x.shape[-2:]) for x in (q, k, v))
    out = performer_linear_attention(q, k, v, directions, eps=0.0)
    return out.reshape(*lead, *out.shape[-2:])


@exercise.mistake("Put 1 into every value. Is your output 1?")
def numerator_alone(q, k, v, directions):
    """Attention is phi(Q) phi(K)^T V, as printed."""
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    phi_q, phi_k = (
        (x @ directions.mT - x.square().sum(-1, keepdim=True) / 2).exp() for x in (q, k)
    )
    return phi_q @ (phi_k.mT @ v) / len(directions)


@exercise.mistake("What is the mean of exp(w·x) over directions w, and what is it for a longer x?")
def lengths_are_free(q, k, v, directions):
    """The features need no correction for the length of a query or a key."""
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    phi_q, phi_k = ((x @ directions.mT).exp() for x in (q, k))
    total = phi_q @ phi_k.sum(-2).unsqueeze(-1)
    return phi_q @ (phi_k.mT @ v) / total


@exercise.mistake("Both are scaled, and then multiplied. How often is the root of Dh in q'·k'?")
def scaled_twice(q, k, v, directions):
    """Queries and keys are both divided by the root of their width."""
    q, k = (x * q.shape[-1] ** -0.5 for x in (q, k))
    phi_q, phi_k = (
        (x @ directions.mT - x.square().sum(-1, keepdim=True) / 2).exp() for x in (q, k)
    )
    total = phi_q @ phi_k.sum(-2).unsqueeze(-1)
    return phi_q @ (phi_k.mT @ v) / total


@exercise.mistake("Which of your tensors has a row for each query and a column for each key?")
def brackets_do_not_matter(q, k, v, directions):
    """A product of three matrices costs the same in any order."""
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    phi_q, phi_k = (
        (x @ directions.mT - x.square().sum(-1, keepdim=True) / 2).exp() for x in (q, k)
    )
    weights = phi_q @ phi_k.mT
    return weights / weights.sum(-1, keepdim=True) @ v


@exercise.mistake("Do the weights of a query add up to the number of keys?")
def mean_over_keys(q, k, v, directions):
    """An average is a sum divided by the number of keys."""
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    phi_q, phi_k = (
        (x @ directions.mT - x.square().sum(-1, keepdim=True) / 2).exp() for x in (q, k)
    )
    return phi_q @ (phi_k.mT @ v) / (len(directions) * k.shape[-2])


@exercise.mistake("A factor of a query cancels in its row. Does a factor of a single key cancel?")
def each_key_its_maximum(q, k, v, directions):
    """A softmax over each key's features is always harmless."""
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    phi_q, phi_k = ((x @ directions.mT).softmax(-1) for x in (q, k))
    total = phi_q @ phi_k.sum(-2).unsqueeze(-1)
    return phi_q @ (phi_k.mT @ v) / total


@exercise.mistake("What is the mean of exp(w·x) over w, for x of length 1?")
def whole_square(q, k, v, directions):
    """The exponent loses the square of the length, not half of it."""
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    phi_q, phi_k = ((x @ directions.mT - x.square().sum(-1, keepdim=True)).exp() for x in (q, k))
    total = phi_q @ phi_k.sum(-2).unsqueeze(-1)
    return phi_q @ (phi_k.mT @ v) / total


@exercise.alternative
def a_column_of_ones(q, k, v, directions):
    """The sums come along as one more value; the largest exponents are subtracted first."""
    ones = torch.ones_like(v[..., :1])
    x, y = (z / q.shape[-1] ** 0.25 for z in (q, k))
    a, b = (z @ directions.T - (z * z).sum(-1, keepdim=True) / 2 for z in (x, y))
    a = torch.exp(a - a.amax(-1, keepdim=True))
    b = torch.exp(b - b.amax((-2, -1), keepdim=True))
    found = torch.matmul(a, torch.matmul(b.transpose(-2, -1), torch.cat([v, ones], -1)))
    return found[..., :-1] / found[..., -1:]


@exercise.alternative
def feature_by_feature(q, k, v, directions):
    """One direction after the other, with nothing kept but the two sums; prints to stderr."""
    import sys

    print(len(directions), "directions", file=sys.stderr)
    root = q.shape[-1] ** 0.25
    above, below = 0.0, 0.0
    for direction in directions:
        a, b = (
            torch.exp((x / root * direction).sum(-1) - (x / root).pow(2).sum(-1) / 2)
            for x in (q, k)
        )
        below = below + a * b.sum(-1, keepdim=True)
        above = above + a.unsqueeze(-1) * (b.unsqueeze(-1) * v).sum(-2, keepdim=True)
    return above / below.unsqueeze(-1)
