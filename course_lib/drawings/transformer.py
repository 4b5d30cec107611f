"""The whole Transformer with its shapes, and the two ways in which its decoder is used."""

from collections.abc import Sequence
from itertools import pairwise

from course_lib.drawings import Box, Page, Part, Sketch, drawing
from course_lib.transformer import TransformerConfig

BASE = TransformerConfig(37_000, 37_000, shared=True)
D, V, L = BASE.d_model, BASE.target_vocab_size, BASE.n_layers
SOURCE = ("joheun", "jeonyeogibnida", ".")
GIVEN = ("<bos>", "good", "evening", ".")
ASKED = ("good", "evening", ".", "<eos>")
# What a model says that takes the wrong word once, with the true words before it and with its own.
SAYS = ("good", "night", ".", "<eos>")
S, T = len(SOURCE), len(GIVEN)


def _sublayer(
    s: Sketch, stream: float, middle: float, y: float, label: str, *lines: str
) -> tuple[Box, float]:
    """A part beside the stream: what it finds is added and the sum normalised."""
    wide = 104 if s.narrow else 128
    box = s.layer(middle, y, wide, 32, *lines)
    left = stream < middle
    edge = box.x if left else box.right
    s.arrow((stream, y), (edge, y))
    at = (middle, y + 26) if s.narrow else ((stream + edge) / 2, y - 10)
    s.text(*at, label, kind="small")
    plus = s.sign(stream, y - 34, "+")
    side = plus.right if left else plus.x
    s.arrow((middle, box.y), (middle, plus.cy), (side, plus.cy))
    norm = s.layer(stream, y - 56, 44, 20, "norm")
    s.flow(plus, norm, stream=True, tip=False)
    return box, norm.y


@drawing(
    f"""The base model translates a sentence of {S} words into one of {T}. On the left, the encoder:
    the words become vectors, shape {S} by {D}, positions are added, and {L} blocks of
    self-attention and a feed-forward part change them. What comes out is the memory, {S} by {D}.
    On the right, the decoder: its words, the start sign first, become vectors of shape {T} by {D}.
    Each of its {L} blocks has causal self-attention, cross-attention and a feed-forward part. In
    cross-attention the decoder asks and the memory gives keys and values. Every part stands beside
    the residual stream, and what it finds is added and normalised. At the top a linear map and a
    softmax give each of the {T} places a probability for each of {V:,} words.""",
    numbers=lambda: [S, T, D, L],
)
def whole_transformer(s: Sketch) -> None:
    """Depth goes upwards; the memory is the only way from the left half to the right half."""
    sides = (
        {"encoder": (26.0, 98.0), "decoder": (318.0, 246.0)}
        if s.narrow
        else {"encoder": (70.0, 190.0), "decoder": (574.0, 454.0)}
    )
    panels = (
        {"encoder": (0.0, 160.0), "decoder": (184.0, 160.0)}
        if s.narrow
        else {"encoder": (0.0, 286.0), "decoder": (360.0, 284.0)}
    )
    first, step = 500.0, 90.0
    boxes = {}
    for side, (stream, middle) in sides.items():
        n, shape = (S, f"({S}, {D})") if side == "encoder" else (T, f"({T}, {D})")
        out = 1 if side == "encoder" else -1
        parts: list[tuple[str, tuple[str, ...]]] = [
            ("*q*, *k*, *v*", ("self-attention",)),
            ("", ("feed-forward",)),
        ]
        if side == "decoder":
            parts[0] = ("*q*, *k*, *v*", ("causal", "self-attention"))
            parts.insert(1, ("*q*", ("cross-attention",)))
        top = first - len(parts) * step - 6
        x, wide = panels[side]
        s.panel(x, top - 16, wide, first + 34 - top + 16)
        edge = x + wide - 12 if out > 0 else x + 12
        s.text(
            edge, top, f"{side}, {L} blocks", kind="strong quiet", at="end" if out > 0 else "start"
        )
        words = SOURCE if side == "encoder" else GIVEN
        said = "  ".join(words)
        s.text(middle, 652, said, kind="strong small" if s.narrow else "strong")
        embed = s.layer(middle, 610, 112, 28, "embedding *E*")
        s.arrow((middle, 643), (middle, embed.bottom), label=f"({n})")
        plus = s.sign(middle, 568, "+")
        s.flow(embed, plus)
        places = s.step(
            middle + out * (-62 if s.narrow else 80), 568, 72, 24, "positions", role="position"
        )
        near = places.cx > middle
        s.arrow((places.x if near else places.right, 568), (plus.right if near else plus.x, 568))
        s.arrow(
            (middle, plus.y), (middle, 546), (stream, 546), (stream, first), stream=True, tip=False
        )
        s.text(
            middle + 36 * out if s.narrow else (stream + middle) / 2,
            546 if s.narrow else 557,
            shape,
            kind="small quiet",
        )
        y = first
        for i, (label, lines) in enumerate(parts):
            box, high = _sublayer(s, stream, middle, y, label, *lines)
            boxes[side, lines[-1]] = box
            if i + 1 < len(parts):
                s.arrow((stream, high), (stream, y - step), stream=True, tip=False)
                s.arrow((stream, y - step), (stream, y - step - 25), stream=True, tip=False)
            y -= step
        s.arrow((stream, first), (stream, first - 25), stream=True, tip=False)
        boxes[side, "top"] = Box(stream, high, 0, 0)
    # The memory goes over to every decoder block.
    start, cross = boxes["encoder", "top"], boxes["decoder", "cross-attention"]
    bend, high = (172.0 if s.narrow else 323.0), start.y - 62
    s.arrow(
        (start.x, start.y), (start.x, high), (bend, high), (bend, cross.cy), (cross.x, cross.cy)
    )
    s.text((start.x + bend) / 2, high - 26, "memory", role="value", kind="strong")
    s.text((start.x + bend) / 2, high - 11, f"({S}, {D})", kind="small quiet")
    s.text(cross.x - 6, cross.cy + 11, "*k*, *v*", kind="small", at="end")
    # Out of the decoder, into words.
    stream, middle = sides["decoder"]
    end = boxes["decoder", "top"]
    s.arrow((stream, end.y), (stream, end.y - 62), (middle, end.y - 62), (middle, end.y - 86))
    s.text(stream, end.y - 74, f"({T}, {D})", kind="small quiet")
    line = s.layer(middle, end.y - 100, 112, 28, "linear *E*^{⊤}")
    pill = s.step(middle, line.y - 40, 84, 26, "softmax")
    s.flow(line, pill, label=f"({T}, {V:,})")
    out_words = s.text(
        middle, pill.y - 30, "  ".join(ASKED), kind="strong small" if s.narrow else "strong"
    )
    s.arrow((middle, pill.y), (middle, out_words.bottom + 2))


