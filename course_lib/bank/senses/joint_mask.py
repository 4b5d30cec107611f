"""Exercise ``senses.joint_mask``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(image: Tensor) -> Tensor:
    """Causal, but pictures whole, and padding outside of everything."""
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & real[:, :, None] & real[:, None]


def row(*runs: tuple[int, int]) -> Tensor:
    """A text (1, T) from runs of a kind and a length."""
    kinds = [kind for kind, length in runs for _ in range(length)]
    return torch.tensor([kinds])


exercise = Exercise(
    id="senses.joint_mask",
    function="joint_mask",
    reference=reference,
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


@exercise.prop(
    "words see themselves and what stands before, pictures included",
    points=1,
    hint="A word after a picture sees all of it. A word before it?",
)
def words(t: Trial) -> None:
    n = t.integer(2, 3)
    for image in (
        row((0, n + 3)),
        row((0, n), (1, 3), (0, n)),
        row((0, n), (1, 2), (2, 2), (0, 1)),
    ):
        rows(t, image, image[0] == 0, image[0] >= 0, "rows of the words")


@exercise.prop(
    "patches see their whole picture, and the words before it",
    points=1,
    hint="Print the rows of a picture's patches: all alike, up to its last patch.",
)
def patches(t: Trial) -> None:
    for image in (
        row((1, t.integer(3, 5)), (0, 2)),
        row((0, t.integer(1, 3)), (1, t.integer(2, 5))),
        row((0, 2), (4, 3), (0, 2)),
    ):
        rows(t, image, image[0] > 0, image[0] >= 0, "rows of the patches")


@exercise.prop(
    "a picture sees earlier pictures, and no later one",
    points=1,
    hint="Put two pictures directly behind each other. May the first see the second?",
)
def pictures(t: Trial) -> None:
    far = t.integer(200, 900)
    for first, second in ((1, 2), (9, 10), (far, far + 1)):
        a, b = t.integer(2, 4), t.integer(2, 4)
        image = row((first, a), (second, b), (0, 1))
        for looks, seen in ((first, second), (second, first)):
            note = f"picture {looks} looks at picture {seen}"
            rows(t, image, image[0] == looks, image[0] == seen, note)


@exercise.prop(
    "padding neither sees nor is seen, on either side",
    points=1,
    hint="Print the row and the column of a padding token: all False, its diagonal too.",
)
def padding(t: Trial) -> None:
    n = t.integer(2, 4)
    for image in (row((0, 2), (1, 3), (0, 2), (-1, n)), row((-1, n), (0, 2), (1, 3), (0, 1))):
        every = torch.ones_like(image[0], dtype=torch.bool)
        rows(t, image, image[0] < 0, every, "rows of the padding")
        rows(t, image, every, image[0] < 0, "columns of the padding")
        real = image[0] >= 0
        seen = t.call(image)[0][real][:, real]
        t.expect(bool(seen.diagonal().all()), "real tokens do not see themselves")


@exercise.prop(
    "each text of a batch has a mask of its own",
    points=1,
    hint="Build the mask of the second text alone and compare.",
)
def batch(t: Trial) -> None:
    n = t.integer(1, 3)
    one = row((0, 2), (1, 3), (0, n), (2, 2))
    other = row((1, 2), (0, n), (2, 4), (-1, 1))
    T = one.shape[1]
    got = t.a_tensor(t.call(torch.cat([one, other])), (2, T, T))
    for i, alone in enumerate((one, other)):
        t.close(got[i : i + 1], t.call(alone), f"the mask of text {i} in a batch")
    t.expect(not got[0].equal(got[1]), "two different texts have one mask")


@exercise.mistake("Which patches does the first patch of a picture see in your mask?")
def plain_causal(image):
    """A sequence is a sequence: everything in it is causal."""
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return causal & real[:, :, None] & real[:, None]


@exercise.mistake(
    "A caption is written word by word. What does its first word see of the picture behind it?"
)
def pictures_are_always_seen(image):
    """Pictures are there from the beginning, so every token may see them."""
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | (image > 0)[:, None]) & real[:, :, None] & real[:, None]


@exercise.mistake("Two pictures, one behind the other: does the first one know the second?")
def patches_see_all_patches(image):
    """Patches see patches, words see what was before."""
    real, patch = image >= 0, image > 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | (patch[:, :, None] & patch[:, None])) & real[:, :, None] & real[:, None]


@exercise.mistake("Equal numbers mean the same picture. All equal numbers?")
def words_are_a_picture(image):
    """Tokens with the same number see each other."""
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    same = image[:, :, None] == image[:, None]
    return (causal | same) & real[:, :, None] & real[:, None]


@exercise.mistake("May a patch hear what was said before its picture came?")
def pictures_keep_to_themselves(image):
    """A picture sees itself and nothing else."""
    real, patch = image >= 0, image > 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    same = image[:, :, None] == image[:, None]
    mask = torch.where(patch[:, :, None], same, causal)
    return mask & real[:, :, None] & real[:, None]


@exercise.mistake("Look at the row of a padding token: what does it attend to?")
def padding_looks(image):
    """It is enough that the padding is not seen."""
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & (image >= 0)[:, None]


@exercise.mistake("With padding in front, what do the words behind it see?")
def padding_is_behind(image):
    """Padding stands at the end, where the causal mask hides it."""
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & (image >= 0)[:, :, None]


@exercise.mistake("Put pictures 9 and 10 side by side. May the first see the second?")
def pictures_up_to_nine(image):
    """There are fewer than ten pictures."""
    image = image.clamp(max=9)
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & real[:, :, None] & real[:, None]


@exercise.alternative
def up_to_the_end(image):
    """Finds for each token the last place it sees: its own, or the end of its picture."""
    n = image.shape[1]
    places = torch.arange(n)
    last = torch.zeros_like(image)
    for b in range(len(image)):
        for i in range(n):
            mine = places[image[b] == image[b, i]]
            last[b, i] = mine.max() if image[b, i] > 0 else i
    mask = places <= last[:, :, None]
    mask[image < 0] = False
    return mask & (image >= 0).unsqueeze(1)


@exercise.alternative
def question_by_question(image):
    """Asks of every pair of tokens; warns."""
    import warnings

    warnings.warn("pairs", stacklevel=1)
    texts = []
    for numbers in image.tolist():
        texts.append(
            [
                [
                    looks >= 0 and seen >= 0 and (j <= i or (looks == seen and looks > 0))
                    for j, seen in enumerate(numbers)
                ]
                for i, looks in enumerate(numbers)
            ]
        )
    return torch.tensor(texts)
