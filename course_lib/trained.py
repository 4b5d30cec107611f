"""Small trained models to be read, and how to get them: a translator, a reader and a writer.

The *translator* is a Transformer that turns German and Korean into English; its sentences come with
gold alignments. The *reader* fills in hidden words of the annotated sentences; they come with what
belongs to what. The *writer* is a GPT that continues plays of Shakespeare. ``course run`` trains
them as ``read-translation``, ``read-words`` and ``writer``, and keeps weights beside the records.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, cast

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Generator, Tensor, nn

import course_lib
from course_lib.attention import check_heads
from course_lib.byte_pairs import BytePairs
from course_lib.data import SONNET
from course_lib.data.translation import Vocabulary
from course_lib.layers import xavier_init
from course_lib.seq2seq import Seq2Seq
from course_lib.transformer import Encoder, EncoderDecoder, PositionedEmbedding, TransformerConfig
from course_lib.whole import GPT, Block

Name = Literal["reader", "translator", "writer"]
_RESULTS = Path(course_lib.__file__).resolve().parent.parent / "book" / "results"


# --------------------------------------------------------------------------- the reader


@dataclass(frozen=True)
class ReaderConfig:
    """Configuration of a :class:`Reader`; ``max_len`` counts the two ends of a sentence."""

    vocab_size: int
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 3
    max_len: int = 64

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_heads(self.d_model, self.n_heads)


class Reader(nn.Module):
    """Read both ways and say at every place which word belongs there.

    It is trained on sentences in which some words are hidden. The matrix of the embedding gives the
    logits too.

    Source: Devlin et al., BERT (2019), section 3.1, for the task; blocks are pre-norm.
    """

    def __init__(self, config: ReaderConfig, *, generator: Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.embed = PositionedEmbedding(
            config.vocab_size,
            config.d_model,
            max_len=config.max_len,
            positions="sinusoidal",
            scaled=True,
        )
        self.encoder = Encoder(config.d_model, config.n_heads, config.d_ff, config.n_layers)
        xavier_init(self, uniform=True, generator=generator)
        for name, parameter in self.named_parameters():
            if "embed" in name:
                nn.init.normal_(parameter, std=config.d_model**-0.5, generator=generator)

    def forward(
        self,
        tokens: Tensor,
        keep: Tensor,
        *,
        x: Tensor | None = None,
        head_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits ``(B, T, V)`` of the words at all places.

        Args:
            tokens: Numbers of words ``(B, T)``; hidden ones are ``unk``.
            keep: Boolean ``(B, T)``: which tokens may be looked at; ``False`` for padding, or for
                a word that was taken away.
            x: Embedded tokens ``(B, T, D)``, instead of looking them up.
            head_mask: Factors on the output of each head in each block, ``(L, H)``.
        """
        if keep.shape != tokens.shape:
            raise ValueError(
                f"keep has shape {tuple(keep.shape)}, wanted that of tokens {tuple(tokens.shape)}"
            )
        x = self.embed(tokens) if x is None else x
        mask = keep[:, None, None, :]
        out = self.encoder(x, mask=mask, head_mask=head_mask, return_weights=return_weights)
        if return_weights:
            return self.embed.logits(out[0]), out[1]
        return self.embed.logits(out)

    def loss(self, tokens: Tensor, hidden: Tensor, keep: Tensor) -> Tensor:
        """Mean cross-entropy of words ``(B, T)`` where they are ``hidden``, at least one."""
        logits = self(hide_words(tokens, hidden), keep)
        return F.cross_entropy(logits[hidden], tokens[hidden])


def hide_words(tokens: Tensor, hidden: Tensor) -> Tensor:
    """Put the unknown word in place of some of ``(B, T)``."""
    return tokens.masked_fill(hidden, Vocabulary.unk)


# --------------------------------------------------------------------------- trained ones


@dataclass(frozen=True)
class TrainedReader:
    """A reader in evaluation mode, and the vocabulary of its sentences."""

    model: Reader
    vocabulary: Vocabulary


@dataclass(frozen=True)
class TrainedTranslator:
    """A translator in evaluation mode, and its vocabularies: German and Korean, and English."""

    model: EncoderDecoder
    source: Vocabulary
    target: Vocabulary


