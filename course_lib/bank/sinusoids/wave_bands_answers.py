from course_lib.bank.prelude import math, torch
from course_lib.bank.sinusoids.wave_bands import exercise
from course_lib.positions import wavelengths


@exercise.answer
def reference(d_model: int, max_len: int, base: float = 10_000.0) -> tuple[float, float, int]:
    """Shortest and longest wave, and how many fit into a sequence."""
    waves = wavelengths(d_model, base=base)
    return float(waves[0]), float(waves[-1]), int((waves <= max_len).sum())


@exercise.mistake("Take d_model 4. Which two frequencies are there, and is one of them 1/base?")
def up_to_the_base(d_model, max_len, base=10_000.0):
    """The waves reach from 2π to base · 2π, as the paper says."""
    waves = 2 * math.pi * base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return 2 * math.pi, 2 * math.pi * base, int((waves <= max_len).sum())


@exercise.mistake("After how many positions has an angle that grows by 1 each time come round?")
def one_over_frequency(d_model, max_len, base=10_000.0):
    """The wavelength is one over the frequency in the formula."""
    waves = base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return 1.0, waves[-1].item(), int((waves <= max_len).sum())


@exercise.mistake("How many channels does one pair have, and what were you asked to count?")
def counts_channels(d_model, max_len, base=10_000.0):
    """There are as many waves as channels."""
    waves = 2 * math.pi * base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return 2 * math.pi, waves[-1].item(), 2 * int((waves <= max_len).sum())


@exercise.mistake("Does a longer sequence let more waves come round, or fewer?")
def counts_the_unfinished(d_model, max_len, base=10_000.0):
    """A wave fits if it is longer than the sequence."""
    waves = 2 * math.pi * base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return 2 * math.pi, waves[-1].item(), int((waves > max_len).sum())


@exercise.mistake("List four wavelengths for d_model 8. Is it the difference that stays the same?")
def evenly_spaced(d_model, max_len, base=10_000.0):
    """The waves are spread evenly between the shortest and the longest."""
    last = 2 * math.pi * base ** ((d_model - 2) / d_model)
    waves = torch.linspace(2 * math.pi, last, d_model // 2, dtype=torch.float64)
    return 2 * math.pi, last, int((waves <= max_len).sum())


@exercise.mistake("After half a turn, where is the hand: where it began, or opposite?")
def half_a_turn(d_model, max_len, base=10_000.0):
    """A wave is complete when the sine is back at 0."""
    waves = 2 * math.pi * base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return 2 * math.pi, waves[-1].item(), int((waves / 2 <= max_len).sum())


@exercise.mistake("For d_model 8, what is the exponent of the last pair: 3/8 or 6/8?")
def pair_over_width(d_model, max_len, base=10_000.0):
    """The exponent of pair i is i over the width."""
    waves = 2 * math.pi * base ** (torch.arange(d_model // 2, dtype=torch.float64) / d_model)
    return 2 * math.pi, waves[-1].item(), int((waves <= max_len).sum())


@exercise.alternative
def by_logarithm(d_model, max_len, base=10_000.0):
    """Solves for the last pair that fits instead of listing them."""
    per_pair = 2 * math.log(base) / d_model
    last = math.exp(math.log(2 * math.pi) + (d_model // 2 - 1) * per_pair)
    if max_len < 2 * math.pi:
        return math.tau, last, 0
    fits = math.floor(math.log(max_len / math.tau) / per_pair) + 1
    return math.tau, last, min(fits, d_model // 2)


@exercise.alternative
def growing_wave(d_model, max_len, base=10_000.0):
    """Lets one wave grow from pair to pair, in plain Python, and logs each."""
    import logging

    wave, count = 2 * math.pi, 0
    for pair in range(d_model // 2):
        if pair:
            wave *= base ** (2 / d_model)
        logging.getLogger("waves").warning("pair %d: %g", pair, wave)
        if wave <= max_len:
            count += 1
    return 2 * math.pi, wave, count
