"""A small encoder that fills in hidden words, trained in order to be read.

The patterns essay says what attention in trained models is like: neighbours in early layers,
grammar in middle ones, a few keys for most of the mass, idle heads where weights are even. The
lecture adds that weights show which words count. Here each is measured on a model that knows
something which can be checked: whether a hidden verb is singular or plural.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention_maps import (
    curve_area,
    deletion_curve,
    gradient_importance,
    head_roles,
    random_importance,
    top_mass,
)
from course_lib.data.text import (
    RELATIONS,
    VERB_FORMS,
    TextBatch,
    TextSentence,
    annotated_text,
    collate_text,
)
from course_lib.data.translation import Vocabulary
from course_lib.experiments.provenance import Clock
from course_lib.experiments.reader_claims import QUESTIONS
from course_lib.experiments.reader_heads import best_roles, silencing
from course_lib.experiments.reader_probes import probes
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.trained import Reader, ReaderConfig, hide_words, pack_weights
from course_lib.training import count_parameters, fit, seeded_generator, warmup_cosine

_TEST_SEED = 0
_TOP_SHARE = 0.25


@dataclass(frozen=True)
class WordsConfig:
    """All settings.

    ``hide_related``: the same for verbs, pronouns and intensifiers, which are what is studied.
    """

    n_train: int
    n_test: int
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 3
    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 3e-3
    hide: float = 0.15  # probability that a word is hidden
    hide_related: float = 0.4


CPU = WordsConfig(n_train=12_000, n_test=400)
FULL = WordsConfig(n_train=100_000, n_test=4_000, d_model=128, d_ff=512, n_layers=6, epochs=20)


# --------------------------------------------------------------------------- what is asked


@dataclass(frozen=True)
class VerbTask:
    """Sentences in each of which one verb is hidden, and its number is asked for."""

    batch: TextBatch  # the sentences, with all words
    tokens: Tensor  # numbers of words with the verbs hidden (B, T)
    place: Tensor  # where the verb is (B,)
    right: Tensor  # number of the hidden form (B,)
    other: Tensor  # number of the same verb's other form (B,)

    def hidden(self) -> Tensor:
        """Where the hidden verbs are, boolean ``(B, T)``."""
        return F.one_hot(self.place, self.tokens.shape[1]).bool()

    def part(self, rows: slice) -> VerbTask:
        """Some of the sentences, padded as they were."""
        batch = self.batch
        chosen = TextBatch(
            batch.tokens[rows],
            batch.keep[rows],
            {name: links[rows] for name, links in batch.relations.items()},
            {name: marks[rows] for name, marks in batch.marks.items()},
            batch.clauses[rows],
        )
        return VerbTask(
            chosen, self.tokens[rows], self.place[rows], self.right[rows], self.other[rows]
        )

    def words(self) -> Tensor:
        """Words that may be taken away: all but the hidden one, boolean ``(B, T)``."""
        return (self.batch.clauses >= 0) & ~self.hidden()


def verb_task(sentences: Sequence[TextSentence], vocabulary: Vocabulary) -> VerbTask:
    """Hide the last verb of each sentence."""
    batch = collate_text(sentences, vocabulary)
    verbs = batch.relations["agreement"].any(dim=-1)
    length = verbs.shape[1]
    place = length - 1 - verbs.flip(-1).int().argmax(dim=-1)
    right = batch.tokens.gather(1, place[:, None])[:, 0]
    partner = torch.arange(len(vocabulary))
    for forms in VERB_FORMS:
        plural, singular = vocabulary.encode(forms)
        partner[plural], partner[singular] = singular, plural
    tokens = hide_words(batch.tokens, F.one_hot(place, length).bool())
    return VerbTask(batch, tokens, place, right, partner[right])


def number_log_odds(model: Reader, task: VerbTask, **options: Tensor | None) -> Tensor:
    """Measure how sure the model is of the number of the hidden verb.

    ``options``: ``keep`` (all words if not given), ``x`` and ``head_mask`` of :class:`Reader`.
    Returns logit of the right form minus that of the other ``(B,)``: above 0 if it knows.
    """
    options.setdefault("keep", task.batch.keep)
    logits = model(task.tokens, **options)
    rows = torch.arange(len(task.place))
    asked = logits[rows, task.place]
    return asked[rows, task.right] - asked[rows, task.other]


@torch.no_grad()
def number_accuracy(model: Reader, task: VerbTask, head_mask: Tensor | None = None) -> float:
    """Share of hidden verbs whose number the model knows; ``head_mask``: factors ``(L, H)``."""
    odds = number_log_odds(model, task, head_mask=head_mask)
    return (odds > 0).double().mean().item()


def head_worth(model: Reader, task: VerbTask) -> Tensor:
    """By how much the mean of ``-ln p(right number)`` rises without each head, ``(L, H)``."""
    config = model.config
    ones = torch.ones(config.n_layers, config.n_heads)
    with torch.no_grad():
        whole = number_loss(model, task, ones)
        worth = [number_loss(model, task, ones - one) - whole for one in _single_heads(ones)]
    return torch.stack(worth).view_as(ones)


def number_loss(model: Reader, task: VerbTask, head_mask: Tensor | None = None) -> Tensor:
    """Mean of ``-ln p(right number)``, where only the two forms of the verb are compared."""
    return F.softplus(-number_log_odds(model, task, head_mask=head_mask)).mean()


def _single_heads(ones: Tensor) -> Tensor:
    return torch.eye(ones.numel()).view(-1, *ones.shape)


def importances(model: Reader, task: VerbTask, seed: int) -> dict[str, Tensor]:
    """Measure how much each word matters to the answer, by four ways to tell.

    Returns ``"attention"``: what the hidden verb gives to each word, the mean of all heads and
    layers; ``"largest head"``: what it gets from that of all heads that gives most; ``"gradient"``:
    size of gradient times input; ``"random"``. Each ``(B, T)``.
    """
    with torch.no_grad():
        _, weights = model(task.tokens, task.batch.keep, return_weights=True)
    rows = weights[:, torch.arange(len(task.place)), :, task.place]  # (B, L, H, T)
    x = model.embed(task.tokens).detach()
    shape = (x.shape[0], x.shape[1])
    return {
        "attention": rows.mean(dim=(1, 2)),
        "largest head": rows.amax(dim=(1, 2)),
        "gradient": gradient_importance(lambda x: number_log_odds(model, task, x=x), x),
        "random": random_importance(shape, seeded_generator(seed)),
    }


def deletions(model: Reader, task: VerbTask, importance: Tensor, n_steps: int = 10) -> Tensor:
    """Hide words from attention, the most important first, and follow ``p(right number)``.

    ``importance``: of each word ``(B, T)``. Returns ``(n_steps + 1, B)``.
    """
    words = task.words()
    always = task.batch.keep & ~words

    def score(kept: Tensor) -> Tensor:
        return number_log_odds(model, task, keep=kept | always).sigmoid()

    return deletion_curve(score, importance, present=words, n_steps=n_steps)


# --------------------------------------------------------------------------- training


def make_data(config: WordsConfig, seed: int) -> tuple[list[TextSentence], list[TextSentence]]:
    """Generate sentences: those for training depend on the seed, those for testing do not."""
    train = annotated_text(config.n_train, seed, "train")
    return train, annotated_text(config.n_test, _TEST_SEED, "test")


def train(
    config: WordsConfig,
    sentences: Sequence[TextSentence],
    vocabulary: Vocabulary,
    task: VerbTask,
    seed: int,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    progress: bool = False,
) -> tuple[Reader, list[dict[str, float]]]:
    """Train a reader: the model, and a row an epoch with the share of verbs that it knows."""
    device = torch.device(device)
    model = Reader(
        ReaderConfig(
            len(vocabulary),
            d_model=config.d_model,
            n_heads=config.n_heads,
            d_ff=config.d_ff,
            n_layers=config.n_layers,
        ),
        generator=seeded_generator(seed),
    ).to(device)
    # Sentences of one length need no padding.
    ordered = sorted(sentences, key=lambda sentence: len(sentence.tokens))
    batches = [
        collate_text(ordered[i : i + config.batch_size], vocabulary)
        for i in range(0, len(ordered), config.batch_size)
    ]
    clock = Clock(device)

    def epoch(number: int) -> Iterator[tuple[TextBatch, Tensor]]:
        generator = seeded_generator(seed, number)
        for i in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[i], _hidden(batches[i], config, generator)

    def loss(_: nn.Module, batch: tuple[TextBatch, Tensor]) -> Tensor:
        text, hidden = batch
        return model.loss(text.tokens.to(device), hidden.to(device), text.keep.to(device))

    def evaluate(_: nn.Module) -> dict[str, float]:
        number = number_accuracy(model.cpu(), task)
        model.to(device)
        return {"number": number, **clock.lap()}

    history = fit(
        model,
        torch.optim.Adam(model.parameters(), lr=config.learning_rate),
        epoch,
        loss,
        epochs=config.epochs,
        seed=seed,
        schedule=lambda step: warmup_cosine(
            step, total_steps=config.epochs * len(batches), warmup_steps=len(batches)
        ),
        evaluate=evaluate,
        checkpoint=checkpoint,
        progress=progress,
    )
    return model.cpu().eval(), history


def _hidden(batch: TextBatch, config: WordsConfig, generator: torch.Generator) -> Tensor:
    related = torch.stack([batch.relations[name].any(dim=-1) for name in RELATIONS]).any(dim=0)
    chance = torch.where(related, config.hide_related, config.hide)
    drawn = torch.rand(chance.shape, generator=generator) < chance
    return drawn & (batch.clauses >= 0)


# --------------------------------------------------------------------------- what is found


def measure(model: Reader, task: VerbTask, vocabulary: Vocabulary, seed: int) -> dict[str, object]:
    """All that the record keeps about a trained reader."""
    with torch.no_grad():
        _, weights = model(task.tokens, task.batch.keep, return_weights=True)
    batch = task.batch
    roles = head_roles(weights, batch)
    asks = (batch.clauses >= 0)[:, None].expand(weights.shape[:-1])
    mass = []
    for row in range(len(batch)):
        length = int(batch.keep[row].sum())
        few = -(-length // int(1 / _TOP_SHARE))
        mass.append(top_mass(weights[:, row, :, :, :length], few, queries=asks[:, row]))
    worth = head_worth(model, task)
    # Where a head looks when it asks for a hidden verb's subject.
    links = batch.relations["agreement"] & task.hidden()[..., None]
    asking = with_agreement(batch, links)
    found = head_roles(weights, asking)["agreement"]
    local = roles["previous"] + roles["next"]
    singular = torch.tensor(vocabulary.encode([forms[1] for forms in VERB_FORMS]))

    def by_layer(values: Tensor) -> dict[str, float]:
        return {str(i + 1): round(float(v), 4) for i, v in enumerate(values)}

    area = {
        name: round(float(curve_area(deletions(model, task, value)).mean()), 4)
        for name, value in importances(model, task, seed).items()
    }
    return {
        "number": number_accuracy(model, task),
        "top_quarter_mass": round(float(torch.stack(mass).nanmean()), 4),
        "even_and_idle": round(_rank_correlation(roles["entropy"], worth), 4),
        "n_parameters": count_parameters(model),
        "neighbours_by_layer": by_layer(local.mean(dim=1)),
        "subject_by_layer": by_layer(found.amax(dim=1)),
        "worth_by_layer": by_layer(worth.amax(dim=1)),
        "deletion_area": area,
        **best_roles(roles | {"agreement": found}, asking),
        **probes(
            model,
            vocabulary,
            batch,
            task.tokens,
            (task.place, torch.isin(task.right, singular)),
            seed,
        ),
        **_silenced(model, task, seed),
    }


def _silenced(model: Reader, task: VerbTask, seed: int) -> dict[str, object]:
    """Choose heads by the first half of the sentences, and measure on the second."""
    half = len(task.place) // 2
    parts = {"first": task.part(slice(half)), "second": task.part(slice(half, None))}

    @cache
    @torch.no_grad()
    def odds(part: str, factors: tuple[float, ...]) -> Tensor:
        return number_log_odds(model, parts[part], head_mask=torch.tensor(factors).view(shape))

    def loss(head_mask: Tensor, part: str = "second") -> float:
        return F.softplus(-odds(part, tuple(head_mask.flatten().tolist()))).mean().item()

    def known(head_mask: Tensor) -> float:
        right = odds("second", tuple(head_mask.flatten().tolist())) > 0
        return right.double().mean().item()

    shape = (model.config.n_layers, model.config.n_heads)
    return silencing(lambda head_mask: loss(head_mask, "first"), loss, known, shape, seed)


def with_agreement(batch: TextBatch, links: Tensor) -> TextBatch:
    """The same sentences with other links between verbs and subjects, such as some of them.

    ``links``: boolean ``(B, T, T)``.
    """
    relations = batch.relations | {"agreement": links}
    return TextBatch(batch.tokens, batch.keep, relations, batch.marks, batch.clauses)


def _rank_correlation(a: Tensor, b: Tensor) -> float:
    ranks = torch.stack([x.flatten().argsort().argsort().double() for x in (a, b)])
    return float(torch.corrcoef(ranks)[0, 1])


@experiment(
    "read-words",
    "an encoder that fills in hidden words: what its heads are like and what they are worth",
    arms={"reader": {}},
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 1.5, "two CPU cores"),
        "full": Size(asdict(FULL), (0, 1, 2), 20, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one reader and measure it as it is kept: in half precision."""
    config = WordsConfig(**job.config)
    training, test = make_data(config, job.seed)
    # Of all words there are, so that no test sentence holds an unknown one.
    vocabulary = Vocabulary.of(sentence.tokens for sentence in (*training, *test))
    task = verb_task(test, vocabulary)
    model, history = train(
        config, training, vocabulary, task, job.seed, job.device, job.checkpoint, job.progress
    )
    weights = pack_weights(model, words=vocabulary)
    text = "\n".join(" ".join(sentence.tokens) for sentence in (*training, *test))
    data = DataUse(
        "annotated-text", f"generated, seed {job.seed}", hashlib.sha256(text.encode()).hexdigest()
    )
    # One trained model is enough to be read.
    found = measure(model, task, vocabulary, job.seed)
    return Outcome([data], history, found, weights if job.seed == 0 else None)
