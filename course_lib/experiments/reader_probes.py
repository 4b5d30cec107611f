"""Linear probes of the layers of a trained reader."""

from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.attention_maps import probe_selectivity
from course_lib.data.text import NOUN_FORMS, TextBatch
from course_lib.data.translation import Vocabulary
from course_lib.trained import Reader
from course_lib.training import seeded_generator

_L2 = 1e-2


@torch.no_grad()
def layers_of(model: Reader, tokens: Tensor, keep: Tensor) -> dict[str, Tensor]:
    """Vectors ``(B, T, D)`` of all tokens ``(B, T)`` on their way through a reader.

    ``"word"``, of the word alone; ``"0"``, with its position; ``"1"`` and so on, after each block.
    """
    x = model.embed(tokens)
    found = {"word": model.embed.tokens(tokens), "0": x}
    for n, block in enumerate(model.encoder.blocks, 1):
        x = block(x, mask=keep[:, None, None, :])
        found[str(n)] = x
    return found


def noun_labels(batch: TextBatch, vocabulary: Vocabulary) -> tuple[Tensor, dict[str, Tensor]]:
    """Where nouns are, boolean ``(B, T)``, and two properties of these N places, ``(N,)``."""
    is_noun, plural = torch.zeros(2, len(vocabulary), dtype=torch.bool)
    for forms in NOUN_FORMS:
        for number, form in enumerate(forms):
            if form in vocabulary:
                (word,) = vocabulary.encode([form])
                is_noun[word], plural[word] = True, bool(number)
    nouns = is_noun[batch.tokens]
    subject = batch.relations["agreement"].any(dim=1)
    return nouns, {"plural": plural[batch.tokens][nouns].long(), "subject": subject[nouns].long()}


def probes(
    model: Reader,
    vocabulary: Vocabulary,
    batch: TextBatch,
    tokens: Tensor,
    asked: tuple[Tensor, Tensor],
    seed: int,
) -> dict[str, Any]:
    """Probe every layer for what its vectors tell of nouns, and of a hidden verb: accuracies.

    The first half of the places is for training the probes, the second for measuring them. Control
    labels are drawn for each word; those of hidden verbs for the word before, since a hidden word
    is always the same. ``probe_majority`` is of the commoner answer.
    """
    place, singular = asked
    rows = torch.arange(len(batch))
    nouns, labels = noun_labels(batch, vocabulary)
    layers = layers_of(model, tokens, batch.keep)
    words: dict[str, Sequence[Hashable]] = dict.fromkeys(labels, batch.tokens[nouns].tolist())
    labels["hidden verb"] = singular.long()
    words["hidden verb"] = batch.tokens[rows, place - 1].tolist()
    real: dict[str, float] = {}
    control: dict[str, float] = {}
    majority: dict[str, float] = {}
    for name, label in labels.items():
        for layer, x in layers.items():
            features = x[rows, place] if name == "hidden verb" else x[nouns]
            # Every layer gets the same control labels.
            generator = seeded_generator(seed, 11)
            found = probe_selectivity(
                features, label, words[name], len(label) // 2, generator, l2=_L2
            )
            real[f"{name}, {layer}"] = round(found.accuracy, 4)
            control[f"{name}, {layer}"] = round(found.control, 4)
            majority[name] = round(found.majority, 4)
    return {"probe": real, "probe_control": control, "probe_majority": majority}
