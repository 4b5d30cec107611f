from course_lib.bank.prelude import Exercise, Tensor, Trial, torch


def _curve(t: Trial, *lengths: int) -> tuple[Tensor, Tensor]:
    """Shares that fall with the length, as from words that get harder."""
    n = torch.tensor(lengths)
    words = 0.99 - 0.01 * n - 0.01 * torch.rand(len(lengths), generator=t.generator)
    return words ** (n + 1), n


exercise = Exercise(
    id="seq2seq.two_effects",
    points=3,
    minutes=15,
    difficulty=2,
    chapter="01_bottleneck.html#seq2seq-bottleneck",
    outcomes=("seq2seq.errors",),
    returns=("right words", "whole sentences, if no word became harder"),
    example=lambda t: (torch.tensor([0.9, 0.6, 0.2]), torch.tensor([3, 6, 9])),
)


@exercise.prop(
    1,
    "Turn it round: each of three words is right with probability 0.9. How often are all of them"
    " right? And is a word the last thing that has to be right?",
)
def words(t: Trial) -> None:
    """how often a single word must have been right at each length"""
    args = _curve(t, 3, 6, 9, t.integer(10, 16))
    got, _ = t.parts(t.call(*args))
    t.close(got, exercise.reference(*args)[0], "right words")


@exercise.prop(
    1, "At the shortest length nothing can have become harder. What do more words alone do?"
)
def if_no_harder(t: Trial) -> None:
    """the share of whole sentences, had every word stayed as easy as in the shortest ones"""
    args = _curve(t, t.integer(2, 3), 5, 8, t.integer(10, 16))
    _, got = t.parts(t.call(*args))
    t.close(got, exercise.reference(*args)[1], "whole sentences")


@exercise.prop(0.5, "Which row is the shortest? There the second result is what was measured.")
def any_order(t: Trial) -> None:
    """lengths in any order, and words that are not always harder in longer sentences"""
    exact, lengths = _curve(t, 8, t.integer(9, 14), 3, 5)
    easiest = torch.tensor([0.7, t.integer(88, 95) / 100, 0.75]) ** torch.tensor([10, 7, 4])
    for args in ((exact, lengths), (easiest, torch.tensor([9, 6, 3]))):
        got = t.parts(t.call(*args))
        order = args[1].argsort()
        in_order = t.parts(t.call(*(a[order] for a in args)))
        for here, there, what in zip(got, in_order, exercise.returns, strict=True):
            t.expect(here.shape == args[1].shape, f"{what}: one number for each length is needed")
            t.close(here[order], there, what, note="in the order of the lengths")
        t.close(got[1][order[0]], args[0][order[0]], "the share at the shortest length")


@exercise.prop(
    0.5, "If no sentence at all is right, how often is a word right, as far as one can tell?"
)
def ends(t: Trial) -> None:
    """shares of 0 and of 1"""
    lengths = torch.tensor([3, t.integer(5, 9), 12])
    t.same(torch.tensor([1.0, 0.0, 0.0]), lengths, note="from 1 down to 0")
    t.same(torch.tensor([0.0, 0.0, 0.0]), lengths, note="nothing right")
