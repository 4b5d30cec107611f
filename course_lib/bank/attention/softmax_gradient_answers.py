from course_lib.bank.attention.softmax_gradient import exercise
from course_lib.bank.prelude import torch
from course_lib.scaling import softmax_gradient

reference = exercise.answer(softmax_gradient)


@exercise.mistake("Raise one score. Do the other weights of the row stay where they are?")
def own_score_only(weights, grad_weights):
    """Each weight depends on its own score alone, as with a sigmoid."""
    return weights * (1 - weights) * grad_weights


@exercise.mistake("You differentiated exp. What is it divided by, and does that depend on scores?")
def normaliser_is_constant(weights, grad_weights):
    """The sum that a softmax divides by is a constant."""
    return weights * grad_weights


@exercise.mistake(
    "Does a key that has hardly any weight move the normaliser as much as the winner?"
)
def plain_mean(weights, grad_weights):
    """All keys of a row have the same share in the normaliser."""
    return weights * (grad_weights - grad_weights.mean(dim=-1, keepdim=True))


@exercise.mistake("If a key has weight 0, how much does its score change anything?")
def only_centred(weights, grad_weights):
    """A softmax hands the gradient on after taking off its average."""
    return grad_weights - (grad_weights * weights).sum(dim=-1, keepdim=True)


@exercise.mistake("Do two rows of scores share one normaliser?")
def sums_over_everything(weights, grad_weights):
    """The normaliser is one number for the whole tensor."""
    return weights * (grad_weights - (grad_weights * weights).sum())


@exercise.mistake("How often is `weights` a factor in each of your terms? Check against torch.")
def others_unweighted(weights, grad_weights):
    """What a score takes from the other keys does not depend on its own weight."""
    pull = (weights * grad_weights).sum(dim=-1, keepdim=True) - weights * grad_weights
    return weights * (1 - weights) * grad_weights - weights.mean(dim=-1, keepdim=True) * pull


@exercise.mistake("What is handed to you: scores, or what a softmax has made of them?")
def softmax_again(weights, grad_weights):
    """A backward pass gets the scores and applies the softmax itself."""
    weights = weights.softmax(-1)
    return weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))


@exercise.mistake("Raise the score of the key whose weight should grow. Does its weight grow?")
def turned_around(weights, grad_weights):
    """The sum over the row comes first, and the key's own gradient is taken from it."""
    return weights * ((weights * grad_weights).sum(dim=-1, keepdim=True) - grad_weights)


@exercise.alternative
def whole_jacobian(weights, grad_weights):
    """Builds the Jacobian diag(w) - w wᵀ and multiplies."""
    jacobian = torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
    return (jacobian @ grad_weights.unsqueeze(-1)).squeeze(-1)


@exercise.alternative
def key_by_key(weights, grad_weights):
    """Loops over the pairs of keys, and prints to stderr."""
    import sys

    print("looping", file=sys.stderr)
    n_keys = weights.shape[-1]
    columns = []
    for j in range(n_keys):
        column = torch.zeros_like(weights[..., 0])
        for i in range(n_keys):
            slope = weights[..., i] * ((1.0 if i == j else 0.0) - weights[..., j])
            column = column + grad_weights[..., i] * slope
        columns.append(column)
    return torch.stack(columns, dim=-1)
