from collections.abc import Collection

from course_lib.bank.prelude import Tensor, math, torch
from course_lib.bank.relative.chosen_scores import exercise
from course_lib.positions import TERMS, four_terms
from course_lib.positions.terms.decomposition import term_scale


@exercise.answer
def reference(
    x: Tensor, p: Tensor, w_q: Tensor, w_k: Tensor, terms: Collection[str] = TERMS
) -> Tensor:
    """The chosen terms added up, at the temperature of one."""
    parts = four_terms(x @ w_q, x @ w_k, p @ w_q, p @ w_k)
    total = sum((parts[term] for term in terms), torch.zeros(()).to(x))
    return total * term_scale(w_q.shape[-1], terms, rescale=True)


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


@exercise.mistake("In 'tp', which is the query: the token or the position?")
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
