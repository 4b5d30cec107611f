"""Korean to English on the 2,669 sentence pairs that are free: what so few allow.

The models are those of ``translator``, with fewer byte pairs. Many sentences have a near twin, so a
score here says more of remembered phrases than of a language.
"""

from dataclasses import asdict, replace

from course_lib.data.multi30k import ParallelText
from course_lib.data.tatoeba import FILE, load_tatoeba, tatoeba_authors
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.translator import ARMS, DAY, run_one

CPU = replace(DAY, n_train=2_669, n_test=311, n_pieces=4_000, epochs=4, batch_size=32, warmup=1)
ASKED = ("저는 학교에 갑니다.", "나는 사과를 먹는다.", "나는 너를 사랑해.")
"""Three sentences of textbooks: *I go to school*, *I eat an apple*, *I love you*."""


@experiment(
    "translator-korean",
    "BLEU of Korean to English with 2,669 sentence pairs",
    arms={
        "transformer": ARMS["transformer"],
        "gru-attention": {**ARMS["gru-attention"], "d_model": 208},
        "gru": {**ARMS["gru"], "d_model": 212},
    },
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 1, "one CPU core"),
        "day": Size(asdict(replace(CPU, epochs=40)), (0, 1, 2), 6, "one CPU core", step=2),
        "full": Size(asdict(replace(CPU, epochs=80)), (0, 1, 2), 12, "one CPU core", step=3),
    },
    questions=from_table("translator_korean"),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm on the Korean pairs."""
    text = {split: load_tatoeba(split) for split in ("train", "valid", "test")}
    n = job.config["n_train"], job.config["n_test"], job.config["n_test"]
    text = {
        name: ParallelText(t.source[:k], t.target[:k])
        for (name, t), k in zip(text.items(), n, strict=True)
    }
    use = DataUse("tatoeba-kor-eng", "manythings.org, 3,318 pairs", FILE.checksum.split(":")[1])
    outcome = run_one(job, text, use, asked=ASKED)
    shown = outcome.results["shown"]
    quoted = ParallelText(*(tuple(s[side] for s in shown) for side in ("source", "reference")))
    outcome.results["authors"] = tatoeba_authors(quoted)
    return outcome
