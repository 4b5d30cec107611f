"""The course's trained translator at work: word by word, and with parts of it taken away."""

import html
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from course_lib.data.translation import german_english, korean_english
from course_lib.decoding import beam_search
from course_lib.figures.base import Figure, cell, choice, slider, switch, table
from course_lib.figures.models import kilobytes
from course_lib.trained import TrainedTranslator, load_translator
from course_lib.transformer import EncoderDecoder

Head = tuple[str, int, int]
"""Kind of attention, layer and number of a head, from 0."""

KINDS = {
    "cross": "cross-attention",
    "encoder": "encoder, self-attention",
    "decoder": "decoder, self-attention",
}
ORDERS = {"trained": "as trained", "back": "backwards", "mixed": "shuffled", "none": "all the same"}
MOST = 20


@cache
def _sentences() -> tuple[str, ...]:
    """Test sentences of both languages, in turns; the model has been trained on none of them."""
    made = [
        [pair.source for pair in grammar(40, 0, "test", max_length=9) if len(pair.source) > 4]
        for grammar in (german_english, korean_english)
    ]
    return tuple(" ".join(words) for two in zip(*made, strict=False) for words in two)[:12]


@dataclass(frozen=True)
class Options(Figure):
    """First state; ``order``: positions of the source words, a key of :data:`ORDERS`."""

    title = "A trained translator at work."
    use = (
        "Choose a German or Korean sentence, or write one of such words. Let the model write word "
        "by word; switch heads off, mix the positions up, take the causal mask away."
    )

    sentences: Sequence[str] = field(default_factory=_sentences)
    sentence: int = choice(5, "sentence", lambda state: dict(enumerate(state.sentences)))
    order: str = choice("trained", "positions", ORDERS)
    shown: str = choice("cross", "maps of", KINDS)  # whose maps are drawn, a key of KINDS
    temperature: float = slider(1.0, "temperature", 0.25, 8.0)  # divides the logits
    masked: bool = switch(True, "causal mask")  # whether the decoder has its causal mask
    kilobytes: int = field(default_factory=partial(kilobytes, "translator"))

    def find(self) -> dict[str, Any]:
        source = self.sentences[self.sentence].split()
        return translate(
            source,
            MOST,
            masked=self.masked,
            places=_places(self.order, len(source)),
            temperature=self.temperature,
            shown=self.shown,
        )

    def say(self, found: dict[str, Any]) -> str:
        """Tell the words that are written, and the likeliest next one."""
        *written, (word, share) = found["likely"]
        text = " ".join(word for word, _ in written) or "nothing yet"
        return (
            f"Read: \u201c{self.sentences[self.sentence]}\u201d, written: \u201c{text}\u201d. "
            f"Next: {word}, with probability {share:.2f}. Kept for it: {found['kept']} numbers."
        )

    def _table(self, found: dict[str, Any]) -> str:
        """The mean of the last layer's maps, with each word's probability."""
        source = self.sentences[self.sentence].split()
        columns = {
            "encoder": source,
            "cross": source,
            "decoder": ["<bos>", *(word for word, _ in found["likely"][:-1])],
        }[self.shown]
        last = torch.tensor(
            [
                [row + [0.0] * (len(columns) - len(row)) for row in head]
                for head in found["maps"][-1]
            ]
        ).mean(0)
        told = found["likely"] if self.shown != "encoder" else [(word, None) for word in source]
        heads = (f"<th scope='col'>{html.escape(word)}</th>" for word in ("p", *columns))
        rows = [["<td></td>", *heads]]
        for (word, share), weights in zip(told, last.tolist(), strict=True):
            sure = "" if share is None else f"{share:.2f}"
            cells = [cell(f"{weight:.2f}", 0.6 * weight) for weight in weights]
            rows.append([f"<th scope='row'>{html.escape(word)}</th>", f"<td>{sure}</td>", *cells])
        return table(rows)

    @property
    def still(self) -> str:
        """The whole translation as a table, where no script draws it."""
        caption = (
            f"Written, with probability p; {KINDS[self.shown]}, mean of the last layer's heads"
        )
        drawn = self._table(self.find()).replace("<table>", f"<table><caption>{caption}</caption>")
        named = f'tabindex="0" role="region" aria-label="{caption}"'
        return f'<div class="figure-scroll" {named}>{drawn}</div>'


def _places(order: str, n: int) -> list[int]:
    mixed = torch.randperm(n, generator=torch.Generator().manual_seed(0)).tolist()
    return {"trained": [*range(n)], "back": [*range(n)][::-1], "mixed": mixed, "none": [0] * n}[
        order
    ]


