"""Exercise ``seeing.distillation_loss``."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import vit
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


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


exercise = Exercise(
    id="seeing.distillation_loss",
    function="distillation_loss",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=3,
    chapter="13_looking.html#seeing-teacher",
    outcomes=("seeing.teacher",),
    example=lambda t: (t.randn(4, 3), t.randn(4, 3), t.integers(0, 2, 4)),
)


def _batch(t: Trial, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    B, C = t.integer(4, 8), t.integer(3, 6)
    labels = t.integers(0, C - 1, B)
    teacher = 2 * t.randn(B, C, dtype=dtype)
    # The teacher is wrong about the first picture, or labels and teacher would say the same.
    teacher[0, labels[0]] = -9.0
    return 2 * t.randn(B, C, dtype=dtype), teacher, labels


@exercise.prop(
    "hard: the teacher's answer is a second label",
    points=1,
    hint="Which class does the teacher name? That alone counts, not how sure it is.",
)
def hard(t: Trial) -> None:
    for _ in range(3):
        student, teacher, labels = _batch(t)
        for right in (labels, labels.flip(0)):
            t.same(student, teacher, right, "hard", 0.5, note="half and half")
        t.same(student, teacher, labels, note="kind and weight left out")


@exercise.prop(
    "soft: the student's distribution is drawn to the teacher's, both at the temperature",
    points=1,
    hint="Divide both by the temperature; the teacher's distribution is what is aimed at.",
)
def soft(t: Trial) -> None:
    for temperature in (1.0, 2.0, 5.0, None):
        student, teacher, labels = _batch(t)
        more = ("soft", 0.5) if temperature is None else ("soft", 0.5, temperature)
        # What the labels say is the same for two teachers, and cancels.
        found, wanted = [], []
        for one in (teacher, teacher.flip(-1)):
            found.append(t.a_tensor(t.call(student, one, labels, *more), ()))
            wanted.append(t.want(student, one, labels, *more))
        note = f"temperature {temperature or 'left out'}"
        t.close(found[0] - found[1], wanted[0] - wanted[1], "the gap of two teachers", note=note)


@exercise.prop(
    "labels and teacher weigh as `weight` says, the labels at no temperature",
    points=1,
    hint="With weight 0 the teacher doesn't matter, with weight 1 the labels don't.",
)
def shares(t: Trial) -> None:
    for kind in ("hard", "soft"):
        student, teacher, labels = _batch(t)
        args = student, teacher, labels, kind
        alone = t.same(*args, 0.0, 4.0, note=f"{kind}, the labels alone")
        taught = t.a_tensor(t.call(*args, 1.0, 4.0), ())
        for weight in (0.25, 0.8):
            want = (1 - weight) * alone + weight * taught
            note = f"{kind}, between the losses with weight 0 and 1"
            t.close(t.call(*args, weight, 4.0), want, f"the loss with weight {weight}", note=note)


@exercise.prop(
    "a student that answers as its teacher has nothing to learn from it softly",
    points=0.5,
    hint="The divergence of a distribution from itself is 0; the cross-entropy is not.",
)
def nothing_left(t: Trial) -> None:
    student, _, labels = _batch(t)
    for temperature in (1.0, 3.0):
        t.same(student, student.clone(), labels, "soft", 0.5, temperature)


@exercise.prop(
    "the gradient for the student, and none for the teacher",
    points=1,
    hint="The teacher is not being taught.",
)
def gradients(t: Trial) -> None:
    for kind in ("hard", "soft"):
        student, teacher, labels = _batch(t, torch.float64)
        rest = labels, kind, 0.7, 2.0
        found = t.vjp((student, teacher, *rest), [torch.tensor(1.0).double()])
        to_student, to_teacher = found.inputs[:2]
        t.expect(to_student is not None, "no gradient reaches the student")
        assert to_student is not None
        direction = t.randn(*student.shape, dtype=torch.float64)
        ends = [t.call(student + s * 1e-3 * direction, teacher, *rest) for s in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-3
        t.expect(bool(to_student.any()), f"{kind}: the student gets no gradient")
        along = (to_student * direction).sum()
        t.expect((along - slope).abs() < 1e-3, f"{kind}: the student's gradient is not the slope")
        silent = to_teacher is None or not bool(to_teacher.any())
        t.expect(silent, f"{kind}: the teacher gets a gradient")


@exercise.prop(
    "logits so large that a probability would round to 0",
    points=0.5,
    hint="Is there a logarithm of a softmax in your code? There is a function for both at once.",
)
def large(t: Trial) -> None:
    student, teacher, labels = _batch(t)
    for kind in ("soft", "hard"):
        args = 300 * student, 300 * teacher, labels, kind
        t.same(*args, 0.5, 1.0, note=f"{kind}, logits in the hundreds")


# BANK


@exercise.mistake("Swap teacher and student in your divergence: which one do you aim at?")
def the_other_divergence(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """A divergence is the same in both directions."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        p, q = (F.log_softmax(x / temperature, -1) for x in (teacher, student))
        learned = F.kl_div(p, q, reduction="batchmean", log_target=True) * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


@exercise.mistake("Print the soft loss for temperatures 1, 10, 100. What becomes of its gradient?")
def fading_teacher(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """A temperature divides the logits, and that is all that it does."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = F.kl_div(q, p, reduction="batchmean", log_target=True)
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


@exercise.mistake("Hard means one class. What is your target when the teacher is only 60 % sure?")
def unsure_labels(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """Hard distillation is soft distillation at temperature 1."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.softmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = F.kl_div(q, p, reduction="batchmean", log_target=True) * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


@exercise.mistake("Call `backward` with a teacher that wants gradients, and look at its `grad`.")
def teacher_learns(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """The teacher is a constant because it is not optimised."""
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = F.kl_div(q, p, reduction="batchmean", log_target=True) * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


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


@exercise.mistake("Give a batch twice over. Does the divergence of a picture depend on classes?")
def mean_over_everything(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """A mean is a mean: over pictures and classes."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.cross_entropy(student, teacher.argmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = (p.exp() * (p - q)).mean() * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


@exercise.mistake(
    "Let the student be sure of a wrong class: logits 200 and 0. What is log(softmax) there?"
)
def logarithm_of_a_softmax(student, teacher, labels, kind="hard", weight=0.5, temperature=3.0):
    """The logarithm of a softmax can be taken in two steps."""
    teacher = teacher.detach()
    if kind == "hard":
        learned = F.nll_loss(student.softmax(-1).log(), teacher.argmax(-1))
    else:
        q, p = (F.log_softmax(x / temperature, -1) for x in (student, teacher))
        learned = F.kl_div(q, p, reduction="batchmean", log_target=True) * temperature**2
    return (1 - weight) * F.cross_entropy(student, labels) + weight * learned


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