@drawing(
    f"""Training and writing. In training the decoder is given the true words {", ".join(GIVEN)} all
    at once and says a word at each place. At the second place it says {SAYS[1]}, where
    {ASKED[1]} is asked for. The loss counts that, and the place after it is given the true word all
    the same. When it writes, no true word is there: it writes one word at each step, and each word
    that it has written is given at the next step. So after {SAYS[1]} it goes on from
    {SAYS[1]}."""
)
def teacher_or_own_words(s: Sketch) -> None:
    """One step for all places with the true words; or one step for each word, with its own."""
    p = Page(s)
    panels, decoders = [], []

    def line(words: Sequence[str], role: str = "", at: int = 1) -> list[Part]:
        return [
            p.text(word, kind="strong", role=role if i == at else "")
            for i, word in enumerate(words)
        ]

    def label(said: str) -> Part:
        return p.text(said, kind="small quiet")

    for way, given in (("training", GIVEN), ("writing", ("<bos>", *SAYS[:3]))):
        true = way == "training"
        reads, says = line(given, "key", -1 if true else 2), line(SAYS, "key")
        steps = [p.own(48, 30, lambda x, y: None) if true else p.layer("dec.") for _ in SAYS]
        for before, step, after in zip(reads, steps, says, strict=True):
            p.link(before, step, after)
        rows = [(label("says"), *says), (None, *steps), (label("given"), *reads)]
        if true:
            decoders = steps
            signs = ["=" if one == two else "≠" for one, two in zip(SAYS, ASKED, strict=True)]
            rows = [(label("asked"), *line(ASKED, "value")), (None, *line(signs)), *rows]
            notes = "the loss compares, place by place", "the true words, whatever it says"
        else:
            for own, then in pairwise(zip(says, reads, strict=True)):
                p.link(own[0], then[1], bend="xx", dashed=True)
            notes = "no true word is there: nothing corrects it", "its own words, right or wrong"
        table = p.grid(*rows, gap=(12, 16), turn=False)
        panels.append((way, p.column(label(notes[0]), table, label(notes[1]))))
    whole = p.panels(*panels)
    p.done(whole)
    first, last = decoders[0].box, decoders[-1].box
    s.layer((first.x + last.right) / 2, first.cy, last.right - first.x, first.h, "decoder")
    told = "one step, all places", "one step for each word"
    for part, said in zip(whole.each, told, strict=True):
        s.text(part.box.right - 12, part.box.y + 15, said, kind="small quiet", at="end")
