"""Exercise ``relative.chosen_scores``."""

import math
from collections.abc import Collection

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions import TERMS, four_terms
from course_lib.positions.terms.decomposition import term_scale


def reference(
    x: Tensor, p: Tensor, w_q: Tensor, w_k: Tensor, terms: Collection[str] = TERMS
) -> Tensor:
    """The chosen terms added up, at the temperature of one."""
    parts = four_terms(x @ w_q, x @ w_k, p @ w_q, p @ w_k)
    total = sum((parts[term] for term in terms), torch.zeros(()).to(x))
    return total * term_scale(w_q.shape[-1], terms, rescale=True)


exercise = Exercise(
    id="relative.chosen_scores",
    function="chosen_scores",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="08_extension.html#relative-terms",
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


@exercise.prop(
    "each term by itself",
    points=1.5,
    hint="The first letter says what is the query, the second what is the key.",
)
def one_term(t: Trial) -> None:
    for term in TERMS:
        t.same(*_parts(t), [term], note=f"terms [{term!r}]")


@exercise.prop(
    "several terms, at the temperature of one",
    points=1,
    hint="By how much does the variance grow when independent terms are added? Undo that.",
)
def several_terms(t: Trial) -> None:
    for terms in (["tt", "pp"], ["pt", "tp"], ["tt", "tp", "pt"]):
        t.same(*_parts(t), terms, note=f"terms {terms}")


@exercise.prop(
    "without `terms` all four: half the scores of tokens with positions added",
    points=0.5,
    hint="Multiply out (x + p) W (x + p): nothing is left over. What is the root of 4?",
)
def all_terms(t: Trial) -> None:
    x, p, w_q, w_k = _parts(t)
    got = t.same(x, p, w_q, w_k)
    added = ((x + p) @ w_q) @ ((x + p) @ w_k).mT / math.sqrt(w_q.shape[-1])
    t.close(got, added / 2, "the sum of all four terms")


@exercise.prop(
    "the variance of the scores is 1, however many terms there are",
    points=0.5,
    hint="Count the terms. Which width belongs under the root beside that number?",
)
def variance(t: Trial) -> None:
    w = torch.eye(64)
    for terms in (["tp"], ["tp", "pt"], list(TERMS)):
        x, p = t.randn(2, 300, 64)
        off = ~torch.eye(300, dtype=torch.bool)
        got = t.a_tensor(t.call(x, p, w, w, terms), (300, 300))
        spread = float(got[off].var())
        t.expect(0.8 < spread < 1.25, f"terms {terms}: the variance is {spread:.2f}, wanted 1")


@exercise.prop(
    "batches of sentences that share their positions, and heads of any width",
    points=0.5,
    hint="`x` may have axes that `p` has not. Which product makes them meet? And a score with no"
    " token in it: does it differ from sentence to sentence?",
)
def shapes(t: Trial) -> None:
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
    "gradients reach tokens, positions and both maps",
    points=0.5,
    hint="Add up tensors; a score that is written into a new tensor by numbers has no gradient.",
)
def gradients(t: Trial) -> None:
    t.gradient(*(part.double() for part in _parts(t, 3, 4, 2)), ["tp", "pt", "pp"])


