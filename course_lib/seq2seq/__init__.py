"""Recurrent encoder-decoder, with and without attention.

The scores of Luong and of Bahdanau are functions of tensors. The modules around them read a source
sentence into states, one for each word, and write a target sentence from these.
"""

from course_lib.seq2seq.config import Attention, Cell, Seq2SeqConfig, State
from course_lib.seq2seq.decoder import Decoder, Score
from course_lib.seq2seq.encoder import Encoder
from course_lib.seq2seq.model import Seq2Seq, Writing, exact_match
from course_lib.seq2seq.scores import (
    attend,
    bahdanau,
    luong_concat,
    luong_dot,
    luong_general,
    luong_readout,
)
