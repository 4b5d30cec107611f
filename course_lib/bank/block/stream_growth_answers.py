from course_lib.bank.block.stream_growth import exercise
from course_lib.bank.prelude import math


@exercise.answer
def reference(n_layers: int, start: float, gain: float, norm: str = "pre") -> tuple[float, float]:
    """Variance after the last block, and the last sub-layer's size, divided by the stream's."""
    parts = 2 * n_layers
    if norm == "pre":
        return start + parts * gain, math.sqrt(gain / (start + (parts - 1) * gain))
    if norm == "none":
        return start * (1 + gain) ** parts, math.sqrt(gain)
    return 1.0, math.sqrt(gain)


@exercise.mistake("In pre-norm, does a sub-layer read the stream itself or a normed copy of it?")
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


@exercise.mistake("Where are the norms of pre-norm: on the stream, or beside it?")
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


@exercise.mistake("Compared with the stream before the sub-layer's output was added, or after?")
def beside_the_sum(n_layers, start, gain, norm="pre"):
    """The share is that of the last sub-layer in the stream after it."""
    if norm == "pre":
        end = start + 2 * n_layers * gain
        return end, math.sqrt(gain / end)
    end = 1.0 if norm == "post" else start * (1 + gain) ** (2 * n_layers)
    return end, math.sqrt(gain / (1 + gain))


@exercise.mistake("Is the ratio of two variances a ratio of sizes?")
def ratio_of_variances(n_layers, start, gain, norm="pre"):
    """Relative size is the ratio of variances."""
    parts = 2 * n_layers
    if norm == "pre":
        return start + parts * gain, gain / (start + (parts - 1) * gain)
    return (1.0 if norm == "post" else start * (1 + gain) ** parts), gain


@exercise.mistake("Which norm is the last one that the stream of post-norm goes through?")
def post_grows(n_layers, start, gain, norm="pre"):
    """In post-norm, too, the sum of stream and sub-layer leaves the block."""
    parts = 2 * n_layers
    if norm == "pre":
        return start + parts * gain, math.sqrt(gain / (start + (parts - 1) * gain))
    if norm == "none":
        return start * (1 + gain) ** parts, math.sqrt(gain)
    return 1.0 + gain, math.sqrt(gain)


@exercise.alternative
def part_by_part(n_layers, start, gain, norm="pre"):
    """Walks down the stack, sub-layer by sub-layer; warns."""
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
