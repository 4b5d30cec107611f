from course_lib.bank.prelude import Tensor, math, nn, torch
from course_lib.bank.vit.accumulated_step import exercise


@exercise.answer
def reference(
    weight: Tensor,
    gradients: list[Tensor],
    sizes: list[int],
    learning_rate: float,
    clip_norm: float | None = None,
) -> Tensor:
    """The weight after the step that the whole batch would have made."""
    total = sum(sizes)
    gradient = torch.zeros_like(weight)
    for piece, size in zip(gradients, sizes, strict=True):
        gradient = gradient + piece * (size / total)
    if clip_norm is not None:
        norm = gradient.norm()
        gradient = gradient * torch.where(norm > clip_norm, clip_norm / norm.clamp(min=1e-30), 1.0)
    return weight - learning_rate * gradient


@exercise.mistake("Two pieces of 8 images and one of 2: what is each one's share?")
def mean_of_means(weight, gradients, sizes, learning_rate, clip_norm=None):
    """The mean of the pieces' means is the mean of all."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    gradient = torch.stack(gradients).mean(0)
    if clip_norm is not None and gradient.norm() > clip_norm:
        gradient = gradient * (clip_norm / gradient.norm())
    return weight - learning_rate * gradient


@exercise.mistake("With four pieces instead of one, is your step four times as long?")
def summed(weight, gradients, sizes, learning_rate, clip_norm=None):
    """`backward` adds gradients up, and their sum is what the optimiser should see."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    gradient = torch.stack(gradients).sum(0)
    if clip_norm is not None and gradient.norm() > clip_norm:
        gradient = gradient * (clip_norm / gradient.norm())
    return weight - learning_rate * gradient


@exercise.mistake("Two pieces that point against each other: how long is their mean?")
def each_piece_clipped(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Each backward pass is followed by its clipping."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    gradient = torch.zeros_like(weight)
    for piece, size in zip(gradients, sizes, strict=True):
        if clip_norm is not None and piece.norm() > clip_norm:
            piece = piece * (clip_norm / piece.norm())
        gradient = gradient + piece * (size / sum(sizes))
    return weight - learning_rate * gradient


@exercise.mistake("What is left of the first pieces when the step is taken?")
def zeroed_between(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Gradients are set to zero before every backward pass."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    gradient = gradients[-1]
    if clip_norm is not None and gradient.norm() > clip_norm:
        gradient = gradient * (clip_norm / gradient.norm())
    return weight - learning_rate * gradient


@exercise.mistake("After your clipping, does the gradient still point where it did?")
def clipped_by_value(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Clipping cuts off numbers that are too large."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    gradient = torch.zeros_like(weight)
    for piece, size in zip(gradients, sizes, strict=True):
        gradient = gradient + piece * (size / sum(sizes))
    if clip_norm is not None:
        gradient = gradient.clamp(-clip_norm, clip_norm)
    return weight - learning_rate * gradient


@exercise.mistake("What does your clipping do to a gradient that is short already?")
def always_scaled(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Clipping gives every gradient the norm that is asked for."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    gradient = torch.zeros_like(weight)
    for piece, size in zip(gradients, sizes, strict=True):
        gradient = gradient + piece * (size / sum(sizes))
    if clip_norm is not None:
        gradient = gradient * (clip_norm / (gradient.norm() + 1e-12))
    return weight - learning_rate * gradient


@exercise.mistake("You take a step for every piece. How often is the learning rate applied?")
def steps_instead(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Several small steps are the same as one large step."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    for piece in gradients:
        if clip_norm is not None and piece.norm() > clip_norm:
            piece = piece * (clip_norm / piece.norm())
        weight = weight - learning_rate * piece
    return weight


@exercise.alternative
def by_torch(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Lets torch clip and step, with gradients put in by hand; prints to stderr."""
    import sys

    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    print("stepping", file=sys.stderr)
    parameter = nn.Parameter(weight.clone())
    shares = torch.tensor(sizes, dtype=weight.dtype) / sum(sizes)
    parameter.grad = torch.tensordot(shares, torch.stack(list(gradients)), dims=1)
    if clip_norm is not None:
        nn.utils.clip_grad_norm_([parameter], clip_norm)
    torch.optim.SGD([parameter], lr=learning_rate).step()
    return parameter.detach()


@exercise.alternative
def running_mean(weight, gradients, sizes, learning_rate, clip_norm=None):
    """Keeps a running mean, so that the number of images need not be known before."""
    if len(gradients) != len(sizes):
        raise ValueError("as many sizes as gradients")
    mean, seen = 0 * weight, 0
    for i in range(len(gradients)):
        seen += sizes[i]
        mean = mean + (gradients[i] - mean) * sizes[i] / seen
    factor = 1.0
    if clip_norm is not None:
        factor = min(1.0, clip_norm / max(math.sqrt((mean * mean).sum().item()), 1e-20))
    return weight - learning_rate * factor * mean
