"""Exercise ``block.stream_growth``."""

import math

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(n_layers: int, start: float, gain: float, norm: str = "pre") -> tuple[float, float]:
    """Variance behind the last block, and the last part's size beside the stream it meets."""
    parts = 2 * n_layers
    if norm == "pre":
        return start + parts * gain, math.sqrt(gain / (start + (parts - 1) * gain))
    if norm == "none":
        return start * (1 + gain) ** parts, math.sqrt(gain)
    return 1.0, math.sqrt(gain)


exercise = Exercise(
    id="block.stream_growth",
    function="stream_growth",
    reference=reference,
    points=4,
    minutes=20,
    difficulty=3,
    chapter="06_stack.html#block-stream",
    outcomes=("block.stream",),
    returns=("the variance", "the share"),
    example=lambda t: (6, 1.0, 0.5),
)


def _gain(t: Trial) -> float:
    return t.integer(10, 90) / 100


def _two(t: Trial, *args: object) -> list[float]:
    return t.values(t.call(*args))


def _entry(t: Trial, index: int, n_layers: int, start: float, gain: float, norm: str) -> None:
    """One of the two numbers alone, so that either can be right without the other."""
    got = _two(t, n_layers, start, gain, norm)
    want = reference(n_layers, start, gain, norm)[index]
    note = f"{n_layers} blocks, start {start:g}, gain {gain:g}, norm {norm!r}"
    t.close(got[index], want, ("the variance", "the share")[index], note=note)


@exercise.prop(
    "what is behind the last block in pre-norm",
    points=0.75,
    hint="What does each part read in pre-norm, and does it notice how large the stream is?",
)
def pre_variance(t: Trial) -> None:
    for n_layers in (1, t.integer(2, 12), t.integer(20, 48)):
        _entry(t, 0, n_layers, t.integer(5, 30) / 4, _gain(t), "pre")


@exercise.prop(
    'what is behind the last block without norms, norm="none"',
    points=0.75,
    hint="Each part reads the stream as it is. By which factor does a part change its variance?",
)
def bare_variance(t: Trial) -> None:
    for n_layers in (1, t.integer(2, 9)):
        _entry(t, 0, n_layers, t.integer(5, 30) / 4, _gain(t), "none")


@exercise.prop(
    "what is behind the last block in post-norm",
    points=0.75,
    hint="What is the last thing that happens in a post-norm block?",
)
def post_variance(t: Trial) -> None:
    for n_layers in (1, t.integer(2, 40)):
        _entry(t, 0, n_layers, t.integer(5, 30) / 4, _gain(t), "post")


@exercise.prop(
    "how large the last part is beside the stream that it is added to",
    points=1,
    hint="How large is the stream just before the last part? And it's sizes that are compared.",
)
def pre_share(t: Trial) -> None:
    # Of the answer's own variance, whose last part is the gain.
    for n_layers in (1, t.integer(2, 12), t.integer(20, 48)):
        start, gain = t.integer(5, 30) / 4, _gain(t)
        variance, share = _two(t, n_layers, start, gain, "pre")
        want = math.sqrt(gain / (float(variance) - gain))
        t.close(share, want, "the share", note=f"variance {float(variance):g}, gain {gain:g}")


@exercise.prop(
    "the same without norms, and in post-norm",
    points=0.75,
    hint="In both, does the answer depend on the depth?",
)
def other_shares(t: Trial) -> None:
    for norm in ("none", "post"):
        _entry(t, 1, t.integer(2, 9), t.integer(5, 30) / 4, _gain(t), norm)


@exercise.mistake("In pre-norm, does a part read the stream itself or a normed copy of it?")
def always_compounds(n_layers, start, gain, norm="pre"):
    """Every layer multiplies the variance, as it does without norms."""
    if norm == "post":
        return 1.0, math.sqrt(gain)
    return start * (1 + gain) ** (2 * n_layers), math.sqrt(gain)


@exercise.mistake("How many times is something added to the stream in one block?")
def one_part_a_block(n_layers, start, gain, norm="pre"):
    """A block adds to the stream once."""
    if norm == "pre":
        before = start + (n_layers - 1) * gain
        return start + n_layers * gain, math.sqrt(gain / before)
    if norm == "none":
        return start * (1 + gain) ** n_layers, math.sqrt(gain)
    return 1.0, math.sqrt(gain)


@exercise.mistake("Where do the norms of pre-norm stand: on the stream, or beside it?")
def norms_hold_it(n_layers, start, gain, norm="pre"):
    """With norms in every block the stream stays at variance 1, in either order."""
    if norm == "none":
        return start * (1 + gain) ** (2 * n_layers), math.sqrt(gain)
    return 1.0, math.sqrt(gain)


@exercise.mistake("Two independent numbers are added. Do their variances add up, or their sizes?")
def sizes_add_up(n_layers, start, gain, norm="pre"):
    """Standard deviations of independent terms add up."""
    size, part = math.sqrt(start), math.sqrt(gain)
    if norm == "pre":
        return (size + 2 * n_layers * part) ** 2, part / (size + (2 * n_layers - 1) * part)
    if norm == "none":
        return start * (1 + part) ** (4 * n_layers), part
    return 1.0, part


@exercise.mistake("Beside the stream as it was before the part was added, or with it?")
def beside_the_sum(n_layers, start, gain, norm="pre"):
    """The share is that of the last part in the stream behind it."""
    if norm == "pre":
        end = start + 2 * n_layers * gain
        return end, math.sqrt(gain / end)
    end = 1.0 if norm == "post" else start * (1 + gain) ** (2 * n_layers)
    return end, math.sqrt(gain / (1 + gain))


@exercise.mistake("Is the ratio of two variances a ratio of sizes?")
def ratio_of_variances(n_layers, start, gain, norm="pre"):
    """How large something is beside another is the ratio of their variances."""
    parts = 2 * n_layers
    if norm == "pre":
        return start + parts * gain, gain / (start + (parts - 1) * gain)
    return (1.0 if norm == "post" else start * (1 + gain) ** parts), gain


@exercise.mistake("Which norm is the last one that the stream of post-norm goes through?")
def post_grows(n_layers, start, gain, norm="pre"):
    """In post-norm, too, the sum of stream and part leaves the block."""
    parts = 2 * n_layers
    if norm == "pre":
        return start + parts * gain, math.sqrt(gain / (start + (parts - 1) * gain))
    if norm == "none":
        return start * (1 + gain) ** parts, math.sqrt(gain)
    return 1.0 + gain, math.sqrt(gain)


@exercise.alternative
def part_by_part(n_layers, start, gain, norm="pre"):
    """Walks down the stack, part by part; warns."""
    import warnings

    warnings.warn("walking", stacklevel=1)
    stream, share = start, 0.0
    for _ in range(2 * n_layers):
        part = gain if norm == "pre" else gain * stream
        share = (part / stream) ** 0.5
        stream = 1.0 if norm == "post" else stream + part
    return stream, share


@exercise.alternative
def by_logarithms(n_layers, start, gain, norm="pre"):
    """Powers as exponentials of logarithms, and the share by way of the stream before."""
    parts = 2 * n_layers
    growth = {"pre": 0.0, "none": parts * math.log1p(gain), "post": -math.log(start)}[norm]
    end = start * math.exp(growth) + (parts * gain if norm == "pre" else 0.0)
    before = end - gain if norm == "pre" else 1.0
    return end, math.exp(0.5 * (math.log(gain) - math.log(before)))
