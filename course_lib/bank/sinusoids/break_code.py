from course_lib.bank.prelude import Exercise, Trial, math

exercise = Exercise(
    id="sinusoids.break_code",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="07_sinusoids.html#sinusoids-codes",
    outcomes=("sinusoids.failures",),
    example=lambda t: ("sine", 12),
)


@exercise.prop(
    1,
    "Which whole number is the first that doesn't fit into three binary digits and a power of 2?"
    " `torch.arange(300).to(torch.bfloat16)` shows it for eight.",
)
def integers(t: Trial) -> None:
    """the first neighbours that integers of n significant digits can't tell apart"""
    for digits in (t.integer(4, 10), 11, 24):
        t.same("integer", digits, note=f"{digits} digits")


@exercise.prop(1, "p/n = q/m. Reduce both fractions.")
def ratios(t: Trial) -> None:
    """the first places that look alike, as ratios, in lengths n and m"""
    a, b, common = t.integer(2, 6), t.integer(7, 11), t.integer(3, 9)
    a += math.gcd(a, b) > 1
    t.same("ratio", 2 * common, 3 * common)
    t.same("ratio", 10, 100)
    t.same("ratio", a * common, b * common)


@exercise.prop(0.5, "Every sequence ends with the ratio 1.")
def coprime_ratios(t: Trial) -> None:
    """lengths without a common divisor look alike at their ends only"""
    n = t.integer(5, 40)
    t.same("ratio", n, n + 1)
    t.same("ratio", 2 * n + 1, 2)


@exercise.prop(1, "Write 0 to 8 in binary, below each other, and mark what changes.")
def digits(t: Trial) -> None:
    """the first single step that changes at least n binary digits"""
    for flips in (1, 2, t.integer(3, 8), t.integer(20, 40)):
        t.same("binary", flips, note=f"at least {flips} digits")


@exercise.prop(1, "After its top a wave passes all heights once more. Where is the top?")
def even_periods(t: Trial) -> None:
    """one sine, even period: the first position that repeats an earlier one"""
    quarter = t.integer(3, 20)
    t.same("sine", 4 * quarter, note="a period divisible by 4")
    t.same("sine", 4 * quarter + 2, note="an even period not divisible by 4")


@exercise.prop(
    0.5,
    "Print `torch.sin(2 * math.pi * torch.arange(6) / 5)`. Are the heights on the way down also"
    " on the way up?",
)
def odd_periods(t: Trial) -> None:
    """one sine, odd period: the first position that repeats an earlier one"""
    t.same("sine", 2 * t.integer(3, 30) + 1)
