from course_lib import layers
from course_lib.bank.block.layer_norm import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference(x: Tensor, scale: Tensor, shift: Tensor, eps: float = 1e-5) -> Tensor:
    """The library's, with all arguments given."""
    return layers.layer_norm(x, scale, shift, eps=eps)


@exercise.mistake("The formula divides by the number of channels. By what does your function?")
def unbiased(x, scale, shift, eps=1e-5):
    """A variance is divided by n - 1, as torch's `var` does."""
    y = x.double()
    out = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True) + eps).sqrt()
    return (out * scale + shift).to(x.dtype)


@exercise.mistake("Under the root, or outside of it: where does the formula have its epsilon?")
def eps_outside(x, scale, shift, eps=1e-5):
    """Epsilon is added to what is divided by, the standard deviation."""
    y = x.double()
    out = (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True, correction=0) + eps)
    return (out * scale + shift).to(x.dtype)


@exercise.mistake("Exchange another sentence of the batch. Does this one move?")
def over_the_batch(x, scale, shift, eps=1e-5):
    """Every channel is normed over all tokens of the batch."""
    y = x.double().reshape(-1, x.shape[-1])
    out = (y - y.mean(0)) / (y.var(0, correction=0) + eps).sqrt()
    return (out * scale + shift).reshape(x.shape).to(x.dtype)


@exercise.mistake("How many means does a sentence of three tokens have?")
def whole_sentence(x, scale, shift, eps=1e-5):
    """A sentence is normed as a whole."""
    y = x.double()
    axes = (-2, -1) if x.ndim > 1 else (-1,)
    out = (y - y.mean(axes, keepdim=True)) / (y.var(axes, correction=0, keepdim=True) + eps).sqrt()
    return (out * scale + shift).to(x.dtype)


@exercise.mistake("Take numbers near 4096: how exact is each of the two terms you subtract?")
def one_pass(x, scale, shift, eps=1e-5):
    """The variance is the mean of the squares less the square of the mean, on a computer too."""
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    mean = y.mean(-1, keepdim=True)
    variance = (y * y).mean(-1, keepdim=True) - mean * mean
    return ((y - mean) / (variance + eps).sqrt() * scale + shift).to(x.dtype)


@exercise.mistake("What is the mean of what you return, if scale is 1 and shift is 0?")
def no_mean(x, scale, shift, eps=1e-5):
    """What matters is the size; the mean stays where it is."""
    y = x.double()
    return (y / (y.square().mean(-1, keepdim=True) + eps).sqrt() * scale + shift).to(x.dtype)


@exercise.mistake("Print the squares that you sum, for float16 tokens of a few hundred.")
def in_given_precision(x, scale, shift, eps=1e-5):
    """Everything is computed in the precision of the tokens."""
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    return centred / (variance + eps).sqrt() * scale + shift


@exercise.mistake("Which comes first in the formula, the scale or the shift?")
def shifted_first(x, scale, shift, eps=1e-5):
    """Shift, then scale: the order makes no difference."""
    y = x.double()
    out = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + eps).sqrt()
    return ((out + shift) * scale).to(x.dtype)


@exercise.mistake("By what number does torch's `std` divide? And what is to be under the root?")
def deviation_and_epsilon(x, scale, shift, eps=1e-5):
    """The norm is the standard score of statistics, with an epsilon to be safe."""
    return scale * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + shift


@exercise.mistake("By what does torch's `var` divide, and in which precision does it square?")
def variance_of_torch(x, scale, shift, eps=1e-5):
    """What torch calls the variance is the variance of the formula."""
    variance = x.var(-1, keepdim=True)
    return scale * (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + eps) + shift


@exercise.alternative
def var_mean(x, scale, shift, eps=1e-5):
    """Variance and mean by one call of torch, in double precision; warns."""
    import warnings

    warnings.warn("in double precision", stacklevel=1)
    variance, mean = torch.var_mean(x.double(), dim=-1, correction=0, keepdim=True)
    return torch.addcmul(shift.double(), (x - mean) * (variance + eps).rsqrt(), scale.double()).to(
        x.dtype
    )


@exercise.alternative
def centring_matrix(x, scale, shift, eps=1e-5):
    """Subtracting the mean is a projection, and the variance a squared length."""
    width = x.shape[-1]
    wide = torch.promote_types(x.dtype, torch.float32)
    project = torch.eye(width, dtype=wide) - torch.full((width, width), 1 / width, dtype=wide)
    y = x.to(wide) @ project
    length = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
    safe = torch.sqrt(length**2 / width + eps)
    return (y / safe * scale + shift).to(x.dtype)