@contextmanager
def without(model: EncoderDecoder, off: Sequence[Head] = (), masked: bool = True) -> Iterator[None]:
    """Take parts of a model away for a while."""

    def change(factors: Tensor, free: bool, _module: nn.Module, args: Any, named: Any) -> Any:
        return args, {**named, "head_mask": factors, **({"mask": None} if free else {})}

    encoder, decoder = model.encoder.blocks, model.decoder.blocks
    with ExitStack() as stack:
        for kind, blocks in (("encoder", encoder), ("decoder", decoder), ("cross", decoder)):
            for layer, block in enumerate(blocks):
                name = "cross_attention" if kind == "cross" else "attention"
                factors = torch.ones(model.config.n_heads)
                factors[[head for *place, head in off if place == [kind, layer]]] = 0
                hook = partial(change, factors, kind == "decoder" and not masked)
                part = block.get_submodule(name)
                stack.callback(part.register_forward_pre_hook(hook, with_kwargs=True).remove)
        yield


@cache
def _exact() -> TrainedTranslator:
    """The translator in double precision, as a page computes."""
    translator = load_translator()
    translator.model.double()
    return translator


@torch.no_grad()
def live_translator(
    source: Sequence[str],
    written: Sequence[str] = (),
    off: Sequence[Head] = (),
    places: Sequence[int] | None = None,
    masked: bool = True,
    temperature: float = 1.0,
    shown: str = "cross",
    beam: int = 1,
    length: int = 0,
) -> dict[str, Any]:
    """Read a sentence, take what is written as given, and say what may come next.

    ``source``: S German or Korean words; those that the model does not know are ``<unk>``;
    ``places``: position of each source word; 0 to S - 1 if not given; ``shown``: whose maps are
    returned, a key of :data:`KINDS`. Returns ``logits`` and ``probabilities`` ``(V)``, ``maps``
    ``(L, H, T, S)``, where a causal row ends with its own word, how many numbers are ``kept`` for
    the next word, and the ``beams`` of :func:`search`.
    """
    model, config = _exact().model, _exact().model.config
    tokens = torch.tensor([_exact().source.encode(source)])
    before = torch.tensor([_exact().target.encode(written, bos=True)])
    embed = model.source_embedding or model.target_embedding
    every = cast(Tensor, embed.positions)
    with without(model, off, masked):
        x = embed.tokens(tokens) + every[[*range(len(source))] if places is None else places]
        memory, encoder = model.encoder(x, return_weights=True)
        x = model.target_embedding(before)
        x, decoder, cross = model.decoder(x, memory, return_weights=True)
        logits = model.target_embedding.logits(x[0, -1])
    maps = {"encoder": encoder, "decoder": decoder, "cross": cross}[shown][:, 0].tolist()
    if shown == "decoder" and masked:
        maps = [[[row[: t + 1] for t, row in enumerate(h)] for h in layer] for layer in maps]
    rows = len(source) + (before.shape[1] if masked else 0)
    return {
        "logits": logits.tolist(),
        "probabilities": (logits / temperature).softmax(-1).tolist(),
        "maps": maps,
        "kept": 2 * config.n_layers * config.d_model * rows,
        "beams": search(source, beam, length, off=off, places=places, masked=masked),
    }


def search(source: Sequence[str], beam: int, length: int, **how: Any) -> dict[str, Any]:
    """Follow the best beginnings at once, without a length norm.

    ``length``: number of steps; without any there is one beginning, the empty one; ``how``:
    ``off``, ``places`` and ``masked`` as for :func:`live_translator`. Returns ``words`` of each
    beginning, the end included, the best first, and ``scores``, their log-probabilities.
    """
    target = _exact().target
    if not length:
        return {"words": [[]], "scores": [0.0]}

    def step(last: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        text = torch.cat([before, last[:, None]], dim=1)
        written = [[target.tokens[n] for n in row[1:]] for row in text.tolist()]
        logits = [live_translator(source, words, **how)["logits"] for words in written]
        return torch.tensor(logits, dtype=torch.float64).log_softmax(-1), text

    found = beam_search(
        step,
        torch.tensor([target.bos]),
        torch.empty(1, 0, dtype=torch.long),
        reorder=lambda text, indices: text[indices],
        beam_size=beam,
        max_len=length,
        end=target.eos,
    )
    rows = [[target.tokens[n] for n in row] for row in found.tokens[0].tolist()]
    ends = [row.index("<eos>") + 1 if "<eos>" in row else len(row) for row in rows]
    words = [row[:end] for row, end in zip(rows, ends, strict=True)]
    return {"words": words, "scores": found.log_probs[0].tolist()}


def translate(source: Sequence[str], most: int, **how: Any) -> dict[str, Any]:
    """Write the likeliest word, again and again.

    ``how``: as for :func:`live_translator`. Returns what :func:`live_translator` finds at the end,
    and ``likely``: pairs of each word and its probability, that of the word which comes next
    included.

    Example:
        >>> [word for word, _ in translate("ein hund schläft .".split(), 20)["likely"]]
        ['a', 'dog', 'sleeps', '.', '<eos>']
    """
    target = _exact().target
    likely: list[tuple[str, float]] = []
    while True:
        found = live_translator(source, [word for word, _ in likely], **how)
        best = max(range(len(target)), key=found["logits"].__getitem__)
        word = "<eos>" if best == target.eos else target.tokens[best]
        likely.append((word, found["probabilities"][best]))
        if best == target.eos or len(likely) > most:
            return {**found, "likely": likely}
