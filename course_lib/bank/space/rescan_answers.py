from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.space.rescan import exercise
from course_lib.positions.scans import inverse_order


@exercise.answer
def reference(x: Tensor, order: Tensor, new_order: Tensor) -> Tensor:
    """Back to raster order, and from there along the new scan."""
    return x[..., inverse_order(order)[new_order], :]


@exercise.mistake("Scan in a spiral by `x[order]` and then go back by yours. Is it the image?")
def order_is_its_inverse(x, order, new_order):
    """What has put tokens in an order also takes them out of it."""
    return x[..., order, :][..., new_order, :]


@exercise.mistake("Going to raster order is right. Where does the token at place 0 end up then?")
def inverse_twice(x, order, new_order):
    """A scan is always undone, whichever way one goes."""
    return x[..., order.argsort(), :][..., new_order.argsort(), :]


@exercise.mistake("Which of the two orders do the tokens lie in now?")
def ways_exchanged(x, order, new_order):
    """From the first order to the second is from the second to the first."""
    return x[..., new_order.argsort(), :][..., order, :]


@exercise.mistake("Your two index lists are right. Which of them is looked up in which?")
def composed_backwards(x, order, new_order):
    """It is all the same in which order two permutations are applied."""
    return x[..., new_order[order.argsort()], :]


@exercise.mistake("Try tokens of shape (2, 6, 4): which axis did you permute?")
def first_axis(x, order, new_order):
    """The first axis is the tokens'."""
    moved = order.argsort()[new_order]
    return x[moved] if x.shape[0] == len(order) else x[..., moved, :]


@exercise.mistake("How many numbers are in a matrix of 40,000 x 40,000?")
def with_a_matrix(x, order, new_order):
    """A permutation of tokens is a product with a permutation matrix."""
    kind = torch.float64 if x.dtype == torch.float64 else torch.float32
    n = len(order)
    out_of = torch.zeros(n, n, dtype=kind)
    out_of[order, torch.arange(n)] = 1
    into = torch.zeros(n, n, dtype=kind)
    into[torch.arange(n), new_order] = 1
    return (into @ (out_of @ x.to(kind))).to(x.dtype)


@exercise.mistake("Print the tokens before and after the call.")
def in_place(x, order, new_order):
    """The tokens may be moved where they lie."""
    x[...] = x[..., order.argsort()[new_order], :].clone()
    return x


@exercise.alternative
def scattered(x, order, new_order):
    """Writes tokens to their places, and reads them from there; warns."""
    import warnings

    warnings.warn("scattering", stacklevel=1)
    raster = torch.empty_like(x)
    raster[..., order, :] = x
    return raster.index_select(-2, new_order)


@exercise.alternative
def with_a_dictionary(x, order, new_order):
    """Notes in a dictionary which token shows which place, and fetches one after the other."""
    token_at = {place: token for token, place in enumerate(order.tolist())}
    return torch.stack([x[..., token_at[place], :] for place in new_order.tolist()], dim=-2)


@exercise.alternative
def by_sorting(x, order, new_order):
    """Gives each token its rank in the new order, and sorts by it."""
    rank = torch.empty_like(new_order)
    rank[new_order] = torch.arange(len(new_order))
    _, found = torch.sort(rank[order])
    return torch.index_select(x, x.ndim - 2, found)
