from course_lib.bank.prelude import changed, math
from course_lib.bank.sinusoids.break_code import exercise


@exercise.answer
def reference(code: str, n: int, m: int = 0) -> tuple[int, int]:
    """The first pair of positions at which a code fails."""
    if code == "integer":
        return 2**n, 2**n + 1
    if code == "ratio":
        common = math.gcd(n, m)
        return n // common, m // common
    if code == "binary":
        return 2 ** (n - 1) - 1, 2 ** (n - 1)
    if n % 2:
        return 0, n
    later = n // 4 + 1
    return n // 2 - later, later


def right(code, n, m=0):
    """Base of the mistakes, itself right."""
    if code == "integer":
        return 2**n, 2**n + 1
    if code == "ratio":
        return n // math.gcd(n, m), m // math.gcd(n, m)
    if code == "binary":
        return 2 ** (n - 1) - 1, 2 ** (n - 1)
    return (0, n) if n % 2 else (n // 2 - n // 4 - 1, n // 4 + 1)


@exercise.mistake("With three binary digits you reach 7. But what comes after 7 ends in a zero...")
@changed(right, (", 2**n + 1", "- 1, 2**n"))
def full_digits():
    """n digits count up to 2^n - 1 and no further."""


@exercise.mistake("Is nothing in a sequence of 10 like anything in one of 100, but for their ends?")
@changed(right, ("// math.gcd(n, m), m // math.gcd(n, m)", ", m"))
def ends_alone():
    """Sequences of different lengths share the ratio of their ends only."""


@exercise.mistake("Put your two positions into p/n and q/m. Are they equal?")
@changed(right, ("n // math", "math"), ("), m //", "),"))
def same_place():
    """Two sequences look alike at the same place, their common divisor."""


@exercise.mistake("From 1 to 2, that is 01 to 10, how many digits change?")
@changed(right, ("(n - 1) -", "n -"), (", 2 ** (n - 1)", ", 2**n"))
def carry_forgotten():
    """To change n digits there must be n ones to clear."""


@exercise.mistake("The period is 12. Is the height at position 4 really a new one?")
@changed(right, ("(0, n) if n % 2 else (n // 2 - n // 4 - 1, n // 4 + 1)", "0, n"))
def only_after_a_period():
    """A wave repeats itself after its period, and not before."""


@exercise.mistake("You found two zeros. Is there a pair that meets earlier, higher up?")
@changed(right, ("n // 2 - n // 4 - 1, n // 4 + 1", "0, n // 2"))
def only_at_zeros():
    """A wave comes back to a height where it crosses zero."""


@exercise.mistake("Is half of an odd period a position?")
@changed(right, ("(0, n) if n % 2 else (n", "n"), ("// 4 + 1)", "// 4 + 1"))
def odd_like_even():
    """Going down, a wave passes the positions' heights that it passed going up."""


@exercise.alternative
def tries_them_all(code, n, m=0):
    """Searches, from the smallest candidates on, and prints to stderr."""
    import sys

    print("searching", code, file=sys.stderr)
    if code == "integer":

        def stored(x):
            mantissa, exponent = math.frexp(x)
            return math.ldexp(round(math.ldexp(mantissa, n)), exponent - n)

        p = 1
        # Gaps between numbers double at powers of 2, and nowhere else.
        while stored(p) != stored(p + 1):
            p *= 2
        return p, p + 1
    if code == "ratio":
        return next((p, p * m // n) for p in range(1, n + 1) if p * m % n == 0)
    if code == "binary":
        ones = 0
        while (ones ^ (ones + 1)).bit_count() < n:
            ones = 2 * ones + 1
        return ones, ones + 1
    seen = {}
    for p in range(n + 1):
        height = round(math.sin(2 * math.pi * p / n), 9) + 0.0
        if height in seen:
            return seen[height], p
        seen[height] = p


@exercise.alternative
def fractions_and_masks(code, n, m=0):
    """Reduces with the fractions module, counts with shifts, and mirrors at the wave's top."""
    from fractions import Fraction

    if code == "integer":
        p = 1 << n
    elif code == "binary":
        p = (1 << (n - 1)) - 1
    elif code == "ratio":
        q = Fraction(n, m)
        return q.numerator, q.denominator
    else:
        top = Fraction(n, 4)
        after = math.floor(top) + 1
        before = 2 * top - after
        return (0, n) if before.denominator > 1 else (int(before), after)
    return p, p + 1
