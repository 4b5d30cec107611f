"""Scores taken apart: what token and position each contribute to who attends to whom.

``decomposition`` splits the scores of tokens with added positions into their four terms; TUPE and
DeBERTa are two answers to the question which of them should stay.
"""

from course_lib.positions.terms.deberta import DisentangledAttention, relative_index
from course_lib.positions.terms.decomposition import (
    TERMS,
    FourTermAttention,
    check_terms,
    four_terms,
    join_terms,
    term_scale,
)
from course_lib.positions.terms.tupe import TupeAttention, TupePositions
