from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.senses.joint_mask import exercise


@exercise.answer
def reference(image: Tensor) -> Tensor:
    """Causal, but images whole, and padding outside of everything."""
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & real[:, :, None] & real[:, None]


@exercise.mistake("Which patches does the first patch of an image see in your mask?")
def plain_causal(image):
    """A sequence is a sequence: everything in it is causal."""
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return causal & real[:, :, None] & real[:, None]


@exercise.mistake(
    "A caption is written word by word. What does its first word see of an image that follows?"
)
def pictures_are_always_seen(image):
    """Images are there from the beginning, so every token may see them."""
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | (image > 0)[:, None]) & real[:, :, None] & real[:, None]


@exercise.mistake("Two images, one after the other: does the first one know the second?")
def patches_see_all_patches(image):
    """Patches see patches, words see what was before."""
    real, patch = image >= 0, image > 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | (patch[:, :, None] & patch[:, None])) & real[:, :, None] & real[:, None]


@exercise.mistake("Equal numbers mean the same image. All equal numbers?")
def words_are_a_picture(image):
    """Tokens with the same number see each other."""
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    same = image[:, :, None] == image[:, None]
    return (causal | same) & real[:, :, None] & real[:, None]


@exercise.mistake("May a patch hear what was said before its image came?")
def pictures_keep_to_themselves(image):
    """An image sees itself and nothing else."""
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


@exercise.mistake("With padding in front, what do the words after it see?")
def padding_is_behind(image):
    """Padding is at the end, where the causal mask hides it."""
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & (image >= 0)[:, :, None]


@exercise.mistake("Put images 9 and 10 side by side. May the first see the second?")
def pictures_up_to_nine(image):
    """There are fewer than ten images."""
    image = image.clamp(max=9)
    same = (image[:, :, None] == image[:, None]) & (image[:, :, None] > 0)
    real = image >= 0
    causal = torch.ones(image.shape[1], image.shape[1], dtype=torch.bool).tril()
    return (causal | same) & real[:, :, None] & real[:, None]


@exercise.alternative
def up_to_the_end(image):
    """Finds for each token the last place it sees: its own, or the end of its image."""
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
