from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch

exercise = Exercise(
    id="senses.zero_shot",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="19_zero.html#senses-zero",
    outcomes=("senses.matches", "senses.contrast"),
    example=lambda t: (t.randn(6, 4), t.randn(3, 2, 4), t.integers(0, 2, 6)),
)


def sample(t: Trial, more: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Many images near the captions of their classes, enough for shares to tell ways apart.

    Each class has as many as the others, and class 0 some more if that is asked for.
    """
    C = t.integer(5, 7)
    centres = t.randn(C, 8)
    prompts = centres[:, None] + t.randn(C, 3, 8)
    labels = torch.cat([torch.arange(C).repeat(40), torch.zeros(more, dtype=torch.long)])
    return centres[labels] + 1.5 * t.randn(len(labels), 8), prompts, labels


@exercise.prop(
    1, "Compare each image with each class, and count the images whose own is the largest."
)
def single(t: Trial) -> None:
    """one caption per class: the nearest caption names the image"""
    images, prompts, labels = sample(t)
    t.same(images, prompts[:, :1], labels)
    t.same(images, prompts[:, :1] * (1 + t.integers(0, 9, len(prompts), 1, 1)), labels)
    t.same(images, prompts[:, :1], labels.roll(1), note="most labels are wrong")


@exercise.prop(1, "Make one caption of a class ten times as long. Should it outvote the others?")
def lengths(t: Trial) -> None:
    """captions of a class are averaged as directions"""
    # All classes disagree alike, so that it matters only which captions are long.
    axes = torch.linalg.qr(t.randn(8, 8)).Q
    prompts = axes[:4, None] + 0.8 * axes[None, 4:7]
    labels = torch.arange(4).repeat(60)
    images = axes[labels] + 0.6 * t.randn(240, 8)
    stretched = prompts.clone()
    stretched[torch.arange(4), torch.arange(4) % 3] *= 20
    t.same(images, prompts, labels, note="three captions a class")
    t.same(images, stretched, labels, note="three captions of very different length")


@exercise.prop(
    1, "The mean of unit vectors is shorter than 1, and the shorter the more they disagree."
)
def disagreeing(t: Trial) -> None:
    """a class whose captions disagree is not farther away for that"""
    # Images beside one caption of class 0, whose mean is farther away than class 1.
    turn = torch.deg2rad(torch.tensor([[0.0, 100.0], [-20.0, -24.0]]) + t.integer(0, 90))
    near = torch.deg2rad(torch.tensor([2.0, 4.0, 6.0, 50.0])) + turn[0, 0]
    pictures, captions = (torch.stack([a.cos(), a.sin()], -1) for a in (near, turn))
    t.same(pictures, captions, torch.tensor([1, 1, 1, 0]), note="near one caption of class 0")
    images, prompts, labels = sample(t)
    prompts = prompts.clone()
    prompts[0] = prompts[0].mean(0) + 4 * (prompts[0] - prompts[0].mean(0))
    prompts[1:] = prompts[1:].mean(1, keepdim=True) + 0.1 * prompts[1:]
    prompts = F.normalize(prompts, dim=-1)
    t.same(images, prompts, labels, note="the captions of class 0 disagree")


@exercise.prop(
    1, "Count the classes that are at least as near as the right one. How many may there be?"
)
def more_answers(t: Trial) -> None:
    """the class may be among the k nearest, and every image counts alike"""
    images, prompts, labels = sample(t, more=90)
    for k in (2, 3, len(prompts)):
        t.same(images, prompts[:, :1], labels, k, note=f"k = {k}, many images of one class")


@exercise.prop(
    1, "Let all classes have the same captions. `argmax` then answers 0. Is that knowledge?"
)
def ties(t: Trial) -> None:
    """ties count against, however many; what is nearly as near is no tie"""
    axes = torch.eye(4)
    n = 2 * t.integer(1, 2)
    same = axes[torch.zeros(n, 2, dtype=torch.long)]
    pictures = axes[torch.zeros(8, dtype=torch.long)]
    t.same(pictures, same, torch.arange(8) % n, note="all classes alike")
    two = axes[torch.tensor([[0], [0], [1]])]
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    t.same(axes[torch.tensor([0, 0, 1, 0, 0, 0])], two, labels, note="two classes alike")
    # Two directions and images between them: cosines differ by some hundred thousandths.
    angles = torch.tensor([0.0, 0.02])
    near = torch.stack([angles.cos(), angles.sin()], -1)[:, None]
    angles = torch.tensor([0.009, 0.011, 0.012, 0.008])
    images = torch.stack([angles.cos(), angles.sin()], -1)
    t.same(images, near, torch.tensor([0, 1, 1, 0]), note="one class is a little nearer")