@exercise.prop(
    "what is handed in is left as it was",
    points=0.5,
    hint="`scores += term` changes the first term in place. Is that one of the arguments?",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(*_parts(t), ["tt", "pt"])


@exercise.mistake("Two terms instead of one: by how much has the variance grown?")
def width_alone(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """Dividing by the root of the width is right for any number of terms."""
    queries, keys = {"t": x @ w_q, "p": p @ w_q}, {"t": x @ w_k, "p": p @ w_k}
    total = sum(queries[a] @ keys[b].mT for a, b in terms)
    return total / math.sqrt(w_q.shape[-1])


@exercise.mistake("Four independent terms: is their sum four times as large, or twice?")
def mean_of_the_terms(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """n terms make scores n times as large."""
    queries, keys = {"t": x @ w_q, "p": p @ w_q}, {"t": x @ w_k, "p": p @ w_k}
    total = sum(queries[a] @ keys[b].mT for a, b in terms)
    return total / (len(terms) * math.sqrt(w_q.shape[-1]))


@exercise.mistake("How many numbers are added up in one product: the model's width, or the head's?")
def width_of_the_model(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """The width under the root is that of the tokens."""
    queries, keys = {"t": x @ w_q, "p": p @ w_q}, {"t": x @ w_k, "p": p @ w_k}
    total = sum(queries[a] @ keys[b].mT for a, b in terms)
    return total / math.sqrt(len(terms) * x.shape[-1])


@exercise.mistake("In 'tp', who is the query: the token or the position?")
def key_first(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """The first letter of a term is the key."""
    queries, keys = {"t": x @ w_q, "p": p @ w_q}, {"t": x @ w_k, "p": p @ w_k}
    total = sum(queries[b] @ keys[a].mT for a, b in terms)
    return total / math.sqrt(len(terms) * w_q.shape[-1])


@exercise.mistake("There are four terms in the model. How many of them are in this score?")
def always_four(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """The temperature is that of the whole model, whatever is left out."""
    queries, keys = {"t": x @ w_q, "p": p @ w_q}, {"t": x @ w_k, "p": p @ w_k}
    total = sum(queries[a] @ keys[b].mT for a, b in terms)
    return total / math.sqrt(4 * w_q.shape[-1])


@exercise.mistake("Choose 'tp' alone. Is there still a position in the query of your score?")
def adds_before(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """A letter that occurs in any term is added to all queries, or all keys."""
    q = sum({"t": x @ w_q, "p": p @ w_q}[a] for a in sorted({a for a, _ in terms}))
    k = sum({"t": x @ w_k, "p": p @ w_k}[b] for b in sorted({b for _, b in terms}))
    return q @ k.mT / math.sqrt(len(terms) * w_q.shape[-1])


@exercise.mistake("Which map makes a query of something, and which a key? Does the letter matter?")
def a_map_for_tokens(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """One map is for tokens, the other for positions."""
    made = {"t": x @ w_q, "p": p @ w_k}
    total = sum(made[a] @ made[b].mT for a, b in terms)
    return total / math.sqrt(len(terms) * w_q.shape[-1])


@exercise.mistake("Choose 'pp' alone for two sentences. Do they differ in anything?")
def always_a_batch(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """Every sentence has scores of its own, also where no token takes part in them."""
    queries, keys = {"t": x @ w_q, "p": p @ w_q}, {"t": x @ w_k, "p": p @ w_k}
    total = sum(queries[a] @ keys[b].mT for a, b in terms)
    scores = total / math.sqrt(len(terms) * w_q.shape[-1])
    return scores.expand(*x.shape[:-2], *scores.shape[-2:])


@exercise.alternative
def one_map_between(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """Makes one matrix of the two maps, and takes each term from it; warns."""
    import warnings

    warnings.warn("one map", stacklevel=1)
    between = w_q @ w_k.transpose(-2, -1)
    scores = None
    for term in terms:
        left = x if term[0] == "t" else p
        right = x if term[1] == "t" else p
        part = left @ between @ right.transpose(-2, -1)
        scores = part if scores is None else scores + part
    return scores / (len(terms) * w_k.shape[1]) ** 0.5


@exercise.alternative
def side_by_side(x, p, w_q, w_k, terms=("tt", "tp", "pt", "pp")):
    """Puts all queries side by side and all keys, and multiplies once."""
    if not any("t" in term for term in terms):
        x = p
    shape = torch.broadcast_shapes(x.shape, p.shape)
    both = {"t": x.expand(shape), "p": p.expand(shape)}
    q = torch.cat([both[term[0]] @ w_q for term in terms], dim=-1)
    k = torch.cat([both[term[1]] @ w_k for term in terms], dim=-1)
    return q @ k.mT * q.shape[-1] ** -0.5
