from course_lib.bank.ablations.break_verdicts import exercise
from course_lib.bank.prelude import torch


@exercise.answer
def reference() -> tuple[list[float], list[float]]:
    """Four seeds in favour of the first arm, and the best one just against it."""
    return [0.7, 0.72, 0.74, 0.76, 0.602], [0.72, 0.74, 0.76, 0.78, 0.6]


@exercise.mistake("What does the rule say of your pairs, and how wide is its interval?")
def mere_noise():
    """Wherever a hasty judgement differs from the rule, it has been shown wrong."""
    return [0.6, 0.9, 0.7], [0.8, 0.7, 0.9]


@exercise.mistake("What do both functions say of your errors?")
def far_apart():
    """Errors that lie far apart are judged by the rule alone."""
    return [0.6, 0.61, 0.62], [0.8, 0.81, 0.82]


@exercise.mistake("Your arm wins every pair. Can the other one have the best run of all?")
def every_pair_agrees():
    """Pairs that agree are all that it takes."""
    return [0.7, 0.8], [0.71, 0.81]


@exercise.mistake("By how much does the last pair go the other way, and what does that widen?")
def one_pair_too_far():
    """How much one pair contradicts the others does not matter."""
    return [0.7, 0.72, 0.74, 0.76, 0.64], [0.72, 0.74, 0.76, 0.78, 0.6]


@exercise.mistake("Three differences of -1 and one above 0: does the rule ever decide?")
def four_pairs():
    """Four pairs forgive one that goes the other way."""
    return [0.7, 0.72, 0.74, 0.601], [0.72, 0.74, 0.76, 0.6]


@exercise.mistake("Leave out a pair that agrees with the others. What does the rule say?")
def six_pairs():
    """One pair against the others takes five that agree."""
    return [0.7, 0.72, 0.74, 0.76, 0.78, 0.602], [0.72, 0.74, 0.76, 0.78, 0.8, 0.6]


@exercise.mistake("Leave out pairs that agree with the others. What does the rule say?")
def eight_pairs():
    """One pair against the others takes very many that agree."""
    first = [0.7, 0.72, 0.74, 0.76, 0.78, 0.8, 0.82, 0.602]
    return first, [*(e + 0.02 for e in first[:-1]), 0.6]


@exercise.alternative
def equal_differences():
    """Tensors, and the second arm is the better one; prints to stderr."""
    import sys

    second = torch.tensor([0.5, 0.6, 0.7, 0.8, 0.4])
    first = second + torch.tensor([0.1, 0.1, 0.1, 0.1, -0.01])
    print("differences", first - second, file=sys.stderr)
    return first, second


@exercise.alternative
def other_seeds():
    """Other errors, in double precision."""
    second = torch.tensor([0.05, 0.31, 0.43, 0.27, 0.9], dtype=torch.float64)
    return second + torch.tensor([0.002, -0.03, -0.03, -0.025, -0.03]), second
