from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from grader.checks.compare import difference


def fitting(t: Trial, n: int, m: int) -> Tensor:
    """Matches with rows of one match and rows of several, no row or column without."""
    matches = t.keep_mask(n, m, keep=0.3)
    matches |= torch.eye(max(n, m), dtype=torch.bool)[:n, :m]
    matches[0] = True
    matches[1:, 0] = False
    matches[n - 1] = False
    matches[n - 1, m - 1] = True
    matches[0, m - 1] = False
    matches[:, 1] |= ~matches[:, 1:].any(1)
    return matches


exercise = Exercise(
    id="senses.matched_loss",
    points=5,
    minutes=30,
    difficulty=3,
    chapter="19_senses.html#senses-matches",
    outcomes=("senses.matches",),
    example=lambda t: (t.randn(4, 4), torch.eye(4, dtype=torch.bool)),
)


def mirrored(t: Trial, n: int) -> Tensor:
    """Similarities of which rows and columns are one: both ways ask the same."""
    s = 2 * t.randn(n, n)
    return s + s.T


def _repaired(t: Trial) -> None:
    """What is right in the function that was handed out earns nothing by itself."""
    s, matches = t.randn(4, 6), fitting(t, 4, 6)
    same = difference(t.call(s, matches), colleagues_matched_loss(s, matches)) is None
    t.expect(not same, "it is still the colleague's loss")


@exercise.prop(1, "An image with three captions should count as much as one with a single caption.")
def several(t: Trial) -> None:
    """an image with several captions is asked for all of them, in equal shares"""
    n = t.integer(4, 7)
    matches = fitting(t, n, n)
    t.same(mirrored(t, n), matches | matches.T, note="several matches a row")
    t.same(mirrored(t, n), torch.ones(n, n, dtype=torch.bool), note="everything matches")
    t.same(2 * t.randn(n, n + 3), torch.ones(n, n + 3, dtype=torch.bool), note="more captions")


@exercise.prop(
    1, "Transpose both arguments: the loss must not change. Whose softmax runs along which axis?"
)
def both_ways(t: Trial) -> None:
    """captions are asked about images, by a softmax over images"""
    n = t.integer(3, 5)
    s = 2 * t.randn(n, n) + torch.linspace(0, 4, n)[:, None]
    matches = torch.eye(n, dtype=torch.bool)
    one = t.same(s, matches, note="one match each")
    other = t.same(s.T.contiguous(), matches, note="the same, transposed")
    t.close(other, one, "the loss of the transposed batch")


@exercise.prop(
    1, "Over how many rows is your mean? And is the unmatched one still in the others' softmax?"
)
def unmatched(t: Trial) -> None:
    """what matches nothing is not asked, but remains a wrong answer for the others"""
    n = t.integer(5, 7)
    matches = torch.eye(n, dtype=torch.bool)
    matches[n - 1] = False
    t.same(mirrored(t, n), matches, note="one image and one caption match nothing")
    matches[1] = False
    t.same(mirrored(t, n), matches, note="two images and two captions match nothing")


@exercise.prop(0.5, "0 / 0 is NaN. Over how many is your mean then?")
def nothing(t: Trial) -> None:
    """without any match the loss is 0, with one it is that match's"""
    s, none = mirrored(t, 4), torch.zeros(4, 4, dtype=torch.bool)
    t.same(s, none, note="no match")
    t.same(s[:, :3].contiguous(), none[:, :3].contiguous(), note="no match, four by three")
    one = none.clone()
    place = t.integer(0, 3)
    one[place, place] = True
    t.same(s, one, note="a single match")


@exercise.prop(0.5, "exp(100) is too large for float32. What does `log_softmax` do about it?")
def large(t: Trial) -> None:
    """large similarities stay finite"""
    _repaired(t)
    n = t.integer(4, 6)
    t.same(1e4 * mirrored(t, n), torch.eye(n, dtype=torch.bool), note="similarities of 10,000")


@exercise.prop(1, "A NaN in a branch that is not taken still has a gradient.")
def gradients(t: Trial) -> None:
    """gradients are right, where nothing matches as well; nothing is changed in place"""
    _repaired(t)
    matches = fitting(t, 4, 5)
    matches[2] = False
    t.gradient(t.randn(4, 5, dtype=torch.float64), matches)
    t.unchanged(t.randn(4, 5), matches)


def colleagues_matched_loss(similarities, matches):
    """A loss that is right for one match each is right for several and for none."""
    log_p = similarities.log_softmax(dim=1)
    rows = -(log_p * matches).sum() / len(similarities)
    columns = -(log_p.T * matches.T).sum() / len(similarities.T)
    return (rows + columns) / 2
