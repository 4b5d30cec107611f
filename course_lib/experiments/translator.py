"""Real sentences: a Transformer and two recurrent networks translate descriptions of photographs.

The Transformer has the sizes of "Transformer-Tiny" (Wu et al., Good for Misconceived Reasons,
2021), which translates English to German on this data with a BLEU of 41.02 on the test set of 2016,
of text in lower case that is cut into words beforehand. Dropout, label smoothing and beam are those
of its code, too; norms come first here, the learning rate falls along a cosine, and no checkpoints
are averaged. The GRUs have as many weights, within a twentieth, one matrix for both embeddings and
the logits like the Transformer, and are trained alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.data.multi30k import ParallelText, load_multi30k
from course_lib.data.translation import Batch, SentencePair, Vocabulary, batches, collate
from course_lib.experiments.bleu import (
    COUNTS,
    bleu_counts,
    bleu_interval,
    bleu_signature,
    corpus_bleu,
)
from course_lib.experiments.corpora import Corpus, train_epochs
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse, Record, unpack_items
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training import count_parameters, derive_seed, seeded_generator
from course_lib.transformer import EncoderDecoder, TransformerConfig
from grader.base.errors import Refused

Translator = Seq2Seq | EncoderDecoder

BINS = (1, 9, 12, 15)
"""Where the classes of length begin, in words of the source between spaces."""
ALIGNED = 12
"""The sentence of the test set of 2016 whose attention is kept; chosen before any run."""
_CHUNK = 100
_SPACE = "▁"


@dataclass(frozen=True)
class TranslatorConfig:
    """Settings that all arms share."""

    n_train: int  # sentence pairs to train on, the first of the set
    n_test: int  # sentence pairs to test on
    n_pieces: int  # byte pairs of both languages together
    epochs: int
    max_pieces: int = 60  # longer training sentences are left out
    batch_size: int = 64
    warmup: int = 2  # epochs in which the learning rate rises
    dropout: float = 0.3
    label_smoothing: float = 0.1
    beam_size: int = 5


CPU = TranslatorConfig(
    n_train=3_000, n_test=300, n_pieces=10_000, epochs=4, batch_size=32, warmup=1
)
DAY = TranslatorConfig(n_train=29_000, n_test=1_000, n_pieces=10_000, epochs=10)

_TRANSFORMER = {
    "model": "transformer",
    "attention": "three",
    "into": "english",
    "d_model": 128,
    "n_layers": 4,
    "learning_rate": 2e-3,
}
_GRU = {"model": "gru", "into": "english", "n_layers": 2, "learning_rate": 2e-3}
_LOOKING = {**_GRU, "attention": "general", "d_model": 180}
ARMS: dict[str, dict[str, Any]] = {
    "transformer": _TRANSFORMER,
    "gru-attention": _LOOKING,
    "gru": {**_GRU, "attention": None, "d_model": 184},
    "transformer-half-rate": {**_TRANSFORMER, "learning_rate": 1e-3},
    "gru-attention-half-rate": {**_LOOKING, "learning_rate": 1e-3},
    "transformer-into-german": {**_TRANSFORMER, "into": "german"},
}


class Pieces:
    """Byte pairs of both languages: from text to pieces of words, and back without loss.

    A piece that begins a word begins with a mark.
    """

    def __init__(self, text: ParallelText, n_pieces: int) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        self._pairs = Tokenizer(models.BPE())
        self._pairs.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        )
        trainer = trainers.BpeTrainer(vocab_size=n_pieces, show_progress=False)
        self._pairs.train_from_iterator([*text.source, *text.target], trainer)
        index = self._pairs.get_vocab()
        self.vocabulary = Vocabulary(sorted(index, key=index.__getitem__))

    def cut(self, text: str) -> tuple[str, ...]:
        """The pieces of a sentence; characters that training never saw are left out."""
        return tuple(self._pairs.encode(text).tokens)

    def pairs(self, text: ParallelText) -> list[SentencePair]:
        """Sentence pairs in pieces; nothing is known of what translates what."""
        both = zip(text.source, text.target, strict=True)
        return [SentencePair(self.cut(source), self.cut(target), ()) for source, target in both]


def joined(pieces: Sequence[str]) -> str:
    """Text of pieces.

    Example:
        >>> joined(["▁Ein", "▁Fuß", "ball", "."])
        'Ein Fußball.'
    """
    return "".join(pieces).replace(_SPACE, " ").strip()


def build(arm: dict[str, Any], n_pieces: int, dropout: float, seed: int) -> Translator:
    """An untrained translator, one matrix of which embeds both languages and gives the logits."""
    d_model, n_layers = arm["d_model"], arm["n_layers"]
    generator = seeded_generator(seed)
    if arm["model"] == "transformer":
        transformer = EncoderDecoder(
            TransformerConfig(
                n_pieces,
                n_pieces,
                d_model=d_model,
                n_heads=4,
                d_ff=256,
                n_layers=n_layers,
                dropout=dropout,
                norm="pre",
                max_len=256,
                shared=True,
            ),
            generator=generator,
        )
        # As in the published setting, no weights of attention are dropped.
        for part in transformer.modules():
            if isinstance(part, MultiHeadAttention):
                part.dropout = 0.0
        return transformer
    recurrent = Seq2Seq(
        Seq2SeqConfig(
            n_pieces,
            n_pieces,
            d_model=d_model,
            n_layers=n_layers,
            bidirectional=True,
            attention=arm["attention"],
            dropout=dropout,
        ),
        generator=generator,
    )
    embedding = recurrent.decoder.embedding
    recurrent.encoder.embedding = embedding
    recurrent.decoder.out_proj.weight = embedding.weight
    nn.init.normal_(embedding.weight, std=d_model**-0.5, generator=generator)
    return recurrent


def translate(
    model: Translator, pairs: Sequence[SentencePair], vocabulary: Vocabulary, **how: Any
) -> list[str]:
    """Text of the translations; ``how``: as in :func:`course_lib.decoding.decode`."""
    device = next(model.parameters()).device
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].source))
    found = [""] * len(pairs)
    for start in range(0, len(order), _CHUNK):
        chosen = order[start : start + _CHUNK]
        batch = collate([pairs[i] for i in chosen], vocabulary, vocabulary).to(device)
        longest = 2 * int(batch.source_lengths.max()) + 10
        tokens = model.generate(batch.source, batch.source_lengths, max_len=longest, **how).tokens
        best = tokens[:, 0] if tokens.ndim == 3 else tokens
        for i, row in zip(chosen, best, strict=True):
            found[i] = joined(vocabulary.decode(row))
    return found


def train(
    model: Translator,
    data: Corpus,
    valid: ParallelText,
    config: TranslatorConfig,
    learning_rate: float,
    job: Job,
) -> list[dict[str, float]]:
    """Train a translator; ``valid_bleu`` is that of greedy decoding.

    ``data``: its test pairs are those to validate on, the text of which is ``valid``.
    """
    steps = -(-len(data.train) // config.batch_size)

    def loss(_: nn.Module, batch: Batch) -> Tensor:
        batch = batch.to(job.device)
        logits = model(batch.source, batch.source_lengths, batch.target_in)
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.target_out.flatten(),
            ignore_index=Vocabulary.pad,
            label_smoothing=config.label_smoothing,
        )

    def evaluate() -> dict[str, float]:
        said = translate(model, data.test, data.target)
        return {"valid_bleu": float(corpus_bleu(bleu_counts(said, valid.target)))}

    return train_epochs(
        model,
        torch.optim.Adam(model.parameters(), lr=learning_rate, betas=(0.9, 0.98)),
        lambda epoch: batches(
            data.train, data.source, data.target, config.batch_size, derive_seed(job.seed, epoch)
        ),
        loss,
        evaluate,
        epochs=config.epochs,
        steps=steps,
        warmup=config.warmup * steps,
        seed=job.seed,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )


@torch.no_grad()
def alignment(model: Translator, pair: SentencePair, vocabulary: Vocabulary) -> list[list[float]]:
    """Weights of each target piece, and of the end, on the source pieces, after a true beginning.

    Of a Transformer the mean over the heads of the last block.
    """
    batch = collate([pair], vocabulary, vocabulary).to(next(model.parameters()).device)
    model.eval()
    _, weights = model(batch.source, batch.source_lengths, batch.target_in, return_weights=True)
    if isinstance(model, EncoderDecoder):
        weights = weights.cross[-1].mean(dim=1)
    return [[round(w, 3) for w in row] for row in weights[0].tolist()]


def by_length(counts: Tensor, sources: Sequence[str]) -> dict[str, dict[str, float]]:
    """BLEU, its interval and the number of sentences in each class of ``BINS``."""
    found: dict[str, dict[str, float]] = {}
    words = torch.tensor([len(source.split()) for source in sources])
    for low, high in zip(BINS, (*BINS[1:], 10**6), strict=True):
        rows = counts[(low <= words) & (words < high)]
        if len(rows):
            first, last = bleu_interval(rows)
            found[str(low)] = {
                "n": len(rows),
                "bleu": round(float(corpus_bleu(rows)), 2),
                "low": round(first, 2),
                "high": round(last, 2),
            }
    return found


def run_one(
    job: Job,
    text: Mapping[str, ParallelText],
    use: DataUse,
    aligned: int = ALIGNED,
    asked: Sequence[str] = (),
) -> Outcome:
    """Train one arm on ``text["train"]`` and measure it on ``text["test"]``.

    ``aligned``: the test sentence whose attention is kept; ``asked``: sentences without reference.
    """
    shared = {k: v for k, v in job.config.items() if k in TranslatorConfig.__dataclass_fields__}
    config = TranslatorConfig(**shared)
    pieces = Pieces(text["train"], config.n_pieces)
    vocabulary = pieces.vocabulary
    pairs = [
        pair
        for pair in pieces.pairs(text["train"])
        if max(len(pair.source), len(pair.target)) <= config.max_pieces
    ]
    data = Corpus(pairs, pieces.pairs(text["valid"]), vocabulary, vocabulary)
    model = build(dict(job.config), len(vocabulary), config.dropout, job.seed).to(job.device)
    history = train(model, data, text["valid"], config, job.config["learning_rate"], job)
    test = text["test"]
    tested = pieces.pairs(test)
    how = {"method": "beam", "beam_size": config.beam_size, "length_penalty": 1.0}
    said = translate(model, tested, vocabulary, **how)
    unknown = [SentencePair(pieces.cut(sentence), (), ()) for sentence in asked]
    counts = bleu_counts(said, test.target)
    lower = bleu_counts([s.lower() for s in said], [s.lower() for s in test.target])
    others = bleu_counts(said, [*test.target[1:], test.target[0]])
    words = [len(source.split()) for source in test.source]
    shown = [i for low in BINS for i in [i for i, n in enumerate(words) if n >= low][:1]]
    results: dict[str, Any] = {
        "bleu": round(float(corpus_bleu(counts)), 2),
        "interval": [round(end, 2) for end in bleu_interval(counts)],
        "bleu_lower_case": round(float(corpus_bleu(lower)), 2),
        "bleu_of_others": round(float(corpus_bleu(others)), 2),
        "bleu_by_length": by_length(counts, test.source),
        "signature": bleu_signature(),
        "n_parameters": count_parameters(model),
        "n_pairs": len(pairs),
        "n_vocabulary": len(vocabulary),
        "pieces_per_word": round(sum(len(p.source) for p in tested) / sum(words), 3),
        "shown": [
            {"source": test.source[i], "reference": test.target[i], "translation": said[i]}
            for i in dict.fromkeys([*shown, aligned])
        ],
        "asked": dict(zip(asked, translate(model, unknown, vocabulary, **how), strict=True)),
    }
    if job.config["attention"] is not None:
        results["alignment"] = {
            "source": list(tested[aligned].source),
            "target": list(tested[aligned].target),
            "weights": alignment(model, tested[aligned], vocabulary),
        }
    items = {name: counts[:, i] for i, name in enumerate(COUNTS)}
    return Outcome([use], history, results, items=items)


def furthest(records: Sequence[Record], arms: Sequence[str]) -> dict[str, list[Record]]:
    """Records by arm, of size ``day`` or else ``cpu``, and of the seeds that all the arms have."""
    for size in ("day", "cpu"):
        found = [{r.seed: r for r in records if (r.arm, r.size) == (arm, size)} for arm in arms]
        seeds = sorted(set.intersection(*({*runs} for runs in found)))
        if seeds:
            return {arm: [runs[s] for s in seeds] for arm, runs in zip(arms, found, strict=True)}
    raise Refused(f"no size has runs of {', '.join(arms)} with one seed: `course run translator`")


def counts_of(record: Record) -> Tensor:
    """Counts of each test sentence in a record, ``(N, 6)`` as in ``COUNTS``."""
    return torch.stack([unpack_items(record.items[name]).double() for name in COUNTS], dim=-1)


def _lost(record: Record) -> float:
    """Points of BLEU that a record loses from the shortest to the longest sentences."""
    classes = record.results["bleu_by_length"]
    return float(classes[str(BINS[0])]["bleu"] - classes[str(BINS[-1])]["bleu"])


QUESTIONS = from_table("translator", {"lost": _lost})


@experiment(
    "translator",
    "BLEU on descriptions of photographs, by a Transformer and two GRUs of its size",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2), 3, "one CPU core", arms=tuple(ARMS)[:3]),
        "day": Size(asdict(DAY), (0, 1, 2), 40, "one CPU core", step=3, arms=tuple(ARMS)[:5]),
        # Three times as many passes: do they change anything?
        "full": Size(
            asdict(replace(DAY, epochs=30)),
            (0, 1, 2),
            120,
            "one CPU core",
            step=4,
            arms=tuple(ARMS)[:3],
        ),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm on Multi30K."""
    text = {
        "train": load_multi30k("train"),
        "valid": load_multi30k("valid"),
        "test": load_multi30k("test_2016"),
    }
    n_train, n_test = job.config["n_train"], job.config["n_test"]
    text = {
        name: ParallelText(t.source[:n], t.target[:n])
        for (name, t), n in zip(text.items(), (n_train, n_test, n_test), strict=True)
    }
    if job.config["into"] == "german":
        text = {name: t.turned() for name, t in text.items()}
    whole = ParallelText(
        sum((t.source for t in text.values()), ()), sum((t.target for t in text.values()), ())
    )
    variant = f"task 1, raw, test 2016, the first {n_train} pairs, into {job.config['into']}"
    return run_one(job, text, DataUse("multi30k", variant, whole.sha256))
