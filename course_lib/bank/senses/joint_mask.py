from course_lib.bank.prelude import Exercise, Tensor, Trial, torch


def row(*runs: tuple[int, int]) -> Tensor:
    """A text (1, T) from runs of a kind and a length."""
    kinds = [kind for kind, length in runs for _ in range(length)]
    return torch.tensor([kinds])


exercise = Exercise(
    id="senses.joint_mask",
    points=5,
    minutes=25,
    difficulty=2,
    chapter="19_looking.html#senses-sequence",
    outcomes=("senses.sequence",),
    example=lambda t: (row((0, 2), (1, 3), (0, 2)),),
)


def rows(t: Trial, image: Tensor, looks: Tensor, seen: Tensor, note: str) -> None:
    """Compare the part of a mask in which some tokens (T,) look at some others (T,)."""
    T = image.shape[1]
    got, want = t.call(image), t.want(image)
    got = t.a_mask(got, (1, T, T))
    part = [mask[0, looks][:, seen] for mask in (got, want)]
    kinds = image[0].tolist()
    t.close(part[0], part[1], f"who sees whom in {kinds}" if T < 15 else "who sees whom", note=note)


@exercise.prop(1, "A word after an image sees all of it. A word before it?")
def words(t: Trial) -> None:
    """words see themselves and what comes before, images included"""
    n = t.integer(2, 9)
    for image in (
        row((0, n + 3)),
        row((0, n), (1, 3), (0, n)),
        row((0, n), (1, 2), (2, 2), (0, 1)),
    ):
        rows(t, image, image[0] == 0, image[0] >= 0, "rows of the words")


@exercise.prop(1, "Print the rows of an image's patches: are they all alike?")
def patches(t: Trial) -> None:
    """patches see their whole image, and the words before it"""
    for image in (
        row((1, t.integer(3, 9)), (0, 2)),
        row((0, t.integer(1, 5)), (1, t.integer(2, 9))),
        row((0, t.integer(2, 5)), (4, 3), (0, 2)),
    ):
        rows(t, image, image[0] > 0, image[0] >= 0, "rows of the patches")


@exercise.prop(1, "Put two images directly after each other. May the first see the second?")
def pictures(t: Trial) -> None:
    """an image sees earlier images, and no later one"""
    far = t.integer(200, 900)
    for first, second in ((1, 2), (9, 10), (far, far + 1)):
        a, b = t.integer(2, 6), t.integer(2, 6)
        image = row((first, a), (second, b), (0, 1))
        for looks, seen in ((first, second), (second, first)):
            note = f"image {looks} looks at image {seen}"
            rows(t, image, image[0] == looks, image[0] == seen, note)


@exercise.prop(1, "Print the row and the column of a padding token: all False, its diagonal too.")
def padding(t: Trial) -> None:
    """padding neither sees nor is seen, on either side"""
    n = t.integer(2, 9)
    for image in (row((0, 2), (1, 3), (0, 2), (-1, n)), row((-1, n), (0, 2), (1, 3), (0, 1))):
        every = torch.ones_like(image[0], dtype=torch.bool)
        rows(t, image, image[0] < 0, every, "rows of the padding")
        rows(t, image, every, image[0] < 0, "columns of the padding")
        real = image[0] >= 0
        seen = t.call(image)[0][real][:, real]
        t.expect(bool(seen.diagonal().all()), "real tokens do not see themselves")


@exercise.prop(1, "Build the mask of the second text alone and compare.")
def batch(t: Trial) -> None:
    """each text of a batch has a mask of its own"""
    n = t.integer(1, 9)
    one = row((0, 2), (1, 3), (0, n), (2, 2))
    other = row((1, 2), (0, n), (2, 4), (-1, 1))
    T = one.shape[1]
    got = t.a_tensor(t.call(torch.cat([one, other])), (2, T, T))
    for i, alone in enumerate((one, other)):
        t.close(got[i : i + 1], t.call(alone), f"the mask of text {i} in a batch")
    t.expect(not got[0].equal(got[1]), "two different texts have one mask")
