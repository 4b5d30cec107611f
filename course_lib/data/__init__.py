"""Data of the course: generated sentences and images, real text, CIFAR-10, and ETT."""

from course_lib.data.cifar import Cifar10, load_cifar10
from course_lib.data.errors import DataError
from course_lib.data.ett import Ett, Windows, ett_windows, load_ett
from course_lib.data.multi30k import ParallelText, load_multi30k
from course_lib.data.shakespeare import SONNET, load_shakespeare
from course_lib.data.shapes import ShapeImages, shape_images
from course_lib.data.tatoeba import load_tatoeba
from course_lib.data.text import TextBatch, TextSentence, annotated_text, collate_text
from course_lib.data.translation import (
    Batch,
    SentencePair,
    Vocabulary,
    batches,
    collate,
    german_english,
    korean_english,
)
