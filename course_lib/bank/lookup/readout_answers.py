from course_lib.bank.lookup.readout import exercise
from course_lib.bank.prelude import F, torch
from course_lib.seq2seq import luong_readout

reference = exercise.answer(luong_readout)


@exercise.mistake("It behaves like the given code: compare it with the formula symbol by symbol.")
def as_it_came(context, hidden, weight):
    """Code that runs and returns the right shape is right."""
    joined = torch.cat([hidden, context.detach()], dim=-1)
    return joined.tanh() @ weight.T


@exercise.mistake("Which half of W_c's columns was trained on the context?")
def swapped(context, hidden, weight):
    """The order in which two vectors are joined makes no difference."""
    return (torch.cat([hidden, context], dim=-1) @ weight.T).tanh()


@exercise.mistake("Can the result exceed 1? Should it?")
def tanh_inside(context, hidden, weight):
    """It is the same whether tanh comes before the matrix or after it."""
    return torch.cat([context, hidden], dim=-1).tanh() @ weight.T


@exercise.mistake("Without tanh, could W_c and the output layer not be one matrix?")
def no_tanh(context, hidden, weight):
    """The readout is a linear layer, the softmax after it is nonlinear enough."""
    return F.linear(torch.cat([context, hidden], dim=-1), weight)


@exercise.mistake("If no gradient passes the context, who teaches the encoder where to look?")
def context_detached(context, hidden, weight):
    """The encoder is trained elsewhere, the decoder only reads from it."""
    return F.linear(torch.cat([context.detach(), hidden], dim=-1), weight).tanh()


@exercise.mistake("W_c has a row for each result. With which of its axes is the input summed?")
def weight_transposed(context, hidden, weight):
    """x @ weight is what a linear layer computes."""
    return (torch.cat([context, hidden], dim=-1) @ weight).tanh()


@exercise.mistake("How often does the formula bend, and what has been joined by then?")
def bent_twice(context, hidden, weight):
    """Everything in a network passes through tanh, both vectors before they are joined, too."""
    return F.linear(torch.cat([context.tanh(), hidden.tanh()], dim=-1), weight).tanh()


@exercise.mistake("Between which two numbers does the result lie, and between which does yours?")
def between_0_and_1(context, hidden, weight):
    """One curve that flattens at both ends is as good as another."""
    return F.linear(torch.cat([context, hidden], dim=-1), weight).sigmoid()


@exercise.mistake(
    "Let the context be 2 wide and the state 4. Which columns of W_c are the context's?"
)
def cut_in_the_middle(context, hidden, weight):
    """The first half of W_c's columns is the context's, the second the state's."""
    first, second = weight.chunk(2, dim=1)
    return (context @ first.T + hidden @ second.T).tanh()


@exercise.mistake("Who learns from this result? Look for whatever stops its gradients.")
def nothing_learns(context, hidden, weight):
    """The readout is looked at, not trained."""
    return F.linear(torch.cat([context, hidden], dim=-1), weight).tanh().detach()


@exercise.alternative
def two_halves(context, hidden, weight):
    """Cuts the matrix in two instead of joining the vectors."""
    width = context.shape[-1]
    return torch.tanh(context @ weight[:, :width].T + hidden @ weight[:, width:].T)


@exercise.alternative
def through_a_layer(context, hidden, weight):
    """Einstein sums and tanh by its exponentials, with a warning."""
    import warnings

    warnings.warn("writing tanh out", stacklevel=1)
    halves = weight.split([context.size(-1), hidden.size(-1)], dim=1)
    x = sum(
        torch.einsum("btd,od->bto", v, w) for v, w in zip((context, hidden), halves, strict=True)
    )
    return 2 * torch.sigmoid(2 * x) - 1
