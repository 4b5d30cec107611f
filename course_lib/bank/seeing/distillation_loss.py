from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="seeing.distillation_loss",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="13_borrowing.html#seeing-teacher",
    outcomes=("seeing.teacher",),
    example=lambda t: (t.randn(4, 3), t.randn(4, 3), t.integers(0, 2, 4)),
)


def _batch(t: Trial, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    B, C = t.integer(4, 8), t.integer(3, 6)
    labels = t.integers(0, C - 1, B)
    teacher = 2 * t.randn(B, C, dtype=dtype)
    # The teacher is wrong about the first image, or labels and teacher would say the same.
    teacher[0, labels[0]] = -9.0
    return 2 * t.randn(B, C, dtype=dtype), teacher, labels


@exercise.prop(1, "Which class does the teacher name? That alone counts, not how sure it is.")
def hard(t: Trial) -> None:
    """hard: the teacher's answer is a second label"""
    for _ in range(3):
        student, teacher, labels = _batch(t)
        for right in (labels, labels.flip(0)):
            t.same(student, teacher, right, "hard", 0.5, note="half and half")
        t.same(student, teacher, labels, note="kind and weight left out")


@exercise.prop(1, "Divide both by the temperature; the teacher's distribution is what is aimed at.")
def soft(t: Trial) -> None:
    """soft: τ² times KL(teacher ‖ student), both at the temperature"""
    for temperature in (1.0, 2.0, 5.0, None):
        student, teacher, labels = _batch(t)
        more = ("soft", 0.5) if temperature is None else ("soft", 0.5, temperature)
        # The labels' part of the loss is the same for two teachers, and cancels.
        found, wanted = [], []
        for one in (teacher, teacher.flip(-1)):
            found.append(t.a_tensor(t.call(student, one, labels, *more), ()))
            wanted.append(t.want(student, one, labels, *more))
        note = f"temperature {temperature or 'left out'}"
        t.close(found[0] - found[1], wanted[0] - wanted[1], "the teachers' gap", note=note)


@exercise.prop(1, "With weight 0 the teacher doesn't matter, with weight 1 the labels don't.")
def shares(t: Trial) -> None:
    """`weight` is the teacher's share, the rest the labels'; the labels' part has no temperature"""
    for kind in ("hard", "soft"):
        student, teacher, labels = _batch(t)
        args = student, teacher, labels, kind
        alone = t.same(*args, 0.0, 4.0, note=f"{kind}, the labels alone")
        taught = t.a_tensor(t.call(*args, 1.0, 4.0), ())
        for weight in (0.25, 0.8):
            want = (1 - weight) * alone + weight * taught
            note = f"{kind}, between the losses with weight 0 and 1"
            t.close(t.call(*args, weight, 4.0), want, f"the loss with weight {weight}", note=note)


@exercise.prop(0.5, "The divergence of a distribution from itself is 0; the cross-entropy is not.")
def nothing_left(t: Trial) -> None:
    """soft: if the student has its teacher's logits, the teacher adds nothing to the loss"""
    student, _, labels = _batch(t)
    for temperature in (1.0, 3.0):
        t.same(student, student.clone(), labels, "soft", 0.5, temperature)


@exercise.prop(1, "The teacher is not being taught.")
def gradients(t: Trial) -> None:
    """the gradient for the student, and none for the teacher"""
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
    0.5, "Is there a logarithm of a softmax in your code? There is a function for both at once."
)
def large(t: Trial) -> None:
    """logits so large that a probability would round to 0"""
    student, teacher, labels = _batch(t)
    for kind in ("soft", "hard"):
        args = 300 * student, 300 * teacher, labels, kind
        t.same(*args, 0.5, 1.0, note=f"{kind}, logits in the hundreds")
