"""The whole Transformer with its shapes, and the two ways in which its decoder is used."""

from collections.abc import Sequence
from itertools import pairwise, zip_longest

from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.transformer import TransformerConfig

BASE = TransformerConfig(37_000, 37_000, shared=True)
D, V, L = BASE.d_model, BASE.target_vocab_size, BASE.n_layers
SOURCE = ("joheun", "jeonyeogibnida", ".")
GIVEN = ("<bos>", "good", "evening", ".")
ASKED = ("good", "evening", ".", "<eos>")
# Output of a model that takes the wrong word once, with the true words before it and its own.
SAYS = ("good", "night", ".", "<eos>")
S, T = len(SOURCE), len(GIVEN)


Rows = list[tuple[Part | None, Part | None]]


def _tower(
    p: Page, side: str, words: Sequence[str], *parts: tuple[str, ...]
) -> tuple[Rows, Part, Part]:
    """The stream and what is beside it, from below; its second layer, and its end."""
    lines = p.of([words], [words[:1], words[1:]])
    said = p.texts(*map("  ".join, lines), kind=p.of("strong", "strong small"))
    embed, plus, bottom = p.layer("embedding *E*"), p.sign("+"), p.point(20)
    places = p.loose(p.step("positions", role="position"), both=True)
    p.link(said, embed, label=f"({len(words)})")
    p.link(embed, plus)
    p.link(places, plus)
    p.link(plus, bottom, bend="yy", stream=True, tip=False)
    shape = p.loose(p.texts(f"({len(words)}, {D})"), both=True)
    rows: Rows = [(None, p.loose(said, both=True)), (None, embed), (places, plus), (bottom, shape)]
    layers = []
    for asked, *lines in parts:
        at, layer, plus, norm = p.point(), p.layer(*lines), p.sign("+"), p.layer("norm")
        p.link(at, layer)
        p.link(layer, plus, bend="y")
        layers.append(p.named(layer, "", asked, at="below") if asked else layer)
        rows += [(at, layer), (plus, None), (norm, None)]
    rows[-1] = norm, name = norm, p.texts(f"{side},", f"{L} blocks", kind="strong quiet")
    p.link(bottom, norm, stream=True, tip=False)
    p.behind(*layers, norm, name)
    return rows, layers[1], norm


@drawing(
    f"""The base model translates a sentence of {S} words into one of {T}. On the left, the encoder:
    the words become vectors, shape {S} by {D}, positions are added, and {L} blocks of
    self-attention and a feed-forward sub-layer change them. Out comes the memory, {S} by {D}.
    On the right, the decoder: its words, the start sign first, become vectors of shape {T} by {D}.
    Each of its {L} blocks has causal self-attention, cross-attention and a feed-forward sub-layer.
    In cross-attention the decoder has the queries and the memory the keys and values. Every
    sub-layer is beside the residual stream, and its output is added and normalised. At the top a
    linear map and a softmax give each of the {T} places a probability for each of {V:,} words.""",
    numbers=lambda: [S, T, D, L],
)
def whole_transformer(s: Sketch) -> None:
    p = Page(s)
    asks = "*q*, *k*, *v*"
    ahead = ("", "feed-forward")
    left, _, seen = _tower(p, "encoder", SOURCE, (asks, "self-attention"), ahead)
    right, cross, end = _tower(
        p, "decoder", GIVEN, (asks, "causal", "self-attention"), ("*q*", "cross-attention"), ahead
    )
    memory, over = (
        p.named(p.text("memory", kind="strong", role="value"), "", f"({S}, {D})", at="below"),
        p.point(),
    )
    p.link(seen, over, bend="y", tip=False)
    p.link(over, cross, bend="y", label="*k*, *v*")
    linear, soft = p.layer("linear *E*^{⊤}"), p.step("softmax")
    says = p.text("  ".join(ASKED), kind=p.of("strong", "strong small"))
    p.link(end, linear, bend="yy", label=f"({T}, {D})")
    p.link(linear, soft, label=f"({T}, {V:,})")
    p.link(soft, says)
    right += [(p.point(24), None), (None, linear), (None, soft), (None, p.loose(says, both=True))]
    rows = []
    for (stream, part), other in zip_longest(left, right, fillvalue=(None, None)):
        rows.append([stream, part, None, *reversed(other)])
    rows[len(left)][2], rows[len(left) + 1][1] = over, memory
    p.done(p.grid(*reversed(rows), gap=(p.of(40, 10), 14), turn=False))


@drawing(
    f"""Training and generation. In training the decoder is given the true words {", ".join(GIVEN)}
    all at once and predicts a word at each place. At the second place it says {SAYS[1]}, although
    the target is {ASKED[1]}. The loss counts that, but the place after it is given the true word.
    In generation there is no true word: the decoder says one word at each step, and each of its
    words is given at the next step. After {SAYS[1]} it continues from {SAYS[1]}."""
)
def teacher_or_own_words(s: Sketch) -> None:
    p = Page(s)
    panels = []

    def line(words: Sequence[str], role: str = "", at: int = 1) -> list[Part]:
        return [
            p.text(word, kind="strong", role=role if i == at else "")
            for i, word in enumerate(words)
        ]

    for way, given in (("training", GIVEN), ("generation", ("<bos>", *SAYS[:3]))):
        true = way == "training"
        reads, says = line(given, "key", -1 if true else 2), line(SAYS, "key")
        steps = [p.place(48, 30) if true else p.layer("dec.") for _ in SAYS]
        for before, step, after in zip(reads, steps, says, strict=True):
            p.link(before, step, after)
        rows = [(p.texts("says"), *says), (None, *steps), (p.texts("given"), *reads)]
        if true:
            p.over(steps, "decoder")
            signs = ["=" if one == two else "≠" for one, two in zip(SAYS, ASKED, strict=True)]
            rows = [(p.texts("target"), *line(ASKED, "value")), (None, *line(signs)), *rows]
            notes = "the loss compares, place by place", "the true words, whatever it says"
        else:
            for own, then in pairwise(zip(says, reads, strict=True)):
                p.link(own[0], then[1], bend="xx", dashed=True)
            notes = "no true word: nothing corrects it", "its own words, right or wrong"
        table = p.grid(*rows, gap=(12, 16), turn=False)
        panels.append((way, p.column(p.texts(notes[0]), table, p.texts(notes[1]))))
    whole = p.panels(*panels)
    p.done(whole)
    told = "one step, all places", "one step for each word"
    for part, said in zip(whole.each, told, strict=True):
        s.text(part.box.right - 12, part.box.y + 15, said, kind="small quiet", at="end")
