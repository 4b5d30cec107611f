from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="reading.alignment_scores",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="10_bugs.html#reading-alignment",
    outcomes=("reading.alignment",),
    returns=("precision", "recall", "error rate"),
    example=lambda t: _links(t),
)


def _links(t: Trial, T: int = 6, S: int = 7, nested: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Links of two sentences in which all three numbers differ, and so do all wrong ways to them.

    Of ten cells, drawn again in each sentence, the first hold links that are drawn, sure and
    possible in every combination, each another number of times.
    """
    predicted, sure, possible = (torch.zeros(2, T, S, dtype=torch.bool) for _ in range(3))
    #       drawn, sure, possible: how many in the first sentence and in the second
    kinds = {
        (1, 1, 1): (6, 1),
        (1, 0, 1): (3, 1),
        (1, 0, 0): (1, 3),
        (0, 1, 1): (2, 3),
        (0, 0, 1): (4, 2),
    }
    for b in range(2):
        cells = t.permutation(T * S).tolist()
        for (drawn, is_sure, is_possible), counts in kinds.items():
            for _ in range(counts[b]):
                cell = cells.pop()
                place = b, cell // S, cell % S
                predicted[place] = bool(drawn)
                sure[place] = bool(is_sure)
                possible[place] = bool(is_possible) and (nested or not is_sure)
    return predicted, sure, possible


def _three(t: Trial, *args: Tensor, note: str = "", only: int | None = None) -> None:
    got = t.values(t.call(*args))
    want = t.want(*args)
    for n, name in enumerate(exercise.returns):
        if only in (None, n):
            t.close(got[n], want[n], name, note=note)


@exercise.prop(1, "A link that is possible, but not sure, has been drawn. Is that an error?")
def precision(t: Trial) -> None:
    """precision: which share of the links drawn is at least possible"""
    # One sentence: that links of all sentences are counted together is asked of the others.
    _three(t, *(links[:1] for links in _links(t)), only=0)


@exercise.prop(1, "A link that is possible, but not sure, has not been drawn. Is that an error?")
def recall(t: Trial) -> None:
    """recall: which share of the sure links has been drawn"""
    _three(t, *_links(t), only=1)


@exercise.prop(1.25, "Four counts. Which two are below the line?")
def rate(t: Trial) -> None:
    """the error rate 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)"""
    _three(t, *_links(t), only=2)
    _three(t, *_links(t, T=9, S=5), only=2)
    _, sure, possible = _links(t)
    _three(t, sure.roll(1, -1), sure, possible, only=2, note="as many links drawn as are sure")


@exercise.prop(
    0.75, "Some corpora write P for S and P together, some for those that are only possible."
)
def nested(t: Trial) -> None:
    """sure links are possible, too, whether or not they were marked twice"""
    predicted, sure, possible = _links(t, nested=False)
    marked = (possible, possible | sure)
    got, both = (t.values(t.call(predicted, sure, links)) for links in marked)
    for n, name in enumerate(exercise.returns):
        value = both[n].item() if isinstance(both[n], Tensor) else both[n]
        t.expect(0 < value < 1, f"{name} is {value}, expected a share between 0 and 1")
        t.close(got[n], float(value), name, note="sure links marked once, against twice")


@exercise.prop(1, "Of no links drawn, none is wrong; of no sure ones, none is missing.")
def nothing(t: Trial) -> None:
    """nothing drawn: precision 1; nothing sure: recall 1; neither: error rate 0"""
    predicted, sure, possible = _links(t)
    none = torch.zeros_like(sure)
    t.usual(predicted, sure, possible)
    _three(t, none, sure, possible, note="nothing drawn")
    _three(t, predicted, none, none, note="nothing sure or possible")
    _three(t, predicted, none, possible, note="nothing sure")
    _three(t, none, none, possible, note="neither")
