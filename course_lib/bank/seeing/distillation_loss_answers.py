from course_lib import vit
from course_lib.bank.prelude import F, Tensor, changed, torch
from course_lib.bank.seeing.distillation_loss import exercise


@exercise.answer
def reference(
    student: Tensor,
    teacher: Tensor,
    labels: Tensor,
    kind: str = "hard",
    weight: float = 0.5,
    temperature: float = 3.0,
) -> Tensor:
    """The library's, for a student with one set of logits."""
    return vit.distillation_loss(
        student, student, teacher, labels,
        kind=kind, weight=weight, temperature=temperature,  # type: ignore[arg-type]
    )  # fmt: skip


def right(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """Base of the mistakes, itself right."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = F.kl_div(q, p, reduction="batchmean", log_target=True) * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


@exercise.mistake("Swap teacher and student in your divergence: which one do you aim at?")
@changed(right, ("kl_div(q, p", "kl_div(p, q"))
def the_other_divergence():
    """A divergence is the same in both directions."""


@exercise.mistake("Print the soft loss for temperatures 1, 10, 100. What becomes of its gradient?")
@changed(right, (") * temperature**2", ")"))
def fading_teacher():
    """A temperature divides the logits, and that is all that it does."""


@exercise.mistake("Hard means one class. What is your target when the teacher is only 60 % sure?")
@changed(right, ("argmax(", "softmax("))
def unsure_labels():
    """Hard distillation is soft distillation at temperature 1."""


@exercise.mistake("Call `backward` with a teacher that wants gradients, and look at its `grad`.")
@changed(right, ("    teacher = teacher.detach()\n", ""))
def teacher_learns():
    """The teacher is a constant because it is not optimised."""


@exercise.mistake("With weight 1, whom should the student listen to?")
def shares_swapped(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """The weight is the share of the labels."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = F.kl_div(q, p, reduction="batchmean", log_target=True) * temperature**2
    return weight * F.cross_entropy(student, labels) + (1 - weight) * learned


@exercise.mistake("Over which axis is a divergence a sum? Over which do you average?")
@changed(
    right, ('F.kl_div(q, p, reduction="batchmean", log_target=True', "(p.exp() * (p - q)).mean(")
)
def mean_over_everything():
    """A mean is a mean: over images and classes."""


@exercise.mistake(
    "Let the student be sure of a wrong class: logits 200 and 0. What is log(softmax) there?"
)
@changed(right, ("= F.cross_entropy(student", "= F.nll_loss(student.softmax(-1).log()"))
def logarithm_of_a_softmax():
    """The logarithm of a softmax can be taken in two steps."""


@exercise.mistake("Let the student answer exactly as the teacher does. What should be left?")
def cross_entropy_for_divergence(
    student, teacher, labels, kind="hard", weight=0.5, temperature=3.0
):
    """Cross-entropy and divergence are one loss, as they have one gradient."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        target = (teacher / temperature).softmax(-1)
        learned = F.cross_entropy(student / temperature, target) * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


@exercise.alternative
def by_definition(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """Sums written out, from logsumexp; warns."""
    import warnings

    warnings.warn("sums", stacklevel=1)

    def log_probabilities(logits):
        return logits - logits.logsumexp(-1, keepdim=True)

    rows = torch.arange(len(labels))
    teacher = teacher.detach()
    by_label = -log_probabilities(student)[rows, labels].mean()
    if kind == "hard":
        learned = -log_probabilities(student)[rows, teacher.argmax(-1)].mean()
    else:
        p = log_probabilities(teacher / temperature)
        q = log_probabilities(student / temperature)
        learned = temperature**2 * (p.exp() * (p - q)).sum(-1).mean()
    return by_label + weight * (learned - by_label)


@exercise.alternative
def one_target(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """Hard distillation as one cross-entropy with a mixed target; soft as a difference of two."""
    with torch.no_grad():
        classes = teacher.shape[-1]
        truth = F.one_hot(labels, classes).to(student)
        answer = F.one_hot(teacher.argmax(-1), classes).to(student)
    if kind == "hard":
        return F.cross_entropy(student, (1 - weight) * truth + weight * answer)
    target = (teacher.detach() / temperature).softmax(-1)
    crossed = F.cross_entropy(student / temperature, target)
    far = crossed - F.cross_entropy(teacher.detach() / temperature, target)
    log_q = torch.distributions.Categorical(logits=student).log_prob(labels)
    return weight * temperature**2 * far - (1 - weight) * log_q.mean()


@exercise.alternative
def weights_of_the_classes(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """One distribution to aim at, mixed in single precision, where the teacher names a class."""
    B, C = student.shape
    truth = F.one_hot(labels, C).float()
    if kind == "hard":
        aim = (1 - weight) * truth + weight * F.one_hot(teacher.argmax(-1), C).float()
        return -(aim * student.log_softmax(-1)).sum() / B
    q, p = ((x / temperature).log_softmax(-1) for x in (student, teacher.detach()))
    soft = (p.exp() * (p - q)).sum() / B * temperature**2
    return (weight - 1) * (truth * student.log_softmax(-1)).sum() / B + weight * soft
