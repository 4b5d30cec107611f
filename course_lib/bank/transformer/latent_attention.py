from typing import Any

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from grader.checks.protocol import Fixture

exercise = Exercise(
    id="transformer.latent_attention",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="09_sharing.html#transformer-latent",
    outcomes=("transformer.cache",),
    example=lambda t: drawn(t, 2, 2, 3),
    forbidden=("attention",),
)


def drawn(
    t: Trial,
    H: int,
    T: int,
    S: int,
    Dh: int = 4,
    R: int = 2,
    C: int = 3,
    Dv: int = 5,
    B: int = 2,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Queries, their turned channels, latents, turned keys and the matrices of H heads."""
    shapes = (B, H, T, Dh), (B, H, T, R), (B, S, C), (B, S, R), (H, Dh, C), (H, Dv, C)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


def still(given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The same without turned channels: all of them are 0."""
    q, turned_q, latents, turned_k, *matrices = given
    return q, 0 * turned_q, latents, 0 * turned_k, *matrices


@exercise.prop(
    1, "With one head: a key is U_k c. Write the score with it, and then move the brackets."
)
def one_head(t: Trial) -> None:
    """one head, one new token, turned channels of 0: scores and values come from the latents"""
    for C in (3, 6):
        t.same(*still(drawn(t, 1, 1, t.integer(3, 6), C=C)), note=f"latents of width {C}")


@exercise.prop(1, "Head 1 has matrices of its own. Where is each of them in your product?")
def several_heads(t: Trial) -> None:
    """each head makes keys and values of its own from the same latents"""
    for H in (2, t.integer(3, 5)):
        t.same(*still(drawn(t, H, 1, t.integer(3, 6))), note=f"{H} heads, one new token")


@exercise.prop(
    0.5,
    "Each head has turned channels in its query, and all heads share one turned key. Are the two"
    " scores added before the softmax or after it, and by which width are they divided?",
)
def turned_channels(t: Trial) -> None:
    """the score of the turned channels counts, too; both widths together set the scale"""
    for R in (2, 6):
        t.same(*drawn(t, 3, 1, t.integer(3, 6), R=R), note=f"{R} turned channels")
    t.same(*(30 * x for x in drawn(t, 2, 1, 5)), note="large scores")


@exercise.prop(
    1, "The first of T new tokens comes after S - T others: how many latents may it see?"
)
def no_future(t: Trial) -> None:
    """several new tokens, the last of the text: none looks at those that come after it"""
    for H, T, S in ((1, 3, 3), (3, 2, t.integer(4, 6))):
        q, turned_q, latents, turned_k, *matrices = given = drawn(t, H, T, S)
        before = t.a_tensor(t.call(*given), (2, H, T, 5))
        last = (torch.arange(S) == S - 1)[:, None]
        others = (torch.where(last, 3 * x + 1, x) for x in (latents, turned_k))
        new_latents, new_turned = others
        after = t.call(q, turned_q, new_latents, new_turned, *matrices)
        note = f"{H} heads, {T} new of {S} tokens, the last one changed"
        t.close(after[:, :, :-1], before[:, :, :-1], "the output of those before it", note=note)
        t.expect((after[:, :, -1] != before[:, :, -1]).any(), "the last output has not changed")
        t.same(*given, note=f"{H} heads, {T} new of {S} tokens")
        for size in (1e8, -1e8):
            t.same(size * q, size * turned_q, *given[2:], note=f"queries times {size:g}")


@exercise.prop(
    0.5, "Does anything in your function cut the graph, or write into what it was given?"
)
def gradients(t: Trial) -> None:
    """gradients reach everything that is given; nothing is changed in place"""
    t.gradient(*drawn(t, 2, 2, 3, 2, 2, 2, 2, 1, torch.float64))
    t.unchanged(*drawn(t, 3, 2, 3))


@exercise.prop(
    1,
    "Which is cheaper to carry over: one query per head, or a key for each head and each of 8,000"
    " tokens? Must values be made before they are summed?",
)
def no_keys(t: Trial) -> None:
    """64 heads over 8,000 latents make no key and no value of width 128"""
    H, S = 64, 8_000
    shapes = [1, H, 1, 128], [1, H, 1, 16], [1, S, 8], [1, S, 16], [H, 128, 8], [H, 128, 8]
    # In double precision: large scores make single precision's rounding count.
    large: list[dict[str, Any]] = [
        {"shape": shape, "seed": t.integer(0, 10**6), "dtype": "float64"} for shape in shapes
    ]
    t.size_probe(
        *(Fixture("normal", given) for given in large),
        keep=t.slices((1, 1), (H, 4)),
        memory=200,  # keys and values of all heads: 1,000 MiB; the latents for each: 31 MiB
        cpu=10,
        why="the latents take half a MiB",
    )
