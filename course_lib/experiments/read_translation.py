"""A small Transformer that translates German and Korean, trained in order to be read.

The patterns essay says what alignments look like: a diagonal between languages of like word order,
scattered where the order differs, as between an SOV and an SVO language. German and Korean
sentences here go through the same weights, and their gold alignments are known.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from course_lib.alignment import alignment_error_rate, hard_alignment
from course_lib.attention_maps import monotonicity
from course_lib.data.translation import (
    SentencePair,
    Vocabulary,
    collate,
    german_english,
    korean_english,
)
from course_lib.experiments.corpora import Corpus, share_exact, train_translator
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse, Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.trained import pack_weights
from course_lib.training import count_parameters, seeded_generator
from course_lib.transformer import EncoderDecoder, TransformerConfig

_TEST_SEED = 0
LANGUAGES = ("german", "korean")


@dataclass(frozen=True)
class TranslationConfig:
    """All settings."""

    n_german: int  # German sentences to train on
    n_korean: int  # Korean ones
    n_test: int  # sentences of each language to test on
    max_length: int = 12  # longest source sentence, in tokens
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 2
    epochs: int = 6
    batch_size: int = 64
    learning_rate: float = 3e-3


CPU = TranslationConfig(n_german=5_000, n_korean=11_000, n_test=200)
FULL = TranslationConfig(
    n_german=100_000, n_korean=200_000, n_test=2_000, max_length=24, d_model=256, d_ff=1024,
    n_layers=4, epochs=10, learning_rate=1e-3,
)  # fmt: skip


def make_data(config: TranslationConfig, seed: int) -> Corpus:
    """Generate the corpora: training pairs depend on the seed, test pairs do not."""
    longest = config.max_length
    train = german_english(config.n_german, seed, max_length=longest)
    train += korean_english(config.n_korean, seed, max_length=longest)
    test = german_english(config.n_test, _TEST_SEED, "test", max_length=longest)
    test += korean_english(config.n_test, _TEST_SEED, "test", max_length=longest)
    return Corpus.of(train, test)


def by_language(data: Corpus) -> dict[str, list[SentencePair]]:
    """The test pairs of each language, of which there are equally many."""
    half = len(data.test) // 2
    return dict(zip(LANGUAGES, (data.test[:half], data.test[half:]), strict=True))


def train(
    config: TranslationConfig,
    data: Corpus,
    seed: int,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    progress: bool = False,
) -> tuple[EncoderDecoder, list[dict[str, float]]]:
    """Train a translator: the model, and a row an epoch with the share of exact sentences."""
    model = EncoderDecoder(
        TransformerConfig(
            len(data.source),
            len(data.target),
            d_model=config.d_model,
            n_heads=config.n_heads,
            d_ff=config.d_ff,
            n_layers=config.n_layers,
            dropout=0.0,
            norm="pre",
            max_len=128,
        ),
        generator=seeded_generator(seed),
    ).to(device)
    history = train_translator(
        model,
        data,
        epochs=config.epochs,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        seed=seed,
        checkpoint=checkpoint,
        progress=progress,
    )
    return model.cpu().eval(), history


def gold_links(pairs: Sequence[SentencePair]) -> Tensor:
    """True alignments in the orientation of the cross-attention of a padded batch.

    Row t stands for the query that predicts target word t; the last row of the longest sentence,
    which predicts its end, has no link. Returns boolean ``(B, T, S)``.
    """
    T = 1 + max(len(pair.target) for pair in pairs)
    S = max(len(pair.source) for pair in pairs)
    gold = torch.zeros(len(pairs), T, S, dtype=torch.bool)
    for row, pair in enumerate(pairs):
        links = pair.alignment_matrix()
        gold[row, : links.shape[0], : links.shape[1]] = links
    return gold


@torch.no_grad()
def cross_attention(
    model: EncoderDecoder, source: Vocabulary, target: Vocabulary, pairs: Sequence[SentencePair]
) -> Tensor:
    """Weights of the decoder on the source while it is given the true words.

    Returns weights ``(L, B, H, T, S)``; row t is that of the query which predicts target word t.
    Rows after the end of a sentence are 0.
    """
    batch = collate(pairs, source, target)
    _, weights = model(batch.source, batch.source_lengths, batch.target_in, return_weights=True)
    real = batch.target_out != target.pad
    return weights.cross * real[None, :, None, :, None]


def alignment_errors(weights: Tensor, gold: Tensor) -> dict[str, float]:
    """Alignment error rates of four ways to link words, on the second half of the sentences.

    ``gold``: True links, boolean ``(B, T, S)``. Returns ``"best head"``: of the head with the
    fewest errors on the first half; ``"mean of heads"``: of the last layer; ``"row that reads"``:
    the same, taken from the row below, in which the word is no longer predicted but read;
    ``"counting"``: of always looking at the same distance, the best one between 3 words back and 3
    ahead.
    """
    half = len(gold) // 2
    if not half:
        raise ValueError(f"got {len(gold)} sentences, wanted at least 2")
    asks = gold.any(dim=-1, keepdim=True)

    def rate(maps: Tensor, rows: slice) -> float:
        return alignment_error_rate(hard_alignment((maps * asks)[rows]), gold[rows])

    first, second = slice(half), slice(half, None)
    heads = [head for layer in weights for head in layer.unbind(dim=1)]
    mean = weights[-1].mean(dim=1)
    T, S = gold.shape[1:]
    apart = torch.arange(S) - torch.arange(T)[:, None]
    # A model that counts doesn't count beyond the end of a sentence.
    there = (weights > 0).any(dim=0).any(dim=1)
    return {
        "best head": rate(min(heads, key=lambda head: rate(head, first)), second),
        "mean of heads": rate(mean, second),
        "row that reads": rate(mean.roll(-1, dims=1), second),
        "counting": min(rate((apart == offset) * there.float(), second) for offset in range(-3, 4)),
    }


def measure(model: EncoderDecoder, data: Corpus) -> dict[str, object]:
    """All that the record keeps about a trained translator."""
    tests = by_language(data)
    rates: dict[str, float] = {}
    order: dict[str, float] = {}
    true_order: dict[str, float] = {}
    alignment: dict[str, float] = {}
    for name, pairs in tests.items():
        weights = cross_attention(model, data.source, data.target, pairs)
        gold = gold_links(pairs)
        asks = gold.any(dim=-1)
        for layer, maps in enumerate(weights.mean(dim=2)):
            rate = alignment_error_rate(hard_alignment(maps * asks[..., None]), gold)
            rates[f"{name}, layer {layer + 1}"] = round(rate, 4)
        for way, rate in alignment_errors(weights, gold).items():
            alignment[f"{name}, {way}"] = round(rate, 4)
        # Words that are linked to nothing have no place in any order.
        last = weights[-1].mean(dim=1)
        order[name] = round(float(monotonicity(last, queries=asks).nanmean()), 4)
        true = gold / gold.sum(dim=-1, keepdim=True).clamp(min=1)
        true_order[name] = round(float(monotonicity(true).nanmean()), 4)
    return {
        "exact_german": share_exact(model, data, tests["german"]),
        "exact_korean": share_exact(model, data, tests["korean"]),
        "n_parameters": count_parameters(model),
        "alignment_error_rate": rates,
        "alignment": alignment,
        "order_of_attention": order,
        "order_of_the_true_links": true_order,
    }


def _errors(way: str) -> Callable[[Record], float]:
    """Errors of one way to link words, over all languages."""
    return lambda record: mean(record.results["alignment"][f"{name}, {way}"] for name in LANGUAGES)


QUESTIONS = from_table(
    "read_translation",
    {way: _errors(way) for way in ("best head", "mean of heads", "row that reads")},
)
"""The documents' claims, the course's own question, and controls."""


@experiment(
    "read-translation",
    "a Transformer that translates two languages: how far its attention agrees with alignments",
    arms={"translator": {}},
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 2, "two CPU cores"),
        "full": Size(asdict(FULL), (0, 1, 2), 20, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one translator and measure it as it is kept: in half precision."""
    config = TranslationConfig(**job.config)
    data = make_data(config, job.seed)
    model, history = train(config, data, job.seed, job.device, job.checkpoint, job.progress)
    weights = pack_weights(model, source=data.source, target=data.target)
    variant = f"generated, lengths 3 to {config.max_length}, seed {job.seed}"
    uses = [DataUse("german-english and korean-english", variant, data.sha256)]
    return Outcome(uses, history, measure(model, data), weights if job.seed == 0 else None)
