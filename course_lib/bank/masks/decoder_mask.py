from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="masks.decoder_mask",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="05_masks.html#masks-padding",
    outcomes=("masks.build",),
    example=lambda t: (torch.tensor([4, 2, 3]), 4, 4),
    severe={"either_allows": "padding and future are both shown, so that no table is right"},
)


@exercise.prop(0.5, "Which axes must have size 1, so that heads and sentences fall into place?")
def axes(t: Trial) -> None:
    """without padding: the causal mask, once for each sentence, as booleans (B, 1, T, S)"""
    B, T = t.integer(2, 3), t.integer(4, 6)
    t.same(torch.full((B,), T), T, T, exact=True)


@exercise.prop(
    1.5,
    "Take three sentences of three tokens: which tables does an axis in the wrong place mix? And"
    " what if no sentence fills all S places?",
)
def padded_right(t: Trial) -> None:
    """padding on the right is hidden from every query of its sentence, and from no other"""
    # As many sentences as positions: axes in the wrong place go unnoticed by broadcasting.
    t.same(torch.tensor([5, t.integer(1, 2), t.integer(3, 4), 1, 2]), 5, 5)
    t.same(torch.tensor([t.integer(2, 4), 6]), 6, 6)
    for lengths in (torch.tensor([t.integer(1, 2), 3]), torch.tensor([4, 2])):
        t.same(lengths, 5, 5, note="no sentence of full length")


@exercise.prop(1.5, 'The causal half stays as it is. Which positions are real if side="left"?')
def padded_left(t: Trial) -> None:
    """padding on the left, where the queries on the padding see nothing"""
    t.same(torch.tensor([5, t.integer(1, 2), t.integer(3, 4), 1, 2]), 5, 5, "left")
    t.same(torch.tensor([t.integer(2, 4), 6]), 6, 6, "left")
    lengths = torch.tensor([t.integer(1, 2), 3])
    t.same(lengths, 5, 5, "left", note="no sentence of full length")
    t.unchanged(lengths, 5, 5, "left")


@exercise.prop(1, "Lengths count positions of the whole sequence, cached ones too.")
def cached(t: Trial) -> None:
    """T new queries after S - T cached keys, with padding on either side"""
    T, S = t.integer(2, 3), t.integer(6, 8)
    full = torch.full((2,), S)
    lengths = torch.tensor([S, S - 1, T + 1])
    for side in ("right", "left"):
        t.same(full, T, S, side, note="no padding")
        # With padding, against the answer's own mask of all queries.
        whole = t.a_tensor(t.call(lengths, S, S, side), (3, 1, S, S), "the mask of all queries")
        got = t.call(lengths, T, S, side)
        t.close(got, whole[:, :, S - T :], f"the mask of the last {T} queries", note=side)


@exercise.prop(
    0.5, "Such rows are the business of the softmax: the mask only tells the truth about them."
)
def empty(t: Trial) -> None:
    """a sentence of length 0 sees nothing at all"""
    n = t.integer(3, 5)
    for side in ("right", "left"):
        mask = t.a_mask(t.call(torch.tensor([0, n, 2]), n, n, side), (3, 1, n, n))
        t.expect(not mask[0].any(), f"{side}: the empty sentence sees something")
        t.expect(mask[1].any(), f"{side}: the full one sees nothing")
        alone = t.a_mask(t.call(torch.tensor([n, 2]), n, n, side), (2, 1, n, n))
        t.close(mask[1:], alone, "the mask of the others", note=f"{side}, compared to without it")
