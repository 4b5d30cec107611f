from course_lib.bank.prelude import changed
from course_lib.bank.senses.search_scores import exercise
from course_lib.multimodal.fusion import Layout, search_scores


@exercise.answer
def reference(
    layout: Layout,
    n_words: int,
    n_patches: int,
    n_layers: int,
    n_images: int,
    n_texts: int,
    n_slots: int,
) -> int:
    """Scores of one head for all pairs."""
    return search_scores(
        layout, n_words, n_patches, n_layers, n_images=n_images, n_texts=n_texts, n_slots=n_slots
    )


def right(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """Base of the mistakes, itself right."""
    pairs = n_images * n_texts
    tower = n_layers * n_patches**2
    if layout == "towers":
        return n_images * tower + n_texts * n_layers * n_words**2
    if layout == "joint":
        return pairs * n_layers * (n_words + n_patches) ** 2
    if layout == "cross":
        return n_images * tower + pairs * n_layers * n_words * (n_words + n_patches)
    return n_images * (tower + n_slots * n_patches) + pairs * n_layers * (n_words + n_slots) ** 2


@exercise.mistake("A tower doesn't know with whom it will be compared.")
@changed(
    right,
    (
        "n_images * tower + n_texts * n_layers * n_words**2",
        "pairs * n_layers * (n_words**2 + n_patches**2)",
    ),
)
def towers_for_each_pair():
    """Each pair is encoded, in towers as anywhere."""


@exercise.mistake("Draw the square of one encoder: which two corners are missing in your count?")
def squares_add_up(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """Two sequences side by side cost what they cost alone."""
    pairs = n_images * n_texts
    tower = n_layers * n_patches**2
    if layout == "towers":
        return n_images * tower + n_texts * n_layers * n_words**2
    if layout == "joint":
        return pairs * n_layers * (n_words**2 + n_patches**2)
    if layout == "cross":
        return n_images * tower + pairs * n_layers * n_words * (n_words + n_patches)
    read = n_slots * n_patches
    return n_images * (tower + read) + pairs * n_layers * (n_words**2 + n_slots**2)


@exercise.mistake("Which two attentions does each block of the text have?")
@changed(right, ("n_words * (n_words + n_patches)", "n_words * n_patches"))
def words_dont_talk():
    """Cross-attention takes the place of the words' self-attention."""


@exercise.mistake("What does a word in layer 2 contain, once it has looked across in layer 1?")
def words_talk_once(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """The words' self-attention doesn't depend on the image, so it is done once per text."""
    pairs = n_images * n_texts
    tower = n_layers * n_patches**2
    if layout == "towers":
        return n_images * tower + n_texts * n_layers * n_words**2
    if layout == "joint":
        return pairs * n_layers * (n_words + n_patches) ** 2
    if layout == "cross":
        across = pairs * n_layers * n_words * n_patches
        return n_images * tower + n_texts * n_layers * n_words**2 + across
    return n_images * (tower + n_slots * n_patches) + pairs * n_layers * (n_words + n_slots) ** 2


@exercise.mistake("Where do the patches come from that are looked at?")
def encoder_is_free(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """Looking across costs words times patches, and the patches are there."""
    pairs = n_images * n_texts
    if layout == "towers":
        return n_layers * (n_images * n_patches**2 + n_texts * n_words**2)
    if layout == "joint":
        return pairs * n_layers * (n_words + n_patches) ** 2
    if layout == "cross":
        return pairs * n_layers * n_words * (n_words + n_patches)
    return n_images * n_slots * n_patches + pairs * n_layers * (n_words + n_slots) ** 2


@exercise.mistake("How often do the slots read an image: once, in each layer, for each text?")
def slots_read_in_every_layer(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """Slots look at the patches in every layer."""
    pairs = n_images * n_texts
    tower = n_layers * n_patches**2
    if layout == "towers":
        return n_images * tower + n_texts * n_layers * n_words**2
    if layout == "joint":
        return pairs * n_layers * (n_words + n_patches) ** 2
    if layout == "cross":
        return n_images * tower + pairs * n_layers * n_words * (n_words + n_patches)
    read = n_layers * n_slots * n_patches
    return n_images * (tower + read) + pairs * n_layers * (n_words + n_slots) ** 2


@exercise.mistake("In cross-attention, who asks? Do patches ask words, too?")
@changed(right, ("n_words * (n_words +", "n_words * (n_words + 2 *"))
def both_look_across():
    """Looking across goes both ways."""


@exercise.alternative
def layer_by_layer(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """Adds up each attention of each layer, image and text."""
    total = 0
    if layout != "joint":
        for _ in range(n_images):
            total += n_layers * n_patches * n_patches
            if layout == "slots":
                total += n_slots * n_patches
    if layout == "towers":
        for _ in range(n_texts):
            total += n_layers * n_words * n_words
        return total
    for _ in range(n_images):
        for _ in range(n_texts):
            for _ in range(n_layers):
                if layout == "cross":
                    total += n_words * n_words + n_words * n_patches
                else:
                    length = n_words + (n_patches if layout == "joint" else n_slots)
                    total += length * length
    return total


@exercise.alternative
def parts(layout, n_words, n_patches, n_layers, n_images, n_texts, n_slots):
    """A table of costs by image, by text and by pair; warns."""
    import warnings

    warnings.warn("table", stacklevel=1)
    see = n_layers * n_patches**2
    by_image, by_text, by_pair = {
        "towers": (see, n_layers * n_words**2, 0),
        "joint": (0, 0, n_layers * (n_words + n_patches) ** 2),
        "cross": (see, 0, n_layers * (n_words**2 + n_words * n_patches)),
        "slots": (see + n_slots * n_patches, 0, n_layers * (n_words + n_slots) ** 2),
    }[layout]
    return n_images * by_image + n_texts * by_text + n_images * n_texts * by_pair
