from typing import Any

from course_lib.bank.prelude import Exercise, Trial, math
from course_lib.positions import wavelengths

exercise = Exercise(
    id="sinusoids.wave_bands",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="07_sinusoids.html#sinusoids-bands",
    outcomes=("sinusoids.bands",),
    example=lambda t: (64, 512),
    returns=("the shortest wave", "the longest wave", "the number of whole waves"),
)


def _between(d_model: int, pairs: int, base: float = 10_000.0) -> int:
    """A length well between the waves of two neighbouring pairs: ``pairs`` of them fit."""
    waves = wavelengths(d_model, base=base)
    return round(float((waves[pairs - 1] * waves[pairs]).sqrt()))


def _three(t: Trial, d_model: int, max_len: int, base: float = 10_000.0) -> list[Any]:
    options: dict[str, Any] = {} if base == 10_000.0 else {"base": base}
    return t.values(t.call(d_model, max_len, **options))


def _count(t: Trial, d_model: int, max_len: int, base: float = 10_000.0) -> None:
    count = float(t.want(d_model, max_len, base=base)[2])
    note = f"d_model {d_model}, max_len {max_len}, base {base:g}"
    t.close(_three(t, d_model, max_len, base)[2], count, "the number of whole waves", note=note)


@exercise.prop(0.5, "By which angle does the first pair turn from one position to the next?")
def shortest(t: Trial) -> None:
    """the shortest wave"""
    d_model, base = 8 * t.integer(2, 16), float(t.integer(20, 999))
    got = _three(t, d_model, 100, base)[0]
    t.close(got, 2 * math.pi, "the shortest wave", note=f"d_model {d_model}, base {base:g}")


@exercise.prop(1.5, "What is the largest i, if there are d_model/2 pairs and the first has i = 0?")
def longest(t: Trial) -> None:
    """the longest wave, which is a little shorter than the base suggests"""
    for d_model, base in ((64, 10_000.0), (8 * t.integer(2, 9), float(t.integer(50, 5_000)))):
        got, want = _three(t, d_model, 100, base)[1], t.want(d_model, 100, base=base)[1]
        t.close(got, want, "the longest wave", note=f"d_model {d_model}, base {base:g}")


@exercise.prop(1.5, "List the wavelengths for d_model 8: by which factor do they grow? Then count.")
def whole_waves(t: Trial) -> None:
    """how many pairs turn at least once within the sequence"""
    _count(t, 16, _between(16, t.integer(4, 7)))
    _count(t, 64, _between(64, t.integer(4, 24), 500.0), 500.0)
    _count(t, 512, 512)


@exercise.prop(0.5, "With a single pair, which wave is the longest?")
def ends(t: Trial) -> None:
    """a code of width 2; lengths just below or above a wavelength, and below or above them all"""
    t.usual(64, 512)
    t.close(_three(t, 2, 50)[1], 2 * math.pi, "the longest wave", note="d_model 2")
    _count(t, 64, 1)
    # The last length that a wave does not fit into, and the first that it does.
    for wave in (*wavelengths(16).tolist(), 10**6):
        _count(t, 16, math.floor(wave))
        _count(t, 16, math.ceil(wave))
