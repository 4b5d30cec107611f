"""Generated translation corpora with gold alignments: Korean-English and German-English."""

from course_lib.data.translation.corpus import (
    Grammar,
    Split,
    generate,
    german_english,
    korean_english,
    split_of,
)
from course_lib.data.translation.german import GermanEnglish
from course_lib.data.translation.korean import KoreanEnglish
from course_lib.data.translation.pairs import SentencePair
from course_lib.data.translation.vocabulary import Batch, Vocabulary, batches, collate
