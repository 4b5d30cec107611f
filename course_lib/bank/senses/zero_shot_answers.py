from course_lib.bank.prelude import F, Tensor, torch
from course_lib.bank.senses.zero_shot import exercise


@exercise.answer
def reference(images: Tensor, prompts: Tensor, labels: Tensor, k: int = 1) -> float:
    """Share of images whose class is among the k nearest; ties count against."""
    classes = F.normalize(F.normalize(prompts, dim=-1).mean(dim=1), dim=-1)
    similarities = F.normalize(images, dim=-1) @ classes.T
    own = similarities.gather(1, labels[:, None])
    rank = (similarities >= own).sum(dim=1)
    return (rank <= k).float().mean().item()


@exercise.mistake("Make one caption twenty times as long and compare your class vectors.")
def long_captions_count_more(images, prompts, labels, k=1):
    """The mean of the captions is normalised, so they need not be."""
    classes = F.normalize(prompts.mean(dim=1), dim=-1)
    s = F.normalize(images, dim=-1) @ classes.T
    rank = (s >= s.gather(1, labels[:, None])).sum(dim=1)
    return (rank <= k).float().mean().item()


@exercise.mistake("How long is the mean of two unit vectors that point in different directions?")
def mean_of_units_is_a_unit(images, prompts, labels, k=1):
    """The mean of unit vectors has length 1."""
    s = F.normalize(images, dim=-1) @ F.normalize(prompts, dim=-1).mean(dim=1).T
    rank = (s >= s.gather(1, labels[:, None])).sum(dim=1)
    return (rank <= k).float().mean().item()


@exercise.mistake("One caption of many fits at random. What is compared with the image?")
def best_caption_decides(images, prompts, labels, k=1):
    """A class is as near as the nearest of its captions."""
    units = F.normalize(prompts, dim=-1)
    s = torch.einsum("nd,cpd->ncp", F.normalize(images, dim=-1), units).amax(-1)
    rank = (s >= s.gather(1, labels[:, None])).sum(dim=1)
    return (rank <= k).float().mean().item()


@exercise.mistake("If all classes are alike, what share of images does yours get right?")
def ties_are_right(images, prompts, labels, k=1):
    """Who is as near as the nearest is among the nearest."""
    classes = F.normalize(F.normalize(prompts, dim=-1).mean(dim=1), dim=-1)
    s = F.normalize(images, dim=-1) @ classes.T
    rank = (s > s.gather(1, labels[:, None])).sum(dim=1)
    return (rank < k).float().mean().item()


@exercise.mistake("If all classes are alike, which one does argmax name?")
def first_of_equals(images, prompts, labels, k=1):
    """The k largest are what topk returns."""
    classes = F.normalize(F.normalize(prompts, dim=-1).mean(dim=1), dim=-1)
    s = F.normalize(images, dim=-1) @ classes.T
    best = s.argsort(dim=1, descending=True, stable=True)[:, :k]
    return (best == labels[:, None]).any(1).float().mean().item()


@exercise.mistake("Ninety of a hundred images show a cat. What does your mean give the others?")
def classes_weigh_alike(images, prompts, labels, k=1):
    """An accuracy is the mean over the classes."""
    classes = F.normalize(F.normalize(prompts, dim=-1).mean(dim=1), dim=-1)
    s = F.normalize(images, dim=-1) @ classes.T
    right = ((s >= s.gather(1, labels[:, None])).sum(dim=1) <= k).float()
    return torch.stack([right[labels == c].mean() for c in labels.unique()]).mean().item()


@exercise.mistake("Give k = 2 and then k = all. What should they return?")
def one_answer_only(images, prompts, labels, k=1):
    """Only the nearest class counts."""
    classes = F.normalize(F.normalize(prompts, dim=-1).mean(dim=1), dim=-1)
    s = F.normalize(images, dim=-1) @ classes.T
    rank = (s >= s.gather(1, labels[:, None])).sum(dim=1)
    return (rank <= 1).float().mean().item()


@exercise.alternative
def picture_by_picture(images, prompts, labels, k=1):
    """Loops over images and counts the rivals of each; prints to standard error."""
    import sys

    print("one by one", file=sys.stderr)
    named = 0
    directions = []
    for captions in prompts:
        mean = sum(c / c.norm() for c in captions)
        directions.append(mean / mean.norm())
    for image, label in zip(images, labels.tolist(), strict=True):
        own = image @ directions[label]
        rivals = [c for c, d in enumerate(directions) if c != label and image @ d >= own]
        named += len(rivals) < k
    return named / len(images)


@exercise.alternative
def by_distance(images, prompts, labels, k=1):
    """Ranks by Euclidean distance of unit vectors, which orders as cosines do."""
    units = prompts / prompts.square().sum(-1, keepdim=True).sqrt()
    total = units.sum(1)
    total = total / total.square().sum(-1, keepdim=True).sqrt()
    pictures = images / images.square().sum(-1, keepdim=True).sqrt()
    gap = ((pictures[:, None] - total[None]) ** 2).sum(-1)
    mine = gap[torch.arange(len(labels)), labels]
    nearer = (gap <= mine[:, None]).sum(1)
    return float((nearer <= k).double().mean())


@exercise.alternative
def with_numpy(images, prompts, labels, k=1):
    """numpy sorts, and its number comes back."""
    import numpy as np

    classes = F.normalize(F.normalize(prompts, dim=-1).mean(dim=1), dim=-1)
    s = (F.normalize(images, dim=-1) @ classes.T).numpy()
    rank = (s >= np.take_along_axis(s, labels.numpy()[:, None], 1)).sum(1)
    return np.mean(rank <= k)
