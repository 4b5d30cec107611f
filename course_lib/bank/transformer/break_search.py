from collections.abc import Callable

from course_lib.bank.inputs import counterexample, numbers
from course_lib.bank.prelude import Tensor, Trial, Wrong

LEAD = 0.01


def likeliest(first, then):
    """Two words whose product of probabilities is largest. This one tries all pairs."""
    return divmod(int((first[:, None] * then).argmax()), len(first))


def greedy(first, then):
    """The likeliest first word, and the word that is likeliest after it."""
    word = int(first.argmax())
    return word, int(then[word].argmax())


def beam_of_two(first, then):
    """The better of two sentences that begin with the two likeliest first words."""
    pairs = [(word, int(then[word].argmax())) for word in first.topk(2).indices.tolist()]
    return max(pairs, key=lambda pair: float(first[pair[0]] * then[pair]))


def _chances(t: Trial) -> tuple[Tensor, Tensor]:
    first, then = t.values(t.call())
    first, then = numbers(first, 1, "first"), numbers(then, 2, "then")
    V = len(first)
    if V < 2 or then.shape != (V, V):
        raise Wrong(f"first is ({V},) and then {tuple(then.shape)}, not (V,) and (V, V), V > 1")
    for what, rows in (("first", first[None]), ("a row of then", then)):
        if (rows < 0).any():
            raise Wrong(f"{what} has a negative probability")
        if ((rows.sum(-1) - 1).abs() > 1e-3).any():
            raise Wrong(f"{what} doesn't sum to 1")
    return first, then


def _misses(t: Trial, *searches: Callable[..., tuple[int, int]], most: int | None = None) -> None:
    first, then = _chances(t)
    both = first[:, None] * then
    for search in searches:
        found = float(both[search(first, then)])
        lead = float(both.max()) - found
        said = f"`{search.__name__}` finds a sentence of {found:.4g}, the likeliest has"
        t.expect(lead >= LEAD, f"{said} {found + lead:.4g}")
    size = first.numel() + then.numel()
    t.expect(most is None or size <= most, f"there are {size} probabilities")


exercise = counterexample(
    "transformer.break_search",
    _misses,
    given=(likeliest, greedy, beam_of_two),
    returns=("first", "then"),
    minutes=15,
    difficulty=2,
    chapter="09_decoding.html#transformer-beam",
    outcome="transformer.decode",
    apart={
        "greedy misses": (
            "`greedy` misses the likeliest sentence by 0.01 or more",
            "After which first word is one word nearly certain, and after which is everything"
            " open?",
        ),
        "beam misses": (
            "`beam_of_two` misses it, too",
            "Which first words does it keep? The likeliest sentence must begin with none of them.",
        ),
    },
    unit="probabilities",
    within={
        "small": (20, "A vocabulary of V words has V + V² probabilities."),
        "smallest": (12, "How many first words must there be so that a beam of two drops one?"),
    },
)
