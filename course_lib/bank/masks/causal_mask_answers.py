from course_lib.bank.masks.causal_mask import exercise
from course_lib.bank.prelude import torch
from course_lib.masks import causal_mask

reference = exercise.answer(causal_mask)


@exercise.mistake("With ten cached keys and one new query: what does your first row let it see?")
def top_left(T, S=None):
    """The triangle starts at the first key, however many keys there are."""
    S = T if S is None else S
    if S < T:
        raise ValueError(f"{T} queries but only {S} keys")
    return torch.ones(T, S, dtype=torch.bool).tril()


@exercise.mistake("How many keys does the first query of a sequence see in your mask?")
def not_itself(T, S=None):
    """A token that may see only what came before does not see itself."""
    S = T if S is None else S
    if S < T:
        raise ValueError(f"{T} queries but only {S} keys")
    return torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)


@exercise.mistake("The token to be predicted is the next one. Who must not see it?")
def one_ahead(T, S=None):
    """A position that predicts the next token has to see that token."""
    S = T if S is None else S
    if S < T:
        raise ValueError(f"{T} queries but only {S} keys")
    return torch.ones(T, S, dtype=torch.bool).tril(S - T + 1)


@exercise.mistake("What does True mean in this course? Look at your first row with that in mind.")
def marks_the_future(T, S=None):
    """True in a mask marks what is hidden, as in nn.MultiheadAttention."""
    S = T if S is None else S
    if S < T:
        raise ValueError(f"{T} queries but only {S} keys")
    return torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)


@exercise.mistake("Rows or columns: along which axis of the scores do the queries lie?")
def keys_in_rows(T, S=None):
    """Row s, column t says whether key s is seen by query t."""
    S = T if S is None else S
    if S < T:
        raise ValueError(f"{T} queries but only {S} keys")
    key = torch.arange(S - T, S)[:, None]
    query = torch.arange(S)[None, :]
    return key <= query


@exercise.mistake("Are two new tokens that arrive together at the same position?")
def new_see_each_other(T, S=None):
    """With a cache, only the cached part is the past; new tokens arrive together."""
    S = T if S is None else S
    if S < T:
        raise ValueError(f"{T} queries but only {S} keys")
    if S > T:
        return torch.ones(T, S, dtype=torch.bool)
    return torch.ones(T, T, dtype=torch.bool).tril()


@exercise.mistake("What does your mask let the first of four queries see if there are three keys?")
def any_two_numbers(T, S=None):
    """A mask can be made for any number of queries and keys."""
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


@exercise.mistake("One new query and ten cached keys: which row of the triangle is its row?")
def torchs_triangle(T, S=None):
    """The lower triangle is the causal mask, for any two lengths."""
    return torch.ones(T, T if S is None else S, dtype=torch.bool).tril()


@exercise.mistake("The first query of a sequence: what does your mask let it see, and what not?")
def torchs_upper_triangle(T, S=None):
    """The upper triangle above the diagonal is the causal mask: True marks what is hidden."""
    return torch.triu(torch.ones(T, T if S is None else S, dtype=torch.bool), diagonal=1)


@exercise.alternative
def positions_compared(T, S=None):
    """Compares positions of queries and keys."""
    S = T if S is None else S
    if not S >= T:
        raise ValueError("the queries are the last T of S positions")
    position = torch.arange(S)
    return position[None, :] <= position[S - T :][:, None]


@exercise.alternative
def rows_of_the_whole(T, S=None):
    """Cuts the last rows off the square mask and warns about its size."""
    import warnings

    S = T if S is None else S
    if T > S:
        raise ValueError(f"expected T <= S, got {T} and {S}")
    warnings.warn("building the whole square", stacklevel=1)
    hidden = torch.triu(torch.ones(S, S), diagonal=1)
    return (hidden == 0)[S - T : S]


@exercise.alternative
def key_by_key(T, S=None):
    """Two loops over lists."""
    if S is None:
        S = T
    if S < T:
        raise ValueError("too few keys")
    rows = []
    for t in range(T):
        seen = S - T + t + 1
        rows.append([True] * seen + [False] * (S - seen))
    return torch.tensor(rows, dtype=torch.bool)


@exercise.alternative
def an_error_of_its_own(T, S=None):
    """Raises what inherits from ValueError."""

    class TooFewKeys(ValueError):
        pass

    S = S if S is not None else T
    if S < T:
        raise TooFewKeys(f"{S} keys for {T} queries")
    return torch.arange(S) <= torch.arange(T)[:, None] + (S - T)
