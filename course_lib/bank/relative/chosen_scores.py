from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch
from course_lib.positions import TERMS

exercise = Exercise(
    id="relative.chosen_scores",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="18_changes.html#changes-terms",
    example=lambda t: (
        t.randn(5, 8),
        t.randn(5, 8),
        t.randn(8, 4) / 3,
        t.randn(8, 4) / 3,
        ["tp", "pp"],
    ),
    outcomes=("relative.terms",),
)


def _parts(t: Trial, T: int = 5, d_model: int = 8, d_head: int = 4) -> tuple[Tensor, ...]:
    scale = d_model**-0.5
    x, p = t.randn(T, d_model), t.randn(T, d_model)
    return x, p, scale * t.randn(d_model, d_head), scale * t.randn(d_model, d_head)


@exercise.prop(1.5, "The first letter says what is the query, the second what is the key.")
def one_term(t: Trial) -> None:
    """each term by itself"""
    for term in TERMS:
        t.same(*_parts(t), [term], note=f"terms [{term!r}]")


@exercise.prop(1, "By how much does the variance grow when independent terms are added? Undo that.")
def several_terms(t: Trial) -> None:
    """several terms, scaled to the variance of a single term"""
    for terms in (["tt", "pp"], ["pt", "tp"], ["tt", "tp", "pt"]):
        t.same(*_parts(t), terms, note=f"terms {terms}")


@exercise.prop(0.5, "Multiply out (x + p) W (x + p): nothing is left over. What is the root of 4?")
def all_terms(t: Trial) -> None:
    """without `terms` all four: half the scores of tokens with positions added"""
    x, p, w_q, w_k = _parts(t)
    got = t.same(x, p, w_q, w_k)
    added = ((x + p) @ w_q) @ ((x + p) @ w_k).mT / math.sqrt(w_q.shape[-1])
    t.close(got, added / 2, "the sum of all four terms")


@exercise.prop(0.5, "Count the terms. Which width belongs under the root beside that number?")
def variance(t: Trial) -> None:
    """the variance of the scores is 1, however many terms there are"""
    w = torch.eye(64)
    for terms in (["tp"], ["tp", "pt"], list(TERMS)):
        x, p = t.randn(2, 300, 64)
        off = ~torch.eye(300, dtype=torch.bool)
        got = t.a_tensor(t.call(x, p, w, w, terms), (300, 300))
        spread = float(got[off].var())
        t.expect(0.8 < spread < 1.25, f"terms {terms}: the variance is {spread:.2f}, expected 1")


@exercise.prop(
    0.5,
    "`x` may have axes that `p` lacks. Which product makes them meet? And a score with no token"
    " in it: does it differ from sentence to sentence?",
)
def shapes(t: Trial) -> None:
    """batches of sentences that share their positions, and heads of any width"""
    # Against the answer's own scores of each sentence alone.
    x, p, w_q, w_k = _parts(t, t.integer(3, 6), 6, 10)
    T, batch = len(x), t.randn(2, len(x), 6)
    scores = t.a_tensor(t.call(batch, p, w_q, w_k, ["tt", "tp", "pp"]), (2, T, T))
    t.expect((scores[0] != scores[1]).any(), "two sentences have the same scores")
    for row in (0, 1):
        alone = t.call(batch[row], p, w_q, w_k, ["tt", "tp", "pp"])
        t.close(alone, scores[row], f"sentence {row} alone")
    t.a_tensor(t.call(batch, p, w_q, w_k, ["pp"]), (T, T), "the scores of positions alone")


@exercise.prop(
    0.5, "Add up tensors; a score that is written into a new tensor by numbers has no gradient."
)
def gradients(t: Trial) -> None:
    """gradients reach tokens, positions and both maps"""
    t.gradient(*(part.double() for part in _parts(t, 3, 4, 2)), ["tp", "pt", "pp"])


@exercise.prop(
    0.5, "`scores += term` changes the first term in place. Is that one of the arguments?"
)
def no_side_effect(t: Trial) -> None:
    """what is handed in is left as it was"""
    t.unchanged(*_parts(t), ["tt", "pt"])
