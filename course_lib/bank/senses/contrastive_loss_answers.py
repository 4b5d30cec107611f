from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.bank.senses.contrastive_loss import exercise
from course_lib.multimodal import contrastive_loss, pair_similarities


@exercise.answer
def reference(images: Tensor, texts: Tensor, log_factor: Tensor) -> Tensor:
    """The exam both ways, its factor kept below 100."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    return contrastive_loss(pair_similarities(images, texts, factor))


@exercise.mistake("Transpose the matrix of similarities. Whose exam is that?")
def one_direction(images, texts, log_factor):
    """Images that find their captions are found by their captions, too."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return F.cross_entropy(s, torch.arange(len(s)))


@exercise.mistake("Multiply all images by 10. Should the loss care?")
def lengths_count(images, texts, log_factor):
    """The inner product is the similarity, whatever the lengths are."""
    s = log_factor.clamp(max=math.log(100)).exp() * images @ texts.T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("A temperature divides. Is it a temperature that you are given?")
def divided_by_factor(images, texts, log_factor):
    """The factor is a temperature, and one divides by temperatures."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / factor
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("Give 0, and then -1. What do your similarities become?")
def log_is_the_factor(images, texts, log_factor):
    """What is learned is the factor itself."""
    factor = log_factor.clamp(max=100)
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("How many classes does the exam of one image have? And your softmax?")
def whole_matrix(images, texts, log_factor):
    """One softmax over all N times N similarities serves images and captions at once."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -s.flatten().log_softmax(0).view_as(s).diagonal().mean()


@exercise.mistake("Give -9. May the factor become as small as it likes?")
def floor_as_well(images, texts, log_factor):
    """What is kept below 100 is kept above a hundredth, too."""
    factor = log_factor.clamp(-math.log(100), math.log(100)).exp()
    s = factor * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("Which axis holds the channels of one embedding?")
def normalised_over_the_batch(images, texts, log_factor):
    """Normalising works along the first axis."""
    factor = log_factor.clamp(max=math.log(100)).exp()
    s = factor * F.normalize(images, dim=0) @ F.normalize(texts, dim=0).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("A weight that is learned may grow. What does the text say about 100?")
def no_ceiling(images, texts, log_factor):
    """A learned factor finds its own limits."""
    s = log_factor.exp() * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(s))
    return (F.cross_entropy(s, own) + F.cross_entropy(s.T, own)) / 2


@exercise.mistake("What should an image's row of targets be if another image looks like it?")
def soft_targets(images, texts, log_factor):
    """Pairs that look alike are half right: targets are a softmax of similarities, too."""
    factor = log_factor.exp().clamp(max=100.0)
    i, t = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    s, wanted = factor * i @ t.T, ((i @ i.T + t @ t.T) / 2 * factor).softmax(-1)
    rows = -(wanted * F.log_softmax(s, -1)).sum(1).mean()
    columns = -(wanted.T * F.log_softmax(s.T, -1)).sum(1).mean()
    return (rows + columns) / 2


@exercise.alternative
def by_logsumexp(images, texts, log_factor):
    """Writes the softmaxes as logsumexp, and norms as roots of squares."""
    factor = torch.minimum(log_factor.exp(), torch.full_like(log_factor, 100.0))
    u = images / images.norm(dim=1, keepdim=True)
    v = texts / texts.norm(dim=1, keepdim=True)
    s = torch.einsum("id,jd->ij", u, v) * factor
    return (0.5 * (s.logsumexp(0) + s.logsumexp(1)) - s.diagonal()).mean()


@exercise.alternative
def pair_by_pair(images, texts, log_factor):
    """Loops over the pairs and asks both questions of each; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    factor = log_factor.clamp(max=math.log(100)).exp()
    total = 0.0
    for i in range(len(images)):
        by_text = factor * F.cosine_similarity(images[i : i + 1], texts)
        by_image = factor * F.cosine_similarity(images, texts[i : i + 1])
        total = total - by_text.log_softmax(0)[i] - by_image.log_softmax(0)[i]
    return total / (2 * len(images))
