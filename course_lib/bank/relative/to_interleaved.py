from course_lib.bank.prelude import Exercise, Trial, torch
from course_lib.positions import Layout, rotary_angles, rotate

exercise = Exercise(
    id="relative.to_interleaved",
    points=4.5,
    minutes=20,
    difficulty=3,
    chapter="08_rotary.html#relative-layouts",
    example=lambda t: (t.randn(12, 12), 2),
    outcomes=("relative.layouts",),
    severe={"columns": "rows have to move, and none does"},
)


@exercise.prop(
    1.25, "Number the rows of one head with six channels: 0 to 5. Which order do you want?"
)
def one_head(t: Trial) -> None:
    """the two partners of every pair become neighbours"""
    width = 2 * t.integer(3, 5)
    t.same(t.randn(width, 5), 1, note=f"one head of {width} channels")


@exercise.prop(0.75, "The rows of head 0 come first, then those of head 1. No row leaves its head.")
def several_heads(t: Trial) -> None:
    """each head by itself"""
    # Against the answer's own order of one head.
    n_heads = t.integer(2, 4)
    for width, columns in ((6, 7), (8, 3)):
        weight = t.randn(n_heads * width, columns)
        alone = [t.a_tensor(t.call(w, 1), w.shape) for w in weight.split(width)]
        t.expect((alone[0] != weight[:width]).any(), "no row has moved")
        t.close(t.call(weight, n_heads), torch.cat(alone), note=f"{n_heads} heads of {width}")


@exercise.prop(0.5, "Index the first axis, whatever comes after it, and make a new tensor.")
def bias_vectors(t: Trial) -> None:
    """bias vectors, too; what comes in is left as it was"""
    bias = t.randn(8 * t.integer(2, 4))
    matrix = t.a_tensor(t.call(bias[:, None], 2), (len(bias), 1), "a matrix of one column")
    t.expect((matrix[:, 0] != bias).any(), "no row has moved")
    t.close(t.call(bias, 2), matrix[:, 0], "a bias vector, against a matrix of one column")
    t.unchanged(bias, 2)


@exercise.prop(
    1, "If 6 of 10 channels turn, which is the partner of channel 0 in the half-split layout?"
)
def some_channels(t: Trial) -> None:
    """with `d_rotary`, only the first channels of each head are paired, the others stay"""
    for weight, d_rotary in ((t.randn(10, 4), 6), (t.randn(12), 8)):
        first = weight[:d_rotary]
        part = t.a_tensor(t.call(first, 1), first.shape, "the first channels alone")
        t.expect((part != first).any(), "no row has moved")
        want = torch.cat([part, weight[d_rotary:]])
        t.close(t.call(weight, 1, d_rotary=d_rotary), want, note=f"d_rotary={d_rotary}")
    weight, n_heads = t.randn(30, 4), t.integer(2, 3)
    weight = weight[: 10 * n_heads]
    alone = [t.call(w, 1, d_rotary=6) for w in weight.split(10)]
    t.close(t.call(weight, n_heads, d_rotary=6), torch.cat(alone), note=f"{n_heads} heads")


@exercise.prop(1, "Is it from half-split to interleaved, or the other way round?")
def same_scores(t: Trial) -> None:
    """scores come out as they did before, with the other rotation"""
    x, n_heads = t.randn(5, 12), 2
    angles = rotary_angles(t.integers(1, 60, 5), 6)
    scores = []
    weights = t.randn(12, 12), t.randn(12, 12)
    converted = [t.a_tensor(t.call(w, n_heads), w.shape) for w in weights]
    layouts: tuple[Layout, Layout] = ("half_split", "interleaved")
    for parts, layout in zip((weights, converted), layouts, strict=True):
        q, k = ((x @ w.T).view(5, n_heads, 6).transpose(0, 1) for w in parts)
        scores.append(rotate(q, angles, layout) @ rotate(k, angles, layout).mT)
    t.close(scores[1], scores[0], "a table of scores")