@dataclass(frozen=True)
class TrainedWriter:
    """A GPT in evaluation mode, and its tokenizer."""

    model: GPT
    tokenizer: BytePairs

    def go_on(self, text: str, n: int, temperature: float = 1.0, seed: int = 0) -> str:
        """Continue a text by n tokens as :meth:`course_lib.whole.GPT.generate` does, repeatably."""
        tokens = torch.tensor([self.tokenizer.encode(text)])
        # The last token that is drawn is not read.
        before, most = tokens.shape[1], len(self.model.positions) + 1
        if not before or before + n > most:
            raise ValueError(f"text has {before} tokens, n is {n}; wanted 1 to {most} in all")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.tokenizer.decode(self.model.generate(tokens, n, temperature)[0].tolist())

    def couplets(self, *, ended: bool = True) -> list[tuple[Tensor, int, int]]:
        """Each two neighbouring lines of a sonnet as tokens ``(T,)``, and places of the two ends.

        If not ``ended``, the first line ends with its bare punctuation mark, or with a comma.
        """
        lines, found = SONNET.splitlines(keepends=True), []
        for a, b in pairwise(lines):
            tokens = self.tokenizer.encode(a + b)
            first, second = (n for n, token in enumerate(tokens) if self.ends_line[token])
            if not ended:
                mark = self.tokenizer.tokens[tokens[first]].strip("\n") or ","
                (tokens[first],) = self.tokenizer.encode(mark)
            found.append((torch.tensor(tokens), first, second))
        return found

    @property
    def ends_line(self) -> Tensor:
        """Tokens with a line break, boolean ``(V,)``."""
        return torch.tensor(["\n" in token for token in self.tokenizer.tokens])

    @torch.no_grad()
    def maps(self, tokens: Tensor) -> Tensor:
        """Attention weights ``(L, H, T, T)`` of all heads, of a text ``(1, T)``."""
        T = tokens.shape[1]
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        x = self.model.tokens(tokens) + self.model.positions[:T]
        maps = []
        for block in cast(Iterable[Block], self.model.blocks):
            layer, y = block.attention, block.attention_norm(x)
            q, k = (
                proj(y).unflatten(-1, (layer.n_heads, -1)).transpose(1, 2)
                for proj in (layer.q_proj, layer.k_proj)
            )
            scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(later, -torch.inf)
            maps.append(scores.softmax(-1)[0])
            x = block(x, causal=True)
        return torch.stack(maps)


def pack_weights(
    model: Reader | EncoderDecoder | Seq2Seq, **vocabularies: Vocabulary
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Contents of a checkpoint: weights in half precision, and as text all else that is needed.

    The model's weights are rounded in place to what half precision can hold, so that what is
    measured afterwards is measured of what is kept.
    """
    text = {"config": json.dumps(asdict(model.config))}
    for name, vocabulary in vocabularies.items():
        text[name] = json.dumps(list(vocabulary.tokens[4:]), ensure_ascii=False)
    return _halved(model), text


def pack_writer(model: GPT, tokenizer: BytePairs) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Contents of a writer's checkpoint; as :func:`pack_weights`."""
    (max_len, d_model), first = model.positions.shape, cast(Block, model.blocks[0])
    config = {
        "n_words": len(tokenizer.tokens),
        "max_len": max_len,
        "d_model": d_model,
        "n_heads": first.attention.n_heads,
        "d_ff": first.feed_forward.in_proj.out_features,
        "n_layers": len(model.blocks),
    }
    text = {"config": json.dumps(config), "alphabet": tokenizer.alphabet}
    return _halved(model), text | {"merges": json.dumps(tokenizer.merges)}


def _halved(model: nn.Module) -> dict[str, Tensor]:
    weights = {name: value.detach().half() for name, value in model.state_dict().items()}
    model.load_state_dict(weights)
    return weights


def load_reader(path: Path | None = None) -> TrainedReader:
    """Load the reader that ``course run read-words`` has trained."""
    weights, text = _read("reader", path)
    model = Reader(ReaderConfig(**json.loads(text["config"])))
    model.load_state_dict(weights)
    return TrainedReader(model.eval(), Vocabulary(json.loads(text["words"])))


def load_translator(path: Path | None = None) -> TrainedTranslator:
    """Load the translator that ``course run read-translation`` has trained."""
    weights, text = _read("translator", path)
    model = EncoderDecoder(TransformerConfig(**json.loads(text["config"])))
    model.load_state_dict(weights)
    source, target = (Vocabulary(json.loads(text[name])) for name in ("source", "target"))
    return TrainedTranslator(model.eval(), source, target)


def load_writer(path: Path | None = None) -> TrainedWriter:
    """Load the GPT that ``course run writer`` has trained on byte pairs.

    Example:
        >>> writer = load_writer()
        >>> [writer.tokenizer.tokens[n] for n in writer.tokenizer.encode("the king")]
        ['the', ' king']
    """
    weights, text = _read("writer", path)
    model = GPT(**json.loads(text["config"]))
    model.load_state_dict(weights)
    merges = [(left, right) for left, right in json.loads(text["merges"])]
    return TrainedWriter(model.eval(), BytePairs(text["alphabet"], merges))


def find_checkpoint(name: Name, path: Path | None = None) -> Path:
    """Find a file of weights as ``course run`` writes it: safetensors, in half precision."""
    experiment, arm = {
        "reader": ("read-words", "reader"),
        "translator": ("read-translation", "translator"),
        "writer": ("writer", "byte-pairs"),
    }[name]
    path = _RESULTS / experiment / f"{arm}-cpu-0.safetensors" if path is None else path
    if not path.exists():
        raise FileNotFoundError(
            f"no trained {name} in {path.parent.name}/{path.name}: the course's repository has it "
            f"in book/results; `course run {experiment} --seeds 0` makes it anew"
        )
    return path


def _read(name: Name, path: Path | None) -> tuple[Mapping[str, Tensor], Mapping[str, str]]:
    with safe_open(find_checkpoint(name, path), framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()
